// The safetensors format: eight bytes with the length of a JSON header, the header (name -> dtype,
// shape, offsets), then the tensors' bytes, little-endian, row-major, without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/output_file.hpp"

namespace pipetrain {

struct StoredTensor {
  std::string name;
  std::string dtype;  // "F32", "I64", ...
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

struct TensorView {  // the same, with its data elsewhere
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

// Bytes of one element; 0 for a dtype that the format does not define.
std::size_t dtype_bytes(const std::string& dtype);

// Every tensor of a file, by name. DataError, with the file and the problem, for anything that is
// not a complete, well-formed file, or whose header has more than two million values (200,000
// tensors of four dimensions); never takes memory for more than the file really holds.
std::vector<StoredTensor> read_safetensors(const std::filesystem::path& file);

// The same tensors give the same bytes, in whatever order they come. Written next to the file,
// flushed to the disk, then renamed: the file is always either the old one or the new one,
// complete. DeviceError if the disk fails; the old file is then untouched.
void write_safetensors(const std::filesystem::path& file, const std::vector<StoredTensor>& tensors);

// Writes the same to a file that the caller finishes.
void write_safetensors(OutputFile& out, std::vector<TensorView> tensors);

}  // namespace pipetrain
