#include "app/follow_plan.hpp"

#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "app/exact_memory.hpp"
#include "app/plan_input.hpp"
#include "base/input_file.hpp"
#include "checkpoint/save.hpp"
#include "config/rules.hpp"
#include "plan/search/search.hpp"
#include "profile/cache.hpp"
#include "profile/measure.hpp"
#include "run/earlier_run.hpp"

namespace pipetrain {
namespace {

Profile profile_of(const ReadConfig& read, const Graph& graph, const Dataset& train) {
  const std::vector<int> samples = microbatch_sizes_to_measure(read.config.data.batch_size, train),
                         threads = threads_to_measure(read.config);
  return cached_profile(profile_key(read.config, graph), samples, threads,
                        [&] {
                          spdlog::info(
                              "measures the model for schedule = \"auto\", once per machine: "
                              "micro-batches of size {}",
                              fmt::join(samples, ", "));
                          return measure_profile({.config = read.config,
                                                  .graph = graph,
                                                  .data = train,
                                                  .samples = samples,
                                                  .threads = threads});
                        })
      .profile;
}

}  // namespace

Proposal follow_plan(ReadConfig& read, const Graph& graph, const Dataset& train) {
  const PlanInput input = plan_input(read, graph, profile_of(read, graph, train));
  SearchInput search = search_input(input);
  search.exact_memory = [&](const Candidate& candidate) {
    return exact_memory(candidate, read.config, graph, train);
  };
  const SearchResult found = search_by_simulation(search);
  put(found.candidate, graph, read.config);
  Proposal proposal = found.proposal;
  set_samples(proposal, input);
  name_layers(proposal, input.chain(input.minibatch_samples, 1));
  return proposal;
}

void keep_plan(ReadConfig& read, const Graph& graph, const std::filesystem::path& folder,
               const std::string& resume) {
  const auto kept = kept_config(folder, resume);
  if (!kept) return;
  const PipelineConfig then = read_config({*kept}, {}).config.pipeline;
  const GivenKeys given = given_keys(read, graph);
  PipelineConfig& pipeline = read.config.pipeline;
  pipeline.automatic = pipeline.allow_stale = false;
  pipeline.schedule = then.schedule;
  if (!given.stages) pipeline.stages = then.stages;
  if (!given.microbatches) pipeline.microbatches = then.microbatches;
  if (!given.virtual_stages) pipeline.virtual_stages = then.virtual_stages;
  if (pipeline.split.rule == SplitRule::Auto) pipeline.split = then.split;
  if (!given.replicas) pipeline.replicas = then.replicas;
  if (!given.warmup) pipeline.warmup = then.warmup;
  if (!given.recompute) pipeline.recompute = then.recompute;
  config::reset_unused(read.config);
}

}  // namespace pipetrain
