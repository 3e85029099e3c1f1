// Stages that are on several workers: each copy sees a part of the micro-batches, updates use the
// sum over the copies.
#include "backends.hpp"
#include "catch.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Config of(const std::string& schedule, int workers, const std::string& kind = "threads",
          const std::string& backend = "reference") {
  return make_config({.stages = workers,
                      .microbatches = 8,
                      .schedule = schedule,
                      .workers = kind,
                      .backend = backend});
}

void check_close(const Trained& a, const Trained& b) {
  REQUIRE(a.losses.size() == b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    CHECK(a.losses[i] == Approx(b.losses[i]).epsilon(1e-4));
    CHECK(a.norms[i] == Approx(b.norms[i]).epsilon(1e-3));
  }
}

}  // namespace

TEST_CASE("chimera's sums depend neither on workers nor on their kind", "[copies][backends]") {
  // Even micro-batches go down, odd ones up: as two workers of data_parallel share them.
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string model = GENERATE(as<std::string>(), mlp_model, residual_model);
  const double max_norm = GENERATE(0.0, 0.5);
  const auto run = [&](Config config) {
    config.optimizer.max_norm = max_norm;
    return train({.model = model, .config = config, .evaluate = true});
  };
  const Trained two = run(of("data_parallel", 2, "threads", backend));
  REQUIRE(two.losses.size() == 4);
  const auto check_same = [&](const std::string& schedule, int workers, const std::string& kind) {
    const Trained other = run(of(schedule, workers, kind, backend));
    INFO(backend << " " << schedule << " " << workers << " " << kind);
    CHECK(other.losses == two.losses);
    CHECK(other.norms == two.norms);
    CHECK(same_bits(other.parameters, two.parameters));
    CHECK(other.after.loss == two.after.loss);
  };
  check_same("data_parallel", 2, "inline");
  for (const int workers : {2, 4})
    for (const std::string kind : {"threads", "inline"}) check_same("chimera", workers, kind);
}

TEST_CASE("the sum over copies is the gradient of the whole mini-batch", "[copies][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const Trained one = train({.model = mlp_model, .config = of("1f1b", 1, "threads", backend)});
  CHECK(same_bits(
      train({.model = mlp_model, .config = of("data_parallel", 1, "threads", backend)}).parameters,
      one.parameters));
  for (const int workers : {2, 4, 8}) {
    INFO(backend << ", " << workers << " workers");
    check_close(
        train({.model = mlp_model, .config = of("data_parallel", workers, "threads", backend)}),
        one);
  }
  check_close(train({.model = mlp_model, .config = of("chimera", 4, "threads", backend)}), one);
}

TEST_CASE("a copy that a short mini-batch leaves without samples adds nothing", "[copies]") {
  const std::string schedule = GENERATE("data_parallel", "chimera");
  const std::string kind = GENERATE("threads", "inline");
  const auto run = [&](Config config) {
    config.data.drop_last = false;
    return train({.model = mlp_model, .config = config, .steps = 6, .samples = 33});
  };
  check_close(run(of(schedule, 4, kind)), run(of("1f1b", 1)));
}

TEST_CASE("predicted and measured memory are equal with copies", "[copies][memory][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string schedule = GENERATE("data_parallel", "chimera");
  const bool evaluate = GENERATE(false, true);
  const Trained t = train({.model = residual_model,
                           .config = of(schedule, 4, "inline", backend),
                           .evaluate = evaluate});
  REQUIRE(t.predicted.size() == (schedule == "chimera" ? 4 : 1));
  for (std::size_t s = 0; s < t.predicted.size(); ++s) CHECK(t.predicted[s] == t.measured[s]);
}

TEST_CASE("chimera keeps every weight twice, data_parallel once per worker", "[copies][memory]") {
  const auto weights = [](const Config& config) {
    std::size_t bytes = 0;
    for (const HeldMemory& stage : train({.model = mlp_model, .config = config}).measured)
      bytes += stage.training[Use::Weights];
    return bytes;
  };
  const std::size_t once = weights(of("1f1b", 1));
  CHECK(weights(of("chimera", 4)) == 2 * once);
  CHECK(weights(of("data_parallel", 4)) == 4 * once);
}

TEST_CASE("recomputation changes no bit with copies", "[copies]") {
  for (const std::string schedule : {"data_parallel", "chimera"}) {
    Config config = of(schedule, 4);
    const Trained kept = train({.model = residual_model, .config = config});
    config.pipeline.recompute.rule = Recompute::Stage;
    const Trained again = train({.model = residual_model, .config = config});
    INFO(schedule);
    CHECK(kept.losses == again.losses);
    CHECK(same_bits(kept.parameters, again.parameters));
  }
}
