#include "runtime/tied_parameters.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/error.hpp"
#include "transport/channel.hpp"

namespace pipetrain {
namespace {

// Where a layer's parameter lies.
struct Found {
  StageId stage;
  int parameter = 0;        // of the stage's
  int model_parameter = 0;  // of all
};

Found find(std::span<const std::unique_ptr<StageCopies>> stages, const Tie& use) {
  int before = 0;
  for (const auto& copies : stages) {
    const Stage& stage = copies->first();
    const int layer = use.layer.value - stage.first().value;
    if (layer < stage.layers()) {
      int parameter = use.parameter;
      for (int l = 0; l < layer; ++l)
        parameter += static_cast<int>(stage.layer(l).parameters.size());
      return {stage.id(), parameter, before + parameter};
    }
    before += stage.parameters();
  }
  PIPETRAIN_CHECK(false, "layer {} is in no stage", use.layer.value);
}

void require_reach(const Stage& a, const Stage& b) {
  if (a.stream().reaches(b.stream()) && b.stream().reaches(a.stream())) return;
  throw DeviceError(fmt::format(
      "stages {} and {} use one parameter, and lie on cuda:{} and cuda:{}, which cannot reach each "
      "other's memory; name one of them twice in hardware.devices",
      a.id().value, b.id().value, a.stream().device(), b.stream().device()));
}

}  // namespace

TiedParameters::TiedParameters(const Graph& graph,
                               std::span<const std::unique_ptr<StageCopies>> stages) {
  const std::vector<std::vector<Tie>> groups = tied_groups(graph);
  for (const std::vector<Tie>& uses : groups) {
    Group& group = groups_.emplace_back();
    for (const Tie& use : uses) {
      const Found found = find(stages, use);
      StageCopies& copies = *stages[found.stage.value];
      if (group.uses.empty()) {
        group.owner = found.stage;
        group.model_parameter = found.model_parameter;
      }
      group.uses.push_back({&copies, found.parameter});
      const StageCopies& first = *group.uses[0].copies;
      PIPETRAIN_CHECK(first.first().gradient(group.uses[0].parameter).size() ==
                          copies.first().gradient(found.parameter).size(),
                      "the uses of '{}' are not stored alike", graph.parameter(use).name);
      if (!concerns(found.stage)) add_hands(found.stage, copies, groups.size());
    }
  }
  for (Group& group : groups_) measure(group);
  for (const Hand& a : hands_)
    for (const Hand& b : hands_) require_reach(*a.copy, *b.copy);
  if (!hands_.empty()) sums_there_ = hands_[0].copy->stream().make_fence();
}

void TiedParameters::measure(Group& group) {
  const Use& first = group.uses[0];
  group.bytes =
      static_cast<std::int64_t>(first.copies->first().gradient(first.parameter).size_bytes());
  std::set<int> workers;
  for (const Use& use : group.uses) workers.insert(use.copies->first().where().worker);
  group.workers = static_cast<int>(workers.size());
}

Volume TiedParameters::all_reduce(StageId owner) const {
  Volume sum;
  for (const Group& group : groups_)
    for (int c = 0; group.owner == owner && c < group.uses[0].copies->count(); ++c)
      sum.add(ring_all_reduce(group.bytes, group.workers));
  return sum;
}

double TiedParameters::seconds(const Group& group, const LinkRate& rate) {
  return rate.ring_seconds(static_cast<double>(group.bytes), group.workers);
}

double TiedParameters::all_reduce_seconds(StageId owner, const LinkRate& rate) const {
  double sum = 0;
  for (const Group& group : groups_)
    if (group.owner == owner) sum += seconds(group, rate);
  return sum;
}

double TiedParameters::all_reduce_seconds(const LinkRate& rate) const {
  double sum = 0;
  for (const Group& group : groups_) sum += seconds(group, rate);
  return sum;
}

void TiedParameters::add_hands(StageId stage, StageCopies& copies, std::size_t groups) {
  ++stages_;
  for (int c = 0; c < copies.count(); ++c) {
    Stream& stream = copies.copy(c).stream();
    hands_.push_back({.stage = stage,
                      .copy = &copies.copy(c),
                      .whole = stream.make_fence(),
                      .squares = std::make_unique<Results<double>>(stream, groups)});
  }
}

bool TiedParameters::concerns(StageId stage) const {
  return std::ranges::any_of(hands_, [&](const Hand& h) { return h.stage == stage; });
}

TiedParameters::Hand& TiedParameters::hand(StageId stage, int copy) {
  const auto first = std::ranges::find_if(hands_, [&](const Hand& h) { return h.stage == stage; });
  PIPETRAIN_CHECK(first != hands_.end(), "stage {} has no tied parameter", stage.value);
  return *(first + copy);
}

void TiedParameters::begin() {
  summed_ = 0;
  handed_in_.clear();
}

bool TiedParameters::hand_in(StageId stage, int copy) {
  Hand& mine = hand(stage, copy);
  Stream& stream = mine.copy->stream();
  stream.record(*mine.whole);
  {
    const std::lock_guard lock(mutex_);
    handed_in_.push_back(&mine);
    if (std::ssize(handed_in_) < stages_) return false;
  }
  // The others wait, or have nothing to do with these gradients before summed_ says so.
  for (const Hand* one : handed_in_) stream.wait(*one->whole);
  add_up(stream);
  stream.record(*sums_there_);
  {
    const std::lock_guard lock(mutex_);
    handed_in_.clear();
    if (link_) link_->begin(all_reduce_seconds(link_->rate()));
    ++summed_;
  }
  workers_.notify_all();
  return true;
}

// Copies of a stage have the same sum already: the first one's counts.
void TiedParameters::add_up(Stream& stream) {
  for (const Group& group : groups_) {
    parts_.clear();
    for (const Use& use : group.uses)
      parts_.push_back(use.copies->first().gradient(use.parameter).data());
    const std::size_t elements =
        group.uses[0].copies->first().gradient(group.uses[0].parameter).size();
    stream.add_up({.elements = static_cast<std::int64_t>(elements), .parts = parts_});
    for (const Use& use : group.uses)
      for (int c = 1; c < use.copies->count(); ++c)
        stream.copy(use.copies->copy(c).gradient(use.parameter).data(), parts_[0],
                    elements * sizeof(float));
  }
}

void TiedParameters::deposit(StageId stage, int copy, StepBoard& board, std::int64_t step) {
  const Hand& mine = hand(stage, copy);
  Stream& stream = mine.copy->stream();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Use& use = groups_[g].uses[0];
    const auto gradient = use.copies->first().gradient(use.parameter);
    stream.sum_of_squares(gradient.data(), std::ssize(gradient), mine.squares->data() + g);
  }
  stream.finish();
  for (std::size_t g = 0; g < groups_.size(); ++g)
    board.deposit(step, groups_[g].model_parameter, {mine.squares->data() + g, 1});
}

bool TiedParameters::summed(std::int64_t update) const {
  const std::lock_guard lock(mutex_);
  return closed_ || summed_ > update;
}

void TiedParameters::take_sums(StageId stage, int copy, std::int64_t update) {
  {
    std::unique_lock lock(mutex_);
    workers_.wait(lock, [&] { return closed_ || summed_ > update; });
    if (link_) link_->wait(lock, workers_, [&] { return closed_; });
    if (closed_) throw ChannelClosed();
  }
  hand(stage, copy).copy->stream().wait(*sums_there_);
}

void TiedParameters::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  workers_.notify_all();
}

}  // namespace pipetrain
