// Flushing schedules compute the same bits whatever the number of stages and kind of worker.
#include <cmath>

#include "backend/cpu/cpu_backend.hpp"
#include "backends.hpp"
#include "catch.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

TEST_CASE("stages and workers change no bit under a flushing schedule", "[equivalence][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string schedule = GENERATE("gpipe", "1f1b", "zb_h1", "zb_h2", "zb_v");
  const std::string model = GENERATE(as<std::string>(), mlp_model, residual_model);
  const Trained one =
      train({.model = model, .config = make_config({.schedule = schedule, .backend = backend})});
  REQUIRE(one.losses.size() == 4);
  for (const int stages : {1, 2, 3, 4, 6})
    for (const std::string workers : {"threads", "inline"}) {
      if (schedule == "zb_v" && stages > 3) continue;  // two parts of the model on each
      const Trained many = train(
          {.model = model,
           .config = make_config(
               {.stages = stages, .schedule = schedule, .workers = workers, .backend = backend})});
      INFO(backend << " " << schedule << " " << stages << " stages, " << workers);
      CHECK(many.losses == one.losses);
      CHECK(many.norms == one.norms);
      CHECK(same_bits(many.parameters, one.parameters));
    }
}

TEST_CASE("BaPipe's rows train the bits of 1f1b", "[equivalence]") {
  const Trained one = train({.model = mlp_model, .config = make_config({.schedule = "1f1b"})});
  for (const std::string schedule : {"1f1b_sno", "fbp_as"})
    for (const std::string workers : {"threads", "inline"}) {
      const Trained many =
          train({.model = mlp_model,
                 .config = make_config({.stages = 4, .schedule = schedule, .workers = workers})});
      INFO(schedule << ", " << workers);
      CHECK(many.losses == one.losses);
      CHECK(same_bits(many.parameters, one.parameters));
      CHECK(many.predicted == many.measured);
    }
}

TEST_CASE("cpu: stages and workers change no bit in bf16, and it is bf16", "[equivalence]") {
  const std::string model = GENERATE(as<std::string>(), mlp_model, residual_model);
  const auto products = GENERATE(cpu::Products::F32, cpu::Products::Bf16);
  if (products == cpu::Products::Bf16 && !cpu::can_multiply_bf16()) {
    WARN("skipped: this processor has no bf16 products");
    return;
  }
  const auto trained = [&](int stages, const std::string& workers, const std::string& precision) {
    TrainingSetup setup{
        .model = model,
        .config = make_config({.stages = stages, .workers = workers, .backend = "cpu"})};
    setup.config.training.precision = word_named<Precision>(precision).value();
    setup.make_backend = [&](std::string_view) { return make_cpu_backend(products); };
    return train(setup);
  };
  const Trained one = trained(1, "threads", "bf16"), exact = trained(1, "threads", "f32");
  CHECK(!same_bits(one.parameters, exact.parameters));
  CHECK(one.losses.back() == Approx(exact.losses.back()).epsilon(0.02));
  for (const int stages : {1, 2, 4})
    for (const std::string workers : {"threads", "inline"}) {
      const Trained many = trained(stages, workers, "bf16");
      INFO(stages << " stages, " << workers);
      CHECK(many.losses == one.losses);
      CHECK(same_bits(many.parameters, one.parameters));
      for (std::size_t s = 0; s < many.predicted.size(); ++s)
        CHECK(many.predicted[s] == many.measured[s]);
    }
}

TEST_CASE("several stages per worker change no bit", "[equivalence]") {
  for (const auto& [workers, parts] : {std::pair{1, 3}, {2, 2}, {2, 3}, {4, 2}})
    for (const std::string kind : {"threads", "inline"}) {
      Config config =
          make_config({.stages = workers, .schedule = "interleaved_1f1b", .workers = kind});
      config.pipeline.virtual_stages = parts;
      config.optimizer.max_norm = 0.5;
      Config plain = make_config({});
      plain.optimizer.max_norm = 0.5;
      const Trained many = train({.model = residual_model, .config = config, .evaluate = true});
      const Trained clipped = train({.model = residual_model, .config = plain});
      INFO(workers << " workers, " << parts << " parts each, " << kind);
      CHECK(many.losses == clipped.losses);
      CHECK(same_bits(many.parameters, clipped.parameters));
    }
}

TEST_CASE("every single cut of a net with skip connections gives the same bits",
          "[equivalence][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const Trained one = train({.model = residual_model, .config = make_config({.backend = backend})});
  for (const std::string first : {"bn1", "relu1", "conv2", "drop", "bn2", "sum", "relu2", "again",
                                  "pool", "mean", "flatten", "fc"}) {
    Config config = make_config({.stages = 2, .workers = "inline", .backend = backend});
    config.pipeline.split = {.rule = SplitRule::FirstLayers, .first_layers = {first}};
    const Trained two = train({.model = residual_model, .config = config});
    INFO(backend << ", cut before " << first);
    CHECK(two.losses == one.losses);
    CHECK(same_bits(two.parameters, one.parameters));
  }
}

TEST_CASE("as many stages as layers", "[equivalence]") {
  const Trained one = train({.model = residual_model, .config = make_config({})});
  const Trained all = train({.model = residual_model, .config = make_config({.stages = 13})});
  CHECK(all.losses == one.losses);
  CHECK(same_bits(all.parameters, one.parameters));
}

TEST_CASE("clipping is by the whole model's norm, as at one stage", "[equivalence]") {
  Config config = make_config({});
  config.optimizer.max_norm = 0.1;
  const Trained one = train({.model = mlp_model, .config = config});
  config.pipeline.stages = 4;
  const Trained four = train({.model = mlp_model, .config = config});
  config.hardware.workers = Workers::Inline;
  const Trained in_turn = train({.model = mlp_model, .config = config});
  CHECK(one.losses == four.losses);
  CHECK(same_bits(one.parameters, four.parameters));
  CHECK(same_bits(one.parameters, in_turn.parameters));
  config.optimizer.max_norm = 0;
  CHECK_FALSE(same_bits(one.parameters, train({.model = mlp_model, .config = config}).parameters));
}

TEST_CASE("ragged last mini-batches give the same bits at any number of stages", "[equivalence]") {
  Config config = make_config({.microbatches = 4});
  config.data.drop_last = false;
  const auto run = [&](int stages, std::int64_t samples) {
    config.pipeline.stages = stages;
    return train({.model = mlp_model, .config = config, .steps = 6, .samples = samples});
  };
  for (const std::int64_t samples : {35, 33, 34, 47}) {
    const Trained one = run(1, samples), three = run(3, samples);
    INFO(samples << " samples");
    CHECK(one.losses == three.losses);
    CHECK(same_bits(one.parameters, three.parameters));
  }
}

TEST_CASE("evaluation changes nothing and does not depend on its batch size", "[evaluation]") {
  Config config = make_config({.stages = 3});
  const Trained plain = train({.model = residual_model, .config = config});
  const Trained evaluated = train({.model = residual_model, .config = config, .evaluate = true});
  CHECK(same_bits(plain.parameters, evaluated.parameters));
  CHECK(evaluated.before.samples == 64);
  CHECK(evaluated.after.loss != evaluated.before.loss);
  config.validation.batch_size = 7;
  const Trained other = train({.model = residual_model, .config = config, .evaluate = true});
  CHECK(other.before.loss == Approx(evaluated.before.loss).epsilon(1e-6));
  CHECK(other.after.loss == Approx(evaluated.after.loss).epsilon(1e-6));
  CHECK(other.after.accuracy == evaluated.after.accuracy);
}

TEST_CASE("predicted and measured memory are equal, stage by stage", "[memory][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string schedule = GENERATE("gpipe", "1f1b");
  const bool evaluate = GENERATE(false, true);
  for (const int stages : {1, 2, 4}) {
    const Trained t =
        train({.model = residual_model,
               .config = make_config({.stages = stages, .schedule = schedule, .backend = backend}),
               .evaluate = evaluate});
    REQUIRE(t.predicted.size() == static_cast<std::size_t>(stages));
    for (int s = 0; s < stages; ++s) {
      INFO(backend << " " << schedule << " stage " << s << " of " << stages);
      CHECK(t.predicted[s] == t.measured[s]);
      CHECK(t.measured[s].training.total() > 0);
      CHECK((t.measured[s].validation.total() > 0) == evaluate);
    }
  }
}

TEST_CASE("1f1b holds fewer activations than gpipe", "[memory]") {
  const auto activations = [&](const std::string& schedule) {
    return train({.model = mlp_model,
                  .config = make_config({.stages = 3, .microbatches = 8, .schedule = schedule})})
        .measured[2]
        .training[Use::Activations];
  };
  CHECK(activations("1f1b") * 8 == activations("gpipe"));
}
