// How mini-batches are cut into micro-batches, and for which sizes a run compiles.
#include "compile/compiled_stage.hpp"

#include "catch.hpp"
#include "data/sample_order.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/session.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;

namespace {

std::vector<std::pair<int, Mode>> sizes(const Config& config, std::int64_t train,
                                        std::int64_t validation) {
  std::vector<std::pair<int, Mode>> found;
  const auto of = [](std::int64_t samples, const OrderOptions& order) {
    return samples > 0 ? SampleOrder(samples, order).sizes() : std::vector<MinibatchSize>{};
  };
  const MinibatchSizes minibatches{of(train, training_order(config)),
                                   of(validation, evaluation_order(config))};
  for (const MicrobatchSize& size : microbatch_sizes(minibatches, minibatch_parts(config)))
    found.emplace_back(size.samples, size.mode);
  return found;
}

Config config_of(std::int64_t batch, int microbatches, bool drop_last = true) {
  Config config;
  config.data.batch_size = batch;
  config.data.drop_last = drop_last;
  config.pipeline.microbatches = microbatches;
  config.validation.batch_size = 10;
  return config;
}

using Sizes = std::vector<std::pair<int, Mode>>;

}  // namespace

TEST_CASE("parts of a mini-batch cover it, sizes differ by one, larger first", "[compiled stage]") {
  for (int samples = 0; samples <= 20; ++samples)
    for (int parts = 1; parts <= 7; ++parts) {
      INFO(samples << " samples in " << parts);
      int next = 0, before = samples;
      for (int i = 0; i < parts; ++i) {
        const SamplePart part = sample_part(samples, parts, i);
        CHECK(part.first == next);
        CHECK(part.count <= before);
        CHECK(part.count >= samples / parts);
        CHECK(part.count <= (samples + parts - 1) / parts);
        next += part.count;
        before = part.count;
      }
      CHECK(next == samples);
    }
}

TEST_CASE("seven samples in three parts", "[compiled stage]") {
  CHECK(sample_part(7, 3, 0).count == 3);
  CHECK(sample_part(7, 3, 1).first == 3);
  CHECK(sample_part(7, 3, 1).count == 2);
  CHECK(sample_part(7, 3, 2).first == 5);
  CHECK(sample_part(2, 3, 2).count == 0);
}

TEST_CASE("one size if the micro-batches are equal", "[compiled stage]") {
  CHECK(sizes(config_of(16, 4), 100, 0) == Sizes{{4, Mode::Train}});
}

TEST_CASE("two sizes if the micro-batches differ, the full one first", "[compiled stage]") {
  CHECK(sizes(config_of(16, 3), 100, 0) == Sizes{{6, Mode::Train}, {5, Mode::Train}});
}

TEST_CASE("the rest of an epoch has sizes of its own", "[compiled stage]") {
  CHECK(sizes(config_of(16, 4, false), 35, 0) == Sizes{{4, Mode::Train}, {1, Mode::Train}});
  CHECK(sizes(config_of(16, 4, true), 35, 0) == Sizes{{4, Mode::Train}});
  CHECK(sizes(config_of(16, 4, false), 32, 0) == Sizes{{4, Mode::Train}});
  // 22 = 16 + 6: 2, 2, 1, 1
  CHECK(sizes(config_of(16, 4, false), 22, 0) ==
        Sizes{{4, Mode::Train}, {2, Mode::Train}, {1, Mode::Train}});
}

TEST_CASE("evaluation: whole batches and the rest", "[compiled stage]") {
  CHECK(sizes(config_of(16, 4), 0, 25) == Sizes{{10, Mode::Evaluate}, {5, Mode::Evaluate}});
  CHECK(sizes(config_of(16, 4), 0, 20) == Sizes{{10, Mode::Evaluate}});
  CHECK(sizes(config_of(16, 4), 0, 3) == Sizes{{3, Mode::Evaluate}});
  CHECK(sizes(config_of(16, 4), 64, 10) == Sizes{{4, Mode::Train}, {10, Mode::Evaluate}});
  CHECK(sizes(config_of(16, 4), 0, 0).empty());
}

TEST_CASE("evaluation takes training's micro-batches if its own size is not given",
          "[compiled stage]") {
  Config config = config_of(16, 4);
  config.validation.batch_size = 0;
  CHECK(sizes(config, 64, 32) == Sizes{{4, Mode::Train}, {4, Mode::Evaluate}});
  // The rest, 2 of 34 samples, is two micro-batches of one.
  CHECK(sizes(config, 0, 34) == Sizes{{4, Mode::Evaluate}, {1, Mode::Evaluate}});
}

TEST_CASE("mini-batches with lengths of their own have sizes of their own", "[compiled stage]") {
  const MinibatchSizes minibatches{{{6, {8, 16}}, {6, {16, 16}}, {3, {8, 16}}}, {{6, {8, 16}}}};
  const Lengths shorter{8, 16}, longer{16, 16};
  CHECK(microbatch_sizes(minibatches, {.train = 2}) ==
        std::vector<MicrobatchSize>{{3, Mode::Train, shorter},
                                    {3, Mode::Train, longer},
                                    {2, Mode::Train, shorter},
                                    {1, Mode::Train, shorter},
                                    {6, Mode::Evaluate, shorter}});
}

TEST_CASE("the largest micro-batch of each mode", "[compiled stage]") {
  const std::vector<MicrobatchSize> all = {
      {4, Mode::Train}, {6, Mode::Train}, {9, Mode::Evaluate}, {5, Mode::Train}};
  CHECK(most_samples(all, Mode::Train) == 6);
  CHECK(most_samples(all, Mode::Evaluate) == 9);
  CHECK(most_samples({}, Mode::Train) == 0);
}

TEST_CASE("a compiled stage has its layers' kernels; only the last has the loss",
          "[compiled stage]") {
  const Graph graph = read_model_text(testing::mlp_model, "test");
  const auto backend = make_backend("reference");
  const auto lowering = backend->lower(graph, {.samples = 4});
  const CompiledStage front = compile_stage(
      {.graph = graph, .lowering = *lowering, .first = {0}, .last = {2}, .size = {4, Mode::Train}});
  const CompiledStage back = compile_stage(
      {.graph = graph, .lowering = *lowering, .first = {3}, .last = {5}, .size = {4, Mode::Train}});
  CHECK(front.kernels.size() == 3);
  CHECK(back.kernels.size() == 3);
  CHECK_FALSE(front.loss);
  CHECK(back.loss);
  const StageSizes both = largest(sizes_of(front), sizes_of(back));
  CHECK(both.slot == std::max(sizes_of(front).slot, sizes_of(back).slot));
  CHECK(both.workspace == std::max(sizes_of(front).workspace, sizes_of(back).workspace));
}

TEST_CASE("an evaluating stage keeps nothing for a backward", "[compiled stage]") {
  const Graph graph = read_model_text(testing::residual_model, "test");
  const auto backend = make_backend("reference");
  const auto lowering = backend->lower(graph, {.samples = 4});
  const CompiledStage c = compile_stage({.graph = graph,
                                         .lowering = *lowering,
                                         .first = {0},
                                         .last = {12},
                                         .size = {4, Mode::Evaluate}});
  CHECK(c.recipe.backward.empty());
  CHECK(sizes_of(c).slot == 0);
  CHECK(sizes_of(c).workspace > 0);
}
