#include "plan/search/candidate.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/counted.hpp"
#include "compact_schedule.hpp"
#include "graph/graph.hpp"
#include "plan/proposal_words.hpp"
#include "program/fold.hpp"

namespace pipetrain {
namespace {

// The layers of the chain in one part, added up.
struct ChainPart : ChainLayer {
  double tail_ms = 0;  // after its gradient is sent: the weight half of the first layer that trains
};

ChainPart part_of(const LayerChain& chain, const Candidate& candidate, int part) {
  const int first = candidate.firsts[part];
  const int end = part + 1 < std::ssize(candidate.firsts) ? candidate.firsts[part + 1]
                                                          : static_cast<int>(chain.layers.size());
  ChainPart sum;
  for (int l = first; l < end; ++l) {
    const ChainLayer& layer = chain.layers[l];
    if (sum.tail_ms == 0) sum.tail_ms = layer.backward_weight_ms;
    sum.forward_ms += layer.forward_ms;
    sum.backward_input_ms += layer.backward_input_ms;
    sum.backward_weight_ms += layer.backward_weight_ms;
    sum.split_backward_ms += layer.split_backward_ms;
    sum.update_ms += layer.update_ms;
    sum.saved_bytes += layer.saved_bytes;
    sum.parameter_bytes += layer.parameter_bytes;
    sum.sent_bytes = layer.sent_bytes;
  }
  if (end == static_cast<int>(chain.layers.size())) return sum;
  sum.forward_ms += chain.layers[end - 1].cut_forward_ms;
  sum.backward_input_ms += chain.layers[end - 1].cut_backward_ms;
  return sum;
}

ScheduleRequest request_of(const Candidate& c) {
  return {.schedule = std::string(c.schedule->name),
          .stages = c.workers,
          .microbatches = c.microbatches,
          .warmup = c.warmup,
          .virtual_stages = c.virtual_stages,
          .replicas = c.replicas,
          .recompute = c.recompute,
          .early_sends = true};
}

CompactSchedule made(const Candidate& candidate, int minibatches) {
  ScheduleRequest request = request_of(candidate);
  request.minibatches = minibatches;
  return make_compact(*candidate.schedule, request);
}

// "2 stages", "2 stages of 3-1 replicas", "2 workers with 2 stages each"
std::string stages_text(const Candidate& c) {
  if (c.schedule->parts == Parts::Whole) return counted(c.workers, "worker");
  if (c.parts() > c.workers) return several_stages_text(c.devices(), c.parts() / c.workers);
  std::string text = counted(c.workers, "stage");
  if (!c.replicas.empty()) text += fmt::format(" of {} replicas", fmt::join(c.replicas, "-"));
  return text;
}

class Simulation {
 public:
  Simulation(const CandidateInput& in, const Candidate& candidate)
      : Simulation(in, candidate, pipetrain::made(candidate, 1).order) {}

  Simulated run() {
    Simulated result;
    const bool drains = flushes(*candidate_.schedule);
    const int settled =
        drains ? 1 : steady_minibatches(*candidate_.schedule, request_of(candidate_));
    const int round = shape_.minibatches_per_round();
    const int more =
        round * (drains ? 2 : timed_rounds(shape_.stages, round * shape_.microbatches));
    const Summary few = summarize(made(settled), costs_);
    const Summary many = summarize(made(settled + more), costs_);
    result.step_ms = (many.makespan - few.makespan) / more;
    set_stages(result);
    set_memory(result, many);
    return result;
  }

  ProposedCommunication sends() const {
    const int round = shape_.minibatches_per_round(), count = shape_.microbatches;
    ProposedCommunication result{.minibatches = round, .communication = {}};
    auto& stages = result.communication.stages;
    stages.resize(parts_.size());
    for (int p = 0; p < std::ssize(parts_); ++p) {
      const int updates = round / shape_.minibatches_per_update({p});
      const Volume ring = ring_all_reduce(parts_[p].parameter_bytes, copies_of(p));
      stages[p].all_reduce = {ring.bytes * updates, ring.messages * updates};
      for (int m = 0; p + 1 < std::ssize(parts_) && m < round * count; ++m) {
        if (shape_.worker_of({p}, {m}) == shape_.worker_of({p + 1}, {m})) continue;
        stages[p + 1].activations.add({parts_[p].sent_bytes, 1});
        const bool sends = !shape_.gradients_together || shape_.ends_minibatch({m});
        stages[p].gradients.add({parts_[p].sent_bytes, sends ? 1 : 0});
      }
    }
    return result;
  }

 private:
  Simulation(const CandidateInput& in, const Candidate& candidate, const CompactOrder& order)
      : in_(in),
        candidate_(candidate),
        routes_(in.cluster),
        shape_(order),
        splits_(has(order, Op::BackwardInput)) {
    for (int p = 0; p < shape_.stages; ++p) parts_.push_back(part_of(in.chain, candidate, p));
    set_costs();
  }

  CompactSchedule made(int minibatches) const { return pipetrain::made(candidate_, minibatches); }

  int copies_of(int part) const { return shape_.copies_of({part}); }
  int device_of(int part, int copy = 0) const { return shape_.worker_of_copy({part}, copy).value; }
  double speed_of(int part) const {  // the slowest of its copies
    double slowest = in_.cluster.devices[device_of(part)].speed;
    for (int c = 1; c < copies_of(part); ++c)
      slowest = std::min(slowest, in_.cluster.devices[device_of(part, c)].speed);
    return slowest;
  }

  void set_costs() {
    for (int p = 0; p < std::ssize(parts_); ++p) {
      const ChainPart& part = parts_[p];
      StageCosts costs{.forward = part.forward_ms / speed_of(p),
                       .backward_input = part.backward_input_ms / speed_of(p),
                       .backward_weight = part.backward_weight_ms / speed_of(p),
                       .tail = part.tail_ms / speed_of(p),
                       .update = part.update_ms / speed_of(p) + all_reduce_ms(p),
                       .split = part.split_backward_ms / speed_of(p)};
      if (p + 1 < std::ssize(parts_)) costs.transfer = cut_ms(p);
      costs_.per_stage.push_back(costs);
    }
    share_links();
  }

  // Over the pairs of copies that meet: both follow from the micro-batch, or from the mini-batch
  // where copies take whole ones in turn.
  double cut_ms(int p) const {
    const int from = copies_of(p), to = copies_of(p + 1);
    int turns = std::lcm(from, to);
    if (!shape_.whole_minibatches) turns = std::min(turns, candidate_.microbatches);
    double slowest = 0;
    for (int i = 0; i < turns; ++i)
      slowest = std::max(slowest, cut_ms(p, device_of(p, i % from), device_of(p + 1, i % to)));
    return slowest;
  }
  double cut_ms(int p, int from, int to) const {
    return from == to ? 0
                      : travel_ms(routes_.between(from, to).wire,
                                  static_cast<double>(parts_[p].sent_bytes));
  }

  // Copies of a stage add up their gradients in a ring over their devices: each sends
  // 2 (m - 1) / m of the bytes.
  double all_reduce_ms(int p) const {
    const int copies = shape_.copies_of({p});
    if (copies == 1) return 0;
    double slowest = 0;
    for (int c = 0; c < copies; ++c) {
      const int from = shape_.placement[StageId{p}][c].value,
                to = shape_.placement[StageId{p}][(c + 1) % copies].value;
      slowest =
          std::max(slowest, travel_ms(routes_.between(from, to).wire,
                                      static_cast<double>(parts_[p].parameter_bytes) / copies));
    }
    return 2 * (copies - 1) * slowest;
  }

  void share_links() {
    std::vector<int> links;
    bool any = false;
    for (int p = 0; p + 1 < std::ssize(parts_); ++p) {
      const int from = device_of(p), to = device_of(p + 1);
      const std::optional<Route> way =
          from == to ? std::nullopt : std::optional(routes_.between(from, to));
      links.push_back(way && way->wire.shared ? way->medium : -1);
      any = any || links.back() >= 0;
    }
    if (any) costs_.links = {.activations = links, .gradients = links};
  }

  void set_stages(Simulated& result) const {
    double busy = 0;
    std::vector<double> worker_ms(candidate_.devices());
    for (int p = 0; p < std::ssize(parts_); ++p) {
      const StageCosts& costs = costs_.per_stage[p];
      const double compute = costs.forward + costs.backward_input + costs.backward_weight +
                             (splits_ ? costs.split : 0) +
                             (candidate_.recompute ? costs.forward : 0);
      SimulatedStage stage{.compute_ms = compute / copies_of(p), .transfer_ms = costs.transfer};
      for (int c = 0; c < copies_of(p); ++c) {
        stage.workers.push_back(device_of(p, c));
        worker_ms[device_of(p, c)] += stage.compute_ms;
      }
      result.stages.push_back(std::move(stage));
      result.bottleneck_ms = std::max(result.bottleneck_ms, costs.transfer);
      // If copies take mini-batches in turn, they update once for one mini-batch of each.
      const int updates = shape_.whole_minibatches ? 1 : copies_of(p);
      busy += compute * candidate_.microbatches + costs.update * updates;
    }
    result.bottleneck_ms = std::max(result.bottleneck_ms, std::ranges::max(worker_ms));
    result.bubble = 1 - busy / (result.step_ms * candidate_.devices());
  }

  // For one micro-batch in flight: its activations or, if they are recomputed, the input of the
  // part, which the loader holds for the first part.
  std::int64_t kept_bytes(int p) const {
    if (!candidate_.recompute) return parts_[p].saved_bytes;
    return p > 0 ? parts_[p - 1].sent_bytes : 0;
  }

  // A worker's peak of activations counts chunks of any of its parts, so its largest part
  // represents each. Recomputed activations exist once.
  void set_memory(Simulated& result, const Summary& summary) const {
    std::vector<std::int64_t> kept(candidate_.devices()), again(candidate_.devices()),
        parameters(candidate_.devices());
    for (int p = 0; p < std::ssize(parts_); ++p)
      for (int c = 0; c < shape_.copies_of({p}); ++c) {
        const int w = device_of(p, c);
        kept[w] = std::max(kept[w], kept_bytes(p));
        if (candidate_.recompute) again[w] = std::max(again[w], parts_[p].saved_bytes);
        parameters[w] += parts_[p].parameter_bytes;
      }
    std::vector<std::int64_t> bytes;
    for (int w = 0; w < candidate_.devices(); ++w) {
      const int copies = summary.peak_weight_versions[w] + in_.copies_beside_weights;
      bytes.push_back(kept[w] * summary.peak_activations[w] + again[w] + parameters[w] * copies);
    }
    pipetrain::set_memory(result, std::move(bytes), in_);
  }

  const CandidateInput& in_;
  const Candidate& candidate_;
  const Routes routes_;
  const ProgramShape shape_;
  const bool splits_;  // backwards in two halves
  std::vector<ChainPart> parts_;
  Costs costs_;
};

}  // namespace

LayerChain reordered(const LayerChain& chain, const LayerOrder& order) {
  LayerChain result{.layers = {}, .microbatch_samples = chain.microbatch_samples};
  for (std::size_t l = 0; l < order.layers.size(); ++l) {
    result.layers.push_back(chain.layers[static_cast<std::size_t>(order.layers[l])]);
    result.layers.back().sent_bytes =
        std::llround(order.sent_bytes[l] * static_cast<double>(chain.microbatch_samples));
  }
  return result;
}

std::vector<int> equal_divisions(int minibatch_samples) {
  std::vector<int> counts;
  for (int n = 1; n <= minibatch_samples && n <= 256; n *= 2)
    if (minibatch_samples % n == 0) counts.push_back(n);
  return counts;
}

int Candidate::devices() const {
  return replicas.empty() ? workers : std::accumulate(replicas.begin(), replicas.end(), 0);
}

std::string text_of(const Candidate& c) {
  std::string text = fmt::format("{}, {}, {}", c.schedule->name, stages_text(c),
                                 counted(c.microbatches, "micro-batch"));
  if (c.recompute) text += ", recomputed";
  return text;
}

void set_memory(Simulated& simulated, std::vector<std::int64_t> per_worker,
                const CandidateInput& input) {
  simulated.memory_bytes = std::move(per_worker);
  simulated.shortage = {};
  for (int w = 0; w < std::ssize(simulated.memory_bytes); ++w) {
    std::optional<std::int64_t> limit = input.cluster.devices[w].memory_bytes;
    if (input.memory_limit_bytes)
      limit = std::min(limit.value_or(*input.memory_limit_bytes), *input.memory_limit_bytes);
    const std::int64_t short_of = limit ? simulated.memory_bytes[w] - *limit : 0;
    if (short_of > 0 && (!simulated.shortage || short_of > simulated.shortage->bytes))
      simulated.shortage = {w, short_of};
  }
}

ProgramShape shape_of(const Candidate& candidate) { return made(candidate, 1).order; }

ProposedCommunication candidate_sends(const CandidateInput& input, const Candidate& candidate) {
  return Simulation(input, candidate).sends();
}

Simulated simulate_candidate(const CandidateInput& input, const Candidate& candidate) {
  return Simulation(input, candidate).run();
}

}  // namespace pipetrain
