// What the tests of src/data share: files made on the spot, small models, messages of errors.
#pragma once

#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"
#include "data/dataset.hpp"
#include "graph/graph.hpp"

namespace pipetrain::test {

// A folder of its own that is removed with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "pipetrain-data-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string gzipped(const std::string& bytes) {
  const Folder folder;
  const std::string path = (folder / "packed").string();
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string big_endian(std::uint32_t value) {
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

inline std::string idx(const std::vector<std::uint32_t>& dims, const std::string& elements,
                       char type = 8) {
  std::string bytes = {0, 0, type, char(dims.size())};
  for (const std::uint32_t dim : dims) bytes += big_endian(dim);
  return bytes + elements;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string npy(const std::string& header, const std::string& elements, int version = 1) {
  std::string text = header;
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += char(version);
  bytes += '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i) bytes += char(text.size() >> (8 * i));
  return bytes + text + elements;
}

inline std::string npy_header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

// A model of one layer: enough for what data must fit.
inline Graph model(Shape input, Shape output, Loss loss = Loss::CrossEntropy) {
  Graph graph;
  graph.name = "tiny";
  graph.input = std::move(input);
  graph.loss = loss;
  Layer layer;
  layer.name = "last";
  layer.spec = Identity{};
  layer.inputs = {ValueId{0}};
  layer.output = std::move(output);
  graph.layers.push_back(layer);
  return graph;
}

// The message of the E that `run` throws; other exceptions pass through.
template <class E, class F>
std::string message_of(F run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

struct ReadSample {
  std::vector<float> input;
  std::int32_t target_class = -1;
  std::vector<float> values;
  bool operator==(const ReadSample&) const = default;
};

// Reads the labels once more on their own, which must give the same.
inline ReadSample sample(const Dataset& data, std::int64_t index, std::int64_t step = 0) {
  const auto read = [&](std::vector<float> input) {
    ReadSample s{std::move(input), -1, {}};
    if (data.classes() == 0)
      s.values.resize(static_cast<std::size_t>(data.target_shape().elements()));
    data.read({.index = index, .step = step},
              {.input = s.input.empty() ? nullptr : s.input.data(),
               .classes = data.classes() > 0 ? &s.target_class : nullptr,
               .values = data.classes() > 0 ? nullptr : s.values.data()});
    return s;
  };
  ReadSample whole =
      read(std::vector<float>(static_cast<std::size_t>(data.input_shape().elements())));
  const ReadSample labels = read({});
  if (labels.target_class != whole.target_class || labels.values != whole.values)
    throw std::logic_error("labels that are read alone are others");
  return whole;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace pipetrain::test
