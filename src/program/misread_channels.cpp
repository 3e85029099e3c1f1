// The rule `order` of check: each channel is read in the order in which it is written.
#include <spdlog/fmt/fmt.h>

#include <map>
#include <string>

#include "program/channel.hpp"
#include "program/check.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

using Packets =
    std::map<ChannelId, std::vector<Instruction>>;  // by the instructions that send them

Packets sent_packets(const Program& program) {
  Packets sent;
  for (const auto& list : program.workers)
    for (const Instruction& i : list)
      if (is_send(i.op)) sent[channel_of(program, i)].push_back(i);
  return sent;
}

// What is wrong with receiving the packet there; empty: nothing.
std::string misread(const Instruction& receive, const Instruction& packet) {
  if (packet.microbatch != receive.microbatch)
    return fmt::format("{} is sent micro-batch {} instead", to_text(receive),
                       packet.microbatch.value);
  if ((packet.op == Op::SendRecomputed) != (receive.op == Op::ReceiveRecomputed))
    return fmt::format("{} is sent {} ({}) instead", to_text(receive), short_text(packet),
                       op_name(packet.op));
  return "";
}

}  // namespace

std::vector<Diagnostic> find_misread_channels(const Program& program) {
  std::vector<Diagnostic> found;
  Packets sent = sent_packets(program);
  std::map<ChannelId, std::size_t> taken;
  for (WorkerId w{0}; w.value < static_cast<int>(program.workers.size()); ++w.value)
    for (std::size_t at = 0; at < program.workers[w.value].size(); ++at) {
      const Instruction& i = program.workers[w.value][at];
      if (!is_receive(i.op)) continue;
      const ChannelId channel = channel_of(program, i);
      const std::vector<Instruction>& packets = sent[channel];
      const std::size_t next = taken[channel]++;
      const std::string message = next < packets.size()
                                      ? misread(i, packets[next])
                                      : fmt::format("{}: no worker sends it", to_text(i));
      if (!message.empty()) found.push_back({"order", message, w, at});
    }
  for (const auto& [channel, packets] : sent)
    if (taken[channel] < packets.size())
      found.push_back(
          {"order",
           fmt::format("micro-batch {} is sent over boundary {} and no worker receives it",
                       packets[taken[channel]].microbatch.value, channel.boundary),
           channel.to, program.workers[channel.to.value].size()});
  return found;
}

}  // namespace pipetrain
