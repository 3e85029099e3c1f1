// No end hangs: data that cannot be read, pipelines that never ran, labels of other samples.
#include <atomic>
#include <utility>

#include "altered_data.hpp"
#include "base/check.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "on_send.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::unique_ptr<const Dataset> synthetic(std::int64_t samples) {
  return draw_synthetic({.samples = samples, .seed = 3, .part = "train"},
                        read_model_text(mlp_model, "test"));
}

void swap_first_ids(Packet& packet) {
  if (packet.ids.size() > 1) std::swap(packet.ids[0], packet.ids[1]);
}

struct Built {
  explicit Built(const Config& c)
      : config(c),
        graph(read_model_text(mlp_model, "test")),
        plan(make_plan(graph, config, {})),
        backend(make_backend(config.hardware.backend)) {}
  PipelineInput input() const {
    return {graph,    plan, config,
            *backend, 4,    {.train = {{16, {}}}, .validation = {{24, {}}, {16, {}}}}};
  }
  const Config config;
  const Graph graph;
  const Plan plan;
  const std::unique_ptr<Backend> backend;
};

}  // namespace

TEST_CASE("a sample that cannot be read ends the run with its own error", "[endings]") {
  const std::string workers = GENERATE("threads", "inline");
  for (const int stages : {1, 2, 4})
    for (const int bad_read : {1, 16, 17, 40, 64}) {
      INFO(workers << ", " << stages << " stages, read " << bad_read);
      std::atomic<int> reads = 0;
      const auto data = altered_data(synthetic(64), [&](std::int64_t, float*) {
        if (++reads == bad_read) throw DataError("train.idx: the test's file ends here");
      });
      std::string message;
      std::size_t told = 0;
      TrainingSetup setup{.model = mlp_model,
                          .config = make_config({.stages = stages, .workers = workers}),
                          .data = data.get()};
      setup.on_step = [&](const StepRecord&) { ++told; };
      try {
        train(setup);
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::Data);
        message = error.what();
      }
      CHECK(message.find("train.idx: the test's file ends here") != std::string::npos);
      CHECK(told <= static_cast<std::size_t>((bad_read - 1) / 16));
    }
}

TEST_CASE("a pipeline that never ran can be destroyed", "[endings]") {
  for (const std::string workers : {"threads", "inline"}) {
    const Built b(make_config({.stages = 3, .workers = workers}));
    const Pipeline pipeline(b.input());
    CHECK(pipeline.memory().size() == 3);
  }
}

TEST_CASE("a loader ends while a pipeline that never read from it exists", "[endings]") {
  const Built b(make_config({.stages = 3}));
  Pipeline pipeline(b.input());
  const auto data = synthetic(64);
  {
    const Loader loader(*data, {.order = {.batch_size = 16}}, pipeline.loader_readers(Mode::Train));
  }
  CHECK(pipeline.memory().size() == 3);
}

TEST_CASE("training no mini-batch at all changes nothing", "[endings]") {
  const Built b(make_config({.stages = 3}));
  Pipeline pipeline(b.input());
  const NamedTensors before = initial_parameters(b.graph, 9);
  pipeline.set_parameters(before);
  const auto data = synthetic(64);
  Loader loader(*data, {.order = {.batch_size = 16}}, pipeline.loader_readers(Mode::Train));
  pipeline.train(loader, 0, 0, [](const StepRecord&) { CHECK(false); });
  CHECK(same_bits(pipeline.parameters(), before));
}

TEST_CASE("a pipeline can be destroyed after its failure, at any step", "[endings]") {
  const std::string workers = GENERATE("threads", "inline");
  const Built b(make_config({.stages = 3, .workers = workers}));
  for (const int last : {0, 1, 3}) {
    Pipeline pipeline(b.input());
    pipeline.set_parameters(initial_parameters(b.graph, 9));
    const auto data = synthetic(64);
    Loader loader(*data,
                  {.order = {.batch_size = 16},
                   .depth = pipeline.loader_depth(Mode::Train),
                   .reader_threads = pipeline.reader_threads(Mode::Train)},
                  pipeline.loader_readers(Mode::Train));
    CHECK_THROWS_AS(pipeline.train(loader, 0, 4,
                                   [&](const StepRecord& record) {
                                     if (record.step == last) throw DeviceError("disk full");
                                   }),
                    DeviceError);
  }
}

TEST_CASE("labels of other samples are refused by the loss", "[endings]") {
  const std::string workers = GENERATE("threads", "inline");
  const int swapping = GENERATE(0, 1);  // one boundary only: two swaps would undo each other
  int boundaries = 0;
  TrainingSetup setup{.model = mlp_model,
                      .config = make_config({.stages = 3, .microbatches = 2, .workers = workers})};
  setup.make_channel = [&](const ChannelOptions& options) -> std::unique_ptr<Channel> {
    auto real = make_in_process_channel(options);
    // Channels are made boundary by boundary, activations before gradients.
    if (boundaries++ != 2 * swapping) return real;
    return std::make_unique<OnSend>(std::move(real), swap_first_ids);
  };
  std::string message;
  try {
    train(setup);
  } catch (const InternalError& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(message.find("stage 2") != std::string::npos);
  CHECK(message.find("different samples") != std::string::npos);
}
