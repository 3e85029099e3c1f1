// IDX, the format of MNIST: two zero bytes, a type byte, the number of dimensions, then each
// dimension as a big-endian 32-bit number, then the elements. We read unsigned bytes: images become
// x / 255, in [0, 1]; labels stay as they are.
#include <spdlog/fmt/fmt.h>

#include <array>
#include <utility>
#include <vector>

#include "data/byte_file.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

constexpr std::uint8_t unsigned_byte = 0x08;
constexpr int dimensions_max = 4;  // [n, C, H, W]

struct IdxArray {
  std::vector<std::uint64_t> dims;
  std::vector<std::uint8_t> bytes;
};

std::string_view type_name(std::uint8_t type) {
  switch (type) {
    case 0x09:
      return "signed bytes";
    case 0x0B:
      return "16-bit integers";
    case 0x0C:
      return "32-bit integers";
    case 0x0D:
      return "32-bit floats";
    case 0x0E:
      return "64-bit floats";
    default:
      return "not an IDX type";
  }
}

int read_magic(ByteFile& file) {
  const auto magic = file.read(4, "the magic number of an IDX file");
  if (magic[0] != 0 || magic[1] != 0)
    file.fail(
        fmt::format("begins with the bytes {:02x} {:02x} {:02x} {:02x}; an IDX file begins with "
                    "00 00 08 and its number of dimensions",
                    magic[0], magic[1], magic[2], magic[3]));
  if (magic[2] != unsigned_byte)
    file.fail(fmt::format("its type byte is 0x{:02x} ({}); only 0x08, unsigned bytes, is supported",
                          magic[2], type_name(magic[2])));
  if (magic[3] < 1 || magic[3] > dimensions_max)
    file.fail(fmt::format("claims {} dimensions; 1 to {} are supported", magic[3], dimensions_max));
  return magic[3];
}

IdxArray read_idx(const std::filesystem::path& path) {
  ByteFile file(path);
  const int dimensions = read_magic(file);
  IdxArray array;
  for (int d = 0; d < dimensions; ++d) {
    const auto b = file.read(4, fmt::format("the size of dimension {}", d));
    array.dims.push_back(std::uint64_t{b[0]} << 24 | std::uint64_t{b[1]} << 16 |
                         std::uint64_t{b[2]} << 8 | b[3]);
    if (array.dims.back() == 0) file.fail(fmt::format("dimension {} has size 0: it is empty", d));
  }
  array.bytes = file.read_rest(product_or_max(array.dims),
                               fmt::format("the elements [{}]", fmt::join(array.dims, ", ")));
  return array;
}

class IdxDataset final : public Dataset {
 public:
  IdxDataset(IdxArray images, IdxArray labels, const Graph& graph)
      : images_(std::move(images.bytes)),
        labels_(std::move(labels.bytes)),
        shape_(graph.input),
        elements_(shape_.elements()),
        classes_(model_classes(graph)) {
    for (std::size_t i = 0; i < scaled_.size(); ++i) scaled_[i] = static_cast<float>(i) / 255.0f;
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  const Shape& target_shape() const override { return no_target_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    const auto sample = static_cast<std::size_t>(which.index);
    const std::uint8_t* bytes = images_.data() + sample * elements_;
    for (std::size_t i = 0; to.input && i < elements_; ++i) to.input[i] = scaled_[bytes[i]];
    *to.classes = labels_[sample];
  }

 private:
  std::vector<std::uint8_t> images_, labels_;
  Shape shape_, no_target_;
  std::size_t elements_;
  int classes_;
  std::array<float, 256> scaled_;
};

// The shape of one image: grey images are stored without a channel dimension.
Shape sample_shape(const IdxArray& images, const Graph& graph) {
  Shape shape;
  for (std::size_t d = 1; d < images.dims.size(); ++d)
    shape.dims.push_back(static_cast<std::int64_t>(images.dims[d]));
  if (shape.dims.size() == 2 && graph.input != shape) shape.dims.insert(shape.dims.begin(), 1);
  return shape;
}

}  // namespace

std::unique_ptr<const Dataset> open_idx(const DataFiles& files, const Graph& graph) {
  require_class_loss(files.labels.string(), graph);
  IdxArray images = read_idx(files.inputs), labels = read_idx(files.labels);
  if (labels.dims.size() != 1)
    ByteFile(files.labels)
        .fail(fmt::format("labels have 1 dimension, but this file has {}: {} [{}]",
                          labels.dims.size(), "are the two files swapped?",
                          fmt::join(labels.dims, ", ")));
  if (images.dims.size() < 2)
    ByteFile(files.inputs)
        .fail("images have 2 to 4 dimensions, but this file has 1: these are labels");
  check_counts(files, static_cast<std::int64_t>(images.dims[0]),
               static_cast<std::int64_t>(labels.dims[0]));
  const Shape shape = sample_shape(images, graph);
  if (shape != graph.input) refuse_input_shape(files.inputs.string(), shape, graph);
  require_one_label(files.labels.string(), graph);
  const int classes = model_classes(graph);
  for (std::size_t i = 0; i < labels.bytes.size(); ++i)
    check_label(files.labels, static_cast<std::int64_t>(i), labels.bytes[i], classes);
  return std::make_unique<IdxDataset>(std::move(images), std::move(labels), graph);
}

}  // namespace pipetrain
