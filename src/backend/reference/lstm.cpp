// A long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al.
// 2000), as in PyTorch. From the state h', c' of the previous position:
//   i, f, o = sigmoid(a), g = tanh(a),  a = W_ih x + b_ih + W_hh h' + b_hh, in the order i f g o,
//   c = f c' + i g,  h = o tanh(c).
// The first state is 0, or is given. A sequence ends with its last token that is not padding: after
// that outputs are 0, and the reverse direction begins there. Backward goes through the positions
// in reverse and keeps da of every position; the gradients of inputs and weights are sums of these.
#include <algorithm>
#include <cmath>

#include "backend/reference/kernel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::reference {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class LstmKernel final : public ReferenceKernel {
 public:
  LstmKernel(const Lstm& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        spec_(spec),
        length_(problem_.output.dims[0]),
        width_(problem_.inputs[0].dims[1]),
        hidden_(spec.hidden_size),
        rows_(problem_.samples * length_) {
    directions_.push_back({spec.reverse, 0, 0, 0});
    if (spec.bidirectional) directions_.push_back({true, spec.bias ? 4u : 2u, hidden_, 1});
    traits_.backward_input_reads_inputs = traits_.backward_weight_reads_inputs = true;
    traits_.backward_weight_needs_backward_input = true;
    const std::size_t bytes = bytes_of<double>(std::ssize(directions_) * rows_ * 9 * hidden_);
    if (problem_.mode == Mode::Evaluate && length_ == 1 && spec.padding < 0 && !spec.reverse &&
        !spec.bidirectional)
      traits_.state_bytes.assign(2, bytes_of<double>(rows_ * hidden_));
    if (problem_.mode == Mode::Train) traits_.saved_bytes = bytes;
    traits_.scratch_bytes = problem_.mode == Mode::Train ? bytes_of<double>(2 * hidden_) : bytes;
  }

  void forward(const ForwardArguments& a) override {
    std::fill_n(floats(a.output), problem_.output_elements(), 0.0f);
    void* const memory = problem_.mode == Mode::Train ? a.saved : a.scratch;
    for (const Direction& d : directions_)
      for (std::int64_t n = 0; n < problem_.samples; ++n) {
        const Walk at = walk(a.inputs, d, n);
        for (std::int64_t i = 0; i < at.length; ++i)
          forward_step(a, d, {at.row(i), at.row(i - 1)}, states_of(memory, d));
      }
    if (!a.state.empty()) keep_state(a, states_of(memory, directions_[0]));
  }

  void backward_input(const BackwardInputArguments& a) override {
    double *const dh = static_cast<double*>(a.scratch), *const dc = dh + hidden_;
    for (const Direction& d : directions_) {
      const States states = states_of(a.saved, d);
      std::fill_n(states.gate_gradients, rows_ * 4 * hidden_, 0.0);
      for (std::int64_t n = 0; n < problem_.samples; ++n) {
        std::fill_n(dh, 2 * hidden_, 0.0);
        const Walk at = walk(a.inputs, d, n);
        for (std::int64_t i = at.length; i-- > 0;)
          backward_step(a, d, {at.row(i), at.row(i - 1)}, states, dh, dc);
      }
    }
    if (a.input_gradients[0]) input_gradient(a, floats(a.input_gradients[0]));
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    for (const Direction& d : directions_) {
      const States states = states_of(const_cast<void*>(a.saved), d);
      for (std::int64_t gate = 0; gate < 4 * hidden_; ++gate) weight_gradients(a, d, states, gate);
    }
  }

 private:
  struct Direction {
    bool reverse;
    std::size_t parameter;  // its first one
    std::int64_t column;    // in the output
    std::int64_t index;
  };
  struct States {  // of one direction, row by row of [samples, T]
    double *gates, *cells, *gate_gradients;
  };
  struct Step {
    std::int64_t row, before;
  };
  // A sequence in one direction: row(i) is the row of its i-th position, -1 before the first.
  struct Walk {
    std::int64_t first, length;
    bool reverse;
    std::int64_t row(std::int64_t i) const {
      return i < 0 ? -1 : first + (reverse ? length - 1 - i : i);
    }
  };

  States states_of(void* memory, const Direction& d) const {
    double* const first = static_cast<double*>(memory) + d.index * rows_ * 9 * hidden_;
    return {first, first + rows_ * 4 * hidden_, first + rows_ * 5 * hidden_};
  }

  // Up to the sample's last token that is not padding.
  std::int64_t length_of(std::span<const void* const> inputs, std::int64_t sample) const {
    if (spec_.padding < 0) return length_;
    const auto* tokens = static_cast<const std::int32_t*>(inputs.back()) + sample * length_;
    std::int64_t length = length_;
    while (length > 0 && tokens[length - 1] == spec_.padding) --length;
    return length;
  }

  Walk walk(std::span<const void* const> inputs, const Direction& d, std::int64_t sample) const {
    return {sample * length_, length_of(inputs, sample), d.reverse};
  }

  // Keeps h and c of one position as the next one's initial state, [samples, hidden] each.
  void keep_state(const ForwardArguments& a, const States& states) const {
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t j = 0; j < hidden_; ++j) {
        static_cast<double*>(a.state[0])[row * hidden_ + j] = h(states, row, j);
        static_cast<double*>(a.state[1])[row * hidden_ + j] = c(states, row, j);
      }
  }
  // The state with which a position begins.
  double h_before(const ForwardArguments& a, const Step& s, const States& states,
                  std::int64_t j) const {
    if (a.state.empty()) return h(states, s.before, j);
    return static_cast<const double*>(a.state[0])[s.row * hidden_ + j];
  }
  double c_before(const ForwardArguments& a, const Step& s, const States& states,
                  std::int64_t j) const {
    if (a.state.empty()) return c(states, s.before, j);
    return static_cast<const double*>(a.state[1])[s.row * hidden_ + j];
  }

  double h(const States& states, std::int64_t row, std::int64_t j) const {
    return row < 0 ? 0
                   : states.gates[row * 4 * hidden_ + 3 * hidden_ + j] *
                         std::tanh(states.cells[row * hidden_ + j]);
  }
  double c(const States& states, std::int64_t row, std::int64_t j) const {
    return row < 0 ? 0 : states.cells[row * hidden_ + j];
  }

  // a, the input of the gate's function.
  double gate_sum(const ForwardArguments& a, const Direction& d, const Step& s,
                  const States& states, std::int64_t gate) const {
    const auto parameter = [&](std::size_t p) {
      return floats(a.weights.parameters[d.parameter + p]);
    };
    const float* x = floats(a.inputs[0]) + s.row * width_;
    double sum = spec_.bias ? double{parameter(2)[gate]} + parameter(3)[gate] : 0;
    for (std::int64_t k = 0; k < width_; ++k) sum += double{parameter(0)[gate * width_ + k]} * x[k];
    for (std::int64_t j = 0; j < hidden_; ++j)
      sum += parameter(1)[gate * hidden_ + j] * h_before(a, s, states, j);
    return sum;
  }

  void forward_step(const ForwardArguments& a, const Direction& d, const Step& s,
                    const States& states) const {
    double* const gates = states.gates + s.row * 4 * hidden_;
    for (std::int64_t gate = 0; gate < 4 * hidden_; ++gate) {
      const double sum = gate_sum(a, d, s, states, gate);
      gates[gate] = gate / hidden_ == 2 ? std::tanh(sum) : sigmoid(sum);
    }
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const double i = gates[j], f = gates[hidden_ + j], g = gates[2 * hidden_ + j];
      states.cells[s.row * hidden_ + j] = f * c_before(a, s, states, j) + i * g;
      floats(a.output)[s.row * problem_.output.dims[1] + d.column + j] =
          static_cast<float>(h(states, s.row, j));
    }
  }

  // dh, dc: in: from the next position; out: for the previous one.
  void backward_step(const BackwardInputArguments& a, const Direction& d, const Step& s,
                     const States& states, double* dh, double* dc) const {
    const double* const gates = states.gates + s.row * 4 * hidden_;
    double* const da = states.gate_gradients + s.row * 4 * hidden_;
    const float* dy = floats(a.output_gradient) + s.row * problem_.output.dims[1] + d.column;
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const double i = gates[j], f = gates[hidden_ + j], g = gates[2 * hidden_ + j],
                   o = gates[3 * hidden_ + j], bent = std::tanh(c(states, s.row, j));
      const double of_h = dh[j] + dy[j], of_c = dc[j] + of_h * o * (1 - bent * bent);
      da[j] = of_c * g * i * (1 - i);
      da[hidden_ + j] = of_c * c(states, s.before, j) * f * (1 - f);
      da[2 * hidden_ + j] = of_c * i * (1 - g * g);
      da[3 * hidden_ + j] = of_h * bent * o * (1 - o);
      dc[j] = of_c * f;
    }
    const float* w = floats(a.weights.parameters[d.parameter + 1]);
    for (std::int64_t j = 0; j < hidden_; ++j) {
      dh[j] = 0;
      for (std::int64_t gate = 0; gate < 4 * hidden_; ++gate)
        dh[j] += da[gate] * w[gate * hidden_ + j];
    }
  }

  // Summed over gates and directions.
  void input_gradient(const BackwardInputArguments& a, float* dx) const {
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t k = 0; k < width_; ++k) {
        double sum = 0;
        for (const Direction& d : directions_) {
          const double* da = states_of(a.saved, d).gate_gradients + row * 4 * hidden_;
          const float* w = floats(a.weights.parameters[d.parameter]);
          for (std::int64_t gate = 0; gate < 4 * hidden_; ++gate)
            sum += da[gate] * w[gate * width_ + k];
        }
        dx[row * width_ + k] = static_cast<float>(sum);
      }
  }

  // For one row of the weights, and its bias.
  void weight_gradients(const BackwardWeightArguments& a, const Direction& d, const States& states,
                        std::int64_t gate) const {
    const auto da = [&](const Step& s) {
      return states.gate_gradients[s.row * 4 * hidden_ + gate];
    };
    const auto add_up = [&](std::size_t parameter, std::int64_t at, auto term) {
      double sum = 0;
      for (std::int64_t n = 0; n < problem_.samples; ++n) {
        const Walk walked = walk(a.inputs, d, n);
        for (std::int64_t i = 0; i < walked.length; ++i)
          sum += term(Step{walked.row(i), walked.row(i - 1)});
      }
      put(floats(a.gradients[d.parameter + parameter])[at], sum, a.accumulate);
    };
    for (std::int64_t k = 0; k < width_; ++k)
      add_up(0, gate * width_ + k,
             [&](const Step& s) { return da(s) * floats(a.inputs[0])[s.row * width_ + k]; });
    for (std::int64_t j = 0; j < hidden_; ++j)
      add_up(1, gate * hidden_ + j, [&](const Step& s) { return da(s) * h(states, s.before, j); });
    if (!spec_.bias) return;
    add_up(2, gate, da);
    add_up(3, gate, da);
  }

  Lstm spec_;
  std::int64_t length_, width_, hidden_, rows_;
  std::vector<Direction> directions_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Lstm& spec, Problem problem) {
  return std::make_unique<LstmKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
