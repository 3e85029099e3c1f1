// Loads cuBLASLt when it is first called: the library takes 0.2 s and 200 MB to load, which
// `pipetrain --help` and training on a CPU should not pay for. Each function of the library that
// this project calls is defined below and passes its arguments on. If the library itself is linked,
// this file is not needed.
#include <cublasLt.h>
#include <dlfcn.h>
#include <spdlog/fmt/fmt.h>

#include <string>

#include "base/error.hpp"

namespace {

void* library() {
  static void* const loaded = [] {
    const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      throw pipetrain::DeviceError(
          fmt::format("cuBLASLt cannot be loaded: {}; put the folder of {} into LD_LIBRARY_PATH, "
                      "or write backend = \"cpu\"",
                      dlerror(), name));
    return handle;
  }();
  return loaded;
}

template <class Function>
Function* find(const char* name) {
  void* const found = dlsym(library(), name);
  if (!found)
    throw pipetrain::DeviceError(fmt::format(
        "cuBLASLt has no function {}; install the version of CUDA {}, or write backend = \"cpu\"",
        name, CUBLAS_VER_MAJOR));
  return reinterpret_cast<Function*>(found);
}

}  // namespace

// Defines a function of the header by calling the library's own, with the same parameters.
#define PIPETRAIN_HAND_ON(result, name, parameters, arguments) \
  result CUBLASWINAPI name parameters {                        \
    static auto* const function = find<decltype(name)>(#name); \
    return function arguments;                                 \
  }

PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle), (handle))
PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle), (handle))
PIPETRAIN_HAND_ON(size_t, cublasLtGetVersion, (), ())
PIPETRAIN_HAND_ON(const char*, cublasLtGetStatusString, (cublasStatus_t status), (status))

PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatmulDescCreate,
                  (cublasLtMatmulDesc_t * product, cublasComputeType_t compute,
                   cudaDataType_t scale),
                  (product, compute, scale))
PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t product),
                  (product))
PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatmulDescSetAttribute,
                  (cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                   const void* value, size_t bytes),
                  (product, attribute, value, bytes))

PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatrixLayoutCreate,
                  (cublasLtMatrixLayout_t * matrix, cudaDataType type, uint64_t rows,
                   uint64_t columns, int64_t stride),
                  (matrix, type, rows, columns, stride))
PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t matrix),
                  (matrix))

PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatmulPreferenceCreate,
                  (cublasLtMatmulPreference_t * preference), (preference))
PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatmulPreferenceDestroy,
                  (cublasLtMatmulPreference_t preference), (preference))
PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,
                  (cublasLtMatmulPreference_t preference,
                   cublasLtMatmulPreferenceAttributes_t attribute, const void* value, size_t bytes),
                  (preference, attribute, value, bytes))

PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,
                  (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                   cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                   cublasLtMatmulPreference_t preference, int wanted,
                   cublasLtMatmulHeuristicResult_t* results, int* found),
                  (handle, product, a, b, c, d, preference, wanted, results, found))
PIPETRAIN_HAND_ON(cublasStatus_t, cublasLtMatmul,
                  (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha,
                   const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                   cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                   cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                   const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes,
                   cudaStream_t stream),
                  (handle, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                   algorithm, workspace, workspace_bytes, stream))
