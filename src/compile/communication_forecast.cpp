#include "compile/communication_forecast.hpp"
#include "graph/graph.hpp"
#include "program/recompute_segments.hpp"

#include <algorithm>
#include <set>

namespace pipetrain {
CommunicationForecast::CommunicationForecast(const CompiledPipeline& pipeline)
    : CommunicationForecast(pipeline, pipeline.needs.program.program) {}

CommunicationForecast::CommunicationForecast(const CompiledPipeline& pipeline,
                                             const Program& program)
    : pipeline_(pipeline), program_(program), link_(link_of(pipeline.in.config.hardware)) {}

CommunicationForecast::Period CommunicationForecast::period() {
  Period period{program_.minibatches_per_round(), 0, {}};
  const auto& sizes = pipeline_.in.sizes.train;
  if (sizes.empty()) return period;
  period.samples = sizes.front().samples;
  period.communication = segment(period.minibatches, [&](std::int64_t) { return sizes.front(); });
  return period;
}

Communication CommunicationForecast::segment(
    std::int64_t count, const std::function<MinibatchSize(std::int64_t)>& size_of) {
  Communication all;
  all.stages.resize(static_cast<std::size_t>(program_.stages));
  const int round = program_.minibatches_per_round();
  for (std::int64_t k = 0; k < count; ++k)
    all.add(messages(size_of(k), static_cast<int>(k % round)));
  add_all_reduces(count, all);
  add_tied(count, all);
  return all;
}

const Communication& CommunicationForecast::messages(const MinibatchSize& size, int turn) {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& known) { return known.size == size && known.turn == turn; });
  if (found != known_.end()) return found->messages;
  return known_.emplace_back(Known{size, turn, crossing(size, turn)}).messages;
}

Communication CommunicationForecast::crossing(const MinibatchSize& size, int turn) {
  Communication one;
  one.stages.resize(static_cast<std::size_t>(program_.stages));
  const int count = program_.microbatches;
  for (int b = 0; b + 1 < program_.stages; ++b)
    for (int j = 0; j < count; ++j) {
      const MicrobatchId m{turn * count + j};
      if (program_.worker_of({b}, m) == program_.worker_of({b + 1}, m)) continue;
      StageVolumes &before = one.stages[static_cast<std::size_t>(b)],
                   &behind = one.stages[static_cast<std::size_t>(b) + 1];
      const int samples = samples_of(size, j);
      for (int times = receives_again(program_, {b + 1}) ? 2 : 1; times > 0; --times)
        add_message(behind, &StageVolumes::activations,
                    packet_bytes({b, false, samples, size.lengths}));
      if (!program_.gradients_together)
        add_message(before, &StageVolumes::gradients,
                    packet_bytes({b, true, samples, size.lengths}));
      else if (j + 1 == count)
        add_message(before, &StageVolumes::gradients, gradients_together_bytes(b, size));
    }
  return one;
}

int CommunicationForecast::samples_of(const MinibatchSize& size, int microbatch) const {
  return sample_part(static_cast<int>(size.samples), program_.microbatches, microbatch).count;
}

std::int64_t CommunicationForecast::packet_bytes(const PacketOf& packet) {
  if (packet.samples == 0) return 0;
  const auto [at, is_new] = packets_.try_emplace(packet, 0);
  if (!is_new) return at->second;
  const LayerId next = pipeline_.in.plan.stages[StageId{packet.boundary + 1}].first;
  const Graph& graph = pipeline_.model.graph(packet.lengths);
  const Lowering& lowering = pipeline_.model.lowering(packet.lengths);
  const PacketLayout layout = packet.gradient
                                  ? gradient_packet(graph, lowering, next, packet.samples)
                                  : activation_packet(graph, lowering, next, packet.samples);
  return at->second = static_cast<std::int64_t>(layout.bytes);
}

// Each micro-batch's gradients have room for the largest; the packet ends where the last ones do.
std::int64_t CommunicationForecast::gradients_together_bytes(int boundary,
                                                             const MinibatchSize& size) {
  const LayerId next = pipeline_.in.plan.stages[StageId{boundary + 1}].first;
  const auto place = static_cast<std::int64_t>(
      packet_sizes(pipeline_.model, next, pipeline_.sizes, Mode::Train).gradients);
  std::int64_t end = 0;
  for (int j = 0; j < program_.microbatches; ++j)
    if (const auto bytes = packet_bytes({boundary, true, samples_of(size, j), size.lengths}))
      end = j * place + bytes;
  return end;
}

void CommunicationForecast::add_message(StageVolumes& to, Volume StageVolumes::*kind,
                                        std::int64_t bytes) const {
  (to.*kind).add({.bytes = bytes, .messages = 1});
  if (link_) to.link_seconds += link_->seconds(static_cast<double>(bytes));
}

std::int64_t CommunicationForecast::updates(StageId stage, std::int64_t minibatches) const {
  const int each = program_.minibatches_per_update(stage);
  return (minibatches + each - 1) / each;
}

void CommunicationForecast::add_ring(StageVolumes& to, Volume StageVolumes::*kind,
                                     std::int64_t bytes, int members, std::int64_t times,
                                     int rings) const {
  const Volume one = ring_all_reduce(bytes, members);
  (to.*kind).add({.bytes = one.bytes * times * rings, .messages = one.messages * times * rings});
  if (link_)
    to.link_seconds +=
        static_cast<double>(times) * link_->ring_seconds(static_cast<double>(bytes), members);
}

std::int64_t CommunicationForecast::gradient_bytes(StageId stage) const {
  const StagePlan& part = pipeline_.in.plan.stages[stage];
  std::int64_t bytes = 0;
  for (LayerId l = part.first; l <= part.last; ++l.value) {
    const Layer& layer = pipeline_.in.graph.layers[l];
    if (!layer.trains()) continue;
    for (int p = 0; p < std::ssize(layer.parameters); ++p)
      bytes += static_cast<std::int64_t>(pipeline_.model.lowering().parameter_bytes(l, p));
  }
  return bytes;
}

std::vector<CommunicationForecast::Ring> CommunicationForecast::tied_rings() const {
  std::vector<Ring> rings;
  const Plan& plan = pipeline_.in.plan;
  for (const std::vector<Tie>& uses : trained_groups(pipeline_.in.graph)) {
    const Tie& first = uses.front();
    std::set<WorkerId> workers;
    for (const Tie& use : uses)
      workers.insert(program_.worker_of_copy(stage_of(plan, use.layer), 0));
    const std::size_t bytes =
        pipeline_.model.lowering().parameter_bytes(first.layer, first.parameter);
    rings.push_back({stage_of(plan, first.layer), static_cast<std::int64_t>(bytes),
                     static_cast<int>(workers.size())});
  }
  return rings;
}

void CommunicationForecast::add_all_reduces(std::int64_t count, Communication& all) const {
  for (StageId s{0}; s.value < program_.stages; ++s.value)
    add_ring(all.stages[static_cast<std::size_t>(s.value)], &StageVolumes::all_reduce,
             gradient_bytes(s), program_.copies_of(s), updates(s, count), 1);
}

void CommunicationForecast::add_tied(std::int64_t count, Communication& all) const {
  for (const Ring& ring : tied_rings())
    add_ring(all.stages[static_cast<std::size_t>(ring.owner.value)], &StageVolumes::tied,
             ring.bytes, ring.members, updates(ring.owner, count), program_.copies_of(ring.owner));
}

double CommunicationForecast::sums_seconds(StageId stage) const {
  if (!link_) return 0;
  const auto seconds = [&](std::int64_t bytes, int members) {
    return link_->ring_seconds(static_cast<double>(bytes), members);
  };
  double sum = seconds(gradient_bytes(stage), program_.copies_of(stage));
  if (pipeline_.needs.tied.contains(stage))
    for (const Ring& ring : tied_rings()) sum += seconds(ring.bytes, ring.members);
  return sum;
}

}  // namespace pipetrain
