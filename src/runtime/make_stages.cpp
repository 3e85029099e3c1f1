#include "runtime/make_stages.hpp"

#include "stage/of_stage.hpp"

namespace pipetrain {
namespace {

std::vector<StageCopies::Place> places_of(const CompiledPipeline& compiled, int s) {
  std::vector<StageCopies::Place> places;
  const int workers = static_cast<int>(compiled.needs.program.program.workers.size());
  for (const WorkerId worker : workers_of(compiled.needs.program.program, {s})) {
    const PassNeedsOfModes& its = compiled.parts[s].passes[places.size()];
    places.push_back({worker,
                      {.own = {its[Mode::Train].packets, its[Mode::Evaluate].packets},
                       .received = its[Mode::Train].received},
                      compiled.in.ranks.has(worker, workers)});
  }
  return places;
}

std::unique_ptr<StageCopies> make_stage(const CompiledPipeline& compiled, int s) {
  const int workers = static_cast<int>(compiled.needs.program.program.workers.size());
  const StagePlan& part = compiled.in.plan.stages[s];
  const StageNeeds& need = compiled.needs.stages[s];
  return std::make_unique<StageCopies>(StageInput{.model = compiled.model,
                                                  .backend = compiled.in.backend,
                                                  .optimizer = compiled.in.config.optimizer,
                                                  .id = {s},
                                                  .first = part.first,
                                                  .last = part.last,
                                                  .weight_copies = need.weight_copies,
                                                  .mixes_weights = need.mixes_weights,
                                                  .delta = need.delta,
                                                  .statistics_logged = need.statistics_logged,
                                                  .slots = need.slots,
                                                  .input_slots = need.input_slots,
                                                  .split_backward = compiled.needs.split_backward,
                                                  .recomputed = compiled.needs.recomputed},
                                       places_of(compiled, s), workers);
}

}  // namespace

std::vector<std::unique_ptr<StageCopies>> make_stages(const CompiledPipeline& compiled) {
  std::vector<std::unique_ptr<StageCopies>> stages;
  for (int s = 0; s < static_cast<int>(compiled.in.plan.stages.size()); ++s)
    of_stage(s, [&] { stages.push_back(make_stage(compiled, s)); });
  return stages;
}

}  // namespace pipetrain
