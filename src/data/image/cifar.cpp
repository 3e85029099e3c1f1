// CIFAR-10 and CIFAR-100 in their binary form: records of label bytes and 3072 pixels, the red
// plane, then green, then blue, each row by row. A pixel becomes x / 255, in [0, 1].
//
//   cifar10    label, pixels            3073 bytes
//   cifar100   coarse, fine, pixels     3074 bytes
//
// There is no header: only its size and its labels show that a file is of its kind.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "data/byte_file.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

constexpr std::size_t pixels = 3 * 32 * 32;
constexpr std::array<CifarKind, 3> cifar_kinds = {{
    {"cifar10", "the labels", 1, 0, 10},
    {"cifar100", "the coarse labels", 2, 0, 20},
    {"cifar100", "the fine labels", 2, 1, 100},
}};

std::size_t record_bytes(const CifarKind& kind) { return kind.label_bytes + pixels; }

// "; it looks like cifar100" if records of another kind would fill the file.
std::string other_kind(std::size_t bytes, const CifarKind& kind) {
  for (const CifarKind& other : cifar_kinds)
    if (other.name != kind.name && bytes % record_bytes(other) == 0)
      return fmt::format("; its size is that of {} records of {}: write kind = \"{}\"",
                         bytes / record_bytes(other), other.name, other.name);
  return "; copy the file again";
}

void check_size(const ByteFile& file, std::size_t bytes, const CifarKind& kind) {
  if (bytes == 0) file.fail("the file is empty; copy it again");
  const std::size_t record = record_bytes(kind);
  if (bytes % record == 0) return;
  file.fail(fmt::format("the file has {}: {} of {} bytes ({}) and {} too many{}",
                        counted(static_cast<std::int64_t>(bytes), "byte"),
                        counted(static_cast<std::int64_t>(bytes / record), "record"), record,
                        kind.name, counted(static_cast<std::int64_t>(bytes % record), "byte"),
                        other_kind(bytes, kind)));
}

void check_labels(const ByteFile& file, std::span<const std::uint8_t> bytes,
                  const CifarKind& kind) {
  const std::size_t record = record_bytes(kind);
  for (std::size_t i = 0; i < bytes.size() / record; ++i) {
    const int label = bytes[i * record + kind.label];
    if (label >= kind.classes)
      file.fail(fmt::format(
          "the label of sample {} is {}, but {} of {} are 0..{}: the file is "
          "damaged or of another kind{}",
          i, label, kind.labels_name, kind.name, kind.classes - 1, other_kind(bytes.size(), kind)));
  }
}

// The records of one file, which follow those of the files before it.
struct CifarPart {
  std::int64_t first = 0;
  std::vector<std::uint8_t> bytes;
};

class CifarDataset final : public Dataset {
 public:
  CifarDataset(std::span<const std::filesystem::path> files, const CifarKind& kind,
               const Graph& graph)
      : kind_(kind), shape_(graph.input), classes_(model_classes(graph)) {
    for (const std::filesystem::path& path : files) {
      ByteFile file(path);
      std::vector<std::uint8_t> bytes = file.read_all();
      check_size(file, bytes.size(), kind);
      check_labels(file, bytes, kind);
      const auto records = static_cast<std::int64_t>(bytes.size() / record_bytes(kind));
      parts_.push_back({size_, std::move(bytes)});
      size_ += records;
    }
    for (std::size_t i = 0; i < scaled_.size(); ++i) scaled_[i] = static_cast<float>(i) / 255.0f;
  }
  std::int64_t size() const override { return size_; }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  const Shape& target_shape() const override { return no_target_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    const CifarPart& part =
        *std::prev(std::ranges::upper_bound(parts_, which.index, {}, &CifarPart::first));
    const std::uint8_t* record =
        part.bytes.data() +
        static_cast<std::size_t>(which.index - part.first) * record_bytes(kind_);
    for (std::size_t i = 0; to.input && i < pixels; ++i)
      to.input[i] = scaled_[record[kind_.label_bytes + i]];
    *to.classes = record[kind_.label];
  }

 private:
  const CifarKind& kind_;
  Shape shape_, no_target_;
  int classes_;
  std::int64_t size_ = 0;
  std::vector<CifarPart> parts_;  // none is empty
  std::array<float, 256> scaled_;
};

}  // namespace

const CifarKind& cifar_kind(DataKind kind, CifarLabels labels) {
  if (kind == DataKind::Cifar10) return cifar_kinds[0];
  return labels == CifarLabels::Coarse ? cifar_kinds[1] : cifar_kinds[2];
}

std::unique_ptr<const Dataset> open_cifar(std::span<const std::filesystem::path> files,
                                          const CifarKind& kind, const Graph& graph) {
  require_class_loss(kind.name, graph);
  const Shape shape = {{3, 32, 32}};
  if (graph.input != shape) refuse_input_shape(kind.name, shape, graph);
  require_one_label(kind.name, graph);
  if (model_classes(graph) < kind.classes)
    throw UsageError(
        fmt::format("{}: {} are of {} classes, but the model has {} outputs; give its last layer "
                    "out_features = {}",
                    kind.name, kind.labels_name, kind.classes, model_classes(graph), kind.classes));
  return std::make_unique<CifarDataset>(files, kind, graph);
}

}  // namespace pipetrain
