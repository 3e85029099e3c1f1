#include "chain.hpp"

#include "base/rng.hpp"
#include "checkpoint/parameters.hpp"
#include "graph/graph.hpp"
#include "stage/results.hpp"

namespace pipetrain::testing {
namespace {

// Memory of one boundary for one micro-batch, zeroed: what is missing in a packet does not come
// from the micro-batch before.
struct Crossing {
  std::byte *activations = nullptr, *gradients = nullptr;
};

class Chain {
 public:
  explicit Chain(const ChainInput& in)
      : in_(in),
        backend_(make_backend(in.backend)),
        model_(in.graph, backend_->lower(in.graph, {.samples = in.samples})),
        stream_(backend_->make_stream({})),
        memory_(*stream_),
        results_(*stream_, 1) {
    optimizer_.momentum = 0.5;
    const int layers = static_cast<int>(in.graph.layers.size());
    for (std::size_t s = 0; s < in.firsts.size(); ++s) {
      const int next = s + 1 < in.firsts.size() ? in.firsts[s + 1] : layers;
      stages_.push_back(std::make_unique<Stage>(StageInput{
          .model = model_,
          .backend = *backend_,
          .optimizer = optimizer_,
          .id = {static_cast<int>(s)},
          .first = {in.firsts[s]},
          .last = {next - 1},
          .slots = in.microbatches,
          .split_backward = in.backward == Backward::Halves || in.backward == Backward::Deferred}));
      stages_.back()->prepare({in.samples, Mode::Train});
      crossings_.emplace_back(static_cast<std::size_t>(in.microbatches));
      if (next < layers)
        for (Crossing& c : crossings_.back()) c = make_crossing({next});
    }
    load();
  }

  ChainResult run() {
    for (int step = 0; step < in_.steps; ++step) {
      draw();
      double loss = 0;
      for (int m = 0; m < in_.microbatches; ++m) loss += forward(step, m);
      result_.losses.push_back(loss);
      for (int m = 0; m < in_.microbatches; ++m) backward(step, m);
      if (in_.backward == Backward::Deferred)
        for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage)
          for (int m = 0; m < in_.microbatches; ++m)
            (*stage)->backward(call(**stage, step, m), BackwardPart::WeightHalf);
      update(step);
    }
    read_parameters();
    return result_;
  }

 private:
  Crossing make_crossing(LayerId next) {
    const auto take = [&](const PacketLayout& packet) {
      return memory_.take(Use::Packets, std::max<std::size_t>(packet.bytes, 64));
    };
    return {take(activation_packet(in_.graph, model_.lowering(), next, in_.samples)),
            take(gradient_packet(in_.graph, model_.lowering(), next, in_.samples))};
  }

  template <class Visit>
  void each_parameter(const Visit& visit) {
    for (const auto& stage : stages_)
      for (int l = 0; l < stage->layers(); ++l)
        for (std::size_t p = 0; p < stage->layer(l).parameters.size(); ++p)
          visit(*stage, l, static_cast<int>(p), stage->layer(l).parameters[p]);
  }
  void load() {
    const NamedTensors initial = initial_parameters(in_.graph, 5);
    each_parameter([&](Stage& stage, int l, int p, const Parameter& parameter) {
      stage.set_parameter(l, p, floats(initial, parameter.name).data());
    });
    for (const auto& stage : stages_) stage->finish_loading();
  }
  void read_parameters() {
    each_parameter([&](Stage& stage, int l, int p, const Parameter& parameter) {
      std::vector<float> plain(static_cast<std::size_t>(parameter.shape.elements()));
      stage.get_parameter(l, p, plain.data());
      result_.parameters.insert(result_.parameters.end(), plain.begin(), plain.end());
    });
  }
  void draw() {
    inputs_.resize(static_cast<std::size_t>(in_.microbatches));
    classes_.resize(inputs_.size());
    for (std::size_t m = 0; m < inputs_.size(); ++m) {
      inputs_[m].resize(static_cast<std::size_t>(in_.samples * in_.graph.input.elements()));
      for (float& x : inputs_[m]) x = static_cast<float>(random_.normal());
      classes_[m].resize(static_cast<std::size_t>(in_.samples));
      for (std::int32_t& c : classes_[m]) c = static_cast<std::int32_t>(random_.below(4));
    }
  }

  PassCall call(const Stage& stage, int step, int m) const {
    const auto s = static_cast<std::size_t>(stage.id().value), i = static_cast<std::size_t>(m);
    const Crossing before = s > 0 ? crossings_[s - 1][i] : Crossing{}, behind = crossings_[s][i];
    return {.size = {in_.samples, Mode::Train},
            .slot = m,
            .input = inputs_[i].data(),
            .packet_in = before.activations,
            .packet_out = behind.activations,
            .gradient_in = behind.gradients,
            .gradient_out = before.gradients,
            .weights = {stage.weights().live(), AsStored{}},
            .random = {7, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(m)}};
  }
  Targets targets(int m) const {
    return {.classes = classes_[static_cast<std::size_t>(m)].data(), .values = nullptr};
  }
  double forward(int step, int m) {
    Stage& first = *stages_.front();
    first.load_input(call(first, step, m));
    for (const auto& stage : stages_) {
      stage->forward(call(*stage, step, m));
      stage->stream().finish();  // no channel makes the next stage's stream wait
    }
    Stage& last = *stages_.back();
    *results_.data() = {};
    last.loss(call(last, step, m), targets(m), results_.data());
    last.stream().finish();
    return results_.data()->sum;
  }
  void backward(int step, int m) {
    Stage& last = *stages_.back();
    last.loss_gradient(call(last, step, m), targets(m), 1.0 / (in_.samples * in_.microbatches));
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
      const PassCall pass = call(**stage, step, m);
      if (in_.backward == Backward::Fused) {
        (*stage)->backward(pass, BackwardPart::Whole);
      } else if (in_.backward == Backward::Sent) {
        PassCall behind = pass;
        (*stage)->backward(pass, BackwardPart::Head);
        behind.gradient_out = nullptr;
        (*stage)->backward(behind, BackwardPart::Tail);
      } else {
        (*stage)->backward(pass, BackwardPart::InputHalf);
        if (in_.backward == Backward::Halves) (*stage)->backward(pass, BackwardPart::WeightHalf);
      }
      (*stage)->stream().finish();
    }
  }
  void update(int step) {
    for (const auto& stage : stages_) {
      const Results<double> sums(stage->stream(), static_cast<std::size_t>(stage->parameters()));
      stage->sums_of_squares({sums.data(), static_cast<std::size_t>(stage->parameters())});
      stage->stream().finish();
      result_.sums_of_squares.insert(result_.sums_of_squares.end(), sums.data(),
                                     sums.data() + stage->parameters());
      stage->update({.own = {.lr = 0.1}, .step = step + 1});
    }
  }

  const ChainInput& in_;
  OptimizerConfig optimizer_;
  std::unique_ptr<Backend> backend_;
  LoweredModel model_;
  std::unique_ptr<Stream> stream_;  // of the packets
  StageMemory memory_;
  Results<LossResult> results_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::vector<Crossing>> crossings_;  // per boundary, per micro-batch
  std::vector<std::vector<float>> inputs_;
  std::vector<std::vector<std::int32_t>> classes_;
  Random random_{11, "chain"};
  ChainResult result_;
};

}  // namespace

ChainResult run_chain(const ChainInput& input) { return Chain(input).run(); }

}  // namespace pipetrain::testing
