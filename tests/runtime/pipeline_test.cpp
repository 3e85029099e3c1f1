// A pipeline against a training done by hand: two linear layers, two stages, plain loops.
#include "runtime/pipeline.hpp"

#include <array>
#include <atomic>
#include <cmath>

#include "base/error.hpp"
#include "catch.hpp"
#include "data/dataset.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/session.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr int kSamples = 4;
constexpr std::array<std::array<double, 2>, kSamples> kInputs = {
    {{1, 2}, {-1, 0.5}, {0.25, -2}, {3, 1}}};
constexpr std::array<double, kSamples> kWanted = {1, -1, 0.5, 2};

class FourSamples : public Dataset {
 public:
  std::int64_t size() const override { return kSamples; }
  const Shape& input_shape() const override { return pair_; }
  int classes() const override { return 0; }
  const Shape& target_shape() const override { return one_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    for (int i = 0; i < 2; ++i) to.input[i] = static_cast<float>(kInputs[which.index][i]);
    if (to.values) to.values[0] = static_cast<float>(kWanted[which.index]);
  }

 private:
  Shape pair_{{2}}, one_{{1}};
};

// y = b (A x), the loss the mean of (y - wanted)^2, by sgd with momentum.
struct ByHand {
  std::array<double, 4> a = {0.5, -0.25, 1, 0.75}, da{}, va{};
  std::array<double, 2> b = {1.5, -0.5}, db{}, vb{};
  double loss = 0;

  double hidden(int sample, int i) const {
    return a[2 * i] * kInputs[sample][0] + a[2 * i + 1] * kInputs[sample][1];
  }
  double squared_norm() const {
    double sum = 0;
    for (const double g : da) sum += g * g;
    for (const double g : db) sum += g * g;
    return sum;
  }
  void backward() {
    da = {}, db = {}, loss = 0;
    for (int s = 0; s < kSamples; ++s) {
      const double error = b[0] * hidden(s, 0) + b[1] * hidden(s, 1) - kWanted[s];
      loss += error * error / kSamples;
      for (int i = 0; i < 2; ++i) {
        db[i] += 2 * error / kSamples * hidden(s, i);
        for (int j = 0; j < 2; ++j) da[2 * i + j] += 2 * error / kSamples * b[i] * kInputs[s][j];
      }
    }
  }
  void update(double lr, double momentum) {
    for (int i = 0; i < 4; ++i) a[i] -= lr * (va[i] = momentum * va[i] + da[i]);
    for (int i = 0; i < 2; ++i) b[i] -= lr * (vb[i] = momentum * vb[i] + db[i]);
  }
  NamedTensors tensors() const {
    return {{"fc1.weight", {{{2, 2}}, std::vector<float>(a.begin(), a.end())}},
            {"fc2.weight", {{{1, 2}}, std::vector<float>(b.begin(), b.end())}}};
  }
};

struct SmallPipeline {
  explicit SmallPipeline(const ConfigChoice& choice)
      : config(make_config(choice)),
        graph(read_model_text(R"(
input = { shape = [2] }
loss = "mse"
layers = [
  { name = "fc1", kind = "linear", out_features = 2, bias = false },
  { name = "fc2", kind = "linear", out_features = 1, bias = false },
]
)",
                              "test")),
        plan(make_plan(graph, config, {})),
        backend(make_backend("reference")),
        pipeline({graph,
                  plan,
                  config,
                  *backend,
                  3,
                  {.train = data.order(order)->sizes(), .validation = {}}}) {}

  std::int64_t train(const std::function<void(const StepRecord&)>& on_step,
                     const std::atomic<bool>* drain = nullptr) {
    Loader loader(data,
                  {.order = order,
                   .depth = pipeline.loader_depth(Mode::Train),
                   .reader_threads = pipeline.reader_threads(Mode::Train)},
                  pipeline.loader_readers(Mode::Train));
    return pipeline.train(loader, 0, 3, on_step, drain);
  }

  const OrderOptions order{.batch_size = kSamples, .shuffle = false};
  const FourSamples data;
  const Config config;
  const Graph graph;
  const Plan plan;
  const std::unique_ptr<Backend> backend;
  Pipeline pipeline;
};

class CountingWatch : public LayerWatch {
 public:
  void begin(LayerWork work, int layer) override {
    if (layer != 0) ++others;
    if (work == LayerWork::Forward) ++forwards;
  }
  void end(Stream&) override {}
  int forwards = 0, others = 0;
};

void check_close(const NamedTensors& tensors, const NamedTensors& expected) {
  REQUIRE(tensors.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    const auto& values = floats(tensors, name);
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(values[i] == Approx(floats(expected, name)[i]).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("a pipeline trains as plain loops do", "[pipeline]") {
  const std::string schedule = GENERATE("gpipe", "1f1b"), workers = GENERATE("threads", "inline");
  CAPTURE(schedule, workers);
  SmallPipeline small({.stages = 2, .microbatches = 2, .schedule = schedule, .workers = workers});
  ByHand hand;
  small.pipeline.set_parameters(hand.tensors());
  std::int64_t steps = 0;
  CHECK(small.train([&](const StepRecord& record) {
    hand.backward();
    const StageStep& last = record.stages.back();
    CHECK(record.step == steps++);
    CHECK(last.samples == kSamples);
    CHECK(last.loss.sum / static_cast<double>(last.labels) == Approx(hand.loss).epsilon(1e-5));
    CHECK(record.squared_norm() == Approx(hand.squared_norm()).epsilon(1e-5));
    hand.update(small.config.optimizer.lr, small.config.optimizer.momentum);
  }) == 3);
  CHECK(steps == 3);
  check_close(small.pipeline.parameters(), hand.tensors());
}

TEST_CASE("a pipeline has the weights that it was given, and asks for every one", "[pipeline]") {
  SmallPipeline small({.stages = 2});
  NamedTensors tensors = ByHand().tensors();
  small.pipeline.set_parameters(tensors);
  CHECK(same_bits(small.pipeline.parameters(), tensors));
  tensors.erase("fc2.weight");
  CHECK_THROWS(small.pipeline.set_parameters(tensors));
}

TEST_CASE("a pipeline says who reads its mini-batches", "[pipeline]") {
  const SmallPipeline one({.stages = 1}), two({.stages = 2}),
      alone({.stages = 2, .workers = "inline"});
  CHECK(one.pipeline.loader_readers(Mode::Train) == 1);
  CHECK(two.pipeline.loader_readers(Mode::Train) ==
        2);  // inputs for the first, labels for the last
  CHECK(one.pipeline.reader_threads(Mode::Train) == 1);
  CHECK(two.pipeline.reader_threads(Mode::Train) == 2);
  CHECK(alone.pipeline.loader_readers(Mode::Train) == 2);
  CHECK(alone.pipeline.reader_threads(Mode::Train) == 1);
}

TEST_CASE("a pipeline that was asked to drain begins nothing", "[pipeline]") {
  SmallPipeline small({.stages = 2});
  small.pipeline.set_parameters(ByHand().tensors());
  const std::atomic<bool> drain = true;
  CHECK(small.train([](const StepRecord&) { FAIL("a step was trained"); }, &drain) == 0);
  CHECK(same_bits(small.pipeline.parameters(), ByHand().tensors()));
}

TEST_CASE("on one thread a mini-batch is reported before others have ended", "[pipeline]") {
  SmallPipeline small({.stages = 2, .workers = "inline"});
  small.pipeline.set_parameters(ByHand().tensors());
  std::atomic<bool> drain = false;
  CHECK(small.train([&](const StepRecord&) { drain = true; }, &drain) < 3);
}

TEST_CASE("a watch of a stage sees its own layers", "[pipeline]") {
  SmallPipeline small({.stages = 2, .microbatches = 2, .workers = "inline"});
  small.pipeline.set_parameters(ByHand().tensors());
  CountingWatch watch;
  small.pipeline.set_watch({1}, &watch);
  small.train([](const StepRecord&) {});
  CHECK(watch.forwards == 3 * 2);  // of each micro-batch
  CHECK(watch.others == 0);        // the stage has one layer
  small.pipeline.set_watch({1}, nullptr);
  small.train([](const StepRecord&) {});
  CHECK(watch.forwards == 3 * 2);
}

TEST_CASE("a pipeline's state has what its optimizer keeps, by stage", "[pipeline]") {
  SmallPipeline small({.stages = 2});
  small.pipeline.set_parameters(ByHand().tensors());
  small.train([](const StepRecord&) {});
  const auto state = small.pipeline.state();
  REQUIRE(state.size() == 2);
  CHECK(state[0].layers == std::vector<std::string>{"fc1"});
  CHECK(state[1].tensors.contains("fc2.weight"));
  CHECK(state[1].tensors.contains("fc2.weight/momentum_buffer"));
  CHECK_FALSE(state[1].tensors.contains("fc1.weight"));
}
