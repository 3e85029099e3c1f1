// One matrix product by cuBLASLt in f32, planned once and run many times. Everything here is
// column-major, as in cuBLASLt: a row-major [r, c] matrix, read so, is its transpose, c by r.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <optional>
#include <string>

#include "backend/cuda/device_stream.hpp"
#include "backend/cuda/workspace.hpp"

namespace pipetrain::cuda {

// d [m by n] = op(a) [m by k] op(b) [k by n], each column-major without gaps; op transposes or does
// nothing. A bias has one value per row of d, added in the product's epilogue, or after the product
// if the library has no such epilogue for this shape.
struct MatmulProblem {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposes_a = false, transposes_b = false;
  bool adds_bias = false;
};

struct MatmulArguments {
  const float *a = nullptr, *b = nullptr;
  const float* bias = nullptr;  // m values, if the problem adds_bias
  float* d = nullptr;
  bool accumulate = false;  // add to d; otherwise overwrite
  void* scratch = nullptr;  // kMatmulScratchBytes
};

// The same for every product, so that memory can be predicted without a device.
inline constexpr std::size_t kMatmulWorkspaceBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMatmulScratchBytes = scratch_for_workspace(kMatmulWorkspaceBytes);

class Matmul {
 public:
  Matmul(std::string layer, const MatmulProblem& problem);  // needs no device
  // Always call it with streams of the same device: the algorithm is chosen for the first one's.
  void operator()(DeviceStream& stream, const MatmulArguments& arguments);

 private:
  void choose_algorithm(cublasLtHandle_t library);
  cublasStatus_t find_algorithm(cublasLtHandle_t library);

  std::string layer_;
  MatmulProblem problem_;
  bool bias_in_epilogue_;
  MatmulDescriptor product_;
  MatrixLayout a_, b_, d_;
  std::optional<cublasLtMatmulHeuristicResult_t> choice_;
};

}  // namespace pipetrain::cuda
