#include "runtime/pipeline.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "base/check.hpp"
#include "base/error.hpp"
#include "program/liveness.hpp"
#include "runtime/segment_program.hpp"
#include "runtime/stage_tensors.hpp"

namespace pipetrain {
namespace {

// The first failure wins: it is kept, everything that anybody could wait for is closed.
class FirstFailure {
 public:
  explicit FirstFailure(std::function<void()> close_all) : close_all_(std::move(close_all)) {}
  void report(std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = failure;
    }
    close_all_();
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::function<void()> close_all_;
  std::mutex mutex_;
  std::exception_ptr first_;
};

ThreadPlan threads_for(const Config& config, const Plan& plan) {
  const bool shared = config.hardware.workers == "inline";
  return plan_threads(shared ? 1 : static_cast<int>(plan.stages.size()),
                      config.hardware.threads_per_stage);
}

}  // namespace

struct Pipeline::Impl {
  explicit Impl(const PipelineInput& in)
      : graph(in.graph),
        plan(in.plan),
        config(in.config),
        backend(in.backend),
        make_channel(in.make_channel),
        learning_rate{config.lr_schedule, config.optimizer.lr, in.total_steps},
        threads(threads_for(in.config, in.plan)),
        lowering(lower_for(in)),
        program(in.program ? *in.program : training_program(config, stage_count())) {
    make_stages(peak_activations(program));
    const auto sizes = microbatch_sizes(config, in.train_samples, in.validation_samples);
    for (const MicrobatchSize& size : sizes)
      for (const auto& stage : stages) stage->prepare(size.samples, size.mode);
    evaluation_batch = largest_microbatch(sizes, Mode::Evaluate);
    validation_samples = in.validation_samples;
    make_boundaries(training, largest_microbatch(sizes, Mode::Train), Mode::Train);
    make_boundaries(evaluation, evaluation_batch, Mode::Evaluate);
  }

  int stage_count() const { return static_cast<int>(plan.stages.size()); }

  void make_stages(const std::vector<int>& slots) {
    for (int s = 0; s < stage_count(); ++s) {
      const StagePlan& part = plan.stages[static_cast<std::size_t>(s)];
      stages.push_back(
          std::make_unique<Stage>(StageInput{.graph = graph,
                                             .lowering = *lowering,
                                             .backend = backend,
                                             .optimizer = config.optimizer,
                                             .id = {s},
                                             .first = part.first,
                                             .last = part.last,
                                             .weight_copies = versions_kept(program, {s}),
                                             .slots = slots[static_cast<std::size_t>(s)],
                                             .split_backward = splits_backward(program)}));
      parameter_count += stages.back()->parameters();
    }
  }

  void make_boundaries(std::vector<Boundary>& boundaries, int samples, Mode mode) {
    if (samples == 0) return;
    const std::vector<PacketCounts> counts = packet_counts(program);
    for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
      const LayerId next = stages[s + 1]->first();
      const std::size_t bytes = activation_packet(graph, *lowering, next, samples).bytes;
      Boundary& boundary = boundaries.emplace_back();
      const int count = mode == Mode::Train ? counts[s].activations : evaluation_packets;
      boundary.activations = channel(*stages[s], bytes, count, samples);
      if (mode == Mode::Evaluate) continue;
      boundary.gradients =
          channel(*stages[s + 1], gradient_packet(graph, *lowering, next, samples).bytes,
                  counts[s].gradients, samples);
    }
  }
  std::unique_ptr<Channel> channel(Stage& owner, std::size_t bytes, int count, int samples) {
    ChannelOptions options;
    for (int i = 0; i < count; ++i)
      options.packets.push_back(
          owner.take_memory().take(Use::Packets, std::max<std::size_t>(bytes, 64)));
    options.samples = samples;
    options.spin = threads.fits && config.hardware.workers != "inline";
    return make_channel(options);
  }

  void close_all(Loader& loader, StepBoard* board) {
    for (std::vector<Boundary>* boundaries : {&training, &evaluation})
      for (Boundary& b : *boundaries)
        for (Channel* c : {b.activations.get(), b.gradients.get()})
          if (c) c->close();
    loader.close();
    if (board) board->close();
  }

  // Runs every worker to its end. `report` is called again and again from this thread while they
  // run and waits for something to report; it returns false when there is nothing left.
  void run(const Run& run, const std::function<bool(bool wait)>& report) {
    FirstFailure failure([&] { close_all(run.loader, run.board); });
    std::vector<Worker> workers;
    for (int w = 0; w < static_cast<int>(run.program.workers.size()); ++w)
      workers.emplace_back(run, WorkerId{w});
    if (config.hardware.workers == "inline")
      run_inline(workers, report, failure);
    else
      run_threads(workers, report, failure);
    failure.rethrow();
  }

  void run_inline(std::vector<Worker>& workers, const std::function<bool(bool)>& report,
                  FirstFailure& failure) {
    try {
      for (bool moved = true; moved;) {
        moved = false;
        for (Worker& worker : workers)
          while (!worker.done() && !worker.blocked()) {
            worker.step();
            moved = true;
          }
        while (report(false)) moved = true;
      }
      for (Worker& worker : workers) PIPETRAIN_CHECK(worker.done(), "the program is stuck");
    } catch (...) {
      failure.report(std::current_exception());
    }
  }

  void run_threads(std::vector<Worker>& workers, const std::function<bool(bool)>& report,
                   FirstFailure& failure) {
    const auto work = [&](std::size_t w) {
      try {
        set_kernel_threads(threads.threads_per_stage);
        if (threads.fits) pin_worker(static_cast<int>(w), threads.threads_per_stage);
        workers[w].run();
      } catch (...) {
        failure.report(std::current_exception());
      }
    };
    std::vector<std::thread> pool;
    try {
      for (std::size_t w = 0; w < workers.size(); ++w) pool.emplace_back(work, w);
      while (report(true)) {
      }
    } catch (...) {
      failure.report(std::current_exception());
    }
    for (std::thread& thread : pool) thread.join();
  }

  const Graph& graph;
  const Plan& plan;
  const Config& config;
  Backend& backend;
  std::function<std::unique_ptr<Channel>(const ChannelOptions&)> make_channel;
  LearningRate learning_rate;
  ThreadPlan threads;
  std::unique_ptr<const Lowering> lowering;
  Program program;
  std::vector<std::unique_ptr<Stage>> stages;
  int parameter_count = 0;
  std::vector<Boundary> training, evaluation;
  int evaluation_batch = 0;
  std::int64_t validation_samples = 0;
  Trace* trace = nullptr;
};

Pipeline::Pipeline(const PipelineInput& input) : impl_(std::make_unique<Impl>(input)) {}
Pipeline::~Pipeline() = default;

void Pipeline::set_trace(Trace* trace) { impl_->trace = trace; }
const Program& Pipeline::program() const { return impl_->program; }
int Pipeline::loader_readers() const { return impl_->stage_count() > 1 ? 2 : 1; }
int Pipeline::evaluation_batch() const { return impl_->evaluation_batch; }
int Pipeline::reader_threads() const { return impl_->config.hardware.workers == "inline" ? 1 : 0; }
int Pipeline::loader_depth() const {
  // In flight at once: what the first stage is ahead of the last, the one being read, two made
  // ahead.
  return impl_->stage_count() / std::max(1, impl_->config.pipeline.microbatches) + 4;
}

std::vector<MemoryAccount> Pipeline::memory() const {
  std::vector<MemoryAccount> accounts;
  for (const auto& stage : impl_->stages) accounts.push_back(stage->memory());
  return accounts;
}

std::int64_t Pipeline::train(Loader& loader, std::int64_t first, std::int64_t count,
                             const std::function<void(const StepRecord&)>& on_step,
                             const std::atomic<bool>* drain) {
  Impl& p = *impl_;
  PIPETRAIN_CHECK(count % p.program.minibatches == 0, "{} mini-batches do not fill programs of {}",
                  count, p.program.minibatches);
  if (count == 0) return 0;
  StepBoard board({.stages = p.stage_count(),
                   .parameters = p.parameter_count,
                   .first_step = first,
                   .end = first + count,
                   .drain = drain});
  const Run run{.program = p.program,
                .stages = p.stages,
                .boundaries = p.training,
                .loader = loader,
                .board = &board,
                .mode = Mode::Train,
                .first_step = first,
                .seed = p.config.training.seed,
                .learning_rate = p.learning_rate,
                .max_norm = p.config.optimizer.max_norm,
                .skip_nonfinite = p.config.training.on_nonfinite == "skip",
                .trace = p.trace};
  p.run(run, [&](bool wait) {
    const StepRecord* record = wait ? board.next() : board.try_next();
    if (!record) return false;
    on_step(*record);
    board.pop();
    return true;
  });
  return board.end() - first;
}

EvaluationSum Pipeline::evaluate(Loader& loader) {
  Impl& p = *impl_;
  const Program program = evaluation_program(p.stage_count());
  EvaluationSum sum;
  const Run run{.program = program,
                .stages = p.stages,
                .boundaries = p.evaluation,
                .loader = loader,
                .sum = &sum,
                .mode = Mode::Evaluate,
                .repeats = (p.validation_samples + p.evaluation_batch - 1) / p.evaluation_batch,
                .seed = p.config.training.seed,
                .learning_rate = p.learning_rate};
  p.run(run, [](bool) { return false; });
  return sum;
}

void Pipeline::set_parameters(const NamedTensors& tensors) {
  for (const auto& stage : impl_->stages) put_parameters(*stage, tensors);
}

NamedTensors Pipeline::parameters() const {
  NamedTensors tensors;
  for (const auto& stage : impl_->stages) take_parameters(*stage, tensors);
  return tensors;
}

std::vector<StageTensors> Pipeline::state() const {
  std::vector<StageTensors> state;
  for (const auto& stage : impl_->stages) {
    StageTensors& part = state.emplace_back();
    for (int l = 0; l < stage->layers(); ++l) part.layers.push_back(stage->layer(l).name);
    take_parameters(*stage, part.tensors);
    take_moments(*stage, impl_->config.optimizer, part.tensors);
  }
  return state;
}

void Pipeline::set_state(const NamedTensors& tensors) {
  for (const auto& stage : impl_->stages) {
    put_parameters(*stage, tensors);
    put_moments(*stage, impl_->config.optimizer, tensors);
  }
}

std::unique_ptr<const Lowering> lower_for(const PipelineInput& input) {
  const Config& config = input.config;
  set_kernel_threads(threads_for(input.config, input.plan).threads_per_stage);
  const auto microbatch =
      sample_part(static_cast<int>(config.data.batch_size), config.pipeline.microbatches, 0);
  return input.backend.lower(input.graph, {.samples = microbatch.count});
}

}  // namespace pipetrain
