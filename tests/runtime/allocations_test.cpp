// Training allocates before its first step and then no more: neither from a backend nor, in the
// workers' threads, by operator new.
#include <new>
#include <thread>

#include "allocation_count.hpp"
#include "catch.hpp"
#include "counting.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

struct Measured {
  AllocationCount workers;        // in the workers' threads, after their first update
  int threads = 0;                // number of threads counted
  std::int64_t backend_late = 0;  // Backend::allocate after the pipeline's construction
};

// Every stage must have parameters: its first update is where counting begins.
Measured measure(const std::string& model, const Config& config,
                 std::optional<StepRange> trace_steps = std::nullopt) {
  Measured measured;
  std::atomic<int> threads = 0;
  BackendCounts counts;
  const std::thread::id reporter = std::this_thread::get_id();
  counts.after_update = [&] {
    if (std::this_thread::get_id() == reporter || counts_allocations_here()) return;
    ++threads;
    count_allocations_here(true);
  };
  std::int64_t built = 0;
  TrainingSetup setup{.model = model, .config = config, .steps = 12};
  setup.trace_steps = trace_steps;
  setup.make_backend = [&](std::string_view name) {
    return counting_backend(make_backend(name), counts);
  };
  setup.on_built = [&] { built = counts.allocations; };
  reset_allocation_count();
  train(setup);
  measured.workers = allocations_counted();
  measured.threads = threads;
  measured.backend_late = counts.allocations - built;
  return measured;
}

const char* const image_model = R"(
name = "images"
input = { shape = [1, 8, 8] }
layers = [
  { name = "conv1", kind = "conv2d", out_channels = 8, kernel = 3, padding = 1 },
  { name = "relu1", kind = "relu" },
  { name = "bn", kind = "batch_norm" },
  { name = "again", kind = "add", inputs = ["bn", "conv1"] },
  { name = "pool", kind = "max_pool", kernel = 2 },
  { name = "conv2", kind = "conv2d", out_channels = 8, kernel = 3, padding = 1 },
  { name = "drop", kind = "dropout", p = 0.2 },
  { name = "mean", kind = "avg_pool", kernel = 2 },
  { name = "flat", kind = "flatten" },
  { name = "fc", kind = "linear", out_features = 5 },
]
)";

}  // namespace

TEST_CASE("the counter counts allocations of this thread only", "[allocations]") {
  reset_allocation_count();
  { const std::vector<char> before(5000); }
  CHECK(allocations_counted().allocations == 0);
  count_allocations_here(true);
  { const std::vector<char> one(5000); }
  auto* const aligned = new (std::align_val_t{64}) std::byte[100];
  std::thread([] { const std::vector<char> elsewhere(9000); }).join();
  count_allocations_here(false);
  ::operator delete[](aligned, std::align_val_t{64});
  { const std::vector<char> behind(7000); }
  CHECK(allocations_counted().allocations >= 2);  // a thread's start allocates a little
  CHECK(allocations_counted().allocations <= 6);
  CHECK(allocations_counted().bytes_max == 5000);
}

TEST_CASE("after the first step no worker allocates", "[allocations]") {
  const std::string model = GENERATE(as<std::string>(), mlp_model, image_model);
  const std::string schedule = GENERATE("gpipe", "1f1b");
  for (const int stages : {1, 2, 3})
    for (const int batch : {16, 15}) {
      Config config = make_config({.stages = stages, .schedule = schedule});
      if (model == image_model && stages == 3)
        config.pipeline.split = {.rule = SplitRule::FirstLayers, .first_layers = {"bn", "conv2"}};
      config.data.batch_size = batch;  // 15: micro-batches of two sizes
      INFO(schedule << ", " << stages << " stages, batch " << batch << model);
      const Measured m = measure(model, config);
      CHECK(m.threads == stages);
      CHECK(m.workers.allocations == 0);
      CHECK(m.backend_late == 0);
    }
}

TEST_CASE("after the first step no copy of a stage allocates", "[allocations]") {
  const std::string schedule = GENERATE("chimera", "data_parallel");
  const Measured m = measure(image_model, make_config({.stages = 2, .schedule = schedule}));
  CHECK(m.threads == 2);
  CHECK(m.workers.allocations == 0);
  CHECK(m.backend_late == 0);
}

TEST_CASE("after the first step clipping, skipping and moments allocate nothing", "[allocations]") {
  Config config = make_config({.stages = 3});
  config.optimizer.kind = word_named<OptimizerKind>(GENERATE("sgd", "adam", "adamw")).value();
  config.optimizer.max_norm = 0.5;
  config.training.on_nonfinite = OnNonfinite::Skip;
  config.lr_schedule.kind = word_named<LrKind>(GENERATE("step", "cosine")).value();
  config.lr_schedule.milestones = {3};
  const Measured m = measure(mlp_model, config);
  CHECK(m.threads == 3);
  CHECK(m.workers.allocations == 0);
  CHECK(m.backend_late == 0);
}

TEST_CASE("recording a trace allocates nothing either", "[allocations]") {
  const Measured m = measure(mlp_model, make_config({.stages = 3}), StepRange{3, 10});
  CHECK(m.threads == 3);
  CHECK(m.workers.allocations == 0);
}

TEST_CASE("on the cpu backend only the library's small bookkeeping allocates", "[allocations]") {
  const std::string model = GENERATE(as<std::string>(), mlp_model, image_model);
  for (const int stages : {1, 3}) {
    Config config = make_config({.stages = stages, .backend = "cpu"});
    // Linear layers do sgd in their backward, where counting cannot begin; convolutions do not.
    if (model == mlp_model) config.optimizer.kind = OptimizerKind::Adam;
    if (model == image_model && stages == 3)
      config.pipeline.split = {.rule = SplitRule::FirstLayers, .first_layers = {"bn", "conv2"}};
    INFO(stages << " stages" << model);
    const Measured m = measure(model, config);
    CHECK(m.threads == stages);
    CHECK(m.workers.bytes_max < 1024);
    CHECK(m.backend_late == 0);
  }
}

TEST_CASE("inline workers take nothing more from the backend either", "[allocations]") {
  CHECK(measure(mlp_model, make_config({.stages = 3, .workers = "inline"})).backend_late == 0);
}
