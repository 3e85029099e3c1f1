// The weight gradient of a linear layer over rows: sums (+)= left^T right, where one of `left` and
// `right` is the layer's input and the other one its output gradient. With few rows, as in a
// micro-batch, a product has few multiplications for each sum that it reads and writes. Our own
// loop prefetches sums while it multiplies; it needs 32 vector registers. With many rows, or fewer
// registers, oneDNN multiplies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/cpu/linear/matmul.hpp"

namespace pipetrain::cpu {

class RowsWeight {
 public:
  RowsWeight() = default;
  // left: [rows][height], right: [rows][width], sums: [height][width]; of floats.
  RowsWeight(const std::string& layer, std::int64_t rows, std::int64_t height, std::int64_t width);

  std::size_t scratch_bytes() const;
  // On the caller's OpenMP team. The bits do not depend on the number of threads.
  void operator()(const std::string& layer, const void* left, const void* right, void* sums,
                  bool accumulate, void* scratch);

 private:
  void by_loop(const float* left, const float* right, float* sums, bool accumulate,
               float* scratch) const;

  std::int64_t rows_ = 0, height_ = 0, width_ = 0;
  int threads_ = 1;
  bool uses_loop_ = false;
  MatrixProduct make_, add_;  // by oneDNN
};

}  // namespace pipetrain::cpu
