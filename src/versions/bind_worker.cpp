#include "versions/bind_worker.hpp"

#include <algorithm>
#include <bit>
#include <variant>

#include "versions/turns.hpp"

namespace pipetrain {
namespace {

// For each version, which version was the newest when it was last read. Every update until then
// finds it held.
struct LastReads {
  std::vector<int> newest_then;

  void read(Version version, Version newest) {
    const auto v = static_cast<std::size_t>(version.value);
    if (v >= newest_then.size()) newest_then.resize(v + 1, 0);
    newest_then[v] = newest.value;
  }

  // Besides the newest, after each update.
  int peak() const {
    std::vector<int> change(newest_then.size() + 2, 0);
    int longest = 0;
    for (std::size_t v = 0; v < newest_then.size(); ++v)
      longest = std::max(longest, newest_then[v]);
    change.resize(std::max(change.size(), static_cast<std::size_t>(longest) + 2), 0);
    for (std::size_t v = 0; v < newest_then.size(); ++v) {
      if (newest_then[v] <= static_cast<int>(v)) continue;
      ++change[v + 1];
      --change[static_cast<std::size_t>(newest_then[v]) + 1];
    }
    int held = 1, peak = 1;
    for (const int more : change) peak = std::max(peak, held += more);
    return peak;
  }
};

// The remainders by this power of two distinguish the micro-batches in flight on the worker.
int window_of(const CompactOrder& order, WorkerId worker) {
  int newest = 0, span = 0;
  for (const ComputeInstruction i : order.workers[worker]) {
    if (i.op() == Op::Forward) newest = std::max(newest, i.microbatch().value);
    span = std::max(span, newest - i.microbatch().value);
  }
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(span) + 1));
}

}  // namespace

WorkerBinder::WorkerBinder(const CompactOrder& order, const VersionPolicy& policy,
                           const BindRule& rule)
    : order_(order),
      policy_(policy),
      rule_(rule),
      held_by_(order.workers.size()),
      held_at_(order.stages, 0) {
  for (StageId s{0}; s.value < order.stages; ++s.value) {
    const int copies = order.copies_of(s);
    for (int copy = 0; copy < copies; ++copy) {
      held_by_[order.worker_of_copy(s, copy)].push_back({s, copy, 0, {0}, {}, {}, {}});
    }
  }
  find_entries();
  if (policy.reads_turn) turns_ = turns_of(order);
}

void WorkerBinder::find_entries() {
  if (order_.repeats) return;  // see context()
  entries_.resize(order_.total_microbatches());
  for (int w = 0; w < static_cast<int>(held_by_.size()); ++w) {
    const auto& held = held_by_[w];
    const auto copy = std::ranges::find(held, StageId{0}, &Held::stage);
    if (copy == held.end()) continue;
    int newest = 0, done = 0;
    each_compute(order_, {w}, [&](Op op, StageId stage, MicrobatchId m) {
      if (stage.value != 0) return;
      if (op == Op::Forward) entries_[m] = {newest};
      if (!gives_weight_gradient(op)) return;
      if (++done < order_.share_of(stage, copy->copy, order_.minibatch_of(m))) return;
      done = 0;
      ++newest;
    });
  }
}

void WorkerBinder::begin(WorkerId worker) {
  window_ = window_of(order_, worker);
  held_ = held_by_[worker];
  for (std::size_t at = 0; at < held_.size(); ++at) {
    held_at_[held_[at].stage] = static_cast<int>(at);
    held_[at].context = first_context(held_[at].stage);
    held_[at].at_forward.resize(window_);
    held_[at].forward_read.resize(window_);
  }
}

template <class OnCompute, class OnUpdate>
void WorkerBinder::walk(WorkerId worker, OnCompute on_compute, OnUpdate on_update) {
  begin(worker);
  each_compute(order_, worker, [&](Op op, StageId stage, MicrobatchId m) {
    const int at = held_at_[stage];
    Held& held = held_[at];
    on_compute(at, held, op, m);
    if (!gives_weight_gradient(op)) return;
    const MinibatchId k = order_.minibatch_of(m);
    if (++held.done < order_.share_of(stage, held.copy, k)) return;
    held.done = 0;
    ++held.newest.value;
    on_update(held, order_.update_for(stage, k));
  });
  for (Held& held : held_) {
    const int last = order_.updates_of(held.stage) - 1;
    if (!order_.is_idle(held.stage, held.copy, last)) continue;
    ++held.newest.value;
    on_update(held, last);
  }
}

WeightRead WorkerBinder::read(Held& held, Op op, MicrobatchId m) {
  const int at = m.value & (window_ - 1);
  if (op == Op::Forward) {
    held.at_forward[at] = held.newest;
    return held.forward_read[at] = policy_.forward(context(held, m, {}));
  }
  if (!gives_input_gradient(op)) return {};
  if (policy_.keeps_forward) return held.forward_read[at];
  return policy_.backward(context(held, m, held.newest), held.forward_read[at]);
}

ReadContext WorkerBinder::first_context(StageId stage) const {
  return {.microbatch = {},
          .microbatches = order_.microbatches,
          .at_entry = {},
          .at_forward = {},
          .at_backward = {},
          .at_turn = {},
          .delay = rule_.delays.empty() ? 0 : rule_.delays[stage],
          .mix = rule_.mix};
}

// The rest of the context is the same for all reads of a stage.
const ReadContext& WorkerBinder::context(Held& held, MicrobatchId m, Version at_backward) const {
  ReadContext& context = held.context;
  context.microbatch = m;
  // If it drains at each update, a stage has made one update for each earlier mini-batch.
  context.at_entry = order_.repeats ? Version{order_.minibatch_of(m).value} : entries_[m];
  context.at_forward = held.at_forward[m.value & (window_ - 1)];
  context.at_backward = at_backward;
  context.at_turn = turns_.empty() ? Version{0} : turns_[m];
  return context;
}

std::vector<Instruction> WorkerBinder::bind(WorkerId worker) {
  std::vector<Instruction> list;
  walk(
      worker,
      [&](int, Held& held, Op op, MicrobatchId m) {
        list.push_back({op, held.stage, m, read(held, op, m)});
      },
      [&](const Held& held, int update) {
        list.push_back({Op::Update,
                        held.stage,
                        order_.name_of_update(held.stage, update),
                        {held.newest, AsStored{}}});
      });
  return list;
}

int WorkerBinder::peak_versions(WorkerId worker) {
  if (policy_.one_version) return 1;
  Indexed<LastReads> reads(held_by_[worker].size());
  walk(
      worker,
      [&](int at, Held& held, Op op, MicrobatchId m) {
        if (!reads_weights(op)) return;
        const WeightRead read = this->read(held, op, m);
        LastReads& mine = reads[at];
        mine.read(read.version, held.newest);
        if (const auto* blend = std::get_if<Blend>(&read.how)) mine.read(blend->other, held.newest);
      },
      [](const Held&, int) {});
  int peak = 1;
  for (const LastReads& mine : reads) peak = std::max(peak, mine.peak());
  return peak;
}

std::vector<int> peak_versions_of_workers(const CompactOrder& order, const VersionPolicy& policy,
                                          const BindRule& rule) {
  WorkerBinder binder(order, policy, rule);
  std::vector<int> peaks;
  for (int w = 0; w < static_cast<int>(order.workers.size()); ++w)
    peaks.push_back(binder.peak_versions({w}));
  return peaks;
}

}  // namespace pipetrain
