#include "backend/cuda/matmul.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "backend/cuda/device/elementwise.hpp"

namespace pipetrain::cuda {
namespace {

// Of every operand, as far as algorithms may rely on it; a larger one makes none faster.
constexpr std::uint32_t kAlignment = 16;

template <class Value>
void set(const MatmulDescriptor& product, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check(cublasLtMatmulDescSetAttribute(product.get(), attribute, &value, sizeof value),
        "describe a product");
}
template <class Value>
void set(const MatmulPreference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         Value value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
        "describe a product");
}

std::int32_t operation(bool transposes) { return transposes ? CUBLAS_OP_T : CUBLAS_OP_N; }

MatrixLayout layout(std::int64_t rows, std::int64_t columns) {
  return MatrixLayout(CUDA_R_32F, static_cast<std::uint64_t>(rows),
                      static_cast<std::uint64_t>(columns), rows);
}

// Partial sums over k, if any, are added up in f32 and in a fixed order.
MatmulPreference preference() {
  MatmulPreference preference;
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kMatmulWorkspaceBytes});
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  for (const auto operand :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(preference, operand, kAlignment);
  return preference;
}

}  // namespace

// CUBLAS_COMPUTE_32F is f32 throughout; TF32 would have to be requested by name.
Matmul::Matmul(std::string layer, const MatmulProblem& problem)
    : layer_(std::move(layer)),
      problem_(problem),
      bias_in_epilogue_(problem.adds_bias),
      product_(CUBLAS_COMPUTE_32F, CUDA_R_32F),
      a_(problem.transposes_a ? layout(problem.k, problem.m) : layout(problem.m, problem.k)),
      b_(problem.transposes_b ? layout(problem.n, problem.k) : layout(problem.k, problem.n)),
      d_(layout(problem.m, problem.n)) {
  set(product_, CUBLASLT_MATMUL_DESC_TRANSA, operation(problem.transposes_a));
  set(product_, CUBLASLT_MATMUL_DESC_TRANSB, operation(problem.transposes_b));
  if (!bias_in_epilogue_) return;
  set(product_, CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
  // Choosing an algorithm looks only at the pointer's alignment. A made-up pointer makes the
  // choice, and so the bits, independent of where a bias happens to be.
  set(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
      reinterpret_cast<const void*>(std::uintptr_t{kAlignment}));
}

// The best of those that the library says can do it.
cublasStatus_t Matmul::find_algorithm(cublasLtHandle_t library) {
  std::array<cublasLtMatmulHeuristicResult_t, 8> advice{};
  int found = 0;
  const MatmulPreference wanted = preference();
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library, product_.get(), a_.get(), b_.get(), d_.get(), d_.get(), wanted.get(),
      static_cast<int>(advice.size()), advice.data(), &found);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const auto known = std::span(advice).first(found);
  const auto best =
      std::ranges::find(known, CUBLAS_STATUS_SUCCESS, &cublasLtMatmulHeuristicResult_t::state);
  if (best == known.end()) return CUBLAS_STATUS_NOT_SUPPORTED;
  choice_ = *best;
  return CUBLAS_STATUS_SUCCESS;
}

void Matmul::choose_algorithm(cublasLtHandle_t library) {
  cublasStatus_t status = find_algorithm(library);
  const bool refused =
      status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
  if (refused && bias_in_epilogue_) {
    set(product_, CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_DEFAULT});
    bias_in_epilogue_ = false;
    status = find_algorithm(library);
  }
  check(status, layer_, "find an algorithm for a matrix product");
}

void Matmul::operator()(DeviceStream& stream, const MatmulArguments& arguments) {
  const cublasLtHandle_t library = stream.cublas_lt();
  if (!choice_) choose_algorithm(library);
  if (bias_in_epilogue_) set(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, arguments.bias);
  const float alpha = 1, beta = arguments.accumulate ? 1 : 0;
  check(cublasLtMatmul(library, product_.get(), &alpha, arguments.a, a_.get(), arguments.b,
                       b_.get(), &beta, arguments.d, d_.get(), arguments.d, d_.get(),
                       &choice_->algo, workspace_in(arguments.scratch, choice_->workspaceSize),
                       choice_->workspaceSize, stream.handle()),
        layer_, "multiply matrices");
  if (problem_.adds_bias && !bias_in_epilogue_)
    add_bias(stream.handle(), arguments.d, arguments.bias, {problem_.n, problem_.m, 1}, false);
}

}  // namespace pipetrain::cuda
