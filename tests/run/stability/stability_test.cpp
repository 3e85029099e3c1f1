// A training that measures how far it is from diverging: on a loss that is quadratic, where the
// edge is known by trying, and what it writes.
#include "run/stability/stability.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "catch.hpp"
#include "checkpoint/atomic_file.hpp"
#include "data/data_files.hpp"
#include "graph/read.hpp"
#include "run/run_rig.hpp"
#include "run/stability/words.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;
using test::npy;
using test::npy_header;
using test::raw;

namespace {

using Steps = std::vector<std::int64_t>;

// One trained layer on stage 0, and the stages after it that make its gradients late.
std::string quadratic_model(int stages) {
  std::string text =
      "name = 'quadratic'\nloss = 'mse'\ninput = { shape = [4] }\nlayers = [\n"
      "  { name = 'fc', kind = 'linear', out_features = 4, bias = false },\n";
  for (int s = 1; s < stages; ++s)
    text += "  { name = 'flat" + std::to_string(s) + "', kind = 'flatten' },\n";
  return text + "]\n";
}

struct Samples {
  Samples() {
    Random random(7, "samples");
    std::vector<float> inputs(32 * 4), targets(32 * 4);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = static_cast<float>(random.normal() * (i % 4 == 0 ? 2 : 0.7));
    for (float& value : targets) value = static_cast<float>(random.normal());
    write_file(scratch.path / "x.npy", npy(npy_header("<f4", "(32, 4)"), raw(inputs)));
    write_file(scratch.path / "y.npy", npy(npy_header("<f4", "(32, 4)"), raw(targets)));
  }
  std::string file(const std::string& name) const { return (scratch.path / name).string(); }
  Scratch scratch;
};

class Quadratic {
 public:
  explicit Quadratic(int stages, std::vector<std::string> more = {})
      : stages_(stages), more_(std::move(more)) {}

  // The rate below which the training reports itself stable.
  double edge_said() const {
    RunRig rig(sets(50, 0.001, {"stability.every_steps=50", "stability.iterations=300"}),
               quadratic_model(stages_));
    Training(rig.input()).run();
    return rig.events("stability").at(0)["lr_edge"].get<double>();
  }

  // The steps after which it was warned, and those after which it measured.
  std::pair<Steps, Steps> warned(double lr, int steps) const {
    RunRig rig(sets(steps, lr, {"stability.every_steps=20"}), quadratic_model(stages_));
    try {
      Training(rig.input()).run();
    } catch (const DivergedError&) {
    }
    return {rig.steps_of("warning"), rig.steps_of("stability")};
  }

  // The loss after that many steps over the first one's.
  double grown(double lr, int steps) const {
    RunRig rig(sets(steps, lr, {}), quadratic_model(stages_));
    try {
      Training(rig.input()).run();
    } catch (const DivergedError&) {
      return INFINITY;
    }
    const auto losses = rig.events("step");
    return losses.back()["loss"].get<double>() / losses.front()["loss"].get<double>();
  }

 private:
  std::vector<std::string> sets(int steps, double lr,
                                const std::vector<std::string>& others) const {
    std::vector<std::string> all = {"data.kind='npy'",
                                    "data.train_inputs='" + samples_.file("x.npy") + "'",
                                    "data.train_labels='" + samples_.file("y.npy") + "'",
                                    "data.batch_size=32",
                                    "pipeline.schedule='pipedream'",
                                    "pipeline.microbatches=1",
                                    "pipeline.stages=" + std::to_string(stages_),
                                    "training.steps=" + std::to_string(steps),
                                    "optimizer.lr=" + std::to_string(lr)};
    all.insert(all.end(), more_.begin(), more_.end());
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }

  int stages_;
  std::vector<std::string> more_;
  Samples samples_;
};

Stability of_margin(double margin, const std::vector<double>& delays) {
  Stability s{.step = 20, .curvature = 10, .lr_edge = 0.1 * margin, .margin = margin, .stages = {}};
  for (const double delay : delays) s.stages.push_back({.delay = delay, .lr = 0.1});
  return s;
}

Config rate_of(double lr) {
  Config config;
  config.optimizer.lr = lr;
  return config;
}

}  // namespace

TEST_CASE("on a quadratic the edge is where training turns unstable", "[stability]") {
  const int stages = GENERATE(1, 2, 4, 8);
  const Quadratic quadratic(stages);
  const double edge = quadratic.edge_said();
  INFO(stages << " stages, edge " << edge);
  CHECK(quadratic.grown(0.95 * edge, 1500) < 1);
  CHECK(quadratic.grown(1.05 * edge, 1500) > 10);
}

TEST_CASE("momentum and rates of a parameter's own move the edge as they move training",
          "[stability]") {
  const double plain = Quadratic(4).edge_said();
  const Quadratic pushed(4, {"optimizer.momentum=0.9"}),
      fast(4, {"optimizer.lr_names=['fc.*']", "optimizer.lr_factors=[4.0]"});
  const double pushed_edge = pushed.edge_said();
  CHECK(pushed_edge / plain == Approx(0.034784 / 0.445042).epsilon(0.02));
  CHECK(pushed.grown(0.95 * pushed_edge, 3000) < 1);
  CHECK(pushed.grown(1.05 * pushed_edge, 3000) > 10);
  CHECK(fast.edge_said() == Approx(plain / 4).epsilon(0.02));
}

TEST_CASE("stability is measured before the first step and then as often as asked", "[stability]") {
  RunRig rig({"training.steps=5", "stability.every_steps=2"});
  Training(rig.input()).run();
  CHECK(rig.steps_of("stability") == Steps{0, 2, 4});
  const auto event = rig.events("stability").at(1);
  CHECK(event["curvature"].get<double>() > 0);
  CHECK(event["margin"].get<double>() == Approx(event["lr_edge"].get<double>() / 0.05));
  REQUIRE(event["stages"].size() == 2);
  double shares = 0;
  for (const auto& stage : event["stages"]) {
    CHECK(stage["delay"] == 0);
    CHECK(stage["lr"].get<double>() == Approx(0.05));
    CHECK(stage["lr_edge"].get<double>() == Approx(2 / event["curvature"].get<double>()));
    shares += stage["share"].get<double>();
  }
  CHECK(shares == Approx(1));
}

TEST_CASE("gradients come late only once the synchronous epochs are over", "[stability]") {
  RunRig rig({"training.steps=12", "stability.every_steps=4", "pipeline.schedule='pipemare'",
              "pipeline.microbatches=1", "pipeline.pipemare.sync_warmup_epochs=1"});
  Training(rig.input()).run();
  REQUIRE(rig.steps_of("stability") == Steps{0, 4, 8});
  const auto events = rig.events("stability");
  CHECK(events[0]["stages"][0]["delay"] == 0);
  CHECK(events[1]["stages"][0]["delay"] == 1);
  CHECK(events[1]["stages"][1]["delay"] == 0);
}

TEST_CASE("under a schedule that drains, measuring changes no bit", "[stability]") {
  RunRig plain, measured({"stability.every_steps=1"});
  Training(plain.input()).run();
  Training(measured.input()).run();
  CHECK(same_bits(plain.pipeline().parameters(), measured.pipeline().parameters()));
}

TEST_CASE("a warning says what to change", "[stability]") {
  const std::string late = stability_warning(of_margin(0.5, {3, 1.5, 0}), 20, rate_of(0.1));
  CHECK_THAT(late,
             Contains("the loss has risen by step 20; there the learning rate is 2.00 times"));
  CHECK_THAT(late, Contains("gradients up to 3 updates late (stage 0)"));
  CHECK_THAT(late, Contains("write optimizer.lr = 0.05 or less"));
  CHECK_THAT(late, Contains("fewer stages"));
  const std::string on_time = stability_warning(of_margin(0.5, {0}), 23, rate_of(0.1));
  CHECK_THAT(on_time, Contains("the loss has risen by step 23; at the last measurement, after "
                               "step 20, the learning rate was 2.00 times"));
  CHECK_FALSE(contains(on_time, "late"));
  CHECK_FALSE(contains(on_time, "fewer stages"));
}

TEST_CASE("only a rising loss below the edge is unstable", "[stability]") {
  Stability found = of_margin(0.5, {3, 0});
  CHECK_FALSE(is_unstable(found));
  found.rising = true;
  CHECK(is_unstable(found));
  found.margin = 1.01;
  CHECK_FALSE(is_unstable(found));
}

TEST_CASE("a loss rises if an interval's mean is clearly above the one before", "[stability]") {
  LossTrend trend;
  CHECK_FALSE(trend.end_interval());  // nothing to compare
  for (const double loss : {2.0, 1.8, 1.6}) trend.see(loss);
  CHECK_FALSE(trend.end_interval());  // 1.8 after 2, the first loss
  for (const double loss : {1.8, 1.9}) trend.see(loss);
  CHECK_FALSE(trend.end_interval());  // 1.85: noise
  for (const double loss : {3.5, 4.5}) trend.see(loss);
  CHECK(trend.end_interval());
  trend.see(INFINITY);
  CHECK(trend.end_interval());
}

TEST_CASE("a loss leaps if it is clearly above the first one and every interval's mean",
          "[stability]") {
  LossTrend trend;
  CHECK_FALSE(trend.leaps(100));  // nothing to compare
  trend.see(2);
  CHECK_FALSE(trend.leaps(4));
  CHECK(trend.leaps(4.1));
  CHECK(trend.leaps(std::nan("")));
  trend.see(0.1);
  trend.end_interval();
  CHECK_FALSE(trend.leaps(0.5));  // five times the last loss, but far below the first
  trend.see(4);
  trend.end_interval(false);  // was not stable
  CHECK(trend.leaps(4.1));
  trend.see(4);
  trend.end_interval();
  CHECK_FALSE(trend.leaps(7.9));
}

TEST_CASE("a training that leaves the edge behind is warned once the loss leaps, not before",
          "[stability]") {
  const Quadratic quadratic(2);
  const double edge = quadratic.edge_said();
  const auto [unstable, measured] = quadratic.warned(2 * edge, 30);
  REQUIRE_FALSE(unstable.empty());
  CHECK(unstable.front() > 0);
  CHECK(unstable.front() < 20);  // measured before the first step, and after step 20
  CHECK(measured.front() == 0);
  CHECK(quadratic.warned(edge / 2, 30).first.empty());
}

TEST_CASE("a parameter that layers share counts once, and a frozen one not at all", "[stability]") {
  Graph graph = read_model_text(R"(
name = "tied"
input = { shape = [4] }
layers = [
  { name = "a", kind = "linear", out_features = 4, bias = false },
  { name = "b", kind = "linear", out_features = 4, tied = "a" },
  { name = "c", kind = "linear", out_features = 2 },
]
)",
                                "test");
  graph.layers[2].parameters[0].trained = false;
  const auto parameters = trained_parameters(graph);
  REQUIRE(parameters.size() == 3);
  CHECK(parameters[0].name == "a.weight");
  CHECK(parameters[0].others == std::vector<std::string>{"b.weight"});
  CHECK(parameters[1].name == "b.bias");
  CHECK(parameters[2].name == "c.bias");
  CHECK(parameters.back().end == 16 + 4 + 2);
}
