#include "profile/stage_prices.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "compile/communication_forecast.hpp"
#include "compile/pipeline_threads.hpp"
#include "graph/graph.hpp"
#include "program/recompute_segments.hpp"

namespace pipetrain {
namespace {

double handover_ms(const Profile& profile, std::string_view name) {
  const auto found = std::ranges::find(profile.transports, name, &TransportTimes::name);
  return found == profile.transports.end() ? 0 : found->handover_ms;
}

// Held by the worker that holds most.
double held_bytes(const CompiledPipeline& pipeline) {
  std::size_t all = 0, most = 0;
  for (const HeldMemory& stage : predicted_memory(pipeline)) {
    all += stage.training.total();
    most = std::max(most, stage.training.total());
  }
  return static_cast<double>(workers_at_once(pipeline.in.config) > 1 ? most : all);
}

// The times for each stage. They differ for those that keep several versions of their weights, and
// for those that hold all micro-batches of a mini-batch.
class StagePoints {
 public:
  StagePoints(const CompiledPipeline& pipeline, const Profile& profile, double held)
      : config_(pipeline.in.config), profile_(profile), held_(held) {}

  const ProfilePoint& of(const StageNeeds& stage) {
    const int microbatches = config_.pipeline.microbatches;
    const bool several = stage.weight_copies > 1,
               all = microbatches > 1 && stage.slots >= microbatches;
    const auto [point, added] = points_.try_emplace({several, all});
    if (added) point->second = measured(several ? 2 : 1, all);
    return point->second;
  }

 private:
  ProfilePoint measured(int versions, bool all_in_flight) const {
    const double microbatches = config_.pipeline.microbatches;
    const int workers = workers_at_once(config_);
    return point_of(profile_,
                    {.samples = static_cast<double>(config_.data.batch_size) / microbatches,
                     .threads = threads_for(config_).threads_per_stage,
                     .beside = workers > 1 ? Beside::Neighbours : Beside::Nobody,
                     .held_bytes = held_,
                     .microbatches = microbatches,
                     .versions = versions,
                     .all_in_flight = all_in_flight});
  }

  const Config& config_;
  const Profile& profile_;
  const double held_;
  std::map<std::pair<bool, bool>, ProfilePoint> points_;
};

// Of the layers that run again in a backward.
double again_ms(const CompiledPart& part, const StagePlan& layers, const ProfilePoint& point) {
  double ms = 0;
  for (const Step& step : part.kernels.front().recipe.backward)
    if (step.kind == Step::Kind::Forward)
      ms += point.layers[static_cast<std::size_t>(layers.first.value + step.layer)].forward_ms;
  return ms;
}

// Of a mini-batch; copies that do not take whole ones in turn share it.
double microbatches_of_a_copy(const CompiledPipeline& pipeline, const StageNeeds& needs) {
  const double all = pipeline.in.config.pipeline.microbatches;
  return pipeline.needs.program.program.whole_minibatches ? all : std::max(1.0, all / needs.copies);
}

StageCosts work_of(const StagePlan& part, const Graph& graph, const ProfilePoint& point,
                   double microbatches) {
  StageCosts costs{.forward = 0, .backward_input = 0, .backward_weight = 0};
  bool first = true;
  for (int l = part.first.value; l <= part.last.value; ++l) {
    const LayerTimes& times = point.layers[static_cast<std::size_t>(l)];
    costs.forward += times.forward_ms;
    costs.backward_input += times.backward_input_ms;
    costs.backward_weight += times.weight_ms(microbatches);
    costs.split += times.split_backward_ms;
    costs.update += times.update_ms + times.pack_ms + times.fused_update_ms;
    if (!graph.layers[l].trains() || !first) continue;
    costs.tail = times.weight_ms(microbatches);
    first = false;
  }
  if (part.first.value == 0) costs.forward += point.load_ms;
  if (part.last.value + 1 == std::ssize(graph.layers)) {
    costs.forward += point.loss_ms;
    costs.backward_input += point.loss_gradient_ms;
  } else {
    const LayerTimes& last = point.layers[static_cast<std::size_t>(part.last.value)];
    costs.forward += last.cut_forward_ms;
    costs.backward_input += last.cut_backward_ms;
  }
  return costs;
}

// What profiles do not include, because no weights are mixed there. An update that also maintains
// delta is not fused, and reads and writes more; weights that no update made are computed and
// packed. Memory bound: some arrays as long as the parameters.
double mixing_ms(const StageNeeds& needs, const StagePlan& part, const ProfilePoint& point,
                 double bytes_per_second) {
  constexpr double arrays_of_delta = 4, arrays_of_mixture = 4;
  const double arrays =
      (needs.delta.keeps ? arrays_of_delta : 0) + (needs.mixes_weights ? arrays_of_mixture : 0);
  double pack_ms = 0;
  for (int l = part.first.value; l <= part.last.value; ++l)
    pack_ms += point.layers[static_cast<std::size_t>(l)].pack_ms;
  const double bytes = arrays * sizeof(float) * static_cast<double>(part.parameters);
  return (bytes_per_second > 0 ? 1e3 * bytes / bytes_per_second : 0) +
         (needs.mixes_weights ? pack_ms : 0);
}

// Of the layers whose update the profile measured as a part of their backward.
double fused_bytes(const StagePlan& part, const Profile& profile, const ProfilePoint& point) {
  double bytes = 0;
  for (int l = part.first.value; l <= part.last.value; ++l)
    if (point.layers[static_cast<std::size_t>(l)].fused_update_ms > 0)
      bytes += static_cast<double>(profile.layers[static_cast<std::size_t>(l)].parameter_bytes);
  return bytes;
}

// For copies of a stage: one of them reads the gradients of all and writes their sum to all while
// the others wait, or on one thread each does so for its share; and no update is fused into a
// backward. Memory bound too.
double joining_ms(const StageNeeds& needs, const StagePlan& part, bool one_thread, double fused,
                  double bytes_per_second) {
  if (needs.copies < 2 || bytes_per_second <= 0) return 0;
  constexpr double arrays_of_a_sum = 2, arrays_of_an_update = 2;
  const double sums = arrays_of_a_sum * needs.copies;
  const double bytes = (one_thread ? sums / needs.copies : sums) * sizeof(float) *
                           static_cast<double>(part.parameters) +
                       arrays_of_an_update * fused;
  return 1e3 * bytes / bytes_per_second;
}

// Gradients of several micro-batches that go together to stage s - 1 are all written before the
// first is read: as far as they do not fit the caches, writing takes memory's time. Of each.
double together_ms(const CompiledPipeline& pipeline, int s, const Profile& profile) {
  if (s == 0 || profile.memory.empty()) return 0;
  const int together = pipeline.needs.stages[StageId{s - 1}].gradients_in_a_packet;
  const PacketSizes packets = packet_sizes(
      pipeline.model, pipeline.in.plan.stages[StageId{s}].first, pipeline.sizes, Mode::Train);
  const auto bytes = static_cast<double>(packets.gradients);
  const double moved = 2 * bytes;  // a line is read before it is written
  return 1e3 * moved *
         std::max(0.0,
                  1 / memory_rate(profile, together * bytes) - 1 / memory_rate(profile, moved));
}

// One thread that runs several copies comes back to each one's weights and gradients after what it
// holds has gone through the caches: the first backward of a copy finds nothing there, where in the
// profile only the first one of a mini-batch does. Added to each backward.
//
// The backwards of a stage that follow each other (gradients_together) cost as much as the
// profile's: what they find in the caches is as much as the first of them misses there.
double return_ms(const CompiledPipeline& pipeline, int s, double held, const Profile& profile) {
  const StageNeeds& needs = pipeline.needs.stages[StageId{s}];
  if (!is_inline(pipeline.in.config) || needs.copies < 2 || profile.memory.empty()) return 0;
  constexpr double arrays = 3;  // weights are read; gradients are read and written
  const double bytes =
      arrays * sizeof(float) * static_cast<double>(pipeline.in.plan.stages[StageId{s}].parameters);
  const double ms =
      1e3 * bytes * std::max(0.0, 1 / memory_rate(profile, held) - 1 / memory_rate(profile, bytes));
  return ms / microbatches_of_a_copy(pipeline, needs);
}

// Adds the time that messages and sums take over links, beyond what they take without.
void add_links(const CompiledPipeline& pipeline, const LinkRate& link, Costs& costs) {
  CommunicationForecast forecast(pipeline);
  const CommunicationForecast::Period period = forecast.period();
  const auto microbatches =
      static_cast<double>(period.minibatches * pipeline.in.config.pipeline.microbatches);
  const auto ms = [&](const Volume& volume, double messages) {
    return 1e3 * link.busy_seconds(static_cast<double>(volume.bytes) / microbatches / messages);
  };
  const std::vector<StageVolumes>& stages = period.communication.stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StageCosts& stage = costs.per_stage[s];
    stage.all_reduce = 1e3 * forecast.sums_seconds({static_cast<int>(s)});
    if (s + 1 == stages.size() || stages[s].gradients.messages == 0) continue;
    stage.gradient_transfer = stage.transfer + ms(stages[s].gradients, 1);
    stage.transfer +=
        ms(stages[s + 1].activations,
           receives_again(pipeline.needs.program.program, {static_cast<int>(s) + 1}) ? 2 : 1);
    stage.latency = 1e3 * link.latency_seconds;
  }
}

}  // namespace

StagePrices stage_prices(const CompiledPipeline& pipeline, const Profile& profile) {
  const Config& config = pipeline.in.config;
  const double held = held_bytes(pipeline);
  StagePoints points(pipeline, profile, held);
  const double rate = memory_rate(profile, held);
  const int last = static_cast<int>(pipeline.in.plan.stages.size()) - 1;
  const double half_packet = handover_ms(profile, "inline") / 2,
               journey = is_inline(config) ? 0 : handover_ms(profile, "threads");
  StagePrices prices;
  for (int s = 0; s <= last; ++s) {
    const StagePlan& part = pipeline.in.plan.stages[StageId{s}];
    const StageNeeds& needs = pipeline.needs.stages[StageId{s}];
    const ProfilePoint& point = points.of(needs);
    StageCosts costs =
        work_of(part, pipeline.in.graph, point, microbatches_of_a_copy(pipeline, needs));
    costs.backward_input += again_ms(pipeline.parts[static_cast<std::size_t>(s)], part, point);
    costs.backward_input += together_ms(pipeline, s, profile);
    costs.backward_input += return_ms(pipeline, s, held, profile);
    costs.update +=
        mixing_ms(needs, part, point, rate) +
        joining_ms(needs, part, is_inline(config), fused_bytes(part, profile, point), rate);
    prices.work.per_stage.push_back(costs);
    // A forward comes with a load or a receive, and with a send; so does a backward.
    const double packets = half_packet * ((s > 0) + (s < last));
    costs.forward += packets;
    costs.backward_input += packets;
    if (s == 0) costs.update += point.rest_ms;
    costs.transfer = journey;
    prices.all.per_stage.push_back(costs);
  }
  const std::optional<LinkRate> link = link_of(config.hardware);
  if (link && !is_inline(config)) add_links(pipeline, *link, prices.all);
  return prices;
}

}  // namespace pipetrain
