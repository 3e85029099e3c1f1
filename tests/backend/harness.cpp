// One run of a task on a backend; the memory, the pointers and the order of calls are a worker's.
#include "harness.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "backend/cpu/element.hpp"
#include "device_memory.hpp"
#include "graph/graph.hpp"

namespace pipetrain::testing {
namespace {

class Run {
 public:
  Run(Backend& backend, const Task& task)
      : memory_(backend),
        task_(task),
        graph_(task.graph),
        lowering_(backend.lower(
            task.graph, {.samples = task.lowered_samples ? task.lowered_samples : task.samples,
                         .precision = task.precision})) {
    for (std::size_t i = 0; i < graph_.layers.size(); ++i) prepare(i);
  }

  Outcome all() {
    Outcome outcome;
    std::vector<Flight> flights;
    for (const Microbatch& microbatch : task_.microbatches) flights.push_back(forward(microbatch));
    for (std::size_t m = 0; m < flights.size(); ++m)
      outcome.microbatches.push_back(finish(flights[m], task_.microbatches[m], m > 0));
    store_state(outcome);
    return outcome;
  }

 private:
  struct LayerState {
    std::unique_ptr<Kernel> kernel;
    std::vector<const void*> parameters;
    std::vector<void*> gradients;
    const void *packed_forward = nullptr, *packed_backward = nullptr;
    std::vector<void*> buffers;
    void* scratch = nullptr;
  };
  struct Flight {  // one micro-batch between its forward and its backward
    std::vector<void*> values;
    std::vector<void*> saved;  // by layer
  };

  void* allocate(std::size_t bytes) {
    void* const memory = memory_.take(bytes);
    sizes_[memory] = bytes;
    return memory;
  }
  void* spoil(void* memory) {  // every f32 in it becomes a NaN
    const std::vector<unsigned char> ones(sizes_.at(memory), 0xFF);
    if (memory) stream().write(memory, ones.data(), ones.size());
    return memory;
  }
  void* spoilt(std::size_t bytes) { return spoil(allocate(bytes)); }

  void prepare(std::size_t index) {
    const Layer& layer = graph_.layers[index];
    const LayerId id{static_cast<int>(index)};
    LayerState state;
    state.kernel = lowering_->make_kernel(id, {.samples = task_.samples, .mode = task_.mode});
    for (int p = 0; p < std::ssize(layer.parameters); ++p) {
      void* stored = allocate(lowering_->parameter_bytes(id, p));
      const auto& name = layer.parameters[static_cast<std::size_t>(p)].name;
      lowering_->load_parameter(stream(), id, p, task_.weighting.parameters.at(name).data(),
                                stored);
      state.parameters.push_back(stored);
      state.gradients.push_back(spoilt(lowering_->parameter_bytes(id, p)));
    }
    state.packed_forward = pack(id, Pass::Forward, state.parameters);
    state.packed_backward = pack(id, Pass::Backward, state.parameters);
    for (const Buffer& buffer : layer.buffers)
      state.buffers.push_back(memory_.put(task_.weighting.buffers.at(buffer.name)));
    state.scratch = allocate(state.kernel->traits().scratch_bytes);
    layers_.push_back(std::move(state));
  }

  const void* pack(LayerId id, Pass pass, std::span<const void* const> parameters) {
    const std::size_t bytes = lowering_->packed_bytes(id, pass);
    if (bytes == 0) return nullptr;
    void* packed = spoilt(bytes);
    lowering_->pack(stream(), id, pass, parameters, packed);
    return packed;
  }

  // What a bf16 backend stores: everything but the output of a linear layer that the loss reads.
  void round(ValueId value, void* memory) const {
    const bool is_last = value == output_of(layers_.size() - 1);
    if (!task_.rounds_values || is_tokens(value) ||
        (is_last && std::holds_alternative<Linear>(graph_.layers.back().spec)))
      return;
    auto* const floats = static_cast<float*>(memory);
    const std::size_t count = sizes_.at(memory) / sizeof(float);
    for (std::size_t i = 0; i < count; ++i)
      floats[i] = cpu::to_float(cpu::from_float<cpu::Bf16>(floats[i]));
  }

  Flight forward(const Microbatch& microbatch) {
    Flight flight;
    flight.values.push_back(spoilt(lowering_->value_bytes(ValueId{0}, task_.samples)));
    const void* const input = is_tokens(ValueId{0})
                                  ? static_cast<const void*>(microbatch.tokens.data())
                                  : static_cast<const void*>(microbatch.input.data());
    lowering_->load_input(stream(), input, task_.samples, flight.values[0]);
    round(ValueId{0}, flight.values[0]);
    for (std::size_t i = 0; i < layers_.size(); ++i) forward_layer(i, flight, microbatch.random);
    return flight;
  }

  void forward_layer(std::size_t i, Flight& flight, const RandomKey& random) {
    LayerState& state = layers_[i];
    const KernelTraits& traits = state.kernel->traits();
    const auto inputs = inputs_of(i, flight);
    flight.values.push_back(traits.aliases_input
                                ? const_cast<void*>(inputs[0])
                                : spoilt(lowering_->value_bytes(output_of(i), task_.samples)));
    flight.saved.push_back(spoilt(traits.saved_bytes));
    state.kernel->forward({.stream = &stream(),
                           .inputs = inputs,
                           .output = flight.values.back(),
                           .weights = {state.parameters, state.packed_forward},
                           .buffers = state.buffers,
                           .saved = flight.saved.back(),
                           .scratch = spoil(state.scratch),
                           .random = random});
    round(output_of(i), flight.values.back());
  }

  MicrobatchOutcome finish(const Flight& flight, const Microbatch& microbatch, bool accumulate) {
    MicrobatchOutcome outcome;
    const ValueId last = output_of(layers_.size() - 1);
    const auto loss = lowering_->make_loss(task_.samples);
    void* scratch = spoilt(loss->scratch_bytes());
    const LossArguments arguments{.stream = &stream(),
                                  .output = flight.values.back(),
                                  .targets = {microbatch.classes.data(), microbatch.values.data()},
                                  .scratch = scratch};
    outcome.output = plain(last, arguments.output);
    auto* const result = memory_.results<LossResult>(1);
    loss->forward(arguments, result);
    stream().finish();
    outcome.loss = *result;
    if (task_.mode == Mode::Evaluate) return outcome;

    std::vector<void*> gradients;
    for (std::size_t v = 0; v < flight.values.size(); ++v)
      gradients.push_back(allocate(lowering_->value_bytes(ValueId{int(v)}, task_.samples)));
    spoil(scratch);
    loss->backward(arguments, task_.loss_scale, spoil(gradients.back()));
    round(last, gradients.back());
    for (std::size_t i = layers_.size(); i-- > 0;)
      backward_layer(i, flight, gradients, microbatch.random, accumulate);
    outcome.output_gradient = plain(last, gradients.back());
    if (!is_tokens(ValueId{0})) outcome.input_gradient = plain(ValueId{0}, gradients[0]);
    return outcome;
  }

  void backward_layer(std::size_t i, const Flight& flight, const std::vector<void*>& gradients,
                      const RandomKey& random, bool accumulate) {
    LayerState& state = layers_[i];
    const Layer& layer = graph_.layers[i];
    const KernelTraits& traits = state.kernel->traits();
    const auto inputs = inputs_of(i, flight);
    const std::vector<const void*> nothing(inputs.size(), nullptr);
    std::vector<void*> shares;
    for (const ValueId input : layer.inputs)
      shares.push_back(is_tokens(input) ? nullptr
                       : traits.aliases_gradient
                           ? gradients[i + 1]
                           : spoilt(lowering_->value_bytes(input, task_.samples)));
    state.kernel->backward_input(
        {.stream = &stream(),
         .inputs = traits.backward_input_reads_inputs ? inputs : nothing,
         .output = traits.backward_input_reads_output ? flight.values[i + 1] : nullptr,
         .output_gradient = gradients[i + 1],
         .input_gradients = shares,
         .weights = {state.parameters, state.packed_backward},
         .saved = flight.saved[i],
         .scratch = spoil(state.scratch),
         .random = random});
    if (!layer.parameters.empty())
      state.kernel->backward_weight(
          {.stream = &stream(),
           .inputs = traits.backward_weight_reads_inputs ? inputs : nothing,
           .output_gradient = gradients[i + 1],
           .gradients = state.gradients,
           .accumulate = accumulate,
           .saved = flight.saved[i],
           .scratch = spoil(state.scratch)});
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (!shares[k]) continue;
      const ValueId input = layer.inputs[k];
      void* const sum = gradients[static_cast<std::size_t>(input.value)];
      if (!traits.aliases_gradient) round(input, shares[k]);
      lowering_->add_value(stream(), input, task_.samples, sum, shares[k]);
      round(input, sum);
    }
  }

  void store_state(Outcome& outcome) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = graph_.layers[i];
      for (std::size_t b = 0; b < layer.buffers.size(); ++b)
        outcome.buffers[layer.buffers[b].name] = memory_.get(
            layers_[i].buffers[b], static_cast<std::size_t>(layer.buffers[b].shape.elements()));
      for (std::size_t p = 0; task_.mode == Mode::Train && p < layer.parameters.size(); ++p)
        store_gradient(LayerId{int(i)}, int(p), outcome);
    }
  }

  void store_gradient(LayerId id, int p, Outcome& outcome) {
    const auto layer = static_cast<std::size_t>(id.value), index = static_cast<std::size_t>(p);
    const Parameter& parameter = graph_.layers[layer].parameters[index];
    const void* stored = layers_[layer].gradients[index];
    Floats values(static_cast<std::size_t>(parameter.shape.elements()));
    lowering_->store_parameter(stream(), id, p, stored, values.data());
    outcome.gradients[parameter.name] = std::move(values);
    auto* const squares = memory_.results<double>(1);
    stream().sum_of_squares(
        static_cast<const float*>(stored),
        static_cast<std::int64_t>(lowering_->parameter_bytes(id, p) / sizeof(float)), squares);
    stream().finish();
    outcome.squares[parameter.name] = *squares;
  }

  bool is_tokens(ValueId value) const { return graph_.shape(value).vocabulary > 0; }
  std::vector<const void*> inputs_of(std::size_t i, const Flight& flight) const {
    std::vector<const void*> inputs;
    for (const ValueId value : graph_.layers[i].inputs)
      inputs.push_back(flight.values[static_cast<std::size_t>(value.value)]);
    return inputs;
  }
  static ValueId output_of(std::size_t layer) {
    return Graph::output_of({static_cast<int>(layer)});
  }

  Stream& stream() const { return memory_.stream(); }
  Floats plain(ValueId value, const void* stored) const {
    Floats values(static_cast<std::size_t>(task_.samples * graph_.shape(value).elements()));
    lowering_->store_value(stream(), value, stored, task_.samples, values.data());
    return values;
  }

  DeviceMemory memory_;
  const Task& task_;
  const Graph& graph_;
  std::map<void*, std::size_t> sizes_;
  std::unique_ptr<const Lowering> lowering_;
  std::vector<LayerState> layers_;
};

}  // namespace

Outcome run(Backend& backend, const Task& task) {
  omp_set_num_threads(std::min(omp_get_max_threads(), omp_get_thread_limit()));  // as a worker does
  return Run(backend, task).all();
}

double difference(const Floats& a, const Floats& b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return infinity;
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double distance = std::fabs(double{a[i]} - b[i]);
    if (std::isnan(distance)) return infinity;
    apart = std::max(apart, distance);
    largest = std::max(largest, std::fabs(double{b[i]}));
  }
  return largest > 0 ? apart / largest : apart;
}

}  // namespace pipetrain::testing
