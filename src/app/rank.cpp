#include "app/rank.hpp"

#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "backend/cuda_info.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "run/interrupts.hpp"
#include "run/rank_devices.hpp"
#include "runtime/device_ranks.hpp"
#include "transport/launcher.hpp"
#include "transport/nccl_calls.hpp"
#include "transport/wire.hpp"

namespace pipetrain {
namespace {

// A signal that one rank receives is for the whole job: rank 0 acts on it.
void pass_signals_on(Job& job) {
  if (job.leads()) {
    job.notes().listen(Topic::Signal, [](int, std::span<const std::byte> note) {
      if (note.empty()) return;
      const int signal = static_cast<int>(note[0]);
      if (signal == SIGUSR1)
        ask_to_save();
      else
        ask_to_stop(signal);
    });
    return;
  }
  const auto pass = [&job](int signal) {
    job.notes().send(0, Topic::Signal, {static_cast<std::byte>(signal)});
  };
  job.each_moment([pass, passed = false]() mutable {
    if (take_save_request()) pass(SIGUSR1);
    const int signal = passed ? 0 : signal_that_asked();
    if (signal == 0) return;
    passed = true;
    pass(signal);
  });
}

// Before CUDA starts, which reads both variables then: nccl_channel.hpp says why.
void prepare_devices() {
  (void)make_nccl_calls();  // says so if the build has none
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(device_queues_max).c_str(), 0);
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

}  // namespace

std::unique_ptr<Backend> backend_of(const Config& config, const Ranks& ranks) {
  if (config.hardware.backend != "cuda" || ranks.count == 1)
    return make_backend(config.hardware.backend, config.hardware.devices);
  const int gpus = static_cast<int>(cuda_devices().devices.size());
  return make_backend("cuda", rank_devices(config, ranks, launch().rank_here, gpus));
}

std::unique_ptr<Job> join_job() {
  const Launch started = launch();
  if (started.ranks == 1) return nullptr;
  auto job = std::make_unique<Job>(make_mpi_wire);
  if (job->size() == 1) {
    if (started.rank > 0) spdlog::set_level(spdlog::level::off);  // rank 0 prints
    throw UsageError(
        fmt::format("{0} started {1} processes, but none sees another: {0} belongs to another MPI "
                    "than this binary, which was built with {2}; use the launcher of that MPI, or "
                    "build with this one (-Dmpi_library)",
                    started.launcher, started.ranks, mpi_version()));
  }
  pass_signals_on(*job);
  return job;
}

bool takes_part(std::string_view verb, bool runs_on_ranks) {
  const Launch started = launch();
  const bool has_mpi = mpi_version() != "none";
  if (started.ranks == 1 || (runs_on_ranks && has_mpi)) return true;
  if (started.rank > 0) return false;
  if (!has_mpi) (void)make_mpi_wire();
  throw UsageError(
      fmt::format("pipetrain {0} runs in one process, but {1} started {2}; start it without {1}, "
                  "with hardware.workers = \"threads\" if it takes a config",
                  verb, started.launcher, started.ranks));
}

Ranks ranks_of(Job* job, const Config& config) {
  if (!job) return {};
  job->set_peer_timeout(config.hardware.peer_timeout);
  const Launch started = launch();
  const Ranks ranks{job->rank(), job->size(), started.ranks_here};
  if (config.hardware.workers != Workers::Mpi)
    throw UsageError(fmt::format(
        "hardware.workers = \"{0}\", but {1} started {2} processes, each of which would do all of "
        "the work; set hardware.workers = \"mpi\", or start pipetrain without {1}",
        word_of(config.hardware.workers), started.launcher, ranks.count));
  if (config.pipeline.automatic)
    throw UsageError(
        "pipeline.schedule = \"auto\" plans for one process; run pipetrain plan first, and write "
        "what it proposes into the config");
  if (config.pipeline.rebalance == Rebalance::Auto)
    throw UsageError(
        "pipeline.rebalance = \"auto\" does not work on several ranks; set it to \"off\"");
  if (config.hardware.backend == "cuda") prepare_devices();
  const int workers = worker_count(config.pipeline);
  if (ranks.count > workers)
    throw UsageError(fmt::format(
        "{} started {} processes for {}: each process needs at least one; start {}, or "
        "set pipeline.stages to {}",
        started.launcher, ranks.count, counted(workers, "worker"), workers, ranks.count));
  return ranks;
}

int run_rank(Job& job, const std::function<int()>& verb) {
  try {
    const int code = verb();
    job.finish();
    return job.leads() ? code : 0;
  } catch (const std::exception& error) {
    job.fail(error);
    if (const auto failure = job.failure(); !job.leads() && failure)
      spdlog::error("ends: {}", failure->message);
    if (!job.leads() && job.leader_knows())
      return job.finished() ? 0 : static_cast<int>(job.failure()->code);
    job.rethrow(error);
  }
}

}  // namespace pipetrain
