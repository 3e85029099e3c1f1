// Stages with replicas: the results are those of one process, of every kind of worker, and of other
// replicas that resume.
#include <cmath>
#include <numeric>

#include "backends.hpp"
#include "catch.hpp"
#include "compile/compiled_pipeline.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "runtime/pipeline.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

using List = std::vector<int>;

Config of(const std::string& schedule, const List& replicas, const std::string& kind = "threads",
          const std::string& backend = "reference") {
  Config config = make_config({.stages = static_cast<int>(replicas.size()),
                               .microbatches = 8,
                               .schedule = schedule,
                               .workers = kind,
                               .backend = backend});
  config.pipeline.replicas = replicas;
  config.optimizer.momentum = 0;
  config.optimizer.lr = 0.02;
  return config;
}

Trained run(const Config& config, const std::string& model = residual_model, int steps = 10) {
  return train({.model = model, .config = config, .steps = steps});
}

// The largest difference of any tensor, relative to its largest element.
double difference(const NamedTensors& a, const NamedTensors& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (const auto& [name, tensor] : a) {
    const auto* mine = std::get_if<std::vector<float>>(&tensor.values);
    if (!mine) {
      CHECK(tensor.values == b.at(name).values);
      continue;
    }
    const auto& other = std::get<std::vector<float>>(b.at(name).values);
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < mine->size(); ++i) {
      largest = std::max(largest, std::abs(double{other[i]}));
      apart = std::max(apart, std::abs(double{(*mine)[i]} - double{other[i]}));
    }
    if (largest > 0) most = std::max(most, apart / largest);
  }
  return most;
}

}  // namespace

TEST_CASE("with replicas, ten updates are those of one process", "[replicas][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string model = GENERATE(as<std::string>(), mlp_model, residual_model);
  const Trained one = run(of("1f1b", {1}, "inline", backend), model);
  for (const std::string schedule : {"gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_h2"})
    for (const List& replicas : {List{2, 1}, List{3, 1}, List{2, 2}}) {
      if (schedule == "interleaved_1f1b" && replicas[0] != replicas[1]) continue;
      const List sample = schedule == "interleaved_1f1b" ? List{2, 2} : List{3, 1};
      if (!has_time_for_all(backend) && (model == mlp_model || replicas != sample)) continue;
      CAPTURE(backend, schedule, replicas);
      Config config = of(schedule, replicas, "threads", backend);
      config.pipeline.virtual_stages = 2;
      const Trained threads = run(config, model);
      CHECK(difference(threads.parameters, one.parameters) < 1e-5);  // running statistics too
      for (std::size_t k = 0; k < one.norms.size(); ++k)
        CHECK(threads.norms[k] == Approx(one.norms[k]).epsilon(1e-3));
      CHECK(same_bits(run(config, model).parameters, threads.parameters));
      config.hardware.workers = Workers::Inline;
      const Trained in_turn = run(config, model);
      CHECK(same_bits(in_turn.parameters, threads.parameters));
      CHECK(in_turn.losses == threads.losses);
      CHECK(in_turn.norms == threads.norms);
    }
}

TEST_CASE("clipping by the whole model's norm, with replicas", "[replicas]") {
  Config one = of("1f1b", {1});
  one.optimizer.max_norm = 0.3;
  const Trained expected = run(one);
  for (const List& replicas : {List{3, 1}, List{2, 2}}) {
    Config config = of("1f1b", replicas);
    config.optimizer.max_norm = 0.3;
    CHECK(difference(run(config).parameters, expected.parameters) < 1e-5);
  }
}

TEST_CASE("mini-batches in turn: threads and inline agree to the bit", "[replicas][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string schedule = GENERATE("pipedream", "pipedream_2bw");
  for (const List& replicas : {List{2, 1}, List{3, 1}, List{1, 2}, List{2, 2}})
    for (const int steps : {1, 7, 40}) {  // 40: folded
      if (schedule == "pipedream_2bw" && replicas[0] != replicas[1]) continue;
      if (!has_time_for_all(backend) && steps != 7) continue;
      CAPTURE(backend, schedule, replicas, steps);
      Config config = of(schedule, replicas, "threads", backend);
      config.optimizer.max_norm = steps == 7 ? 0.5 : 0;
      config.pipeline.recompute.rule = steps == 7 ? Recompute::Stage : Recompute::None;
      const Trained threads = run(config, residual_model, steps);
      REQUIRE(std::ssize(threads.losses) == steps);
      CHECK(same_bits(run(config, residual_model, steps).parameters, threads.parameters));
      config.hardware.workers = Workers::Inline;
      const Trained in_turn = run(config, residual_model, steps);
      CHECK(same_bits(in_turn.parameters, threads.parameters));
      CHECK(in_turn.losses == threads.losses);
      CHECK(in_turn.norms == threads.norms);
    }
}

TEST_CASE("66 replicas in turn update after as many mini-batches of the next stage", "[replicas]") {
  Config config = of("pipedream", {66, 1}, "inline");
  config.pipeline.microbatches = 1;
  config.data.batch_size = 2;
  std::vector<std::int64_t> steps;
  TrainingSetup setup{.model = mlp_model, .config = config, .steps = 140};
  setup.on_step = [&](const StepRecord& record) { steps.push_back(record.step); };
  CHECK(train(setup).losses.size() == 140);
  std::vector<std::int64_t> all(140);
  std::iota(all.begin(), all.end(), 0);
  CHECK(steps == all);
}

TEST_CASE("two buffered versions are the same with equal replicas", "[replicas]") {
  CHECK(difference(run(of("pipedream_2bw", {2, 2})).parameters,
                   run(of("pipedream_2bw", {1, 1})).parameters) < 1e-5);
}

TEST_CASE("a parameter that two stages share, with replicas", "[replicas]") {
  const Trained one = run(of("1f1b", {1, 1, 1}), tied_model);
  for (const std::string kind : {"threads", "inline"})
    CHECK(difference(run(of("1f1b", {2, 2, 2}, kind), tied_model).parameters, one.parameters) <
          1e-5);
  const Trained threads = run(of("pipedream", {2, 2, 2}), tied_model);
  CHECK(same_bits(threads.parameters,
                  run(of("pipedream", {2, 2, 2}, "inline"), tied_model).parameters));
}

TEST_CASE("predicted and measured memory are equal with replicas", "[replicas][memory]") {
  for (const std::string schedule : {"1f1b", "pipedream"})
    for (const List& replicas : {List{3, 1}, List{1, 2}}) {
      const Trained t = train({.model = residual_model,
                               .config = of(schedule, replicas, "inline"),
                               .steps = 30,
                               .evaluate = true});
      for (std::size_t s = 0; s < t.predicted.size(); ++s) CHECK(t.predicted[s] == t.measured[s]);
    }
}

TEST_CASE("what replicas have trained, other replicas train on", "[replicas]") {
  const std::string schedule = GENERATE("1f1b", "pipedream");
  const Graph graph = read_model_text(residual_model, "test");
  const auto data = draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph);
  const auto backend = make_backend("reference");
  NamedTensors state;
  // Three segments, of lengths that end within rounds, each under other replicas.
  const auto train_on = [&](const List& replicas, const std::string& kind, std::int64_t first,
                            std::int64_t count) {
    Config config = of(schedule, replicas, kind);
    config.optimizer.momentum = 0.9;
    const Plan plan = make_plan(graph, config, {});
    PipelineInput input{graph, plan, config, *backend, 24};
    input.sizes.train = data->order(training_order(config))->sizes();
    Pipeline pipeline(input);
    if (first == 0)
      pipeline.set_parameters(first_parameters(config, graph));
    else
      pipeline.set_state(state);
    Loader loader(*data,
                  {.order = training_order(config),
                   .first_step = first,
                   .depth = pipeline.loader_depth(Mode::Train),
                   .reader_threads = pipeline.reader_threads(Mode::Train)},
                  pipeline.loader_readers(Mode::Train));
    int steps = 0;
    pipeline.train(loader, first, count,
                   [&](const StepRecord& record) { CHECK(record.step == first + steps++); });
    CHECK(steps == count);
    state.clear();
    for (const StageTensors& stage : pipeline.state())
      state.insert(stage.tensors.begin(), stage.tensors.end());
  };
  NamedTensors of_threads;
  for (const std::string kind : {"threads", "inline"}) {
    train_on({3, 1}, kind, 0, 7);
    train_on({1, 2}, kind, 7, 5);
    train_on({3, 1}, kind, 12, 11);
    if (kind == "threads")
      of_threads = state;
    else
      CHECK(same_bits(state, of_threads));
  }
  if (schedule == "pipedream") return;
  state.clear();
  train_on({1}, "inline", 0, 23);
  CHECK(difference(of_threads, state) < 1e-4);
}
