// Recipes of random nets, replayed over symbols (replay.hpp) for every kind of cut.
#include "compile/recipe.hpp"

#include "backends.hpp"
#include "base/rng.hpp"
#include "catch.hpp"
#include "compile/compiled_stage.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "replay.hpp"
#include "runtime/random_model.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// Replays the layers [first, last] in every way that a run may compile them.
int replay_range(const Graph& graph, const Lowering& lowering, int first, int last) {
  int problems = 0;
  // `every`: one of this many layers runs again in the backward; 0: none.
  const auto try_one = [&](Mode mode, bool split, int every = 0) {
    Indexed<bool, LayerId> recomputed;
    for (int l = 0; l < std::ssize(graph.layers); ++l)
      recomputed.push_back(every > 0 && l % every == 0);
    const auto found = replay({.graph = graph,
                               .lowering = lowering,
                               .first = {first},
                               .last = {last},
                               .samples = 3,
                               .mode = mode,
                               .split_backward = split,
                               .recomputed = &recomputed});
    INFO("layers " << first << " to " << last << (mode == Mode::Train ? ", train" : ", evaluate")
                   << (split ? ", split" : "") << ", recomputed: 1 of " << every);
    for (const std::string& problem : found) {
      INFO(problem);
      CHECK(false);
      ++problems;
    }
  };
  try_one(Mode::Train, false);
  try_one(Mode::Train, true);
  try_one(Mode::Evaluate, false, 1);
  for (const int every : {1, 2, 3}) try_one(Mode::Train, false, every);
  return problems;
}

int replay_every_range(const std::string& model, const std::string& backend_name) {
  const Graph graph = read_model_text(model, "test");
  const auto backend = make_backend(backend_name);
  const auto lowering = backend->lower(graph, {.samples = 3});
  const int layers = static_cast<int>(graph.layers.size());
  int problems = 0;
  for (int first = 0; first < layers && problems == 0; ++first)
    for (int last = first; last < layers && problems == 0; ++last)
      problems += replay_range(graph, *lowering, first, last);
  return problems;
}

}  // namespace

TEST_CASE("every stage that small nets can be cut into finds all it reads", "[recipe][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  for (const std::string model : {mlp_model, residual_model}) {
    INFO(backend << model);
    CHECK(replay_every_range(model, backend) == 0);
  }
}

TEST_CASE("every stage of random nets finds all it reads", "[recipe]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string model = random_model(seed, {.layers = 4 + static_cast<int>(seed % 9)});
    INFO("seed " << seed << "\n" << model);
    REQUIRE(replay_every_range(model, "reference") == 0);
  }
}

TEST_CASE("stages of random nets on the cpu backend find all they read", "[recipe]") {
  for (std::uint64_t seed = 100; seed <= 105; ++seed) {
    const std::string model = random_model(seed, {.layers = 7});
    INFO("seed " << seed << "\n" << model);
    REQUIRE(replay_every_range(model, "cpu") == 0);
  }
}

TEST_CASE("a layer that runs again keeps no output", "[recipe]") {
  const std::string model = R"(
input = { shape = [4] }
layers = [
  { name = "fc1", kind = "linear", out_features = 64 },
  { name = "gelu", kind = "gelu" },
  { name = "drop", kind = "dropout" },
  { name = "fc2", kind = "linear", out_features = 2 },
]
)";
  const Graph graph = read_model_text(model, "test");
  const auto lowering = make_backend("reference")->lower(graph, {.samples = 2});
  const auto slot_bytes = [&](const Indexed<bool, LayerId>& recomputed) {
    return sizes_of(compile_stage({.graph = graph,
                                   .lowering = *lowering,
                                   .first = {0},
                                   .last = {3},
                                   .size = {2, Mode::Train},
                                   .recomputed = &recomputed}))
        .slot;
  };
  const std::size_t all = slot_bytes({false, false, false, false}), each = 2 * 64 * sizeof(float);
  // No backward reads gelu's output: it is not kept anyway.
  CHECK(slot_bytes({false, true, false, false}) == all);
  // To make drop's output again takes gelu's, which is not kept: it would save nothing.
  CHECK(slot_bytes({false, false, true, false}) == all);
  CHECK(slot_bytes({false, true, true, false}) == all - each);
  CHECK(slot_bytes({true, true, true, true}) == all - 2 * each);
}

TEST_CASE("random nets have what makes recipes hard", "[recipe]") {
  int fan_outs = 0, skips = 0, input_read_late = 0, identities = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Graph graph =
        read_model_text(random_model(seed, {.layers = 4 + static_cast<int>(seed % 9)}), "test");
    for (std::size_t v = 0; v <= graph.layers.size(); ++v) {
      const auto readers = graph.consumers({static_cast<int>(v)});
      fan_outs += readers.size() > 1;
      skips += !readers.empty() && readers.back().value > static_cast<int>(v) + 1;
      input_read_late += v == 0 && readers.back().value > 2;
    }
    for (const Layer& layer : graph.layers)
      identities += std::holds_alternative<Identity>(layer.spec);
  }
  CHECK(fan_outs > 60);
  CHECK(skips > 60);
  CHECK(input_read_late > 10);
  CHECK(identities > 20);
}

TEST_CASE("values before the first parameter have no gradient", "[recipe]") {
  const Graph graph = read_model_text(R"(
input = { shape = [4] }
layers = [
  { name = "relu", kind = "relu" },
  { name = "fc1", kind = "linear", out_features = 4 },
  { name = "sum", kind = "add", inputs = ["fc1", "relu"] },
  { name = "fc2", kind = "linear", out_features = 2 },
]
)",
                                      "test");
  CHECK(trained_values(graph) == std::vector<bool>{false, false, true, true, true});
  const auto lowering = make_backend("reference")->lower(graph, {.samples = 2});
  // relu's output crosses the cut before sum, but no stage needs its gradient.
  CHECK(activation_packet(graph, *lowering, {2}, 2).values == std::vector<ValueId>{{1}, {2}});
  CHECK(gradient_packet(graph, *lowering, {2}, 2).values == std::vector<ValueId>{{2}});
  CHECK(gradient_packet(graph, *lowering, {1}, 2).values.empty());
  CHECK(gradient_packet(graph, *lowering, {1}, 2).bytes == 0);
}

// An lstm's weight gradient is computed from what the input half leaves, even if nothing needs the
// gradient of the input.
TEST_CASE("the input half runs if the weight half needs it", "[recipe][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string model = R"(
input = { shape = [4, 3] }
layers = [
  { name = "lstm", kind = "lstm", hidden_size = 5 },
  { name = "fc", kind = "linear", out_features = 2 },
]
)";
  const Graph graph = read_model_text(model, "test");
  const auto lowering = make_backend(backend)->lower(graph, {.samples = 2});
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const int l : {0, 1})
    kernels.push_back(lowering->make_kernel({l}, {.samples = 2, .mode = Mode::Train}));
  const Recipe recipe = make_recipe({.graph = graph,
                                     .lowering = *lowering,
                                     .first = {0},
                                     .last = {1},
                                     .kernels = kernels,
                                     .samples = 2});
  std::vector<Step::Kind> of_lstm;
  for (const Step& step : recipe.backward)
    if (step.layer == 0) {
      of_lstm.push_back(step.kind);
      for (const Place& gradient : step.input_gradients) CHECK(gradient.area == Area::None);
    }
  CHECK(of_lstm == std::vector{Step::Kind::BackwardInput, Step::Kind::BackwardWeight});
  CHECK(replay_every_range(model, backend) == 0);
}

TEST_CASE("tensors in a packet do not overlap, and each begins on a line of its own", "[recipe]") {
  const Graph graph = read_model_text(residual_model, "test");
  const auto lowering = make_backend("reference")->lower(graph, {.samples = 3});
  const PacketLayout packet = activation_packet(graph, *lowering, {5}, 3);
  // conv1 for `again`, relu1 for `sum`, drop for bn2
  CHECK(packet.values == std::vector<ValueId>{{1}, {3}, {5}});
  REQUIRE(packet.offsets.size() == 3);
  const std::size_t each = 3 * 8 * 8 * 8 * sizeof(float);
  CHECK(packet.offsets == std::vector<std::size_t>{0, each, 2 * each});
  CHECK(packet.bytes == 3 * each);
}

TEST_CASE("an input that kernels read as it comes is not loaded", "[recipe]") {
  const Graph graph = read_model_text(mlp_model, "test");
  const auto backend = make_backend("cpu");
  for (const Precision precision : {Precision::F32, Precision::Bf16}) {
    const auto lowering = backend->lower(graph, {.samples = 3, .precision = precision});
    const Recipe recipe = compile_stage({.graph = graph,
                                         .lowering = *lowering,
                                         .first = {0},
                                         .last = {static_cast<int>(graph.layers.size()) - 1},
                                         .size = {3, Mode::Train}})
                              .recipe;
    const bool in_place = precision == Precision::F32;
    CHECK(recipe.input.area == (in_place ? Area::None : Area::Slot));
    CHECK(recipe.forward.at(0).inputs.at(0).area == (in_place ? Area::Input : Area::Slot));
  }
}
