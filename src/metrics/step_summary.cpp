#include "metrics/step_summary.hpp"

#include <nlohmann/json.hpp>

#include "program/communication_json.hpp"

namespace pipetrain {

nlohmann::ordered_json step_event(const StepSummary& s) {
  nlohmann::ordered_json event = {{"event", "step"},
                                  {"step", s.step},
                                  {"epoch", s.epoch},
                                  {"loss", s.loss},
                                  {"lr", s.lr},
                                  {"grad_norm", s.grad_norm},
                                  {"samples", s.samples},
                                  {"samples_per_second", s.samples_per_second},
                                  {"step_seconds", s.seconds},
                                  {"bubble", s.bubble}};
  if (s.tokens_per_second > 0) event["tokens_per_second"] = s.tokens_per_second;
  if (s.skipped) event["skipped"] = true;
  if (s.communication.total().messages > 0)
    event["communication"] = communication_json(s.communication);
  auto& stages = event["stages"] = nlohmann::ordered_json::array();
  for (const StageSummary& stage : s.stages)
    stages.push_back({{"busy", stage.busy},
                      {"waiting", stage.waiting},
                      {"memory_bytes", stage.memory_bytes},
                      {"weight_versions", stage.weight_versions},
                      {"staleness", stage.staleness}});
  return event;
}

}  // namespace pipetrain
