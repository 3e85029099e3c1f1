// What a run sends: as its workers count it, and as its program predicts it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "compile/communication_forecast.hpp"
#include "data/dataset.hpp"
#include "runtime/pipeline.hpp"

namespace pipetrain {

// Threading: one thread.
class Communicated {
 public:
  // The pipeline must outlive it. `order`: of the training samples.
  Communicated(const Pipeline& pipeline, const Dataset& train, const OrderOptions& order);

  void count(const Communication& step) { counted_.add(step); }
  // Mini-batches first .. first + count - 1 have been trained; the pipeline was drained before and
  // after.
  void end_segment(std::int64_t first, std::int64_t count);

  // {"counted", "predicted"}: communication_json of each; nothing if nothing is sent.
  std::optional<nlohmann::ordered_json> json() const;

 private:
  void look_at_program(std::int64_t first);

  const Pipeline& pipeline_;
  const std::unique_ptr<MinibatchOrder> order_;
  const std::vector<MinibatchSize> sizes_;
  std::vector<LayerId> firsts_;  // of the stages for which the forecast was made
  bool warms_up_ = false;        // it was made for the synchronous epochs
  std::optional<CommunicationForecast> forecast_;
  Communication counted_, predicted_;
};

// What a compiled pipeline will send, for plan.json and --dry-run: communication_json over the
// forecast's period, with the period's "minibatches" and the "samples" of each.
nlohmann::ordered_json forecast_json(const CompiledPipeline& pipeline);
// "a mini-batch 3.1 MiB in 24 messages: ..."
std::string forecast_text(const CompiledPipeline& pipeline);

}  // namespace pipetrain
