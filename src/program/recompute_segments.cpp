#include "program/recompute_segments.hpp"

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "program/passes.hpp"

namespace pipetrain {
namespace {

using List = std::vector<Instruction>;

// One stage's list with its recomputations.
class StageList {
 public:
  StageList(const Program& program, StageId stage, int segment_stages, bool keeps_forward)
      : program_(program),
        stage_(stage),
        begins_segment_(stage.value % segment_stages == 0),
        last_of_segment_(std::min(stage.value / segment_stages * segment_stages + segment_stages,
                                  program.stages) -
                         1),
        keeps_forward_(keeps_forward) {}

  List with_recomputes(const List& list) {
    for (const Instruction& i : list) {
      if (i.op == Op::Forward) forward_[i.microbatch] = i.weights;
      if (gives_input_gradient(i.op)) backward_[i.microbatch] = i.weights;
    }
    for (const Instruction& i : list) {
      if (gives_input_gradient(i.op))
        recompute_until(std::min(i.microbatch.value + ahead(), program_.total_microbatches() - 1));
      out_.push_back(i);
      if (updates(i.op)) newest_ = program_.version_made_by(i);
      if (i.op == Op::Forward) recompute_until(i.microbatch.value - behind());
    }
    return std::move(out_);
  }

 private:
  // By how many micro-batches recomputations are ahead of backwards, and behind forwards.
  int ahead() const { return 2 * (last_of_segment_ - stage_.value); }
  int behind() const { return 2 * (program_.stages - 1 - last_of_segment_) + 1; }

  void recompute_until(int last) {
    for (; next_.value <= last; ++next_.value) {
      if (!begins_segment_) out_.push_back({Op::ReceiveRecomputed, stage_, next_, {}});
      out_.push_back({Op::Recompute, stage_, next_, weights()});
      if (stage_.value < last_of_segment_) out_.push_back({Op::SendRecomputed, stage_, next_, {}});
    }
  }

  WeightRead weights() const {
    if (keeps_forward_) return forward_.at(next_);
    WeightRead read{newest_, AsStored{}};
    if (const auto* back = std::get_if<Extrapolate>(&backward_.at(next_).how))
      read.how = Extrapolate{back->updates - 1.0 * ahead() / program_.microbatches};
    return read;
  }

  const Program& program_;
  const StageId stage_;
  const bool begins_segment_;
  const int last_of_segment_;
  const bool keeps_forward_;
  std::map<MicrobatchId, WeightRead> forward_, backward_;
  Version newest_{0};
  MicrobatchId next_{0};
  List out_;
};

}  // namespace

Program add_segment_recomputes(Program program, int segment_stages) {
  PIPETRAIN_CHECK(program.placement.empty() && segment_stages > 0,
                  "segments are of stages that have a worker each");
  const bool keeps_forward = keeps_forward_versions(program);
  const Program before = program;
  for (WorkerId w{0}; w.value < std::ssize(program.workers); ++w.value)
    program.workers[w] = StageList(before, {w.value}, segment_stages, keeps_forward)
                             .with_recomputes(before.workers[w]);
  return program;
}

bool receives_again(const Program& program, StageId stage) {
  return std::ranges::any_of(program.workers, [&](const List& list) {
    return std::ranges::any_of(list, [&](const Instruction& i) {
      return i.op == Op::ReceiveRecomputed && i.stage == stage;
    });
  });
}

}  // namespace pipetrain
