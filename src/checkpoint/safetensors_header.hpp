// The JSON header of a safetensors file, checked before a tensor is touched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"

namespace pipetrain {

struct TensorPlace {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // offsets in the file's data section
};

// In the order of their data, which they fill without gaps. DataError, whose message begins with
// `file`.
std::vector<TensorPlace> parse_safetensors_header(const std::string& json, std::uint64_t data_bytes,
                                                  const std::string& file);

// The header of these tensors in this order, padded with spaces to a multiple of 8.
std::string make_safetensors_header(const std::vector<TensorView>& tensors);

}  // namespace pipetrain
