#include "program/simulate.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "program/channel.hpp"
#include "program/liveness.hpp"
#include "program/program_clock.hpp"
#include "program/rendezvous.hpp"
#include "program/sharing.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

struct Link {
  std::deque<double> arrivals;
  double free_at = 0;
};

struct Clock {
  const Program& program;
  ProgramClock times;
  WorkerId worker = {};
  std::map<ChannelId, Link> links = {};

  // When the instruction begins and ends on a worker that is free at `now`; none if it waits for
  // something that no worker has done yet.
  std::optional<Span> run(const Instruction& i, double now) {
    if (is_send(i.op)) return send(i, now);
    if (is_receive(i.op)) return receive(i, now);
    if (times.syncs(i)) return times.sync(worker, i, now);
    return Span{now, now + times.duration(worker, i)};
  }

  Span send(const Instruction& i, double now) {
    const auto channel = channel_of(program, i);
    Link& link = links[channel];
    link.free_at = std::max(now, link.free_at) + times.transfer(channel.boundary, channel.gradient);
    link.arrivals.push_back(link.free_at + times.latency(channel.boundary));
    return {now, now};
  }

  std::optional<Span> receive(const Instruction& i, double now) {
    Link& link = links[channel_of(program, i)];
    if (link.arrivals.empty()) return std::nullopt;
    const double arrival = link.arrivals.front();
    link.arrivals.pop_front();
    return Span{now, std::max(now, arrival)};
  }
};

using Spans = std::vector<std::vector<Span>>;

Spans over_channels(const Program& program, const Costs& costs) {
  const auto& workers = program.workers;
  Spans spans(workers.size());
  Clock clock{program, {program, costs}};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      clock.worker = {static_cast<int>(w)};
      while (spans[w].size() < workers[w].size()) {
        auto span =
            clock.run(workers[w][spans[w].size()], spans[w].empty() ? 0 : spans[w].back().end);
        if (!span) break;
        spans[w].push_back(*span);
        moved = true;
      }
    }
  }
  for (std::size_t w = 0; w < workers.size(); ++w)
    PIPETRAIN_CHECK(spans[w].size() == workers[w].size(), "worker {} waits forever at {}", w,
                    to_text(workers[w][spans[w].size()]));
  return spans;
}

Spans by_rendezvous(const Program& program, const Costs& costs) {
  RendezvousWalk walk = walk_rendezvous(program, costs);
  for (std::size_t w = 0; w < walk.reached.size(); ++w)
    PIPETRAIN_CHECK(walk.reached[w] == program.workers[w].size(), "worker {} waits forever at {}",
                    w, to_text(program.workers[w][walk.reached[w]]));
  return std::move(walk.spans);
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
      // An update's span is longer if it waits for other stages.
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
  if (costs.charges == Charges::SideBySide) return simulate_sharing(program, costs);
  Timeline line;
  line.charges = costs.charges;
  line.spans = costs.charges == Charges::Workers ? by_rendezvous(program, costs)
                                                 : over_channels(program, costs);
  summarise(program, costs, line);
  line.peak_activations = peak_in_flight(program);
  line.peak_weight_versions = peak_weight_versions_of_workers(program);
  return line;
}

}  // namespace pipetrain
