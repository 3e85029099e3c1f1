#include "checkpoint/safetensors.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>

#include "base/check.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/safetensors_header.hpp"

namespace pipetrain {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are stored as they are in memory");

constexpr std::uint64_t kLargestHeader = 100'000'000;  // the format's own limit

std::uint64_t read_header_length(InputFile& reader, const std::string& file) {
  std::uint64_t length = 0;
  if (reader.size() < sizeof length)
    throw DataError(
        fmt::format("{}: not a valid safetensors file: it has {}, fewer than the "
                    "header's length takes; write or download it again",
                    file, counted(static_cast<std::int64_t>(reader.size()), "byte")));
  reader.read(&length, sizeof length);
  if (length > kLargestHeader || length > reader.size() - sizeof length)
    throw DataError(
        fmt::format("{}: not a valid safetensors file: its header claims {} bytes of a "
                    "file of {}; write or download it again",
                    file, length, reader.size()));
  return length;
}

// By name, but tensors with wide elements first, so that each is aligned in the file.
void sort_for_file(std::vector<TensorView>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    const std::size_t wide_a = dtype_bytes(a.dtype), wide_b = dtype_bytes(b.dtype);
    return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
  });
}

}  // namespace

std::vector<StoredTensor> read_safetensors(const std::filesystem::path& file) {
  InputFile reader(file);
  std::string header(read_header_length(reader, file.string()), '\0');
  reader.read(header.data(), header.size());
  const std::uint64_t data_bytes = reader.size() - sizeof(std::uint64_t) - header.size();
  std::vector<StoredTensor> tensors;
  for (TensorPlace& place : parse_safetensors_header(header, data_bytes, file.string())) {
    StoredTensor tensor{std::move(place.name), std::move(place.dtype), std::move(place.shape), {}};
    tensor.data.resize(place.end - place.begin);
    reader.read(tensor.data.data(), tensor.data.size());
    tensors.push_back(std::move(tensor));
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  return tensors;
}

void write_safetensors(const std::filesystem::path& file,
                       const std::vector<StoredTensor>& tensors) {
  std::vector<TensorView> views;
  for (const StoredTensor& tensor : tensors)
    views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.data});
  AtomicFile out(file);
  write_safetensors(out.out(), std::move(views));
  out.commit();
}

void write_safetensors(OutputFile& out, std::vector<TensorView> tensors) {
  for (const TensorView& tensor : tensors) {
    std::uint64_t bytes = dtype_bytes(tensor.dtype);
    for (const std::int64_t dim : tensor.shape) bytes *= static_cast<std::uint64_t>(dim);
    PIPETRAIN_CHECK(bytes == tensor.data.size(), "{} {} has {} bytes", tensor.name, tensor.dtype,
                    tensor.data.size());
  }
  sort_for_file(tensors);
  const std::string header = make_safetensors_header(tensors);
  const std::uint64_t length = header.size();
  out.write(&length, sizeof length);
  out.write(header.data(), header.size());
  for (const TensorView& tensor : tensors) out.write(tensor.data.data(), tensor.data.size());
}

}  // namespace pipetrain
