#include "runtime/worker.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/error.hpp"
#include "program/text.hpp"

namespace pipetrain {

Worker::Worker(const Run& run, WorkerId id)
    : run_(&run),
      list_(&run.program().workers[id]),
      loop_(run.what.loops.empty() ? nullptr : &run.what.loops[id.value]) {
  for (const Instruction& i : *list_)
    if (std::none_of(runners_.begin(), runners_.end(),
                     [&](const auto& r) { return r->stage() == i.stage; }))
      runners_.push_back(std::make_unique<StageRunner>(run, id, i.stage));
}

std::int64_t Worker::base_step() const {
  return run_->what.first_step + repeat_ * run_->program().minibatches;
}

std::int64_t Worker::minibatch_of(const Instruction& i) const {
  return base_step() + run_->program().minibatch_of(i.microbatch).value;
}

std::size_t Worker::runner_of(StageId stage) const {
  std::size_t r = 0;
  while (runners_[r]->stage() != stage) ++r;
  return r;
}

bool Worker::done() {
  if (list_->empty()) return true;
  if (begun_) return false;
  if (loop_ && repeat_ > 0) return true;  // a folded program is a whole segment
  // A folded program contains one round of its loop, which may be skipped.
  const int minibatches = run_->program().minibatches - (loop_ ? round() : 0);
  begun_ =
      run_->board ? run_->board->begin(base_step(), minibatches) : repeat_ < run_->what.repeats;
  if (!begun_) return true;
  for (const auto& r : runners_) r->begin_program(base_step());
  enter_loop();
  return false;
}

// At the beginning of the loop: runs it once more, or continues after it.
void Worker::enter_loop() {
  if (!loop_ || !looping_ || next_ != loop_->begin) return;
  const std::int64_t step =
      base_step() + run_->program().minibatches + static_cast<std::int64_t>(rounds_ - 1) * round();
  looping_ = run_->board->begin(step, round());
  if (looping_)
    ++rounds_;
  else
    next_ = loop_->end;
}

bool Worker::blocked(std::size_t at) const {
  const Instruction& i = (*list_)[at];
  return runners_[runner_of(i.stage)]->blocked(shifted(i, run_->program(), shift()));
}

bool Worker::blocked() const {
  if (blocked(next_)) return true;
  if ((*list_)[next_].op != Op::BackwardHead) return false;
  std::size_t tail = next_ + 1;
  while (!computes((*list_)[tail].op)) ++tail;
  return blocked(tail);
}

std::string Worker::where(const Instruction& i) const {
  const Program& program = run_->program();
  return fmt::format("stage {}, instruction {} (micro-batch {} of mini-batch {})", i.stage.value,
                     to_text(i), i.microbatch.value % program.microbatches, minibatch_of(i) + 1);
}

void Worker::step() {
  const Instruction i = shifted((*list_)[next_], run_->program(), shift());
  try {
    StageRunner& runner = *runners_[runner_of(i.stage)];
    TraceTrack* const trace = runner.trace();
    if (trace) trace->begin(minibatch_of(i) + 1, i);
    runner.execute(i);
    if (trace) trace->end();
  } catch (const ChannelClosed&) {
    throw;
  } catch (const LoaderClosed&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", where(i), error.what()));
  } catch (const InternalError& error) {
    throw InternalError(fmt::format("{}: {}", where(i), error.what()));
  } catch (const std::exception& error) {
    throw DeviceError(fmt::format("{}: {}", where(i), error.what()));
  }
  // A head is followed by what it sends, and its tail (program/check.cpp); in an evaluation, an
  // input by its forward (evaluation_program). In training inputs are not in the workspace.
  if (i.op != Op::SendGradient)
    within_pass_ =
        i.op == Op::BackwardHead || (i.op == Op::LoadInput && run_->mode == Mode::Evaluate);
  ++next_;
  if (loop_ && looping_ && next_ == loop_->end) next_ = loop_->begin;
  enter_loop();
  if (next_ == list_->size()) {
    next_ = 0;
    ++repeat_;
    begun_ = false;
  }
}

void Worker::run() {
  while (!done()) step();
  finish();
}

void Worker::finish() {
  for (const auto& runner : runners_) runner->finish();
}

}  // namespace pipetrain
