// Additive attention by our own loops (vector_loops_additive.inl): one query at a time forward, one
// sample at a time backward. Forward keeps the softmax' weights of the keys that take part. The
// gradients of v and the bias are summed within each sample, then over the samples in their order.
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kTanhWork = 20;

template <class E>
class AdditiveAttentionKernel final : public CpuKernel {
 public:
  AdditiveAttentionKernel(Problem problem, const AdditiveAttention& spec)
      : CpuKernel(std::move(problem)), spec_(spec) {
    const std::int64_t units = problem_.layer->parameters[0].shape.dims[0];
    const Shape& output = problem_.layer->output;
    loop_.queries = output.dims[0];
    loop_.units = units;
    loop_.width = output.dims[1];
    loop_.keys = loop_.key_rows = problem_.inputs[1].elements() / units;
    thread_scratch_ = additive_scratch(loop_);
    if (trains()) thread_scratch_ = std::max(thread_scratch_, additive_backward_scratch(loop_));
    thread_scratch_ = round_up(thread_scratch_ + loop_.key_rows, kLanes);
    traits_.backward_input_reads_inputs = true;
    traits_.backward_weight_needs_backward_input = true;
    const std::int64_t of_threads = threads_ * thread_scratch_ + units;
    traits_.scratch_bytes = bytes_of<float>(of_threads + (trains() ? 0 : weights_count()));
    if (trains())
      traits_.saved_bytes =
          bytes_of<float>(weights_count() + (2 * problem_.samples + 1) * units + 1);
  }

  void forward(const ForwardArguments& a) override {
    float* const v = floats(a.scratch);
    float* const all = trains() ? floats(a.saved) : own_scratch(a.scratch, threads_);
    make_v(a.weights, v);
    run(problem_.samples * loop_.queries, a.scratch,
        [&](float* own, std::int64_t begin, std::int64_t end) {
          std::int64_t listed = -1;  // the sample whose keys `loop` lists
          AdditiveLoop loop;
          for (std::int64_t row = begin; row < end; ++row) {
            const std::int64_t sample = row / loop_.queries;
            if (sample != listed) loop = loop_of(a.inputs, a.weights, sample, v, own);
            listed = sample;
            AdditiveRows<const E> in = rows_of(a.inputs, sample);
            in.queries = elements<E>(a.inputs[0]) + row * loop.units;
            loops_.additive_attention(loop, in, all + row * loop.key_rows,
                                      elements<E>(a.output) + row * loop.width,
                                      own + loop_.key_rows);
          }
        });
  }

  void backward_input(const BackwardInputArguments& a) override {
    const Saved saved = saved_in(floats(a.saved));
    float* const v = floats(a.scratch);
    *saved.scale = make_v(a.weights, v);
    make_unit(a.weights, saved.unit);
    run(problem_.samples, a.scratch, [&](float* own, std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const AdditiveLoop loop = loop_of(a.inputs, a.weights, n, v, own);
        loops_.additive_attention_backward(
            loop,
            {.in = rows_of(a.inputs, n),
             .dy = elements<E>(a.output_gradient) + n * loop.queries * loop.width,
             .p = floats(a.saved) + n * loop.queries * loop.key_rows,
             .gradients = gradient_rows(a.input_gradients, n),
             .v = saved.v + n * loop.units,
             .bias = saved.bias + n * loop.units},
            own + loop_.key_rows);
      }
    });
  }

  // With u = att / |att| and v = g u:  dg = dv . u,  datt = g / |att| (dv - u dg).
  void backward_weight(const BackwardWeightArguments& a) override {
    const Saved saved = saved_in(floats(const_cast<void*>(a.saved)));
    const std::int64_t units = loop_.units;
    float* const dv = floats(a.scratch);
    sums_.column_sums(saved.v, problem_.samples, units, dv, false, 0, units);
    double dg = 0;
    for (std::int64_t n = 0; n < units; ++n) dg += double{dv[n]} * saved.unit[n];
    for (std::int64_t n = 0; n < units; ++n) {
      const double along = spec_.normalize ? saved.unit[n] * dg : 0;
      put(floats(a.gradients[0])[n], *saved.scale * (dv[n] - along), a.accumulate);
    }
    if (!spec_.normalize) return;
    put(*floats(a.gradients[1]), dg, a.accumulate);
    sums_.column_sums(saved.bias, problem_.samples, units, floats(a.gradients[2]), a.accumulate, 0,
                      units);
  }

 private:
  using Inputs = std::span<const void* const>;
  struct Saved {          // follows the softmax' weights
    float *v, *bias;      // gradients, [samples][units]
    float *unit, *scale;  // att / |att| and g / |att|, from the weights that backward read
  };

  bool trains() const { return problem_.mode == Mode::Train; }
  std::int64_t weights_count() const { return problem_.samples * loop_.queries * loop_.key_rows; }
  Saved saved_in(float* memory) const {
    float *const v = memory + weights_count(), *const bias = v + problem_.samples * loop_.units,
                 *const unit = bias + problem_.samples * loop_.units;
    return {v, bias, unit, unit + loop_.units};
  }

  static void put(float& to, double sum, bool accumulate) {
    to = static_cast<float>(accumulate ? to + sum : sum);
  }

  double norm(const Weights& weights) const {
    const float* att = floats(weights.parameters[0]);
    double squares = 0;
    for (std::int64_t n = 0; n < loop_.units; ++n) squares += double{att[n]} * att[n];
    return std::sqrt(squares);
  }
  // v = g att / |att|; returns g / |att|.
  float make_v(const Weights& weights, float* v) const {
    const double scale = spec_.normalize ? *floats(weights.parameters[1]) / norm(weights) : 1;
    for (std::int64_t n = 0; n < loop_.units; ++n)
      v[n] = static_cast<float>(scale * floats(weights.parameters[0])[n]);
    return static_cast<float>(scale);
  }
  void make_unit(const Weights& weights, float* unit) const {
    const double length = norm(weights);
    for (std::int64_t n = 0; n < loop_.units; ++n)
      unit[n] = static_cast<float>(floats(weights.parameters[0])[n] / length);
  }

  AdditiveRows<const E> rows_of(Inputs inputs, std::int64_t sample) const {
    return {elements<E>(inputs[0]) + sample * loop_.queries * loop_.units,
            elements<E>(inputs[1]) + sample * loop_.key_rows * loop_.units,
            elements<E>(inputs[2]) + sample * loop_.key_rows * loop_.width};
  }
  AdditiveRows<E> gradient_rows(std::span<void* const> gradients, std::int64_t sample) const {
    const auto rows = [&](std::size_t input, std::int64_t elements_each) {
      E* const all = elements<E>(gradients[input]);
      return all ? all + sample * elements_each : nullptr;
    };
    return {rows(0, loop_.queries * loop_.units), rows(1, loop_.key_rows * loop_.units),
            rows(2, loop_.key_rows * loop_.width)};
  }

  // The loop for one sample without its padding; the list of keys goes to `memory`.
  AdditiveLoop loop_of(Inputs inputs, const Weights& weights, std::int64_t sample, const float* v,
                       float* memory) const {
    AdditiveLoop loop = loop_;
    loop.v = v;
    if (spec_.normalize) loop.bias = floats(weights.parameters[2]);
    if (spec_.padding < 0) return loop;
    auto* const kept = reinterpret_cast<std::int32_t*>(memory);
    const auto* const tokens =
        static_cast<const std::int32_t*>(inputs.back()) + sample * loop_.key_rows;
    loop.keys = 0;
    for (std::int64_t row = 0; row < loop.key_rows; ++row)
      if (tokens[row] != spec_.padding) kept[loop.keys++] = static_cast<std::int32_t>(row);
    loop.kept = kept;
    return loop;
  }

  float* own_scratch(void* scratch, std::int64_t thread) const {
    return floats(scratch) + loop_.units + thread * thread_scratch_;
  }
  template <class Body>
  void run(std::int64_t count, void* scratch, Body body) const {
    const std::int64_t work =
        kTanhWork * problem_.samples * loop_.queries * loop_.key_rows * (loop_.units + loop_.width);
    parallel_ranges_with(
        count, work, threads_, [&](int thread) { return own_scratch(scratch, thread); }, body);
  }

  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  const SequenceLoops<float>& sums_ = element_loops<float>().sequences;
  AdditiveAttention spec_;
  AdditiveLoop loop_{};
  int threads_ = omp_get_max_threads();
  std::int64_t thread_scratch_ = 0;  // per thread, in floats
};

}  // namespace

std::int64_t additive_scratch(const AdditiveLoop& l) {
  return round_up(l.units, kLanes) + round_up(l.key_rows, kLanes);
}

std::int64_t additive_backward_scratch(const AdditiveLoop& l) {
  return l.key_rows * (round_up(l.units, kLanes) + round_up(l.width, kLanes) + 1);
}

std::unique_ptr<Kernel> make_kernel(const AdditiveAttention& spec, Problem problem) {
  return make_by_element<AdditiveAttentionKernel>(std::move(problem), spec);
}

ParameterLayout parameter_layout(const AdditiveAttention&, const Problem& problem, int parameter) {
  return channel_parameter(problem.layer->parameters[parameter].shape.elements(), 1);
}

}  // namespace pipetrain::cpu
