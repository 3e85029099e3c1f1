// The array in a NumPy .npy file (format versions 1.0 to 3.0), as bytes with its type and shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "graph/shape.hpp"

namespace pipetrain {

enum class NpyType { Float32, Float64, Int32, Int64 };

struct NpyArray {
  NpyType type = NpyType::Float32;
  std::vector<std::int64_t> dims;   // in C order, none is 0
  std::vector<std::uint8_t> bytes;  // little-endian

  std::int64_t size() const { return dims.empty() ? 0 : dims.front(); }  // number of samples
  Shape sample_shape() const;                                            // [dims 1..]
  bool is_float() const { return type == NpyType::Float32 || type == NpyType::Float64; }
  std::int64_t integer(std::int64_t index) const;  // of an integer array
  // `count` elements from number `first` on, of a float array.
  void floats(std::int64_t first, std::int64_t count, float* to) const;
};

std::string_view npy_type_name(NpyType type);          // "float32"
NpyArray read_npy(const std::filesystem::path& path);  // DataError

}  // namespace pipetrain
