#include "app/split_by_profile.hpp"

#include "app/exact_memory.hpp"
#include "app/kept_profile.hpp"
#include "app/plan_input.hpp"
#include "base/error.hpp"
#include "plan/search/search.hpp"
#include "schedules.hpp"

namespace pipetrain {
namespace {

// Does the search know programs like this config's, whose cut is free?
bool has_free_cut(const Config& config) {
  const PipelineConfig& pipeline = config.pipeline;
  const Recompute recompute = pipeline.recompute.rule;
  return pipeline.split.rule == SplitRule::Auto && !has_own_order(pipeline) &&
         model_parts(pipeline) > 1 && flushes(require_schedule(pipeline.schedule)) &&
         (recompute == Recompute::None || recompute == Recompute::Stage) &&
         config.data.batch_size % pipeline.microbatches == 0;
}

// Everything but the cut is as the config says.
SearchInput search_of_cuts(const PlanInput& input, const PipelineConfig& pipeline) {
  SearchInput search = search_input(input);
  search.schedule = pipeline.schedule;
  search.workers = pipeline.stages;
  search.microbatches = pipeline.microbatches;
  search.virtual_stages = pipeline.virtual_stages;
  search.replicas = pipeline.replicas;
  search.warmup = pipeline.warmup;
  search.recompute = pipeline.recompute.rule == Recompute::Stage;
  return search;
}

}  // namespace

bool split_by_profile(ReadConfig& read, const Graph& graph, const Dataset& train) {
  if (!has_free_cut(read.config)) return false;
  const std::optional<Profile> profile = kept_profile(read.config, graph, train);
  if (!profile) return false;
  try {
    const PlanInput input = plan_input(read, graph, *profile);
    const SearchInput search = search_of_cuts(input, read.config.pipeline);
    Config chosen = read.config;
    put(search_by_simulation(search).candidate, graph, chosen);
    read.config.pipeline.split = chosen.pipeline.split;
    return true;
  } catch (const UsageError&) {  // no cut fits, or none can be predicted
    return false;
  }
}

}  // namespace pipetrain
