// cuBLASLt: D = epilogue(alpha op(A) op(B) + beta C) in f32, all of it column-major.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "fake_cuda/library.hpp"
#include "fake_cuda/world.hpp"

using fake_cuda::call;

struct cublasLtContext {
  int device = 0;
};

namespace {

struct Matmul {  // behind cublasLtMatmulDesc_t
  bool transposes_a = false, transposes_b = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const float* bias = nullptr;
};

struct Matrix {  // behind cublasLtMatrixLayout_t
  std::int64_t rows = 0, columns = 0, ld = 0;
  std::int64_t elements() const { return (columns - 1) * ld + rows; }
  bool operator==(const Matrix&) const = default;
};

struct Preference {  // behind cublasLtMatmulPreference_t
  std::uint64_t workspace_bytes = 0;
};

struct Problem {
  Matmul matmul;
  Matrix a, b, d;
};

constexpr std::uint64_t chosen = 0x616c676f;  // what the heuristic leaves in an algorithm

Matmul& of(cublasLtMatmulDesc_t matmul) { return *reinterpret_cast<Matmul*>(matmul); }
Matrix& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Matrix*>(layout); }
Preference& of(cublasLtMatmulPreference_t p) { return *reinterpret_cast<Preference*>(p); }

bool has_bias(const Matmul& m) {
  return m.epilogue == CUBLASLT_EPILOGUE_BIAS || m.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}
bool has_relu(const Matmul& m) {
  return m.epilogue == CUBLASLT_EPILOGUE_RELU || m.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

std::int64_t inner(const Problem& p) { return p.matmul.transposes_a ? p.a.rows : p.a.columns; }

bool consistent(const Problem& p) {
  const auto [rows, k] =
      p.matmul.transposes_a ? std::pair(p.a.columns, p.a.rows) : std::pair(p.a.rows, p.a.columns);
  const auto [other_k, columns] =
      p.matmul.transposes_b ? std::pair(p.b.columns, p.b.rows) : std::pair(p.b.rows, p.b.columns);
  return rows == p.d.rows && columns == p.d.columns && k == other_k;
}

// Depends on the shape, so that a size asked for another shape is noticed; sometimes 0.
std::size_t workspace_bytes(const Problem& p) {
  return static_cast<std::size_t>((p.d.rows + 3 * p.d.columns + 5 * inner(p)) % 7 * 64);
}

float epilogue(const Matmul& matmul, std::int64_t row, double sum) {
  if (has_bias(matmul)) sum += matmul.bias[row];
  const auto value = static_cast<float>(sum);
  return has_relu(matmul) && !(value > 0) ? 0 : value;  // 0 for a NaN too, as in the library
}

void run(const Problem& p, const float* a, const float* b, float* d, double alpha, double beta) {
  const std::int64_t k_count = inner(p);
  const auto at = [](const Matrix& m, bool transposed, std::int64_t row, std::int64_t col) {
    return transposed ? row * m.ld + col : col * m.ld + row;
  };
  for (std::int64_t j = 0; j < p.d.columns; ++j)
    for (std::int64_t i = 0; i < p.d.rows; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < k_count; ++k)
        sum += double{a[at(p.a, p.matmul.transposes_a, i, k)]} *
               b[at(p.b, p.matmul.transposes_b, k, j)];
      float& target = d[j * p.d.ld + i];
      sum = beta == 0 ? alpha * sum : alpha * sum + beta * target;
      target = epilogue(p.matmul, i, sum);
    }
}

// A matrix is read column by column: what is between its columns is not touched.
template <class Touch>
void touch(const Matrix& matrix, const void* memory, Touch touch) {
  for (std::int64_t column = 0; column < matrix.columns; ++column)
    touch(static_cast<const float*>(memory) + column * matrix.ld,
          static_cast<std::size_t>(matrix.rows) * sizeof(float));
}

bool holds(const Matrix& matrix, const void* memory) {
  return fake_cuda::aligned(memory, sizeof(float)) &&
         fake_cuda::world().memory.holds(
             memory, static_cast<std::size_t>(matrix.elements()) * sizeof(float));
}

template <class Value>
bool take(Value& target, const void* value, std::size_t bytes) {
  if (bytes != sizeof(Value)) return false;
  std::memcpy(&target, value, bytes);
  return true;
}

bool take_transposition(bool& transposes, const void* value, std::size_t bytes) {
  std::int32_t operation = 0;
  if (!take(operation, value, bytes)) return false;
  transposes = operation == CUBLAS_OP_T;
  return operation == CUBLAS_OP_T || operation == CUBLAS_OP_N;
}

bool take_epilogue(cublasLtEpilogue_t& epilogue, const void* value, std::size_t bytes) {
  std::uint32_t number = 0;
  if (!take(number, value, bytes)) return false;
  epilogue = static_cast<cublasLtEpilogue_t>(number);
  return epilogue == CUBLASLT_EPILOGUE_DEFAULT || epilogue == CUBLASLT_EPILOGUE_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

bool set(Matmul& matmul, cublasLtMatmulDescAttributes_t attribute, const void* value,
         std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take_transposition(matmul.transposes_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take_transposition(matmul.transposes_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take_epilogue(matmul.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(matmul.bias, value, bytes);
    default:
      return false;
  }
}

template <class Handle, class Value>
cublasStatus_t create(Handle* handle, Value value) {
  return call(CUBLAS_STATUS_ALLOC_FAILED, [&] {
    *handle = reinterpret_cast<Handle>(new Value(value));
    return CUBLAS_STATUS_SUCCESS;
  });
}

template <class Handle>
cublasStatus_t destroy(Handle handle) {
  if (handle) delete &of(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t valid(bool good) {
  return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t ask(const Problem& p, const void* alpha_pointer, const float* a, const float* b,
                   const void* beta_pointer, float* d, void* workspace, std::size_t workspace_given,
                   cudaStream_t stream) {
  const std::size_t wanted = workspace_bytes(p);
  if (workspace_given < wanted || !holds(p.a, a) || !holds(p.b, b) || !holds(p.d, d))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (wanted && (!fake_cuda::aligned(workspace, fake_cuda::workspace_alignment) ||
                 !fake_cuda::world().memory.holds(workspace, wanted)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (has_bias(p.matmul) && !holds({p.d.rows, 1, p.d.rows}, p.matmul.bias))
    return CUBLAS_STATUS_INVALID_VALUE;
  const double alpha = fake_cuda::scalar(alpha_pointer), beta = fake_cuda::scalar(beta_pointer);
  const auto work = [=] {
    fake_cuda::spoil(workspace, wanted);
    touch(p.a, a, fake_cuda::reads);
    touch(p.b, b, fake_cuda::reads);
    if (has_bias(p.matmul)) touch({p.d.rows, 1, p.d.rows}, p.matmul.bias, fake_cuda::reads);
    if (beta != 0) touch(p.d, d, fake_cuda::reads);
    touch(p.d, d, fake_cuda::writes);
    run(p, a, b, d, alpha, beta);
  };
  fake_cuda::push(stream, {.what = "cublasLtMatmul",
                           .work = work,
                           .ready = {},
                           .awaited = {},
                           .recorded = {},
                           .host = {}});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return call(CUBLAS_STATUS_NOT_INITIALIZED, [&] {
    *handle = new cublasLtContext{fake_cuda::thread().device};
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
      return "a status of cuBLASLt";
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmul, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) {
    fake_cuda::found("a product whose operands are not multiplied as f32");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return create(matmul, Matmul{});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmul) { return destroy(matmul); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmul,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  return call(CUBLAS_STATUS_EXECUTION_FAILED,
              [&] { return valid(set(of(matmul), attribute, value, bytes)); });
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  const auto signed_rows = static_cast<std::int64_t>(rows);
  if (type != CUDA_R_32F || rows == 0 || columns == 0 || ld < signed_rows)
    return CUBLAS_STATUS_INVALID_VALUE;
  return create(layout, Matrix{signed_rows, static_cast<std::int64_t>(columns), ld});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, Preference{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return call(CUBLAS_STATUS_EXECUTION_FAILED, [&] {
    if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return CUBLAS_STATUS_SUCCESS;
    return valid(take(of(preference).workspace_bytes, value, bytes));
  });
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* returned) {
  return call(CUBLAS_STATUS_EXECUTION_FAILED, [&] {
    const Problem problem{of(matmul), of(a), of(b), of(d)};
    if (!handle || requested < 1 || !consistent(problem) || of(c) != of(d))
      return CUBLAS_STATUS_INVALID_VALUE;
    *returned = 0;
    // Some shapes have no such epilogue: here those with an odd number of rows.
    if (has_bias(problem.matmul) && problem.d.rows % 2 == 1) return CUBLAS_STATUS_SUCCESS;
    const std::size_t wanted = workspace_bytes(problem);
    if (wanted > of(preference).workspace_bytes) return CUBLAS_STATUS_NOT_SUPPORTED;
    // For some shapes the first algorithm that is advised cannot do it.
    const int good = problem.d.columns % 3 == 0 && requested > 1 ? 1 : 0;
    for (int i = 0; i <= good; ++i) {
      results[i] = {};
      results[i].state = CUBLAS_STATUS_NOT_SUPPORTED;
    }
    results[good].algo.data[0] = chosen;
    results[good].algo.data[1] = wanted;
    results[good].workspaceSize = wanted;
    results[good].state = CUBLAS_STATUS_SUCCESS;
    *returned = good + 1;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  return call(CUBLAS_STATUS_EXECUTION_FAILED, [&] {
    const Problem problem{of(matmul), of(a_layout), of(b_layout), of(d_layout)};
    const bool here = handle && fake_cuda::is_open(stream) &&
                      stream->queue->device == fake_cuda::thread().device &&
                      handle->device == stream->queue->device;
    if (!here || !consistent(problem) || c != d || of(c_layout) != of(d_layout))
      return CUBLAS_STATUS_INVALID_VALUE;
    if (!algorithm || algorithm->data[0] != chosen ||
        algorithm->data[1] != ::workspace_bytes(problem))
      return CUBLAS_STATUS_INVALID_VALUE;
    return ask(problem, alpha, static_cast<const float*>(a), static_cast<const float*>(b), beta,
               static_cast<float*>(d), workspace, workspace_bytes, stream);
  });
}

}  // extern "C"
