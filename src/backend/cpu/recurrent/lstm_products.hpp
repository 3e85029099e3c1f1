// The matrix products of one direction of an lstm, in the layouts in which its weights are packed.
// In f32, our own loops do those of one position and oneDNN those of all positions at once; in
// bf16, oneDNN does all of them, with f32 sums. Packed copies do not depend on samples or length.
// E: the element of values, states and the gates' gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/backend.hpp"
#include "backend/cpu/linear/matmul.hpp"

namespace pipetrain::cpu {

struct LstmSizes {
  std::int64_t samples = 1, length = 0, width = 0, hidden = 0;  // width: of the input
  std::int64_t rows() const { return samples * length; }
  std::int64_t gates() const { return 4 * hidden; }
};

// As stored, which is as PyTorch has them. Biases are null if there are none.
struct LstmWeights {
  const float *input = nullptr, *recurrent = nullptr;  // [4 hidden, width], [4 hidden, hidden]
  const float *input_bias = nullptr, *recurrent_bias = nullptr;
};

template <class E>
class LstmProducts {
 public:
  LstmProducts(std::string layer, const LstmSizes& sizes, Mode mode);
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  // sums [rows][4 hidden] = x W_ih^T + biases
  void input_sums(const LstmWeights& weights, const void* packed, const void* x, float* sums,
                  void* scratch);
  // sums [samples][4 hidden] = h W_hh^T
  void state_sums(const void* packed, const E* h, float* sums, void* scratch);
  // dh [samples][hidden] = da W_hh
  void state_gradient(const void* packed, const E* da, float* dh, void* scratch);
  // dx [rows][width] (+)= da W_ih
  void input_gradient(const LstmWeights& weights, const void* packed, const E* da, float* dx,
                      bool accumulate, void* scratch);
  // dW_ih (+)= da^T x, dW_hh (+)= da^T h, both over all rows; h: the previous states.
  void input_weight_gradient(const E* da, const void* x, float* gradient, bool accumulate,
                             void* scratch);
  void state_weight_gradient(const E* da, const E* h, float* gradient, bool accumulate,
                             void* scratch);

 private:
  MatrixProduct& by(bool accumulate, MatrixProduct* pair) const { return pair[accumulate ? 1 : 0]; }

  std::string layer_;
  LstmSizes sizes_;
  MatrixProduct input_sums_, state_sums_, state_gradient_;
  MatrixProduct input_gradient_[2], input_weight_[2], state_weight_[2];  // the second accumulates
  std::size_t scratch_bytes_ = 0;
};

// The packed copy of one direction's weights that `pass` reads, for f32 or bf16 products (E).
template <class E>
std::size_t lstm_packed_bytes(const LstmSizes& sizes, Pass pass);
template <class E>
void pack_lstm(const std::string& layer, const LstmSizes& sizes, Pass pass,
               const LstmWeights& weights, void* packed);

}  // namespace pipetrain::cpu
