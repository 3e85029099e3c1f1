#include "runtime/tied_parameters.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"
#include "transport/channel.hpp"

namespace pipetrain {
namespace {

// Where a layer's parameter is.
struct Found {
  StageId stage;
  int parameter = 0;        // of the stage's
  int model_parameter = 0;  // among all of the model's
};

Found find(const Graph& graph, std::span<const std::unique_ptr<StageCopies>> stages,
           const Tie& use) {
  int before = 0;
  for (const auto& stage : stages) {
    if (use.layer <= stage->last_layer()) {
      int parameter = use.parameter;
      for (LayerId l = stage->first_layer(); l < use.layer; ++l.value)
        parameter += static_cast<int>(graph.layers[l.value].parameters.size());
      return {stage->id(), parameter, before + parameter};
    }
    before += stage->parameters();
  }
  PIPETRAIN_CHECK(false, "layer {} is in no stage", use.layer.value);
}

void require_reach(const Stage& a, const Stage& b) {
  if (a.stream().reaches(b.stream()) && b.stream().reaches(a.stream())) return;
  throw DeviceError(fmt::format(
      "stages {} and {} use one parameter, and are on cuda:{} and cuda:{}, which cannot reach each "
      "other's memory; name one of them twice in hardware.devices",
      a.id().value, b.id().value, a.stream().device(), b.stream().device()));
}

}  // namespace

TiedParameters::TiedParameters(const Graph& graph,
                               std::span<const std::unique_ptr<StageCopies>> stages,
                               const TiedApart& apart) {
  const std::vector<std::vector<Tie>> groups = trained_groups(graph);
  for (const std::vector<Tie>& uses : groups) {
    Group& group = groups_.emplace_back();
    for (const Tie& use : uses) {
      const Found found = find(graph, stages, use);
      StageCopies& copies = *stages[found.stage.value];
      if (group.uses.empty()) {
        group.owner = found.stage;
        group.model_parameter = found.model_parameter;
      }
      group.uses.push_back({&copies, found.parameter});
      if (copies.has_any() && !concerns(found.stage)) add_hands(found.stage, copies, groups.size());
    }
    check_alike(graph, group, uses[0]);
  }
  for (Group& group : groups_) measure(group);
  for (const Hand& a : hands_)
    for (const Hand& b : hands_) require_reach(*a.copy, *b.copy);
  if (hands_.empty()) return;
  if (apart.job) make_link(apart);
}

// The rank of a stage's first copy hands in its gradient to all ranks that have other uses but not
// this one.
void TiedParameters::make_link(const TiedApart& apart) {
  std::set<int> stages;
  for (const Group& group : groups_)
    for (const Use& use : group.uses) stages.insert(use.copies->id().value);
  const auto has = [&](int rank, int stage) {
    return std::ranges::count(apart.ranks[stage], rank) > 0;
  };
  const int mine = apart.job->rank();
  std::set<int> receivers, senders;
  for (int rank = 0; rank < apart.job->size(); ++rank) {
    if (std::ranges::none_of(stages, [&](int stage) { return has(rank, stage); })) continue;
    for (const int stage : stages) {
      const int first = apart.ranks[stage][0];
      if (has(rank, stage)) continue;
      if (first == mine) receivers.insert(rank);
      if (rank == mine) senders.insert(first);
    }
  }
  if (receivers.empty() && senders.empty()) return;
  receivers_.assign(receivers.begin(), receivers.end());
  senders_ = static_cast<int>(senders.size());
  parts_link_ =
      std::make_unique<PartsLink>(*apart.job, Topic::Tied, apart.kernel_threads,
                                  [this](const PartsLink::Sum& sum, PartsLink::Parts parts) {
                                    take_part(sum.update, std::move(parts));
                                  });
  take_come_memory();
}

TiedParameters::~TiedParameters() {
  for (const auto& [use, memory] : come_memory_) hands_[0].copy->stream().release(memory);
}

void TiedParameters::check_alike(const Graph& graph, const Group& group, const Tie& owner) const {
  const Use* first = nullptr;
  for (const Use& use : group.uses) {
    if (!use.here()) continue;
    if (!first) first = &use;
    PIPETRAIN_CHECK(first->gradient().size() == use.gradient().size(),
                    "the uses of '{}' are not stored alike", graph.parameter(owner).name);
  }
}

// Does nothing if no use is on this rank: other ranks count it.
void TiedParameters::measure(Group& group) {
  const auto here = std::ranges::find_if(group.uses, &Use::here);
  if (here == group.uses.end()) return;
  group.bytes = static_cast<std::int64_t>(here->gradient().size_bytes());
  std::set<WorkerId> workers;
  for (const Use& use : group.uses) workers.insert(use.copies->worker(0));
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
    if (!copies.has(c)) continue;
    Stream& stream = copies.copy(c).stream();
    hands_.push_back({.stage = stage,
                      .number = c,
                      .copy = &copies.copy(c),
                      .whole = stream.make_fence(),
                      .sums = stream.make_fence(),
                      .squares = std::make_unique<Results<double>>(stream, groups)});
  }
}

bool TiedParameters::concerns(StageId stage) const {
  return std::ranges::any_of(hands_, [&](const Hand& h) { return h.stage == stage; });
}

TiedParameters::Hand& TiedParameters::hand(StageId stage, int copy) {
  const auto found = std::ranges::find_if(
      hands_, [&](const Hand& h) { return h.stage == stage && h.number == copy; });
  PIPETRAIN_CHECK(found != hands_.end(), "stage {} has no tied parameter", stage.value);
  return *found;
}

void TiedParameters::begin(StepBoard* board) {
  const std::lock_guard lock(mutex_);
  board_ = board;
  summed_ = 0;
  handed_in_.clear();
  all_here_ = putting_ = false;
  running_ = true;
}

void TiedParameters::end() {
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  if (parts_link_) parts_link_->settle();
}

bool TiedParameters::has_use_here(const Group& group) const {
  return std::ranges::any_of(group.uses, &Use::here);
}

void TiedParameters::hand_in(StageId stage, int copy, std::int64_t step) {
  Hand& mine = hand(stage, copy);
  mine.copy->stream().record(*mine.whole);
  {
    const std::lock_guard lock(mutex_);
    step_ = step;
    handed_in_.push_back(&mine);
    if (std::ssize(handed_in_) < stages_) return;
  }
  if (parts_link_) hand_to_others(mine.copy->stream());
  {
    const std::lock_guard lock(mutex_);
    all_here_ = true;
    if (!whole()) return;  // the thread that receives the rest puts the sums in place
    putting_ = true;
  }
  put_sums(mine);
}

void TiedParameters::hand_to_others(Stream& stream) {
  for (const Hand* one : handed_in_) stream.wait(*one->whole);
  PartsLink::Parts parts;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t u = 0; u < groups_[g].uses.size(); ++u) {
      const Use& use = groups_[g].uses[u];
      if (!use.copies->has(0)) continue;
      const std::span<const float> gradient = use.gradient();
      std::vector<float> values(gradient.size());
      stream.read(values.data(), gradient.data(), gradient.size_bytes());
      parts.push_back(
          {static_cast<std::int32_t>(g), static_cast<std::int32_t>(u), 0, 0, std::move(values)});
    }
  parts_link_->hand_in({0, all_updates_}, parts, receivers_);
}

void TiedParameters::take_part(std::int64_t update, PartsLink::Parts parts) {
  {
    const std::lock_guard lock(mutex_);
    came_[update].push_back(std::move(parts));
    if (!running_ || update != all_updates_ || !whole()) return;
  }
  if (on_devices())
    workers_.notify_all();
  else
    parts_link_->later([this] { put_sums(*handed_in_[0]); });
}

// A device's stream belongs to its worker, which puts the sums in place when it takes them.
bool TiedParameters::on_devices() const {
  return parts_link_ && hands_[0].copy->stream().asynchronous();
}

// May a worker that wants the sums put them in place itself? Called under the lock.
bool TiedParameters::may_put_sums() const {
  return parts_link_ && !putting_ && on_devices() && whole();
}

// Have all stages of all ranks handed in? Called under the lock.
bool TiedParameters::whole() const {
  if (!all_here_ || !parts_link_) return all_here_;
  const auto came = came_.find(all_updates_);
  return senders_ == 0 || (came != came_.end() && std::ssize(came->second) == senders_);
}

// Meanwhile the others wait, or have no use for these gradients until summed_ is set.
void TiedParameters::put_sums(Hand& by) {
  Stream& stream = by.copy->stream();
  for (const Hand* one : handed_in_) stream.wait(*one->whole);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (has_use_here(groups_[g])) add_up(stream, g);
  if (board_) deposit(by);
  stream.record(*by.sums);
  {
    const std::lock_guard lock(mutex_);
    sums_there_ = by.sums.get();
    handed_in_.clear();
    if (link_) link_->begin(all_reduce_seconds(link_->rate()));
    all_here_ = putting_ = false;
    came_.erase(all_updates_++);
    ++summed_;
  }
  workers_.notify_all();
}

// Copies of a stage already have the same sum, so one of them counts.
void TiedParameters::add_up(Stream& stream, std::size_t g) {
  const Group& group = groups_[g];
  parts_.clear();
  std::size_t elements = 0;
  for (std::size_t u = 0; u < group.uses.size(); ++u) {
    const Use& use = group.uses[u];
    parts_.push_back(use.here() ? use.gradient().data() : come_part(stream, g, u));
    if (use.here()) elements = use.gradient().size();
  }
  stream.add_up({.elements = static_cast<std::int64_t>(elements), .parts = parts_});
  for (const Use& use : group.uses)
    for (int c = 0; c < use.copies->count(); ++c)
      if (use.copies->has(c) && &use.copies->copy(c) != &use.copies->any())
        stream.copy(use.copies->copy(c).gradient(use.parameter).data(), use.gradient().data(),
                    elements * sizeof(float));
}

// Where the stream can add up what another rank has handed in for that use.
float* TiedParameters::come_part(Stream& stream, std::size_t group, std::size_t use) {
  std::vector<float>& values = part_of(group, use);
  if (!on_devices()) return values.data();
  float* const memory = come_memory_.at({group, use});
  stream.write(memory, values.data(), values.size() * sizeof(float));
  return memory;
}

// Taken before the first step: a device may not be asked for memory while it exchanges messages.
void TiedParameters::take_come_memory() {
  if (!on_devices()) return;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t u = 0; has_use_here(groups_[g]) && u < groups_[g].uses.size(); ++u)
      if (!groups_[g].uses[u].here())
        come_memory_[{g, u}] = static_cast<float*>(
            hands_[0].copy->stream().allocate(static_cast<std::size_t>(groups_[g].bytes)));
}

// What another rank has handed in for that use.
std::vector<float>& TiedParameters::part_of(std::size_t group, std::size_t use) {
  const std::lock_guard lock(mutex_);
  std::vector<float>* values = nullptr;
  for (PartsLink::Parts& parts : came_[all_updates_])
    for (PartsLink::Part& part : parts)
      if (std::cmp_equal(part.kind, group) && std::cmp_equal(part.index, use))
        values = &part.values;
  PIPETRAIN_CHECK(values != nullptr, "no rank has handed in use {} of tied parameter {}", use,
                  group);
  return *values;
}

// Done by the rank of the parameter's first use.
void TiedParameters::deposit(Hand& by) {
  Stream& stream = by.copy->stream();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!groups_[g].uses[0].copies->has(0)) continue;
    const std::span<float> gradient = groups_[g].uses[0].gradient();
    stream.sum_of_squares(gradient.data(), std::ssize(gradient), by.squares->data() + g);
  }
  stream.finish();
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (groups_[g].uses[0].copies->has(0))
      board_->deposit(step_, groups_[g].model_parameter, {by.squares->data() + g, 1});
}

bool TiedParameters::summed(std::int64_t update) const {
  const std::lock_guard lock(mutex_);
  return closed_ || summed_ > update || may_put_sums();
}

void TiedParameters::wait_for_sums(std::unique_lock<std::mutex>& lock, Hand& by,
                                   std::int64_t update) {
  wait_with(parts_link_ ? &parts_link_->wire_thread() : nullptr, lock, workers_,
            [&] { return closed_ || summed_ > update || may_put_sums(); });
  if (closed_ || summed_ > update) return;
  putting_ = true;
  lock.unlock();
  put_sums(by);
  lock.lock();
}

void TiedParameters::put_sums_of(WorkerId worker, std::int64_t update) {
  if (!on_devices()) return;
  const auto mine = std::ranges::find_if(
      hands_, [&](const Hand& h) { return h.copy->where().worker == worker.value; });
  if (mine == hands_.end()) return;
  std::unique_lock lock(mutex_);
  wait_for_sums(lock, *mine, update);
}

void TiedParameters::take_sums(StageId stage, int copy, std::int64_t update) {
  const Fence* sums = nullptr;
  {
    std::unique_lock lock(mutex_);
    wait_for_sums(lock, hand(stage, copy), update);
    if (link_) link_->wait(lock, workers_, [&] { return closed_; });
    if (closed_) throw ChannelClosed();
    sums = sums_there_;
  }
  hand(stage, copy).copy->stream().wait(*sums);
}

void TiedParameters::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  workers_.notify_all();
}

}  // namespace pipetrain
