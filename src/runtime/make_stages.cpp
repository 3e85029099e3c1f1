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

// Lenders run on the borrowers' threads, so they are on this rank too.
void lend_workspaces(const CompiledPipeline& compiled,
                     const std::vector<std::unique_ptr<StageCopies>>& stages) {
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (int copy = 0; copy < stages[s]->count(); ++copy)
      for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
        const auto& lender = compiled.parts[s].passes[static_cast<std::size_t>(copy)][mode].lender;
        if (!lender || !stages[s]->has(copy)) continue;
        const StageCopies& lenders = *stages[static_cast<std::size_t>(lender->stage.value)];
        stages[s]->copy(copy).borrow_workspace(mode, *lender, lenders.copy(lender->copy));
      }
}

}  // namespace

std::vector<std::unique_ptr<StageCopies>> make_stages(const CompiledPipeline& compiled) {
  std::vector<std::unique_ptr<StageCopies>> stages;
  for (int s = 0; s < static_cast<int>(compiled.in.plan.stages.size()); ++s)
    of_stage(s, [&] { stages.push_back(make_stage(compiled, s)); });
  lend_workspaces(compiled, stages);
  return stages;
}

}  // namespace pipetrain
