#include "program/simulate.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "base/check.hpp"
#include "program/channel.hpp"
#include "program/liveness.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

struct Link {
  std::deque<double> arrivals;
  double free_at = 0;
};

// Gradients, or their norms, handed in for one mini-batch.
struct Sync {
  int missing = 0;
  double complete_at = 0;
};

struct Clock {
  const Program& program;
  const Costs& costs;
  WorkerId worker = {};
  std::map<ChannelId, Link> links = {};
  std::map<MinibatchId, Sync> syncs = {};
  std::set<StageId> waiting_stages = program.syncing_stages();

  // When the instruction begins and ends on a worker that is free at `now`; nothing where it waits
  // for something that no worker has done yet.
  std::optional<Span> run(const Instruction& i, double now) {
    if (is_send(i.op)) return send(i, now);
    if (is_receive(i.op)) return receive(i, now);
    if (i.op == Op::SyncGradients || (i.op == Op::Update && waiting_stages.contains(i.stage)))
      return sync(i, now);
    return Span{now, now + duration(i)};
  }

  double duration(const Instruction& i) const {
    const StageCosts& stage = costs.of(i.stage);
    if (costs.disturbance.none() || !computes(i.op)) return time_of(stage, i.op);
    const double factor = factor_of(costs.disturbance, worker, i.stage, i.microbatch, i.op);
    return time_of(stage, without_update(i.op)) * factor + (updates(i.op) ? stage.update : 0);
  }

  Span send(const Instruction& i, double now) {
    const auto channel = channel_of(program, i);
    Link& link = links[channel];
    const int packets = channel.gradient && program.gradients_together ? program.microbatches : 1;
    link.free_at = std::max(now, link.free_at) + packets * costs.of({channel.boundary}).transfer;
    link.arrivals.push_back(link.free_at);
    return {now, now};
  }

  std::optional<Span> receive(const Instruction& i, double now) {
    Link& link = links[channel_of(program, i)];
    if (link.arrivals.empty()) return std::nullopt;
    const double arrival = link.arrivals.front();
    link.arrivals.pop_front();
    return Span{now, std::max(now, arrival)};
  }

  std::optional<Span> sync(const Instruction& i, double now) {
    Sync& sync = syncs[program.minibatch_of(i.microbatch)];
    if (i.op == Op::SyncGradients) {
      --sync.missing;
      sync.complete_at = std::max(sync.complete_at, now);
      return Span{now, now};
    }
    if (sync.missing > 0) return std::nullopt;
    return Span{now, std::max(now, sync.complete_at) + duration(i)};
  }
};

void run_all(Clock& clock, Timeline& line) {
  const auto& workers = clock.program.workers;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      auto& spans = line.spans[w];
      clock.worker = {static_cast<int>(w)};
      while (spans.size() < workers[w].size()) {
        auto span = clock.run(workers[w][spans.size()], spans.empty() ? 0 : spans.back().end);
        if (!span) break;
        spans.push_back(*span);
        moved = true;
      }
    }
  }
  for (std::size_t w = 0; w < workers.size(); ++w)
    PIPETRAIN_CHECK(line.spans[w].size() == workers[w].size(), "worker {} waits for ever at {}", w,
                    to_text(workers[w][line.spans[w].size()]));
}

void summarise(const Program& program, const Costs& costs, Timeline& line) {
  double busy_total = 0;
  for (std::size_t w = 0; w < program.workers.size(); ++w) {
    double busy = 0;
    std::optional<double> first;
    double last = 0;
    for (std::size_t at = 0; at < line.spans[w].size(); ++at) {
      const Span& span = line.spans[w][at];
      line.makespan = std::max(line.makespan, span.end);
      const Instruction& i = program.workers[w][at];
      // An update's span is longer where it waits for other stages.
      const double update = i.op == Op::Update ? time_of(costs.of(i.stage), i.op) : 0;
      if (!computes(i.op) && update == 0) continue;
      busy += computes(i.op) ? span.end - span.start : update;
      if (!first) first = span.start;
      last = span.end;
    }
    busy_total += busy;
    line.idle.push_back(last - first.value_or(0) - busy);
  }
  const double worker_time = line.makespan * static_cast<double>(program.workers.size());
  if (worker_time > 0) line.bubble = (worker_time - busy_total) / worker_time;
}

}  // namespace

Timeline simulate(const Program& program, const Costs& costs) {
  Timeline line;
  line.spans.resize(program.workers.size());
  Clock clock{program, costs};
  for (const auto& list : program.workers)
    for (const auto& i : list)
      if (i.op == Op::SyncGradients) ++clock.syncs[program.minibatch_of(i.microbatch)].missing;
  run_all(clock, line);
  summarise(program, costs, line);
  line.peak_activations = peak_in_flight(program);
  line.peak_weight_versions = peak_weight_versions_of_workers(program);
  return line;
}

}  // namespace pipetrain
