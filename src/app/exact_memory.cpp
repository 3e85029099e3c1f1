#include "app/exact_memory.hpp"

#include "compile/compiled_pipeline.hpp"
#include "config/rules.hpp"
#include "graph/graph.hpp"
#include "run/session.hpp"

namespace pipetrain {

void put(const Candidate& candidate, const Graph& graph, Config& config) {
  PipelineConfig& pipeline = config.pipeline;
  pipeline.automatic = pipeline.allow_stale = false;
  pipeline.schedule = candidate.schedule->name;
  pipeline.stages = candidate.workers;
  pipeline.microbatches = candidate.microbatches;
  pipeline.virtual_stages = candidate.virtual_stages;
  pipeline.replicas = candidate.replicas.empty() ? std::vector{1} : candidate.replicas;
  if (candidate.warmup != Warmup::OneFOneB) pipeline.warmup = candidate.warmup;
  if (candidate.recompute) pipeline.recompute = {Recompute::Stage};
  config::reset_unused(config);
  if (candidate.firsts.size() < 2) return;
  pipeline.split = {SplitRule::FirstLayers, {}};
  for (std::size_t s = 1; s < candidate.firsts.size(); ++s)
    pipeline.split.first_layers.push_back(graph.layers[candidate.firsts[s]].name);
}

std::vector<std::int64_t> exact_memory(const Candidate& candidate, const Config& config,
                                       const Graph& graph, const Dataset& train) {
  Config chosen = config;
  put(candidate, graph, chosen);
  chosen.hardware.memory_limit = 0;  // the search itself says which stage needs too much
  const std::unique_ptr<Backend> backend =
      make_backend(chosen.hardware.backend, chosen.hardware.devices);
  const Plan plan = plan_from_cuts(graph, candidate.firsts);
  PipelineInput input{graph, plan, chosen, *backend, training_length(chosen, train).steps};
  input.sizes.train = train.order(training_order(chosen))->sizes();
  const CompiledPipeline compiled = compile_pipeline(input);
  const std::vector<HeldMemory> stages = predicted_first_copies(compiled);
  std::vector<std::int64_t> bytes(compiled.needs.program.program.workers.size());
  for (StageId s{0}; s.value < std::ssize(stages); ++s.value)
    for (const WorkerId worker : workers_of(compiled.needs.program.program, s))
      bytes[static_cast<std::size_t>(worker.value)] +=
          static_cast<std::int64_t>(stages[static_cast<std::size_t>(s.value)].training.total());
  return bytes;
}

}  // namespace pipetrain
