// Additive attention in f32 (Bahdanau et al. 2015). Forward keeps the softmax' weights.
// backward_input() also sums the gradients of v and the bias, and leaves them for
// backward_weight().
#include "backend/cuda/device/additive_attention.hpp"

#include "backend/cuda/device/reduce.hpp"
#include "backend/cuda/kernel.hpp"
#include "backend/cuda/parts.hpp"

namespace pipetrain::cuda {
namespace {

class AdditiveAttentionKernel final : public CudaKernel {
 public:
  AdditiveAttentionKernel(const AdditiveAttention& spec, Problem problem)
      : CudaKernel(std::move(problem)),
        normalize_(spec.normalize),
        sizes_{.samples = problem_.samples,
               .queries = problem_.inputs[0].dims[0],
               .keys = problem_.inputs[1].dims[0],
               .units = problem_.inputs[1].dims[1],
               .width = problem_.inputs[2].dims[1],
               .padding = static_cast<std::int32_t>(spec.padding)} {
    traits_.backward_input_reads_inputs = true;
    traits_.backward_weight_needs_backward_input = true;
    traits_.scratch_bytes = scratch_in(nullptr).bytes;
    (trains() ? traits_.saved_bytes : traits_.scratch_bytes) += saved_in(nullptr).bytes;
  }

  void forward(const ForwardArguments& a) override {
    DeviceStream& stream = device(a.stream);
    const Scratch scratch = scratch_in(a.scratch);
    const Saved saved =
        saved_in(trains() ? a.saved : static_cast<std::byte*>(a.scratch) + scratch.bytes);
    additive_vector(stream.handle(), parameters(a.weights), sizes_.units,
                    {.v = scratch.v, .unit = nullptr, .scale = nullptr});
    additive_attention(stream.handle(), sizes(a.inputs), inputs(a.inputs, a.weights, scratch.v),
                       saved.p, floats(a.output));
  }

  void backward_input(const BackwardInputArguments& a) override {
    DeviceStream& stream = device(a.stream);
    const Scratch scratch = scratch_in(a.scratch);
    const Saved saved = saved_in(a.saved);
    additive_vector(stream.handle(), parameters(a.weights), sizes_.units,
                    {.v = scratch.v, .unit = saved.unit, .scale = saved.scale});
    float* const queries = floats(a.input_gradients[0]);
    additive_attention_backward({stream.handle(), stream.partial_sums()},
                                {.of = sizes(a.inputs),
                                 .in = inputs(a.inputs, a.weights, scratch.v),
                                 .p = saved.p,
                                 .dy = floats(a.output_gradient),
                                 .ds = scratch.ds,
                                 .of_v = scratch.of_v},
                                {.queries = queries ? queries : scratch.queries,
                                 .keys = floats(a.input_gradients[1]),
                                 .values = floats(a.input_gradients[2]),
                                 .v = saved.v,
                                 .bias = saved.bias});
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const Saved saved = saved_in(const_cast<void*>(a.saved));
    additive_parameter_gradients(device(a.stream).handle(), sizes_.units,
                                 {.v = saved.v,
                                  .bias = saved.bias,
                                  .unit = saved.unit,
                                  .scale = saved.scale,
                                  .att = floats(a.gradients[0]),
                                  .g = normalize_ ? floats(a.gradients[1]) : nullptr,
                                  .to_bias = normalize_ ? floats(a.gradients[2]) : nullptr,
                                  .accumulate = a.accumulate});
  }

 private:
  struct Saved {
    float* p;             // [samples][queries][keys]
    float *v, *bias;      // gradients, [units]
    float *unit, *scale;  // att / |att| and g / |att|
    std::size_t bytes;
  };
  struct Scratch {
    float *v, *ds, *of_v, *queries;
    std::size_t bytes;
  };

  bool trains() const { return problem_.mode == Mode::Train; }

  Saved saved_in(void* memory) const {
    Parts parts(memory);
    Saved saved{};
    saved.p = parts.take<float>(sizes_.query_rows() * sizes_.keys);
    if (trains()) {
      for (float** vector : {&saved.v, &saved.bias, &saved.unit})
        *vector = parts.take<float>(sizes_.units);
      saved.scale = parts.take<float>(1);
    }
    saved.bytes = parts.bytes();
    return saved;
  }
  Scratch scratch_in(void* memory) const {
    Parts parts(memory);
    Scratch scratch{};
    scratch.v = parts.take<float>(sizes_.units);
    if (trains()) {
      scratch.ds = parts.take<float>(sizes_.query_rows() * sizes_.keys);
      for (float** rows : {&scratch.of_v, &scratch.queries})
        *rows = parts.take<float>(sizes_.query_rows() * sizes_.units);
    }
    scratch.bytes = parts.bytes();
    return scratch;
  }

  AdditiveSizes sizes(std::span<const void* const> inputs) const {
    AdditiveSizes of = sizes_;
    if (of.padding >= 0) of.tokens = static_cast<const std::int32_t*>(inputs.back());
    return of;
  }
  AdditiveParameters parameters(const Weights& weights) const {
    return {.att = floats(weights.parameters[0]),
            .g = normalize_ ? floats(weights.parameters[1]) : nullptr,
            .bias = normalize_ ? floats(weights.parameters[2]) : nullptr};
  }
  AdditiveInputs inputs(std::span<const void* const> values, const Weights& weights,
                        const float* v) const {
    return {.queries = floats(values[0]),
            .keys = floats(values[1]),
            .values = floats(values[2]),
            .v = v,
            .bias = parameters(weights).bias};
  }

  bool normalize_;
  AdditiveSizes sizes_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const AdditiveAttention& spec, Problem problem) {
  return std::make_unique<AdditiveAttentionKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
