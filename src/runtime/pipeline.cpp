#include "runtime/pipeline.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "base/start_thread.hpp"
#include "compile/pipeline_threads.hpp"
#include "machine/core_claims.hpp"
#include "runtime/make_stages.hpp"
#include "runtime/run_workers.hpp"
#include "stage/of_stage.hpp"
#include "stage/stage_tensors.hpp"

namespace pipetrain {
namespace {

// All that will run at once: workers with their kernel threads, those of the caller, the loader,
// whoever saves, and the team that keeps others from spinning.
void check_threads_of(const Config& config, const ThreadPlan& plan, bool sleeping) {
  constexpr int others = 2;
  check_threads(plan.threads_per_stage * workers_at_once(config) + kernel_threads() + others +
                (sleeping ? SleepingTeams::threads() : 0));
}

int cores_to_claim(const Config& config, const ThreadPlan& plan) {
  return plan.fits ? plan.threads_per_stage * workers_at_once(config) : 0;
}

}  // namespace

struct Pipeline::Impl {
  // Devices may still be at work for a run that failed, with each other's memory.
  ~Impl() {
    for (const auto& copies : stages)
      for (int c = 0; c < copies->count(); ++c) try {
          copies->copy(c).stream().finish();
        } catch (...) {  // what failed has been told
        }
  }
  Impl(CompiledPipeline made, const MakeChannel& make_channel)
      : compiled(std::move(made)),
        make_channel(make_channel),
        graph(compiled.in.graph),
        plan(compiled.in.plan),
        config(compiled.in.config),
        learning_rate{config.lr_schedule, config.optimizer.lr, compiled.in.total_steps,
                      rate_annealing(config, compiled.in.total_steps, compiled.in.steps_per_epoch),
                      rate_shares(compiled.needs.program.program)},
        link(link_of(config.hardware)),
        warmup_steps(pipetrain::warmup_steps(config, compiled.in.steps_per_epoch)),
        threads(threads_for(config)),
        claims(cores_to_claim(config, threads)),
        needs(compiled.needs) {
    set_kernel_threads(threads.threads_per_stage);
    if (!is_inline(config)) threads.cores = claims.cores();  // the caller's thread is not pinned
    const bool sleeps = claims.others_hold_them() && threads.threads_per_stage > 1;
    check_threads_of(config, threads, sleeps);
    if (sleeps) sleeping.emplace();
    joint_norm = joins_norms(config, needs.program.program);
    stages = make_stages(compiled);
    for (const auto& stage : stages) parameter_count += stage->first().parameters();
    tied = std::make_unique<TiedParameters>(graph, stages);
    for (int s = 0; s < stage_count(); ++s)
      of_stage(s,
               [&] { stages[s]->prepare(compiled.sizes, std::move(compiled.parts[s].kernels)); });
    const bool delays = link && !is_inline(config);
    if (delays) sum_over_links();
    const BoundaryInput cuts{.plan = plan,
                             .model = compiled.model,
                             .sizes = compiled.sizes,
                             .needs = needs,
                             .stages = stages,
                             .backend = compiled.in.backend,
                             .make_channel = make_channel,
                             .spin = !threads.cores.empty(),
                             .link = delays ? &*link : nullptr,
                             .link_clock = &link_clock};
    training = make_boundaries(cuts, Mode::Train);
    evaluation = make_boundaries(cuts, Mode::Evaluate);
  }

  void sum_over_links() {
    for (const auto& stage : stages) stage->sum_over(*link, link_clock);
    tied->sum_over(*link, link_clock);
  }

  int stage_count() const { return static_cast<int>(plan.stages.size()); }

  // Whether the program can be run for that number of mini-batches.
  static bool is_of(const SegmentProgram& segment, std::int64_t count) {
    const std::int64_t more = count - segment.program.minibatches;
    return segment.loops.empty() ? more == 0
                                 : more >= 0 && more % segment.program.minibatches_per_round() == 0;
  }

  // Of mini-batches [first, first + count).
  const SegmentProgram& segment_program(std::int64_t first, std::int64_t count) {
    const SegmentProgram& longest = needs.program;
    if (first < warmup_steps) {
      PIPETRAIN_CHECK(first + count <= warmup_steps, "a segment goes on behind the warm-up");
      return needs.warmup;
    }
    if (repeats_program(config)) {
      PIPETRAIN_CHECK(count % longest.program.minibatches == 0,
                      "{} mini-batches do not fill programs of {}", count,
                      longest.program.minibatches);
      return longest;
    }
    if (is_of(longest, count)) return longest;
    if (short_program.program.workers.empty() || !is_of(short_program, count))
      short_program = training_program(config, config.pipeline.stages, count, needs.tied);
    return short_program;
  }

  void close_all(Loader& loader, StepBoard* board) {
    close(training);
    close(evaluation);
    loader.close();
    tied->close();
    for (const auto& stage : stages) stage->close();
    if (board) board->close();
  }

  void run(const Run& run, const Report& report) {
    run_workers(run, is_inline(config) ? nullptr : &threads, report,
                [&] { close_all(run.loader, run.board); });
  }

  std::unique_ptr<const Plan> own_plan;  // of a pipeline that was cut again
  CompiledPipeline compiled;
  const MakeChannel make_channel;
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
  std::optional<SleepingTeams> sleeping;  // where other runs hold the cores
  const PipelineNeeds& needs;
  SegmentProgram short_program;  // of a segment that is shorter than the longest one's warm-up, or
                                 // ends elsewhere within a round
  std::vector<std::unique_ptr<StageCopies>> stages;
  std::unique_ptr<TiedParameters> tied;
  int parameter_count = 0;
  std::vector<Boundary> training, evaluation;
  Trace* trace = nullptr;
};

Pipeline::Pipeline(CompiledPipeline compiled, const MakeChannel& make_channel)
    : impl_(std::make_unique<Impl>(std::move(compiled), make_channel)) {}
Pipeline::~Pipeline() = default;

void Pipeline::recut(std::unique_ptr<const Plan> plan, CompiledPipeline compiled) {
  NamedTensors tensors;
  for (StageTensors& part : state()) tensors.merge(part.tensors);
  Trace* const trace = impl_->trace;
  const MakeChannel make_channel = impl_->make_channel;
  impl_.reset();  // its memory is what the new stages take
  impl_ = std::make_unique<Impl>(std::move(compiled), make_channel);
  impl_->own_plan = std::move(plan);
  impl_->trace = trace;
  set_state(tensors);
}

const CompiledPipeline& Pipeline::compiled() const { return impl_->compiled; }

void Pipeline::set_watch(StageId stage, LayerWatch* watch) {
  impl_->stages[stage.value]->first().set_watch(watch);
}
void Pipeline::set_trace(Trace* trace) { impl_->trace = trace; }
const SegmentProgram& Pipeline::segment_program() const { return impl_->needs.program; }
int Pipeline::loader_readers(Mode mode) const {
  const bool shared = mode == Mode::Train && !impl_->needs.program.program.whole_minibatches;
  const auto copies = [&](int s) { return shared ? impl_->stages[s]->count() : 1; };
  const int last = impl_->stage_count() - 1;
  return last > 0 ? copies(0) + copies(last) : copies(0);
}
int Pipeline::reader_threads(Mode mode) const {
  if (is_inline(impl_->config)) return 1;
  const Program& program = impl_->needs.program.program;
  std::set<WorkerId> workers;
  for (const StageId stage : {StageId{0}, StageId{program.stages - 1}})
    for (int copy = 0; copy < (mode == Mode::Train ? program.copies_of(stage) : 1); ++copy)
      workers.insert(program.worker_of_copy(stage, copy));
  return static_cast<int>(workers.size());
}
int Pipeline::loader_depth() const {
  // Held at once: those of the micro-batches that the first stage has in flight, which may begin
  // and end within one; two made ahead.
  const Program& program = impl_->needs.program.program;
  const StageNeeds& first = impl_->needs.stages[0];
  return std::max({first.slots * first.copies, first.input_slots * first.copies, program.stages}) /
             program.microbatches +
         (program.whole_minibatches ? static_cast<int>(program.workers.size()) : 0) + 4;
}

bool Pipeline::has_own_cores() const { return !impl_->claims.cores().empty(); }

std::vector<HeldMemory> Pipeline::memory() const {
  std::vector<HeldMemory> accounts;
  for (const auto& stage : impl_->stages) accounts.push_back(stage->memory());
  return accounts;
}

std::int64_t Pipeline::train(Loader& loader, std::int64_t first, std::int64_t count,
                             const std::function<void(const StepRecord&)>& on_step,
                             const std::atomic<bool>* drain) {
  Impl& p = *impl_;
  if (count == 0) return 0;
  const SegmentProgram& segment = p.segment_program(first, count);
  for (const auto& stage : p.stages) stage->keep_up_delta(first >= p.warmup_steps);
  for (const auto& stage : p.stages) stage->begin();
  p.tied->begin();
  const bool in_warmup = first < p.warmup_steps,
             joint_norm = in_warmup ? needs_norm(p.config) : p.joint_norm;
  std::vector<int> copies;
  for (const auto& stage : p.stages)
    copies.push_back(segment.program.whole_minibatches ? 1 : stage->count());
  StepBoard board({.stages = p.stage_count(),
                   .copies = copies,
                   .parameters = p.parameter_count,
                   .tied = joint_norm ? p.tied->count() : 0,
                   .first_step = first,
                   .end = first + count,
                   .drain = drain});
  const Run run{.what = {.program = segment.program, .loops = segment.loops, .first_step = first},
                .stages = p.stages,
                .boundaries = p.training,
                .loader = loader,
                .tied = *p.tied,
                .board = &board,
                .mode = Mode::Train,
                .seed = p.config.training.seed,
                .updates = {.learning_rate = p.learning_rate,
                            .max_norm = p.config.optimizer.max_norm,
                            .skip_nonfinite = p.config.training.on_nonfinite == OnNonfinite::Skip,
                            .joint_norm = joint_norm,
                            .own_norms = needs_norm(p.config) && !joint_norm},
                .link = p.link,
                .trace = p.trace};
  p.link_clock.hurry_once(drain);
  p.run(run, [&](bool wait) {
    const StepRecord* record = wait ? board.next() : board.try_next();
    if (!record) return false;
    on_step(*record);
    board.pop();
    return true;
  });
  p.link_clock.hurry_once(nullptr);
  return board.end() - first;
}

EvaluationSum Pipeline::evaluate(Loader& loader) {
  Impl& p = *impl_;
  const Program program =
      evaluation_program(p.needs.program.program, minibatch_parts(p.config).validation);
  EvaluationSum sum;
  const Run run{.what = {.program = program, .loops = {}, .repeats = loader.steps_per_epoch()},
                .stages = p.stages,
                .boundaries = p.evaluation,
                .loader = loader,
                .tied = *p.tied,
                .sum = &sum,
                .mode = Mode::Evaluate,
                .seed = p.config.training.seed,
                .updates = {.learning_rate = p.learning_rate}};
  p.run(run, [](bool) { return false; });
  return sum;
}

void Pipeline::set_parameters(const NamedTensors& tensors) {
  for (const auto& stage : impl_->stages)
    for (int c = 0; c < stage->count(); ++c) put_parameters(stage->copy(c), tensors);
}

NamedTensors Pipeline::parameters() const {
  NamedTensors tensors;
  for (const auto& stage : impl_->stages) take_parameters(stage->first(), tensors, Tied::EachUse);
  return tensors;
}

std::vector<StageTensors> Pipeline::state() const {
  std::vector<StageTensors> state;
  for (const auto& copies : impl_->stages) {
    Stage& stage = copies->first();
    StageTensors& part = state.emplace_back();
    for (int l = 0; l < stage.layers(); ++l) part.layers.push_back(stage.layer(l).name);
    take_parameters(stage, part.tensors, Tied::Owner);
    take_moments(stage, impl_->config.optimizer, part.tensors);
    if (keeps_delta(impl_->config.pipeline)) take_delta(stage, part.tensors);
  }
  return state;
}

void Pipeline::set_state(const NamedTensors& tensors) {
  for (const auto& copies : impl_->stages)
    for (int c = 0; c < copies->count(); ++c) {
      Stage& stage = copies->copy(c);
      put_parameters(stage, tensors);
      put_moments(stage, impl_->config.optimizer, tensors);
      if (keeps_delta(impl_->config.pipeline)) put_delta(stage, tensors);
    }
}

}  // namespace pipetrain
