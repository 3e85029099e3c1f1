#include "compile/device_rank_rules.hpp"

#include <spdlog/fmt/fmt.h>

#include <set>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

// Empty if there is none.
std::string layer_with_statistics(const Graph& graph, const StagePlan& stage) {
  for (LayerId l = stage.first; l <= stage.last; ++l.value)
    if (!graph.layers[l].buffers.empty()) return graph.layers[l].name;
  return "";
}

}  // namespace

void check_device_ranks(const PipelineInput& in, const PipelineNeeds& needs) {
  if (in.ranks.count == 1 || !in.backend.asynchronous()) return;
  const Program& program = needs.program.program;
  const int workers = static_cast<int>(program.workers.size());
  for (StageId s{0}; s.value < program.stages; ++s.value) {
    std::set<int> ranks;
    for (const WorkerId worker : workers_of(program, s)) ranks.insert(in.ranks.of(worker, workers));
    const int copies = program.copies_of(s), apart = static_cast<int>(ranks.size());
    if (apart == 1) continue;
    if (apart < copies)
      throw UsageError(
          fmt::format("hardware.backend = \"cuda\": the {} copies of stage {} are on {} ranks, but "
                      "each needs a rank of its own, or all the same one; start {} processes, one "
                      "for each worker",
                      copies, s.value, apart, workers));
    if (has_own_order(in.config.pipeline) && (needs_norm(in.config) || !needs.tied.empty()))
      throw UsageError(fmt::format(
          "hardware.backend = \"cuda\": stage {} has copies on {} ranks, whose workers wait for "
          "each other's sums in the order of pipeline.schedule_csv, which may never end; leave "
          "max_norm, on_nonfinite and tied parameters out, or use a schedule's own order",
          s.value, apart));
    const std::string layer = layer_with_statistics(in.graph, in.plan.stages[s]);
    if (needs.stages[s].statistics_logged > 0 && !layer.empty())
      throw UsageError(fmt::format(
          "hardware.backend = \"cuda\": stage {} has copies on {} ranks, and its layer '{}' keeps "
          "running statistics, which GPUs of different processes cannot join yet; start one "
          "process for all of its copies, or leave pipeline.replicas out",
          s.value, apart, layer));
  }
}

}  // namespace pipetrain
