#include "runtime/pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "base/start_thread.hpp"
#include "compile/pipeline_threads.hpp"
#include "runtime/join_traces.hpp"
#include "runtime/make_stages.hpp"
#include "runtime/other_turns.hpp"
#include "runtime/pipeline_impl.hpp"
#include "stage/of_stage.hpp"

namespace pipetrain {
namespace {

// Checks all threads that will run at once: workers with their kernel threads, those of the caller,
// the loader, the saving thread, and the team that keeps others from spinning.
void check_threads_of(const PipelineInput& in, const ThreadPlan& plan, bool sleeping) {
  constexpr int others = 2;
  check_threads(plan.threads_per_stage * workers_at_once(in.config, in.ranks) + kernel_threads() +
                others + (sleeping ? SleepingTeams::threads() : 0));
}

int cores_to_claim(const PipelineInput& in, const ThreadPlan& plan) {
  return plan.fits ? plan.threads_per_stage * workers_at_once(in.config, in.ranks) : 0;
}

// The ranks of each stage's copies.
std::vector<std::vector<int>> ranks_of_stages(const CompiledPipeline& compiled) {
  const Program& program = compiled.needs.program.program;
  std::vector<std::vector<int>> ranks;
  for (StageId s{0}; s.value < program.stages; ++s.value)
    for (auto& its = ranks.emplace_back(); std::ssize(its) < program.copies_of(s);)
      its.push_back(compiled.in.ranks.of(program.worker_of_copy(s, static_cast<int>(its.size())),
                                         static_cast<int>(program.workers.size())));
  return ranks;
}

std::vector<WorkerId> workers_here(const CompiledPipeline& compiled) {
  const int workers = static_cast<int>(compiled.needs.program.program.workers.size());
  std::vector<WorkerId> here;
  for (WorkerId w{0}; w.value < workers; ++w.value)
    if (compiled.in.ranks.has(w, workers)) here.push_back(w);
  return here;
}

// Can the program be run for that number of mini-batches?
bool is_of(const SegmentProgram& segment, std::int64_t count) {
  const std::int64_t more = count - segment.program.minibatches;
  return segment.loops.empty() ? more == 0
                               : more >= 0 && more % segment.program.minibatches_per_round() == 0;
}

// How many mini-batches the step board has room for, since the reporter may be late. What a stage
// reports must never wait for a record that other stages cannot complete before this stage
// continues: 66 replicas that take turns report only when the next stage is done with 66
// mini-batches, and an order of one's own may put updates off. Stages are never further apart than
// a written program is long.
int board_capacity(const Config& config, const Program& program) {
  constexpr int late = 64;
  const bool far = program.whole_minibatches || has_own_order(config.pipeline);
  return late + (far ? program.minibatches : 0);
}

int copies_here(std::span<const std::unique_ptr<StageCopies>> stages) {
  int here = 0;
  for (const auto& stage : stages) here += stage->here();
  return here;
}

// While this object lives, messages from other ranks' boards are heard.
struct LinkedBoard {
  LinkedBoard(std::optional<BoardLink>& link, StepBoard& board) : link(link) {
    if (link) link->begin(board);
  }
  ~LinkedBoard() {
    if (link) link->end();
  }
  std::optional<BoardLink>& link;
};

// Rank 0, as long as this object lives: once it is asked to end early, no rank waits for links.
struct DrainTold {
  DrainTold(Job* to, const BoardLink* boards, const std::atomic<bool>* drain)
      : job(to && to->leads() && drain ? to : nullptr) {
    if (!job) return;
    job->each_moment([boards, drain, told = false]() mutable {
      if (told || !*drain) return;
      told = true;
      boards->to_others({.kind = BoardMessage::Kind::Hurry});
    });
  }
  ~DrainTold() {
    if (job) job->each_moment(nullptr);
  }
  Job* const job;
};

}  // namespace

Pipeline::Impl::Impl(CompiledPipeline made, const MakeChannel& make_channel, Job* job)
    : compiled(std::move(made)),
      make_channel(make_channel),
      job(job),
      graph(compiled.in.graph),
      plan(compiled.in.plan),
      config(compiled.in.config),
      learning_rate(learning_rate_of(config, compiled.in.total_steps, compiled.in.steps_per_epoch,
                                     compiled.needs.program.program)),
      link(link_of(config.hardware)),
      warmup_steps(pipetrain::warmup_steps(config, compiled.in.steps_per_epoch)),
      threads(threads_for(config, compiled.in.ranks)),
      claims(cores_to_claim(compiled.in, threads)),
      needs(compiled.needs),
      ranks(ranks_of_stages(compiled)),
      workers(workers_here(compiled)) {
  set_kernel_threads(threads.threads_per_stage);
  if (!is_inline(config)) threads.cores = claims.cores();  // the caller's thread is not pinned
  const bool sleeps = claims.others_hold_them() && threads.threads_per_stage > 1;
  check_threads_of(compiled.in, threads, sleeps);
  if (sleeps) sleeping.emplace();
  joint_norm = joins_norms(config, needs.program.program);
  stages = make_stages(compiled);
  for (const auto& stage : stages) parameter_count += stage->parameters();
  if (job) {
    memory = predicted_memory(compiled);
    board_link.emplace(*job);
    if (compiled.in.backend.asynchronous())
      devices = std::make_unique<DeviceRanks>(*job, compiled.in.backend, copies_here(stages));
  }
  link_copies();
  tied = std::make_unique<TiedParameters>(graph, stages,
                                          TiedApart{job, ranks, threads.threads_per_stage});
  for (int s = 0; s < stage_count(); ++s)
    of_stage(s, [&] { stages[s]->prepare(compiled.sizes, std::move(compiled.parts[s].kernels)); });
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
                           .link_clock = &link_clock,
                           .ranks = compiled.in.ranks,
                           .job = job,
                           .devices = devices.get()};
  training = make_boundaries(cuts, Mode::Train);
  evaluation = make_boundaries(cuts, Mode::Evaluate);
}

// For stages with copies on other ranks.
void Pipeline::Impl::link_copies() {
  for (int s = 0; s < stage_count(); ++s) {
    std::set<int> others(ranks[s].begin(), ranks[s].end());
    if (!job || !stages[s]->has_any() || others.size() == 1) continue;
    if (devices) {
      sum_on_devices(s);
      continue;
    }
    others.erase(job->rank());
    if (!copies_link)
      copies_link.emplace(*job, Topic::Copies, threads.threads_per_stage,
                          [this](const PartsLink::Sum& sum, PartsLink::Parts parts) {
                            stages[static_cast<std::size_t>(sum.of)]->take_parts(sum.update,
                                                                                 std::move(parts));
                          });
    stages[s]->join_ranks(*copies_link, {others.begin(), others.end()});
  }
}

// Each copy is on a rank of its own (check_device_ranks).
void Pipeline::Impl::sum_on_devices(int s) {
  StageCopies& copies = *stages[s];
  for (int c = 0; c < copies.count(); ++c)
    if (copies.has(c)) copies.sum_on_devices(devices->make_sum(copies.copy(c), c, copies.count()));
}

void Pipeline::Impl::sum_over_links() {
  for (const auto& stage : stages) stage->sum_over(*link, link_clock);
  tied->sum_over(*link, link_clock);
}

void Pipeline::Impl::end_sums() {
  for (const auto& stage : stages) stage->end();
  tied->end();
}

const SegmentProgram& Pipeline::Impl::segment_program(std::int64_t first, std::int64_t count) {
  const SegmentProgram& longest = needs.program;
  if (first < warmup_steps) {
    PIPETRAIN_CHECK(first + count <= warmup_steps, "a segment crosses the end of the warm-up");
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

Pipeline::Pipeline(CompiledPipeline compiled, const MakeChannel& make_channel, Job* job)
    : impl_(std::make_unique<Impl>(std::move(compiled), make_channel, job)) {}
Pipeline::~Pipeline() = default;

void Pipeline::recut(std::unique_ptr<const Plan> plan, CompiledPipeline compiled) {
  NamedTensors tensors;
  for (StageTensors& part : state()) tensors.merge(part.tensors);
  Trace* const trace = impl_->trace;
  const MakeChannel make_channel = impl_->make_channel;
  Job* const job = impl_->job;
  impl_.reset();  // the new stages take its memory
  impl_ = std::make_unique<Impl>(std::move(compiled), make_channel, job);
  impl_->own_plan = std::move(plan);
  impl_->trace = trace;
  set_state(tensors);
}

const CompiledPipeline& Pipeline::compiled() const { return impl_->compiled; }

void Pipeline::set_watch(StageId stage, LayerWatch* watch) {
  impl_->stages[stage.value]->first().set_watch(watch);
}
void Pipeline::set_trace(Trace* trace) {
  impl_->trace = trace;
  if (trace) trace->set_whole(!impl_->job);
}
const SegmentProgram& Pipeline::segment_program() const { return impl_->needs.program; }
int Pipeline::loader_readers(Mode mode) const {
  // Of copies that take turns, one reads each mini-batch, or skips it for one on another rank.
  const bool in_turn = impl_->needs.program.program.whole_minibatches;
  const auto copies = [&](int s) -> int {
    const StageCopies& stage = *impl_->stages[s];
    if (mode != Mode::Train) return stage.has(0);
    return in_turn ? stage.has_any() : stage.here();
  };
  const int last = impl_->stage_count() - 1;
  return last > 0 ? copies(0) + copies(last) : copies(0);
}
bool Pipeline::reads_inputs() const { return impl_->stages[0]->has_any(); }
int Pipeline::reader_threads(Mode mode) const {
  if (is_inline(impl_->config)) return 1;
  const Program& program = impl_->needs.program.program;
  std::set<WorkerId> workers;
  for (const StageId stage : {StageId{0}, StageId{program.stages - 1}})
    for (int copy = 0; copy < (mode == Mode::Train ? program.copies_of(stage) : 1); ++copy)
      if (impl_->stages[stage.value]->has(copy))
        workers.insert(program.worker_of_copy(stage, copy));
  return static_cast<int>(workers.size());
}
int Pipeline::loader_depth(Mode mode) const {
  // Held at once: the mini-batches of the micro-batches that are in flight, which may begin and end
  // within one, and two made ahead.
  const Program& program = impl_->needs.program.program;
  if (mode == Mode::Evaluate) {  // one in each packet, and one that waits for a packet
    const int in_flight = evaluation_packets * (program.stages - 1) + 1;
    return in_flight / minibatch_parts(impl_->config).validation + 4;
  }
  const StageNeeds& first = impl_->needs.stages[0];
  return std::max({first.slots * first.copies, first.input_slots * first.copies, program.stages}) /
             program.microbatches +
         (program.whole_minibatches ? static_cast<int>(program.workers.size()) : 0) + 4;
}

bool Pipeline::has_own_cores() const { return !impl_->claims.cores().empty(); }

std::vector<HeldMemory> Pipeline::memory() const {
  if (impl_->job) return impl_->memory;
  std::vector<HeldMemory> accounts;
  for (const auto& stage : impl_->stages) accounts.push_back(stage->memory());
  return accounts;
}

std::int64_t Pipeline::train(Loader& loader, std::int64_t first, std::int64_t count,
                             const std::function<void(const StepRecord&)>& on_step,
                             const std::atomic<bool>* drain) {
  if (count == 0) return 0;
  impl_->command({Command::Kind::Train, first, count});
  return impl_->train(&loader, first, count, on_step, drain);
}

std::int64_t Pipeline::Impl::train(Loader* loader, std::int64_t first, std::int64_t count,
                                   const std::function<void(const StepRecord&)>& on_step,
                                   const std::atomic<bool>* drain) {
  const SegmentProgram& segment = segment_program(first, count);
  for (const auto& stage : stages) stage->keep_up_delta(first >= warmup_steps);
  for (const auto& stage : stages) stage->begin();
  const bool by_joint_norm = first < warmup_steps ? needs_norm(config) : joint_norm;
  const ProgramRun what{.program = segment.program, .loops = segment.loops, .first_step = first};
  // Copies that take turns report on their own mini-batches.
  const bool in_turn = segment.program.whole_minibatches;
  std::vector<int> copies;
  for (const auto& stage : stages) copies.push_back(in_turn ? 1 : stage->count());
  const auto parts_here = [&](std::int64_t step) {
    int parts = 0;
    for (const auto& stage : stages)
      parts += in_turn ? stage->has(what.copy_in_turn(step, stage->count())) : stage->here();
    return parts;
  };
  drained = false;
  StepBoard board({.stages = stage_count(),
                   .copies = copies,
                   .parameters = parameter_count,
                   .tied = by_joint_norm ? tied->count() : 0,
                   .capacity = board_capacity(config, segment.program),
                   .first_step = first,
                   .end = first + count,
                   .drain = drain,
                   .drained = &drained,
                   .link = board_link ? &*board_link : nullptr,
                   .parts_here = parts_here,
                   .norm_everywhere = by_joint_norm});
  tied->begin(by_joint_norm ? &board : nullptr);
  const LinkedBoard linked(board_link, board);
  const DrainTold told(link ? job : nullptr, board_link ? &*board_link : nullptr, drain);
  std::optional<OtherTurns> other_turns;
  Run run{.what = what,
          .stages = stages,
          .boundaries = training,
          .loader = loader,
          .tied = *tied,
          .board = &board,
          .mode = Mode::Train,
          .seed = config.training.seed,
          .updates = {.learning_rate = learning_rate,
                      .max_norm = config.optimizer.max_norm,
                      .skip_nonfinite = config.training.on_nonfinite == OnNonfinite::Skip,
                      .joint_norm = by_joint_norm,
                      .own_norms = needs_norm(config) && !by_joint_norm},
          .link = link,
          .trace = trace,
          .workers = workers,
          .settle = [this](bool failed) {
            end_sums();
            settle_run(training, failed);
          }};
  if (job && loader && in_turn) run.other_turns = &other_turns.emplace(run);
  link_clock.hurry_once(drain ? drain : &drained);
  this->run(run, [&](bool wait) {
    const StepRecord* record = wait ? board.next() : board.try_next();
    if (!record) return false;
    on_step(*record);
    board.pop();
    return true;
  });
  link_clock.hurry_once(nullptr);
  if (other_turns) other_turns->skip_rest(board.end());
  if (job && trace) of_job([&] { join_traces(*job, *trace, first, board.end()); });
  return board.end() - first;
}

EvaluationSum Pipeline::evaluate(Loader& loader) {
  const std::int64_t minibatches = loader.steps_per_epoch();
  impl_->command({Command::Kind::Evaluate, 0, minibatches});
  return impl_->evaluate(&loader, minibatches);
}

EvaluationSum Pipeline::Impl::evaluate(Loader* loader, std::int64_t minibatches) {
  const Program program =
      evaluation_program(needs.program.program, minibatch_parts(config).validation);
  EvaluationSum sum;
  const Run run{.what = {.program = program, .loops = {}, .repeats = minibatches},
                .stages = stages,
                .boundaries = evaluation,
                .loader = loader,
                .tied = *tied,
                .sum = &sum,
                .mode = Mode::Evaluate,
                .seed = config.training.seed,
                .updates = {.learning_rate = learning_rate},
                .workers = workers,
                .settle = [this](bool failed) { settle_run(evaluation, failed); }};
  this->run(run, [](bool) { return false; });
  if (!job || ranks.back()[0] == 0) return sum;
  if (has_stage(stage_count() - 1)) {
    Note note(sizeof sum);
    std::memcpy(note.data(), &sum, sizeof sum);
    job->notes().send(0, Topic::Sum, std::move(note));
  } else if (leads()) {
    const Note note = of_job([&] { return job->notes().take(Topic::Sum, ranks.back()[0]); });
    PIPETRAIN_CHECK(note.size() == sizeof sum, "a rank's sum of an evaluation has another size");
    std::memcpy(&sum, note.data(), sizeof sum);
  }
  return sum;
}

}  // namespace pipetrain
