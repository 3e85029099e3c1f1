// The updates of a stage: what a backward that fuses one is told, by whose norm they are
// clipped or skipped, and what is told of the mini-batch behind them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "runtime/stage_runner.hpp"

namespace pipetrain {

// What the layers of a backward that fuses its update need of it; update() does the rest.
UpdateCall StageRunner::fused_update(const Instruction& i) {
  PIPETRAIN_CHECK(!run_.joint_norm && !run_.own_norms, "an update by a norm is fused");
  return {.lr = run_.learning_rate.at(step_of(i), id_),
          .step = step_of(i) + 1,
          .sums = reports_.of(step_of(i)).sums_of_squares};
}

// The stage's own sums are left at the board before anybody can add up what it shares.
void StageRunner::sync_gradients(const Instruction& i) {
  synced_ = true;
  bool whole = true;
  if (copies_.count() > 1)
    busy([&] { whole = copies_.hand_in_gradient(copy_); });
  else
    busy([&] { stage_.complete_gradients(); });
  if (!whole) return;
  if (run_.joint_norm) deposit(i);
  if (!tied_) return;
  bool last = false;
  busy([&] { last = run_.tied.hand_in(id_, copy_); });
  if (last && run_.joint_norm)
    busy([&] { run_.tied.deposit(id_, copy_, *run_.board, step_of(i)); });
}

// The norm decides what the update does: a device is waited for.
void StageRunner::deposit(const Instruction& i) {
  const std::span<double> sums = reports_.of(step_of(i)).sums_of_squares;
  busy([&] { stage_.sums_of_squares(sums, Stage::Sums::Own); });
  stage_.stream().finish();
  run_.board->deposit(step_of(i), first_parameter_, sums);
}

// Each group of tied parameters goes by its own norm, which is the same on all stages that have it;
// in the model's norm its first use counts alone.
void StageRunner::clip_by_own_norms(std::span<double> sums) {
  busy([&] { stage_.sums_of_squares(sums); });
  stage_.stream().finish();
  const StageTies& ties = stage_.ties();
  double own = 0;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    if (ties.group[p] < 0)
      own += sums[p];
    else
      clip(tied_terms_[static_cast<std::size_t>(ties.group[p])], std::sqrt(sums[p]));
    if (!ties.counts[p]) sums[p] = 0;
  }
  clip(own_terms_, std::sqrt(own));
}

void StageRunner::clip(UpdateTerms& terms, double norm) {
  terms.skip = run_.skip_nonfinite && !std::isfinite(norm);
  terms.gradient_scale = run_.max_norm > 0 ? std::min(1.0, run_.max_norm / (norm + 1e-6)) : 1;
  measured_.skipped = measured_.skipped || terms.skip;
}

void StageRunner::publish(const StepReport& report) const {
  if (report.deposits) run_.board->deposit(report.step, first_parameter_, report.sums_of_squares);
  run_.board->finish(report.step, id_, copy_, report.lr, report.measured);
}

// What all uses of a tied parameter have in common: the rate is that of its first use's stage.
void StageRunner::set_terms(std::int64_t step) {
  own_terms_ = {.lr = run_.learning_rate.at(step, id_)};
  for (std::size_t t = 0; t < tied_terms_.size(); ++t)
    tied_terms_[t] = {.lr = run_.learning_rate.at(step, run_.tied.owner(static_cast<int>(t)))};
}

void StageRunner::clip_by_joint_norm(double norm) {
  clip(own_terms_, norm);
  for (UpdateTerms& terms : tied_terms_) clip(terms, norm);
}

void StageRunner::update(const Instruction& i) {
  const std::int64_t step = step_of(i);
  StepReport& report = reports_.of(step);
  PIPETRAIN_CHECK(synced_ || !(run_.joint_norm || tied_), "an update without its synchronisation");
  set_terms(step);
  if (tied_) waiting([&] { return run_.tied.take_sums(id_, copy_, step), true; });
  std::span<double> sums;
  if (run_.joint_norm) {
    clip_by_joint_norm(std::sqrt(waiting([&] { return run_.board->total(step); })));
  } else if (run_.own_norms) {
    clip_by_own_norms(report.sums_of_squares);
    run_.board->deposit(step, first_parameter_, report.sums_of_squares);
  } else {  // the norm is only reported: it is taken on the way
    sums = report.sums_of_squares;
    report.deposits = true;
  }
  busy([&] {
    stage_.update({.own = own_terms_, .tied = tied_terms_, .step = step + 1, .sums = sums});
  });
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

}  // namespace pipetrain
