// Mini-batches whose sequences are as long as their bucket: one model, whatever the cut, the worker
// and the lengths that sentences are padded to.
#include <algorithm>
#include <cmath>

#include "backends.hpp"
#include "catch.hpp"
#include "sentences.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Config config_of(const ConfigChoice& choice) {
  Config config = make_config(choice);
  config.data.batch_size = 5;
  config.validation.batch_size = 3;
  config.optimizer.lr = 0.2;
  return config;
}

Trained run(const Config& config, const Sentences& data, std::int64_t steps = 40) {
  return train(
      {.model = two_sided, .config = config, .steps = steps, .evaluate = true, .data = &data});
}

}  // namespace

TEST_CASE("lengths: no cut and no kind of worker changes a bit", "[backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const bool quick = backend != "cuda";  // the device may be a slow software one
  const Sentences data(quick ? 31 : 7, 8);
  const auto run_on = [&](int stages, const std::string& workers, const std::string& recompute) {
    Config config =
        config_of({.stages = stages, .microbatches = 2, .workers = workers, .backend = backend});
    config.pipeline.recompute.rule = word_named<Recompute>(recompute).value();
    return run(config, data, quick ? 12 : 2);
  };
  const Trained one = run_on(1, "inline", "none");
  CHECK(one.after.loss < one.before.loss);
  for (const int stages : quick ? std::vector{2, 4, 7} : std::vector{4})
    for (const std::string workers : {"threads", "inline"})
      for (const std::string recompute : {"none", "stage"}) {
        if (!quick && (workers == "inline") != (recompute == "stage")) continue;
        INFO(backend << " " << stages << " " << workers << " " << recompute);
        const Trained many = run_on(stages, workers, recompute);
        CHECK(many.losses == one.losses);
        CHECK(many.after.loss == one.after.loss);
        CHECK(same_bits(many.parameters, one.parameters));
        for (std::size_t s = 0; s < many.predicted.size(); ++s)
          CHECK(many.predicted[s] == many.measured[s]);
      }
}

TEST_CASE("lengths: every schedule trains over all of them", "[lengths]") {
  const std::string schedule = GENERATE("gpipe", "zb_h1", "pipedream", "pipedream_2bw", "pipemare",
                                        "timeprest", "v_timeprest", "i_timeprest");
  const Sentences data(31, 8);
  Config config = config_of({.stages = 3, .microbatches = 3, .schedule = schedule});
  config.optimizer.lr = 0.02;
  const Trained trained = run(config, data, 120);
  CHECK(trained.after.loss < trained.before.loss);
}

// One mini-batch of all sentences: only what they are padded to differs.
TEST_CASE("lengths: more padding changes nothing", "[lengths]") {
  const std::string backend = GENERATE("reference", "cpu");
  Config config = config_of({.microbatches = 1, .backend = backend});
  config.data.batch_size = config.validation.batch_size = 64;
  config.data.shuffle = false;
  const auto padded_to = [&](std::int64_t multiple) {
    // a single sentence, of one token on either side
    return run(config, Sentences(1, multiple), 3);
  };
  const Trained least = padded_to(1), most = padded_to(16);
  CHECK(least.before.loss == Approx(most.before.loss).epsilon(1e-6));
  CHECK(least.after.loss == Approx(most.after.loss).epsilon(1e-5));
  CHECK(least.before.accuracy == most.before.accuracy);
}

TEST_CASE("lengths: the loss is the mean over the tokens of a mini-batch", "[lengths]") {
  // Five micro-batches of one sentence each, and one of all: the same sum, the same mean.
  const Sentences data(31, 16);
  const auto cut_in = [&](int microbatches) {
    return run(config_of({.microbatches = microbatches}), data, 8);
  };
  const Trained whole = cut_in(1), parts = cut_in(5);
  for (const auto& [name, tensor] : whole.parameters) {
    const auto &a = std::get<std::vector<float>>(tensor.values),
               &b = std::get<std::vector<float>>(parts.parameters.at(name).values);
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max<double>(worst, std::abs(a[i] - b[i]));
    INFO(name);
    CHECK(worst < 1e-5);
  }
  CHECK(whole.after.loss == Approx(parts.after.loss).epsilon(1e-5));
}
