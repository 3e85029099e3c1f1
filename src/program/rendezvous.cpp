#include "program/rendezvous.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "program/channel.hpp"
#include "program/program_clock.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

// The end of a transfer that came first and waits for the other end.
struct WaitingEnd {
  std::size_t worker = 0, at = 0;
  double ready = 0;
};

struct Meeting {
  std::optional<WaitingEnd> waiting = {};
  std::deque<double> arrivals = {};  // between stages of one worker
  double free_at = 0;                // the end of the last transfer
};

struct MeetingWorker {
  std::size_t next = 0;
  double now = 0, transfers_end = 0;
  std::vector<std::size_t> open = {};  // transfers that wait for their other end

  // Is the worker free of transfers, and so able to compute?
  bool settle() {
    if (!open.empty()) return false;
    now = std::max(now, transfers_end);
    return true;
  }
};

class Rendezvous {
 public:
  Rendezvous(const Program& program, const Costs& costs)
      : program_(program), clock_(program, costs), workers_(program.workers.size()) {
    for (const auto& list : program.workers) walk_.spans.emplace_back(list.size());
  }

  RendezvousWalk run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t w = 0; w < workers_.size(); ++w)
        for (const auto& list = program_.workers[w];
             workers_[w].next < list.size() && step(w, list[workers_[w].next]); ++workers_[w].next)
          moved = true;
    }
    for (const MeetingWorker& worker : workers_)
      walk_.reached.push_back(worker.open.empty() ? worker.next : worker.open.front());
    return std::move(walk_);
  }

 private:
  // False if the worker has to wait.
  bool step(std::size_t w, const Instruction& i) {
    MeetingWorker& me = workers_[w];
    const WorkerId id{static_cast<int>(w)};
    if (is_send(i.op) || is_receive(i.op)) {
      const ChannelId channel = channel_of(program_, i);
      return channel.from == channel.to ? pass(me, w, i, channel) : meet(me, w, channel);
    }
    if (clock_.syncs(i)) {
      const std::optional<Span> span = clock_.sync(id, i, me.now);
      return span && keep(me, w, *span);
    }
    if (computes(i.op) && !me.settle()) return false;
    return keep(me, w, {me.now, me.now + clock_.duration(id, i)});
  }

  bool keep(MeetingWorker& me, std::size_t w, Span span) {
    walk_.spans[w][me.next] = span;
    me.now = span.end;
    return true;
  }

  // A transfer between stages of one worker.
  bool pass(MeetingWorker& me, std::size_t w, const Instruction& i, const ChannelId& channel) {
    Meeting& link = meetings_[channel];
    if (is_send(i.op)) {
      link.free_at =
          std::max(me.now, link.free_at) + clock_.transfer(channel.boundary, channel.gradient);
      link.arrivals.push_back(link.free_at);
      return keep(me, w, {me.now, me.now});
    }
    if (!me.settle() || link.arrivals.empty()) return false;
    const double arrival = link.arrivals.front();
    link.arrivals.pop_front();
    return keep(me, w, {me.now, std::max(me.now, arrival)});
  }

  // The end that comes second begins the transfer.
  bool meet(MeetingWorker& me, std::size_t w, const ChannelId& channel) {
    Meeting& link = meetings_[channel];
    if (!link.waiting) {
      link.waiting = {w, me.next, me.now};
      me.open.push_back(me.next);
      return true;
    }
    const WaitingEnd first = *std::exchange(link.waiting, std::nullopt);
    MeetingWorker& other = workers_[first.worker];
    const double start = std::max({me.now, first.ready, link.free_at});
    link.free_at = start + clock_.transfer(channel.boundary, channel.gradient);
    for (MeetingWorker* worker : {&me, &other})
      worker->transfers_end = std::max(worker->transfers_end, link.free_at);
    std::erase(other.open, first.at);
    walk_.spans[w][me.next] = walk_.spans[first.worker][first.at] = {start, link.free_at};
    return true;
  }

  const Program& program_;
  ProgramClock clock_;
  std::vector<MeetingWorker> workers_;
  std::map<ChannelId, Meeting> meetings_;
  RendezvousWalk walk_;
};

std::string_view why(const Instruction& i) {
  return is_send(i.op) || is_receive(i.op)
             ? "the other worker never reaches it, and the transfer occupies both"
             : "not every stage hands in its gradients";
}

}  // namespace

RendezvousWalk walk_rendezvous(const Program& program, const Costs& costs) {
  return Rendezvous(program, costs).run();
}

std::vector<Diagnostic> find_rendezvous_deadlock(const Program& program) {
  const RendezvousWalk walk = walk_rendezvous(program, {});
  std::vector<Diagnostic> stuck;
  for (std::size_t w = 0; w < walk.reached.size(); ++w) {
    const auto& list = program.workers[w];
    if (walk.reached[w] == list.size()) continue;
    const Instruction& i = list[walk.reached[w]];
    stuck.push_back({"deadlock",
                     fmt::format("worker {} waits forever at {} ({}): {}", w, to_text(i),
                                 op_name(i.op), why(i)),
                     {static_cast<int>(w)},
                     walk.reached[w]});
  }
  return stuck;
}

}  // namespace pipetrain
