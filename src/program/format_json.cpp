// One JSON document: what simulate and liveness say of the program, and the program itself.
#include <nlohmann/json.hpp>

#include "program/format.hpp"
#include "program/text.hpp"

namespace pipetrain {

std::string format_json(const ScheduleView& view) {
  auto workers = nlohmann::ordered_json::array();
  for (const auto& list : view.program.workers) {
    auto texts = nlohmann::ordered_json::array();
    for (const auto& instruction : list) texts.push_back(to_text(instruction));
    workers.push_back(std::move(texts));
  }
  const Timeline& line = view.timeline;
  nlohmann::ordered_json document;
  document["workers"] = std::move(workers);
  document["makespan"] = line.makespan;
  document["bubble"] = line.bubble;
  document["idle"] = line.idle;
  document["peak_activations"] = line.peak_activations;
  document["peak_weight_versions"] = line.peak_weight_versions;
  return document.dump() + "\n";
}

}  // namespace pipetrain
