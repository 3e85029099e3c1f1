// The updates of a stage: which of them a backward can do on its way, by whose norm they are
// clipped or skipped, and what is told of the mini-batch behind them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/stage_runner.hpp"

namespace pipetrain {

void StageRunner::find_updates(WorkerId worker) {
  const auto& list = run_.program.workers[static_cast<std::size_t>(worker.value)];
  update_behind_.assign(list.size(), false);
  if (run_.own_norms) return;
  const Instruction* backward = nullptr;
  for (const Instruction& i : list) {
    if (i.stage != id_) continue;
    if (i.op == Op::Backward || i.op == Op::BackwardWeight) {
      backward = &i;
    } else if (i.op == Op::Update) {
      if (backward) update_behind_[static_cast<std::size_t>(backward - list.data())] = true;
      backward = nullptr;
    } else if (i.op == Op::SendGradient && backward && backward->op == Op::Backward &&
               backward->microbatch == i.microbatch) {
      continue;  // the backward goes on behind it
    } else if (i.op == Op::Forward || i.op == Op::BackwardInput || i.op == Op::Recompute ||
               i.op == Op::SyncGradients || i.op == Op::SendGradient) {
      backward = nullptr;
    }
  }
}

void StageRunner::sync_gradients(const Instruction& i) {
  synced_ = true;
  bool whole = true;
  if (copies_.count() > 1) busy([&] { whole = copies_.hand_in_gradient(copy_); });
  if (whole) deposit(i);
}

// The norm decides what the update does: a device is waited for.
void StageRunner::deposit(const Instruction& i) {
  const std::span<double> sums = reports_.of(step_of(i)).sums_of_squares;
  busy([&] { stage_.sums_of_squares(sums); });
  stage_.stream().finish();
  run_.board->deposit(step_of(i), first_parameter_, sums);
}

void StageRunner::publish(const StepReport& report) const {
  if (report.deposits) run_.board->deposit(report.step, first_parameter_, report.sums_of_squares);
  run_.board->finish(report.step, id_, copy_, report.lr, report.measured);
}

void StageRunner::update(const Instruction& i) {
  const std::int64_t step = step_of(i);
  StepReport& report = reports_.of(step);
  if (synced_) {
    update_by_norm(i, std::sqrt(waiting([&] { return run_.board->total(step); })));
  } else if (run_.own_norms) {
    deposit(i);
    const std::span<double> sums = report.sums_of_squares;
    update_by_norm(i, std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0)));
  } else {  // the norm is only reported: it is taken on the way
    const double lr = run_.learning_rate.at(step, id_);
    busy([&] { stage_.update(lr, 1, step + 1, report.sums_of_squares); });
    report.deposits = true;
  }
  synced_ = false;
  measured_.samples = report.measured.samples;
  measured_.labels = report.measured.labels;
  measured_.weight_versions = stage_.weights().copies();
  measured_.staleness = staleness_sum_ / share_;
  report.measured = std::exchange(measured_, {});
  report.lr = run_.learning_rate.at(step);
  reports_.hand_in(report, clock_);
  staleness_sum_ = 0;
}

void StageRunner::update_by_norm(const Instruction& i, double norm) {
  const std::int64_t step = step_of(i);
  measured_.skipped = run_.skip_nonfinite && !std::isfinite(norm);
  const double scale = run_.max_norm > 0 ? std::min(1.0, run_.max_norm / (norm + 1e-6)) : 1;
  busy([&] {
    if (measured_.skipped)
      stage_.skip_update();
    else
      stage_.update(run_.learning_rate.at(step, id_), scale, step + 1);
  });
}

}  // namespace pipetrain
