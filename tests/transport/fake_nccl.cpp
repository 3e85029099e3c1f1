#include "fake_nccl.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/error.hpp"

namespace fake {

void MemoryExchange::give(const std::string& name, std::span<const std::byte> blob) {
  {
    const std::lock_guard lock(mutex_);
    blobs_[name] = {blob.begin(), blob.end()};
  }
  changed_.notify_all();
}

std::vector<std::byte> MemoryExchange::take(const std::string& name) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::seconds(5), [&] { return blobs_.contains(name); }))
    throw pipetrain::DeviceError("no id " + name);
  return blobs_[name];
}

void MemoryExchange::withdraw(const std::string& name) noexcept {
  const std::lock_guard lock(mutex_);
  blobs_.erase(name);
}

// All ranks that meet by one id.
struct Nccl::Clique {
  struct Ends {
    std::deque<std::shared_ptr<Part>> sends, receives;
  };
  std::vector<int> processes;  // by rank; -1: has not come
  std::map<std::pair<int, int>, Ends> pairs;
  std::vector<std::deque<std::shared_ptr<Part>>> sums;  // by rank
  std::vector<std::shared_ptr<Line>> lines;             // by rank
  std::string error;

  bool whole() const { return std::ranges::find(processes, -1) == processes.end(); }

  void begin(int rank, const std::shared_ptr<Part>& part) {
    if (part->kind == Part::Kind::Send) pairs[{rank, part->peer}].sends.push_back(part);
    if (part->kind == Part::Kind::Receive) pairs[{part->peer, rank}].receives.push_back(part);
    if (part->kind == Part::Kind::Sum) sums[static_cast<std::size_t>(rank)].push_back(part);
    meet();
    add_up();
  }

  void forget(int rank) {
    for (auto& [ranks, ends] : pairs) {
      if (ranks.first == rank) ends.sends.clear();
      if (ranks.second == rank) ends.receives.clear();
    }
    sums[static_cast<std::size_t>(rank)].clear();
  }

  void meet() {
    for (auto& [ranks, ends] : pairs)
      while (!ends.sends.empty() && !ends.receives.empty()) {
        Part &from = *ends.sends.front(), &to = *ends.receives.front();
        if (from.bytes != to.bytes) {
          error = "sizes differ";
          return;
        }
        std::memcpy(to.data, from.data, from.bytes);
        from.done = to.done = true;
        ends.sends.pop_front();
        ends.receives.pop_front();
      }
  }

  void add_up() {
    while (std::ranges::none_of(sums, [](const auto& list) { return list.empty(); })) {
      const std::size_t bytes = sums.front().front()->bytes;
      for (const auto& list : sums)
        if (list.front()->bytes != bytes) {
          error = "sizes differ";
          return;
        }
      std::vector<float> total(bytes / sizeof(float), 0.0f);
      for (const auto& list : sums)
        for (std::size_t i = 0; i < total.size(); ++i)
          total[i] += static_cast<const float*>(list.front()->data)[i];
      for (auto& list : sums) {
        std::memcpy(list.front()->data, total.data(), bytes);
        list.front()->done = true;
        list.pop_front();
      }
    }
  }
};

struct Nccl::Rank {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  bool aborted = false;
  Line& line() { return *clique->lines[static_cast<std::size_t>(rank)]; }
};

thread_local int Nccl::process_ = 0;
thread_local Nccl::Open Nccl::open_;

Nccl::Nccl(Device& device) : device_(device) {}

void Nccl::play(int process) { process_ = process; }
Nccl::~Nccl() = default;

void Nccl::break_all(const std::string& why) {
  const std::lock_guard lock(device_.mutex);
  for (auto& [id, clique] : cliques_) clique->error = why;
}

pipetrain::NcclId Nccl::make_id() {
  const std::lock_guard lock(device_.mutex);
  pipetrain::NcclId id = {};
  ++ids_;
  std::memcpy(id.data(), &ids_, sizeof ids_);
  return id;
}

NcclState Nccl::join(Communicator& communicator, const pipetrain::NcclJoin& join) {
  const std::lock_guard lock(device_.mutex);
  joined_on.push_back(Device::current);
  auto& clique = cliques_[join.id];
  const auto ranks = static_cast<std::size_t>(join.ranks);
  if (!clique) {
    clique = std::make_shared<Clique>();
    clique->processes.assign(ranks, -1);
    clique->sums.resize(ranks);
    for (std::size_t i = 0; i < ranks; ++i) clique->lines.push_back(std::make_shared<Line>());
  }
  clique->processes[static_cast<std::size_t>(join.rank)] = process_;
  if (one_communicator_per_pair && clique->whole()) {
    std::vector<int> pair = clique->processes;
    std::ranges::sort(pair);
    auto& lines = lines_[pair];
    if (lines.empty()) lines = clique->lines;
    for (std::size_t i = 0; i < ranks; ++i)
      clique->lines[i] = lines[clique->processes[i] == pair[0] ? 0 : 1];
  }
  ranks_.push_back(std::make_unique<Rank>(Rank{clique, join.rank}));
  communicator = ranks_.back().get();
  ++alive_;
  return NcclState::Working;
}

NcclState Nccl::state(Communicator c) {
  const std::lock_guard lock(device_.mutex);
  const Clique& clique = *rank_of(c)->clique;
  if (!clique.error.empty()) return NcclState::Failed;
  return clique.whole() ? NcclState::Done : NcclState::Working;
}

std::string Nccl::reason(Communicator c) {
  const std::lock_guard lock(device_.mutex);
  return rank_of(c)->clique->error;
}

NcclState Nccl::send(Communicator c, const void* data, std::size_t bytes, int to, void* stream) {
  return add(c, {Part::Kind::Send, const_cast<void*>(data), bytes, to}, stream);
}
NcclState Nccl::receive(Communicator c, void* data, std::size_t bytes, int from, void* stream) {
  return add(c, {Part::Kind::Receive, data, bytes, from}, stream);
}
NcclState Nccl::sum(Communicator c, float* values, std::int64_t elements, void* stream) {
  return add(c, {Part::Kind::Sum, values, static_cast<std::size_t>(elements) * sizeof(float)},
             stream);
}

NcclState Nccl::begin_group() {
  if (open_.depth++ == 0) open_.group = std::make_shared<Group>();
  return NcclState::Done;
}

NcclState Nccl::end_group() {
  if (--open_.depth > 0) return NcclState::Done;
  const std::shared_ptr<Group> group = std::move(open_.group);
  if (!group->parts.empty()) issue(*open_.rank, group, *open_.stream);
  return NcclState::Done;
}

NcclState Nccl::add(Communicator c, Part part, void* stream) {
  Rank& rank = *rank_of(c);
  if (rank.aborted) throw std::logic_error("a call of a communicator that was aborted");
  if (state(c) != NcclState::Done) return state(c);
  begin_group();
  open_.rank = &rank;
  open_.stream = static_cast<FakeStream*>(stream);
  open_.group->parts.push_back(std::make_shared<Part>(part));
  return end_group();
}

void Nccl::issue(Rank& rank, std::shared_ptr<Group> group, FakeStream& stream) {
  const std::lock_guard lock(device_.mutex);
  rank.line().push_back(group);
  stream.enqueue_locked([this, &rank, group] { return carry_out(rank, group); });
}

// At its place in its stream, and in the communicator's order.
bool Nccl::carry_out(Rank& rank, const std::shared_ptr<Group>& group) {
  if (rank.aborted) return true;
  if (rank.line().front() != group) return false;
  if (!group->begun) {
    group->begun = true;
    for (const auto& part : group->parts) rank.clique->begin(rank.rank, part);
  }
  if (!std::ranges::all_of(group->parts, [](const auto& part) { return part->done; })) return false;
  rank.line().pop_front();
  return true;
}

NcclState Nccl::finalize(Communicator) { return NcclState::Done; }

void Nccl::destroy(Communicator c) noexcept {
  const std::lock_guard lock(device_.mutex);
  if (!rank_of(c)->line().empty() && !one_communicator_per_pair) std::abort();  // under way
  --alive_;
}

void Nccl::abort(Communicator c) noexcept {
  const std::lock_guard lock(device_.mutex);
  rank_of(c)->aborted = true;
  rank_of(c)->clique->forget(rank_of(c)->rank);
  if (abort_is_noticed) rank_of(c)->clique->error = "a remote process has gone";
  --alive_;
  ++aborted_;
}

}  // namespace fake
