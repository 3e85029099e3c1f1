// Pipelines whose workers are on several ranks, with devices: threads of this process play the
// ranks, on the fake CUDA and its NCCL, over a wire that is not MPI.
#include <cmath>
#include <exception>
#include <thread>

#include "../transport/fake_wire.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/fine_tuning.hpp"
#include "runtime/altered_data.hpp"
#include "trained_on_fake.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

struct OnRanks {
  Trained trained;                    // as rank 0 has it
  std::vector<std::string> failures;  // by rank; empty: none
  std::vector<std::string> findings;
};

// What one rank has of a training.
struct RankRig {
  RankRig(const TrainingSetup& setup, Job& job, int ranks)
      : setup(setup),
        job(job),
        graph(trained_graph(setup)),
        data(altered_data(
            draw_synthetic({.samples = setup.samples, .seed = 3, .part = "train"}, graph),
            [this](std::int64_t, float*) { on_sample(); })),
        plan(make_plan(graph, setup.config, {})),
        backend(make_backend("cuda", setup.config.hardware.devices)) {
    PipelineInput input{graph, plan, setup.config, *backend, setup.steps};
    input.sizes.train = data->order(training_order(setup.config))->sizes();
    if (setup.evaluate)
      input.sizes.validation = data->order(evaluation_order(setup.config))->sizes();
    input.ranks = {job.rank(), ranks, ranks};
    pipeline.emplace(compile_pipeline(input), make_in_process_channel, &job);
  }

  std::unique_ptr<Loader> loader(Mode mode, std::int64_t first) {
    return std::make_unique<Loader>(*data, loader_options(*pipeline, setup.config, mode, first),
                                    pipeline->loader_readers(mode));
  }

  Trained lead() {
    Trained result;
    pipeline->set_parameters(first_parameters(setup.config, graph));
    if (setup.evaluate) result.before = evaluate(*pipeline, *data, setup.config);
    const auto reads = loader(Mode::Train, 0);
    pipeline->train(*reads, 0, setup.steps, [&](const StepRecord& record) {
      result.losses.push_back(record.stages.back().loss.sum / record.stages.back().samples);
      result.norms.push_back(record.squared_norm());
    });
    if (setup.evaluate) result.after = evaluate(*pipeline, *data, setup.config);
    result.parameters = pipeline->parameters();
    return result;
  }

  static Graph trained_graph(const TrainingSetup& setup) {
    Graph graph = read_model_text(setup.model, "test");
    choose_trained(setup.config, graph);
    return graph;
  }

  std::function<void()> on_sample = [] {};  // after each that is read; may throw
  const TrainingSetup& setup;
  Job& job;
  const Graph graph;
  const std::unique_ptr<const Dataset> data;
  const Plan plan;
  const std::unique_ptr<Backend> backend;
  std::optional<Pipeline> pipeline;
};

enum class Fails { Never, BeforeItsStages, BeforeTraining, InTraining };

OnRanks train_on_ranks(TrainingSetup setup, int ranks, int failing = 0,
                       Fails fails = Fails::Never) {
  fake_cuda::set({.order = fake_cuda::Order::Random, .devices = 4});
  setup.config.hardware.workers = Workers::Mpi;
  FakeNetwork network(ranks);
  OnRanks result;
  result.failures.resize(static_cast<std::size_t>(ranks));
  const auto play = [&](int rank) {
    Job job(network.wire(rank));
    job.set_peer_timeout(60);
    const auto may_fail = [&](Fails now) {
      if (rank == failing && fails == now) throw DeviceError("this rank fails");
    };
    try {
      may_fail(Fails::BeforeItsStages);
      RankRig rig(setup, job, ranks);
      may_fail(Fails::BeforeTraining);
      rig.on_sample = [&, samples = 0]() mutable {
        if (++samples == 20) may_fail(Fails::InTraining);  // in the second mini-batch
      };
      if (job.leads())
        result.trained = rig.lead();
      else
        rig.pipeline->serve({.make_loader = [&](Mode mode, std::int64_t first) {
          return rig.loader(mode, first);
        }});
      job.finish();
    } catch (const std::exception& error) {
      job.fail(error);
      result.failures[static_cast<std::size_t>(rank)] =
          job.failure() ? job.failure()->message : error.what();
    }
  };
  std::vector<std::thread> others;
  for (int rank = 1; rank < ranks; ++rank) others.emplace_back([&, rank] { play(rank); });
  play(0);
  for (std::thread& other : others) other.join();
  result.findings = fake_cuda::take_findings();
  return result;
}

TrainingSetup setup_of(const std::string& model, const std::string& schedule, int stages) {
  TrainingSetup setup{.model = model,
                      .config = make_config({.stages = stages,
                                             .microbatches = 4,
                                             .schedule = schedule,
                                             .workers = "threads",
                                             .backend = "cuda"}),
                      .steps = 4};
  for (int s = 0; s < stages; ++s)
    setup.config.hardware.devices.push_back("cuda:" + std::to_string(s));
  return setup;
}

Trained by_threads(const TrainingSetup& setup) {
  return train_on_fake({.order = fake_cuda::Order::Random, .devices = 4}, setup).trained;
}

void check_same_bits(const TrainingSetup& setup, int ranks) {
  const Trained threads = by_threads(setup);
  const OnRanks apart = train_on_ranks(setup, ranks);
  INFO(setup.config.pipeline.schedule << " on " << ranks << " ranks");
  CHECK(apart.failures == std::vector<std::string>(static_cast<std::size_t>(ranks)));
  CHECK(apart.findings == std::vector<std::string>{});
  CHECK(same(apart.trained, threads));
  CHECK(apart.trained.after.loss == threads.after.loss);
}

}  // namespace

TEST_CASE("ranks with devices train and evaluate to the bits of threads", "[cuda]") {
  for (const std::string schedule : {"gpipe", "1f1b", "zb_h1", "pipedream", "timeprest"}) {
    TrainingSetup setup = setup_of(residual_model, schedule, 4);
    setup.evaluate = true;
    check_same_bits(setup, 2);
  }
  TrainingSetup setup = setup_of(residual_model, "1f1b", 4);
  setup.config.optimizer.max_norm = 0.1;
  check_same_bits(setup, 4);
  setup = setup_of(mlp_model, "interleaved_1f1b", 2);
  setup.config.pipeline.virtual_stages = 2;
  check_same_bits(setup, 2);
}

TEST_CASE("tied parameters of devices on several ranks have the bits of threads", "[cuda]") {
  for (const std::string schedule : {"1f1b", "pipedream"})
    for (const int ranks : {2, 4}) check_same_bits(setup_of(tied_model, schedule, 4), ranks);
  TrainingSetup setup = setup_of(tied_model, "1f1b", 4);
  setup.config.optimizer.max_norm = 0.01;
  check_same_bits(setup, 4);
  setup = setup_of(tied_model, "interleaved_1f1b", 2);  // a worker has a tied stage and another
  setup.config.pipeline.virtual_stages = 2;
  setup.config.optimizer.max_norm = 0.01;
  check_same_bits(setup, 2);
}

// Two copies have the bits of threads, since a sum of two has only one order.
TEST_CASE("copies of a stage on devices of several ranks add up their gradients", "[cuda]") {
  for (const std::string schedule : {"1f1b", "pipedream"}) {
    TrainingSetup setup = setup_of(mlp_model, schedule, 2);
    setup.config.pipeline.replicas = {2, 1};
    setup.config.hardware.devices = {"cuda:0", "cuda:1", "cuda:2"};
    check_same_bits(setup, 3);
    if (schedule == "pipedream") continue;
    setup.config.optimizer.max_norm = 0.1;
    check_same_bits(setup, 3);
  }
  TrainingSetup frozen = setup_of(mlp_model, "1f1b", 2);
  frozen.config.pipeline.replicas = {2, 1};
  frozen.config.hardware.devices = {"cuda:0", "cuda:1", "cuda:2"};
  frozen.config.model.trainable = {{"fc3*"}};
  check_same_bits(frozen, 3);
  check_same_bits(setup_of(mlp_model, "data_parallel", 2), 2);
  check_same_bits(setup_of(residual_model, "data_parallel", 2), 2);
  check_same_bits(setup_of(mlp_model, "chimera", 4), 4);
}

TEST_CASE("copies that devices of several ranks cannot join are refused", "[cuda]") {
  TrainingSetup setup = setup_of(mlp_model, "1f1b", 2);
  setup.config.pipeline.replicas = {3, 1};
  const OnRanks crowded = train_on_ranks(setup, 2);
  CHECK(crowded.failures[0].find("the 3 copies of stage 0 are on 2 ranks") != std::string::npos);
  CHECK(crowded.failures[0].find("start 4 processes") != std::string::npos);
  setup = setup_of(residual_model, "1f1b", 2);
  setup.config.pipeline.replicas = {2, 1};
  const OnRanks statistics = train_on_ranks(setup, 3);
  CHECK(statistics.failures[0].find("its layer 'bn1' keeps running statistics") !=
        std::string::npos);
}

TEST_CASE("a rank with more streams than its device runs apart is refused", "[cuda]") {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 1);
  const OnRanks refused = train_on_ranks(setup_of(mlp_model, "1f1b", 3), 3);
  ::unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
  REQUIRE(!refused.failures.empty());
  CHECK(refused.failures[0].find("more than the 2 that CUDA_DEVICE_MAX_CONNECTIONS allows") !=
        std::string::npos);
}

TEST_CASE("a rank that fails ends the others, whose devices wait for it", "[cuda]") {
  TrainingSetup copies = setup_of(mlp_model, "1f1b", 2);
  copies.config.pipeline.replicas = {2, 1};
  copies.config.hardware.devices = {"cuda:0", "cuda:1", "cuda:2"};
  for (const TrainingSetup& setup : {setup_of(mlp_model, "1f1b", 3), copies})
    for (const int failing : {0, 1, 2})
      for (const Fails fails : {Fails::BeforeItsStages, Fails::BeforeTraining, Fails::InTraining}) {
        if (fails == Fails::InTraining && failing == 1 && setup.config.pipeline.stages == 3)
          continue;  // it reads no samples
        INFO("rank " << failing << ", " << static_cast<int>(fails));
        const OnRanks ended = train_on_ranks(setup, 3, failing, fails);
        CHECK(ended.findings == std::vector<std::string>{});
        for (const std::string& failure : ended.failures)
          CHECK(failure.find("this rank fails") != std::string::npos);
      }
}
