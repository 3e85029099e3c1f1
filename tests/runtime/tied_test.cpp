// A parameter that several layers use: under flushing schedules no bit depends on how its uses are
// spread over stages, under the others all uses stay the same tensor.
#include <cmath>
#include <limits>
#include <set>

#include "altered_data.hpp"
#include "backends.hpp"
#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

void check_uses(const Trained& t) {
  const auto owner = floats(t.parameters, "a.weight");
  CHECK(floats(t.parameters, "b.weight") == owner);
  CHECK(floats(t.parameters, "c.weight") == owner);
}

void check_same(const Trained& a, const Trained& b) {
  CHECK(a.losses == b.losses);
  CHECK(a.norms == b.norms);
  CHECK(same_bits(a.parameters, b.parameters));
}

// A pipeline that trains mini-batches piece by piece.
struct TiedPipeline {
  explicit TiedPipeline(const Config& c)
      : config(c),
        graph(read_model_text(tied_model, "test")),
        plan(make_plan(graph, config, {})),
        backend(make_backend(config.hardware.backend)),
        data(draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph)),
        pipeline({graph,
                  plan,
                  config,
                  *backend,
                  40,
                  {.train = data->order({.batch_size = config.data.batch_size})->sizes(),
                   .validation = {}}}) {
    pipeline.set_parameters(first_parameters(config, graph));
  }
  void train(std::int64_t first, std::int64_t count) {
    Loader loader(*data,
                  {.order = {.batch_size = config.data.batch_size},
                   .first_step = first,
                   .depth = pipeline.loader_depth(Mode::Train),
                   .reader_threads = pipeline.reader_threads(Mode::Train)},
                  pipeline.loader_readers(Mode::Train));
    pipeline.train(loader, first, count, [](const StepRecord&) {});
  }
  NamedTensors state() const {
    NamedTensors all;
    for (const StageTensors& stage : pipeline.state())
      all.insert(stage.tensors.begin(), stage.tensors.end());
    return all;
  }

  const Config config;
  const Graph graph;
  const Plan plan;
  const std::unique_ptr<Backend> backend;
  const std::unique_ptr<const Dataset> data;
  Pipeline pipeline;
};

Config with_norms(Config config, const std::string& norms) {
  if (norms == "clipped") config.optimizer.max_norm = 0.05;
  if (norms == "skipped") config.training.on_nonfinite = OnNonfinite::Skip;
  return config;
}

}  // namespace

TEST_CASE("no cut between the uses of a parameter changes a bit", "[tied][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string schedule = GENERATE("gpipe", "1f1b", "zb_h1", "zb_h2", "zb_v");
  const std::string norms = GENERATE("free", "clipped");
  const auto run = [&](const ConfigChoice& choice) {
    return train({.model = tied_model, .config = with_norms(make_config(choice), norms)});
  };
  const Trained one = run({.schedule = schedule, .backend = backend});
  check_uses(one);
  for (const int stages : {1, 2, 3, 4, 6})
    for (const std::string workers : {"threads", "inline"}) {
      if (schedule == "zb_v" && stages > 3) continue;  // two parts of the model on each
      const Trained many =
          run({.stages = stages, .schedule = schedule, .workers = workers, .backend = backend});
      INFO(backend << " " << schedule << " " << norms << " " << stages << " " << workers);
      check_same(many, one);
      for (std::size_t s = 0; s < many.predicted.size(); ++s)
        CHECK(many.predicted[s] == many.measured[s]);
    }
}

TEST_CASE("the uses of a parameter on several stages of one worker", "[tied]") {
  Config config = make_config({.stages = 2, .schedule = "interleaved_1f1b"});
  config.pipeline.virtual_stages = 3;
  const Trained one = train({.model = tied_model, .config = make_config({})});
  for (const std::string kind : {"threads", "inline"}) {
    config.hardware.workers = word_named<Workers>(kind).value();
    check_same(train({.model = tied_model, .config = config}), one);
  }
}

TEST_CASE("the gradient is the sum over the uses, counted once in the norm", "[tied]") {
  // Plain sgd: what an update adds is -lr times the gradient, so the norms follow from the weights.
  Config config = make_config({.stages = 3});
  config.optimizer.momentum = 0;
  const Graph graph = read_model_text(tied_model, "test");
  const NamedTensors before = first_parameters(config, graph);
  const Trained t = train({.model = tied_model, .config = config, .steps = 1});
  double sum = 0;
  for (const auto& [name, tensor] : before) {
    if (name == "b.weight" || name == "c.weight") continue;
    const auto &x = floats(before, name), &y = floats(t.parameters, name);
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += std::pow((double(x[i]) - y[i]) / config.optimizer.lr, 2);
  }
  CHECK(t.norms[0] == Approx(sum).epsilon(1e-4));
}

TEST_CASE("if nothing drains all uses stay the same tensor", "[tied][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string schedule = GENERATE(from_range(never_drained));
  const std::string norms = GENERATE("free", "clipped", "skipped");
  Config config = with_norms(
      make_config({.stages = 3, .microbatches = 4, .schedule = schedule, .backend = backend}),
      norms);
  config.pipeline.pipemare.anneal_steps = 6;
  const Trained threads = train({.model = tied_model, .config = config, .steps = 30});
  config.hardware.workers = Workers::Inline;
  const Trained in_turn = train({.model = tied_model, .config = config, .steps = 30});
  INFO(backend << " " << schedule << " " << norms);
  check_uses(threads);
  check_same(threads, in_turn);
  CHECK(threads.losses.back() < threads.losses.front());
  for (std::size_t s = 0; s < threads.predicted.size(); ++s)
    CHECK(threads.predicted[s] == threads.measured[s]);
}

TEST_CASE("one stage, one micro-batch", "[tied]") {
  const std::string schedule = GENERATE("pipedream", "pipemare", "timeprest");
  const Trained flushed =
      train({.model = tied_model, .config = make_config({.microbatches = 1, .schedule = "1f1b"})});
  const Trained t = train(
      {.model = tied_model, .config = make_config({.microbatches = 1, .schedule = schedule})});
  check_uses(t);
  check_same(t, flushed);
}

TEST_CASE("copies of stages and uses of a parameter are summed, each in its order", "[tied]") {
  const double max_norm = GENERATE(0.0, 0.5);
  const auto run = [&](const std::string& schedule, int stages, const std::string& workers) {
    Config config = make_config(
        {.stages = stages, .microbatches = 8, .schedule = schedule, .workers = workers});
    config.optimizer.max_norm = max_norm;
    return train({.model = tied_model, .config = config});
  };
  const Trained two = run("data_parallel", 2, "threads");
  check_uses(two);
  check_same(run("data_parallel", 2, "inline"), two);
  for (const int stages : {2, 4})
    for (const std::string kind : {"threads", "inline"})
      check_same(run("chimera", stages, kind), two);
}

TEST_CASE("a gradient that is not a number skips the tied parameter everywhere", "[tied]") {
  const std::string schedule = GENERATE("1f1b", "pipedream", "pipemare", "i_timeprest");
  const std::string kind = GENERATE("threads", "inline");
  Config config =
      make_config({.stages = 3, .microbatches = 4, .schedule = schedule, .workers = kind});
  config.training.on_nonfinite = OnNonfinite::Skip;
  const Graph graph = read_model_text(tied_model, "test");
  const auto data = altered_data(draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph),
                                 [](std::int64_t index, float* input) {
                                   if (index == 9)
                                     input[4] = std::numeric_limits<float>::infinity();
                                 });
  int skipped = 0;
  const Trained t = train({.model = tied_model,
                           .config = config,
                           .steps = 12,
                           .data = data.get(),
                           .on_step = [&](const StepRecord& record) {
                             for (const StageStep& stage : record.stages) skipped += stage.skipped;
                           }});
  CHECK(skipped == 3 * 3);  // three stages, three epochs
  check_uses(t);
  const auto shared = floats(t.parameters, "a.weight");
  for (const float value : shared) REQUIRE(std::isfinite(value));
}

TEST_CASE("a state has a tied parameter once, and resumes to the same bits", "[tied]") {
  const std::string schedule = GENERATE("1f1b", "pipedream", "pipemare", "i_timeprest");
  const std::string optimizer = GENERATE("sgd", "adam");
  Config config = make_config({.stages = 3, .schedule = schedule});
  config.optimizer.kind = word_named<OptimizerKind>(optimizer).value();
  config.optimizer.lr = 0.01;
  TiedPipeline whole(config), begin(config), rest(config);
  whole.train(0, 20);
  begin.train(0, 20);
  const NamedTensors state = begin.state();
  const std::string moment = optimizer == "sgd" ? "momentum_buffer" : "exp_avg_sq";
  CHECK(state.contains("a.weight"));
  CHECK(state.contains("a.weight/" + moment));
  CHECK_FALSE(state.contains("b.weight"));
  CHECK_FALSE(state.contains("c.weight/" + moment));
  CHECK(state.contains("b.bias"));
  CHECK(state.contains("c.weight/delta") == keeps_delta(config.pipeline));
  std::set<std::string> names, expected;
  for (const auto& [name, tensor] : state) names.insert(name);
  for (const auto& [name, tensor] : expected_state(whole.graph, config)) expected.insert(name);
  CHECK(names == expected);

  rest.pipeline.set_state(state);
  whole.train(20, 20);
  rest.train(20, 20);
  CHECK(same_bits(rest.state(), whole.state()));
  CHECK(same_bits(rest.pipeline.parameters(), whole.pipeline.parameters()));
  if (schedule != "1f1b") return;
  TiedPipeline elsewhere([&] {
    Config other = config;
    other.pipeline.stages = 4;
    return other;
  }());
  elsewhere.pipeline.set_state(state);
  elsewhere.train(20, 20);
  CHECK(same_bits(elsewhere.state(), whole.state()));
}

TEST_CASE("a tied head above an embedding", "[tied]") {
  const char* const model = R"(
input = { tokens = 8, vocabulary = 19 }
layers = [
  { name = "wte", kind = "embedding", embedding_dim = 6, init_std = 0.3 },
  { name = "fc", kind = "linear", out_features = 6 },
  { name = "gelu", kind = "gelu" },
  { name = "head", kind = "linear", out_features = 19, bias = false, tied = "wte" },
]
)";
  const auto run = [&](int stages, const std::string& schedule, const std::string& workers) {
    return train(
        {.model = model,
         .config = make_config({.stages = stages, .schedule = schedule, .workers = workers}),
         .steps = 12});
  };
  const Trained one = run(1, "1f1b", "threads");
  CHECK(floats(one.parameters, "wte.weight") == floats(one.parameters, "head.weight"));
  for (const int stages : {2, 3, 4})
    for (const std::string workers : {"threads", "inline"}) {
      check_same(run(stages, "1f1b", workers), one);
      const Trained free = run(stages, "pipedream", workers);
      CHECK(floats(free.parameters, "wte.weight") == floats(free.parameters, "head.weight"));
    }
}
