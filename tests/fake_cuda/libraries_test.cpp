// The fake cuDNN and cuBLASLt: a small convolution and product by hand, and what they refuse.
#include <cublasLt.h>
#include <cudnn.h>

#include "fake_cuda/test_device.hpp"

using namespace fake_cuda_test;

namespace {

constexpr float one = 1, zero = 0;

struct Convolution {  // 1 x 2 x 3 x 3, two groups, a 2 x 2 kernel that steps by 1
  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

  explicit Convolution(cudaStream_t stream) {
    REQUIRE(cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetStream(handle, stream) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateTensorDescriptor(&x) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateTensorDescriptor(&y) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateFilterDescriptor(&w) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateConvolutionDescriptor(&convolution) == CUDNN_STATUS_SUCCESS);
    set_output(2);
    REQUIRE(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, 3, 3) ==
            CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 2, 1, 2, 2) ==
            CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetConvolution2dDescriptor(convolution, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                            CUDNN_DATA_FLOAT) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetConvolutionGroupCount(convolution, 2) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetConvolutionMathType(convolution, CUDNN_FMA_MATH) == CUDNN_STATUS_SUCCESS);
  }

  ~Convolution() {
    cudnnDestroyConvolutionDescriptor(convolution);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyTensorDescriptor(y);
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroy(handle);
  }
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  void set_output(int size) const {
    REQUIRE(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, size, size) ==
            CUDNN_STATUS_SUCCESS);
  }
};

float* workspace(std::size_t bytes) { return make_floats(static_cast<int>(bytes / 4) + 1); }

}  // namespace

TEST_CASE("a convolution in two groups, and its two backwards", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t stream = make_stream();
  const Convolution c(stream);
  float *const x = make_floats(18), *const w = make_floats(8), *const y = make_floats(8);
  write(stream, x, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 0, 0, 1, 0, 0, 0, 1});
  write(stream, w, {1, 1, 1, 1, 2, 0, 0, 1});

  constexpr auto forward = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  std::size_t bytes = 0;
  REQUIRE(cudnnGetConvolutionForwardWorkspaceSize(c.handle, c.x, c.w, c.convolution, c.y, forward,
                                                  &bytes) == CUDNN_STATUS_SUCCESS);
  const auto run = [&](std::size_t given) {
    return cudnnConvolutionForward(c.handle, &one, c.x, x, c.w, w, c.convolution, forward,
                                   workspace(bytes), given, &zero, c.y, y);
  };
  CHECK(run(bytes - 1) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(run(bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(read(stream, y, 8) == std::vector<float>{12, 16, 24, 28, 3, 0, 0, 3});

  constexpr auto data = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
  REQUIRE(cudnnGetConvolutionBackwardDataWorkspaceSize(c.handle, c.w, c.y, c.convolution, c.x, data,
                                                       &bytes) == CUDNN_STATUS_SUCCESS);
  float* const dx = make_floats(18);
  REQUIRE(cudnnConvolutionBackwardData(c.handle, &one, c.w, w, c.y, y, c.convolution, data,
                                       workspace(bytes), bytes, &zero, c.x,
                                       dx) == CUDNN_STATUS_SUCCESS);
  CHECK(read(stream, dx, 18) ==
        std::vector<float>{12, 28, 16, 36, 80, 44, 24, 52, 28, 6, 0, 0, 0, 9, 0, 0, 0, 3});

  constexpr auto filter = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
  REQUIRE(cudnnGetConvolutionBackwardFilterWorkspaceSize(c.handle, c.x, c.y, c.convolution, c.w,
                                                         filter, &bytes) == CUDNN_STATUS_SUCCESS);
  float* const dw = make_floats(8);
  write(stream, dw, {1, 0, 0, 0, 0, 0, 0, 0});
  REQUIRE(cudnnConvolutionBackwardFilter(c.handle, &one, c.x, x, c.y, y, c.convolution, filter,
                                         workspace(bytes), bytes, &one, c.w,
                                         dw) == CUDNN_STATUS_SUCCESS);
  const auto sums = read(stream, dw, 8);
  CHECK(sums[0] == 1 + 12 * 1 + 16 * 2 + 24 * 4 + 28 * 5);
  CHECK(sums[7] == 3 * 1 + 3 * 1);
  CHECK(findings() == "");

  c.set_output(3);
  CHECK(run(bytes) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnSetConvolutionMathType(c.convolution, CUDNN_DEFAULT_MATH) == CUDNN_STATUS_SUCCESS);
  c.set_output(2);
  CHECK(run(4096) == CUDNN_STATUS_SUCCESS);
  CHECK_THAT(findings(), Contains("math type"));
}

TEST_CASE("a product with bias and relu, and one that is added", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t stream = make_stream();
  // Row-major x [2 x 3] times W [2 x 3] transposed, as columns: D = W^T' x'.
  float *const x = make_floats(6), *const w = make_floats(6), *const y = make_floats(4),
               *const bias = make_floats(2);
  write(stream, x, {1, 2, 3, -1, -2, -3});
  write(stream, w, {1, 0, 1, 0, 1, 0});
  write(stream, bias, {10, 1});

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t matmul = nullptr;
  cublasLtMatrixLayout_t w_layout = nullptr, x_layout = nullptr, y_layout = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatmulDescCreate(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
          CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&w_layout, CUDA_R_32F, 3, 2, 3) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&x_layout, CUDA_R_32F, 3, 2, 3) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&y_layout, CUDA_R_32F, 2, 2, 2) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
  const std::uint64_t most = 4096;
  REQUIRE(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &most, sizeof most) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t result;
  int results = 0;
  const auto choose = [&] {
    return cublasLtMatmulAlgoGetHeuristic(handle, matmul, w_layout, x_layout, y_layout, y_layout,
                                          preference, 1, &result, &results);
  };
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return cublasLtMatmulDescSetAttribute(matmul, attribute, &value, sizeof value);
  };
  CHECK(choose() == CUBLAS_STATUS_INVALID_VALUE);  // 3 x 2 times 3 x 2
  const std::int32_t transposed = CUBLAS_OP_T;
  REQUIRE(set(CUBLASLT_MATMUL_DESC_TRANSA, transposed) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(choose() == CUBLAS_STATUS_SUCCESS);
  const auto run = [&](const float* beta) {
    return cublasLtMatmul(handle, matmul, &one, w, w_layout, x, x_layout, beta, y, y_layout, y,
                          y_layout, &result.algo, workspace(result.workspaceSize),
                          result.workspaceSize, stream);
  };
  REQUIRE(run(&zero) == CUBLAS_STATUS_SUCCESS);
  CHECK(read(stream, y, 4) == std::vector<float>{4, 2, -4, -2});
  REQUIRE(run(&one) == CUBLAS_STATUS_SUCCESS);
  CHECK(read(stream, y, 4) == std::vector<float>{8, 4, -8, -4});
  const std::uint32_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  REQUIRE(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue) == CUBLAS_STATUS_SUCCESS);
  CHECK(run(&zero) == CUBLAS_STATUS_INVALID_VALUE);  // no bias
  REQUIRE(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(run(&zero) == CUBLAS_STATUS_SUCCESS);
  CHECK(read(stream, y, 4) == std::vector<float>{14, 3, 6, 0});
  cublasLtMatmulPreferenceDestroy(preference);
  for (const auto layout : {w_layout, x_layout, y_layout}) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(matmul);
  cublasLtDestroy(handle);
  CHECK(findings() == "");
}
