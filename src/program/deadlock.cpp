// The dry run of check. A network of lists with bounded first-in-first-out channels gets equally
// far under every interleaving, so one walk is proof for all (Kahn, 1974).
#include <deque>
#include <map>
#include <set>

#include "base/check.hpp"
#include "program/channel.hpp"
#include "program/check.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

struct Run {
  const Program& program;
  std::size_t capacity, activation_capacity;
  std::map<ChannelId, std::deque<MicrobatchId>> channels = {};
  std::map<std::pair<int, MicrobatchId>, int> syncs_missing = {};  // by sync group and update
  std::set<StageId> waiting_stages = program.syncing_stages();

  bool step(const Instruction& i) {
    if (is_send(i.op)) {
      auto& packets = channels[channel_of(program, i)];
      if (packets.size() >= capacity_of(i)) return false;
      packets.push_back(i.microbatch);
    } else if (is_receive(i.op)) {
      auto& packets = channels[channel_of(program, i)];
      if (packets.empty()) return false;
      packets.pop_front();
    } else if (i.op == Op::SyncGradients) {
      --syncs_missing[key(i)];
    } else if (i.op == Op::Update && waiting_stages.contains(i.stage)) {
      return syncs_missing[key(i)] == 0;
    }
    return true;
  }

  std::pair<int, MicrobatchId> key(const Instruction& i) const {
    return {program.sync_group_of(i.stage), i.microbatch};
  }

  std::size_t capacity_of(const Instruction& send) const {
    return send.op == Op::SendGradient ? capacity : activation_capacity;
  }

  std::string why(const Instruction& i) const {
    if (is_send(i.op)) return fmt::format("its channel holds {} already", capacity_of(i));
    if (is_receive(i.op)) return "nothing arrives";
    return "not every stage hands in its gradients";
  }
};

}  // namespace

std::vector<Diagnostic> find_deadlock(const Program& program, int channel_capacity,
                                      int activation_capacity) {
  // Where stages recompute in segments, two activations per slot cross: the forward's and this one.
  const int kinds = program.has(Op::SendRecomputed) ? 2 : 1;
  const int activations =
      kinds * (activation_capacity > 0 ? activation_capacity : channel_capacity);
  Run run{program, static_cast<std::size_t>(channel_capacity),
          static_cast<std::size_t>(activations)};
  for (const auto& list : program.workers)
    for (const auto& i : list)
      if (i.op == Op::SyncGradients) ++run.syncs_missing[run.key(i)];

  std::vector<std::size_t> at(program.workers.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = 0; w < at.size(); ++w)
      for (const auto& list = program.workers[w]; at[w] < list.size() && run.step(list[at[w]]);
           ++at[w])
        moved = true;
  }
  std::vector<Diagnostic> stuck;
  for (std::size_t w = 0; w < at.size(); ++w) {
    if (at[w] == program.workers[w].size()) continue;
    const auto& i = program.workers[w][at[w]];
    stuck.push_back({"deadlock",
                     fmt::format("worker {} waits forever at {} ({}): {}", w, to_text(i),
                                 op_name(i.op), run.why(i)),
                     {static_cast<int>(w)},
                     at[w]});
  }
  return stuck;
}

}  // namespace pipetrain
