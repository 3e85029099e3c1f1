#include "runtime/stage_updates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace pipetrain {

StageUpdates::StageUpdates(const Run& run, StageId stage, int copy, int share, StageClock& times)
    : run_(run),
      id_(stage),
      copies_(*run.stages[stage.value]),
      copy_(copy),
      stage_(copies_.copy(copy)),
      tied_(run.tied.concerns(stage)),
      in_turn_(run.program().whole_minibatches),
      share_(share),
      times_(times),
      tied_terms_(run.tied.count()),
      joint_(stage_.stream(), static_cast<std::size_t>(stage_.parameters())),
      reports_(stage_.stream(), stage_.parameters(), run.program().minibatches,
               [this](const StepReport& report) { publish(report); }) {
  for (int s = 0; s < stage.value; ++s) first_parameter_ += run.stages[s]->parameters();
}

UpdateCall StageUpdates::fused(std::int64_t step) {
  PIPETRAIN_CHECK(!run_.updates.joint_norm && !run_.updates.own_norms,
                  "an update by a norm is fused");
  return {.lr = run_.updates.learning_rate.at(step, id_),
          .step = updates_until(step),
          .sums = reports_.of(step).sums_of_squares};
}

// The number of the update in the training, from 1, as if none were for fewer mini-batches than
// others.
std::int64_t StageUpdates::updates_until(std::int64_t step) const {
  const std::int64_t each = run_.program().minibatches_per_update(id_);
  return (step + each) / each;
}

void StageUpdates::sync(const UpdateOf& of) {
  const std::int64_t step = of.step;
  synced_ = true;
  handed_in_ns_ = now_ns();
  if (TraceTrack* const trace = times_.trace(); trace && copies_.count() > 1)
    trace->carried(copies_.all_reduce().bytes);
  if (copies_.count() == 1) {
    times_.busy([&] { stage_.complete_gradients(); });
    if (run_.updates.joint_norm) deposit(step);
    if (tied_) times_.busy([&] { run_.tied.hand_in(id_, copy_, step); });
    return;
  }
  StageCopies::HandIn update{step, of.minibatches};
  if (run_.updates.joint_norm || tied_) update.whole = [this, step] { join(step); };
  times_.busy([&] { copies_.hand_in_gradient(copy_, update); });
  if (update.whole && copies_.sums_on_devices())
    times_.waiting([&] { return copies_.take_sum(copy_, updates_), true; });
}

// The sum over the copies is available. Called by the last copy's worker, or by the link's thread.
void StageUpdates::join(std::int64_t step) {
  if (run_.updates.joint_norm && copies_.has(0)) {
    const std::span sums(joint_.data(), static_cast<std::size_t>(stage_.parameters()));
    stage_.sums_of_squares(sums, Stage::Sums::Own);
    stage_.stream().finish();
    run_.board->deposit(step, first_parameter_, sums);
  }
  if (tied_) run_.tied.hand_in(id_, copy_, step);
}

// Waits for a device, because the norm decides what the update does.
void StageUpdates::deposit(std::int64_t step) {
  const std::span<double> sums = reports_.of(step).sums_of_squares;
  times_.busy([&] { stage_.sums_of_squares(sums, Stage::Sums::Own); });
  stage_.stream().finish();
  run_.board->deposit(step, first_parameter_, sums);
}

// Each group of tied parameters has its own norm, which is the same on all stages with a use of it;
// in the model's norm only its first use counts.
void StageUpdates::clip_by_own_norms(std::span<double> sums) {
  times_.busy([&] { stage_.sums_of_squares(sums); });
  stage_.stream().finish();
  const StageTies& ties = stage_.ties();
  double own = 0;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    if (ties.group[p] < 0)
      own += sums[p];
    else
      clip(tied_terms_[ties.group[p]], std::sqrt(sums[p]));
    if (!ties.counts[p]) sums[p] = 0;
  }
  clip(own_terms_, std::sqrt(own));
}

void StageUpdates::clip_by_joint_norm(double norm) {
  clip(own_terms_, norm);
  for (UpdateTerms& terms : tied_terms_) clip(terms, norm);
}

void StageUpdates::clip(UpdateTerms& terms, double norm) {
  terms.skip = run_.updates.skip_nonfinite && !std::isfinite(norm);
  terms.gradient_scale =
      run_.updates.max_norm > 0 ? std::min(1.0, run_.updates.max_norm / (norm + 1e-6)) : 1;
  times_.measured().skipped = times_.measured().skipped || terms.skip;
}

void StageUpdates::publish(const StepReport& report) const {
  if (report.deposits && (in_turn_ || copy_ == 0))
    run_.board->deposit(report.step, first_parameter_, report.sums_of_squares);
  run_.board->finish(report.step, id_, in_turn_ ? 0 : copy_, report.lr, report.measured);
}

// All uses of a tied parameter have the same terms: the rate is that of its first use's stage.
void StageUpdates::set_terms(std::int64_t step) {
  own_terms_ = {.lr = run_.updates.learning_rate.at(step, id_)};
  for (std::size_t t = 0; t < tied_terms_.size(); ++t)
    tied_terms_[t] = {
        .lr = run_.updates.learning_rate.at(step, run_.tied.owner(static_cast<int>(t)))};
}

void StageUpdates::update(const UpdateOf& of) {
  StepReport& report = report_of(of);
  PIPETRAIN_CHECK(synced_ || !(run_.updates.joint_norm || tied_ || copies_.count() > 1),
                  "an update without its synchronisation");
  set_terms(of.step);
  if (copies_.count() > 1) times_.waiting([&] { return copies_.take_sum(copy_, updates_), true; });
  if (tied_) times_.waiting([&] { return run_.tied.take_sums(id_, copy_, updates_), true; });
  count_sums(of, report.measured.communication);
  std::span<double> sums;
  if (run_.updates.joint_norm) {
    times_.waiting([&] { return run_.tied.put_sums_of(copies_.worker(copy_), updates_), true; });
    clip_by_joint_norm(std::sqrt(times_.waiting([&] { return run_.board->total(of.step); })));
  } else if (run_.updates.own_norms) {
    clip_by_own_norms(report.sums_of_squares);
    if (of.own && (in_turn_ || copy_ == 0))
      run_.board->deposit(*of.own, first_parameter_, report.sums_of_squares);
  } else {  // the norm is only reported, so it is computed on the way
    sums = report.sums_of_squares;
    report.deposits = true;
  }
  times_.busy([&] {
    stage_.update(
        {.own = own_terms_, .tied = tied_terms_, .step = updates_until(of.step), .sums = sums});
  });
  synced_ = false;
  ++updates_;
  if (of.own) tell(report);
}

// Counts what an update waited for, on the copy that reports on its last mini-batch.
void StageUpdates::count_sums(const UpdateOf& of, StageVolumes& volumes) {
  if (in_turn_ ? of.own != of.step : copy_ != 0) return;
  volumes.all_reduce.add(copies_.all_reduce());
  if (tied_) volumes.tied.add(run_.tied.all_reduce(id_));
  if (!run_.link) return;
  volumes.link_seconds += copies_.all_reduce_seconds(*run_.link);
  if (tied_) volumes.link_seconds += run_.tied.all_reduce_seconds(id_, *run_.link);
}

void StageUpdates::tell(StepReport& report) {
  StageStep measured = std::exchange(times_.measured(), {});
  measured.samples = report.measured.samples;
  measured.labels = report.measured.labels;
  measured.communication = report.measured.communication;
  measured.weight_versions = stage_.weights().copies();
  // Copies that take mini-batches in turn end them one after the other, and update together.
  if (in_turn_ && copies_.count() > 1) measured.end_ns = handed_in_ns_;
  measured.staleness = std::exchange(staleness_sum_, 0) / share_;
  report.measured = measured;
  report.lr = run_.updates.learning_rate.at(report.step);
  reports_.hand_in(report, times_.clock());
}

bool StageUpdates::blocked(Op op, const UpdateOf& of) const {
  if (op == Op::SyncGradients) return run_.updates.joint_norm && !run_.board->can_deposit(of.step);
  if (op == Op::Update) {
    if (copies_.count() > 1 && !copies_.summed(updates_)) return true;
    if (tied_ && !run_.tied.summed(updates_)) return true;
    if (run_.updates.joint_norm) return !run_.board->has_total(of.step);
  } else if (!fuses_update(op)) {
    return false;
  }
  return of.own && !run_.board->can_deposit(*of.own);
}

}  // namespace pipetrain
