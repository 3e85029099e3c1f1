// One matrix product by cuBLASLt in f32, planned once and run many times. cuBLASLt counts columns
// first, as everything here does: a row-major [r, c] matrix is, read so, its transpose, c by r.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <optional>
#include <string>

#include "backend/cuda/device_stream.hpp"
#include "backend/cuda/workspace.hpp"

namespace pipetrain::cuda {

// d [m by n] = op(a) [m by k] op(b) [k by n], each column-major without gaps; op transposes or not.
// A bias is a value for each row of d, added in the product's epilogue, or after it where the
// library has none for this shape.
struct MatmulProblem {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposes_a = false, transposes_b = false;
  bool adds_bias = false;
};

struct MatmulArguments {
  const float *a = nullptr, *b = nullptr;
  const float* bias = nullptr;  // m values, where it adds them
  float* d = nullptr;
  bool accumulate = false;  // add to what is in d
  void* scratch = nullptr;  // kMatmulScratchBytes
};

// The same for every product, so that memory is predicted without a device.
inline constexpr std::size_t kMatmulWorkspaceBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMatmulScratchBytes = scratch_for_workspace(kMatmulWorkspaceBytes);

class Matmul {
 public:
  Matmul(std::string layer, const MatmulProblem& problem);  // needs no device
  // Always with streams of one device: the algorithm is chosen for that of the first.
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
