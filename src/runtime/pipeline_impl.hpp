// What a pipeline is made of; only its own sources see it.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <vector>

#include "compile/pipeline_threads.hpp"
#include "machine/core_claims.hpp"
#include "runtime/board_link.hpp"
#include "runtime/commands.hpp"
#include "runtime/device_ranks.hpp"
#include "runtime/pipeline.hpp"
#include "runtime/run_workers.hpp"

namespace pipetrain {

struct Graph;

struct Pipeline::Impl {
  // Devices may still work for a run that failed, and use each other's memory. The ranks end what
  // their devices share together.
  ~Impl() {
    if (devices && job->failed()) abandon();
    if (devices && leads()) job->dismiss();
    for (const auto& copies : stages)
      for (int c = 0; c < copies->count(); ++c)
        if (copies->has(c)) try {
            copies->copy(c).stream().finish();
          } catch (...) {  // what failed has been reported
          }
  }
  Impl(CompiledPipeline made, const MakeChannel& make_channel, Job* job);

  int stage_count() const { return static_cast<int>(plan.stages.size()); }

  // For mini-batches [first, first + count).
  const SegmentProgram& segment_program(std::int64_t first, std::int64_t count);

  void link_copies();
  void sum_on_devices(int s);
  void end_sums();
  void sum_over_links();

  // Before this rank gives up what its devices share with others'.
  void tell(const std::exception_ptr& failure) const {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      job->report(error);
    }
  }
  void abandon() noexcept {
    pipetrain::abandon(training);
    pipetrain::abandon(evaluation);
    for (const auto& stage : stages) stage->abandon();
  }
  void settle_run(std::span<const Boundary> boundaries, bool failed) {
    if (failed)
      abandon();
    else
      settle(boundaries);
  }

  void close_all(Loader* loader, StepBoard* board) {
    close(training);
    close(evaluation);
    if (loader) loader->close();
    tied->close();
    for (const auto& stage : stages) stage->close();
    if (board) board->close();
  }

  // A failure here ends the job while the memory of its messages still exists.
  template <class Work>
  auto of_job(const Work& work) const {
    if (!job) return work();
    try {
      return work();
    } catch (const std::exception& error) {
      job->fail(error);
      job->rethrow(error);
    }
  }

  void run(const Run& run, const Report& report) {
    const auto close = [&] { close_all(run.loader, run.board); };
    const auto on_failure = [&](const std::exception_ptr& failure) {
      if (devices) tell(failure);
      close();
    };
    const Woken woken(job, close);
    of_job([&] { run_workers(run, is_inline(config) ? nullptr : &threads, report, on_failure); });
  }

  // While this object lives, a failure of another rank wakes this one's workers.
  struct Woken {
    Woken(Job* job, const std::function<void()>& close) : job(job) {
      if (job) job->on_failure(close);
    }
    ~Woken() {
      if (job) job->on_failure(nullptr);
    }
    Job* const job;
  };

  bool leads() const { return job && job->leads(); }
  bool has_stage(int s) const { return stages[s]->has(0); }
  // On rank 0: makes the others do the same.
  void command(const Command& command) const {
    if (leads()) send_command(*job, command);
  }

  StageTensors state_of(int s) const;
  StageTensors parameters_of(int s) const;
  void put_parameters_here(const NamedTensors& tensors);
  void put_state_here(const NamedTensors& tensors);
  std::vector<StageTensors> all(Command::Kind kind) const;
  std::vector<StageTensors> state_here() const;
  void put(Command::Kind kind, const NamedTensors& tensors);
  NamedTensors needed_by(int rank, const NamedTensors& tensors) const;  // for its stages
  void reply(Command::Kind kind) const;
  EvaluationSum evaluate(Loader* loader, std::int64_t minibatches);
  std::int64_t train(Loader* loader, std::int64_t first, std::int64_t count,
                     const std::function<void(const StepRecord&)>& on_step,
                     const std::atomic<bool>* drain);

  std::unique_ptr<const Plan> own_plan;  // if the pipeline was cut again
  CompiledPipeline compiled;
  const MakeChannel make_channel;
  Job* const job;
  const Graph& graph;
  const Plan& plan;
  const Config& config;
  LearningRate learning_rate;
  const std::optional<LinkRate> link;
  LinkClock link_clock;
  const std::int64_t warmup_steps;  // PipeMare's synchronous epochs, in mini-batches

  bool joint_norm = false;
  ThreadPlan threads;
  const CoreClaims claims;
  std::optional<SleepingTeams> sleeping;  // if other runs hold the cores
  const PipelineNeeds& needs;
  const std::vector<std::vector<int>> ranks;  // of each stage's copies
  const std::vector<WorkerId> workers;        // of this rank
  std::vector<HeldMemory> memory;             // with a job: for all ranks' stages
  std::optional<BoardLink> board_link;
  std::unique_ptr<DeviceRanks> devices;  // with a job whose stages are on devices
  SegmentProgram short_program;  // for a segment that is shorter than the longest one's warm-up, or
                                 // ends elsewhere within a round
  std::vector<std::unique_ptr<StageCopies>> stages;
  std::unique_ptr<TiedParameters> tied;
  int parameter_count = 0;
  std::optional<PartsLink> copies_link;
  std::vector<Boundary> training, evaluation;
  Trace* trace = nullptr;
  std::atomic<bool> drained = false;  // rank 0 was asked to end the segment early
};

}  // namespace pipetrain
