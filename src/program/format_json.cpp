// One JSON document: what simulate and liveness say of the program, and the program itself.
#include <nlohmann/json.hpp>

#include "program/format.hpp"
#include "program/text.hpp"

namespace pipetrain {

namespace {

nlohmann::ordered_json instructions(const Program& program) {
  auto workers = nlohmann::ordered_json::array();
  for (const auto& list : program.workers) {
    auto texts = nlohmann::ordered_json::array();
    for (const auto& instruction : list) texts.push_back(to_text(instruction));
    workers.push_back(std::move(texts));
  }
  return workers;
}

std::string document_of(const ScheduleView& view, bool whole) {
  const Timeline& line = view.timeline;
  nlohmann::ordered_json document;
  document["schedule"] = view.schedule;
  document["minibatches"] = view.program.minibatches;
  if (whole) document["workers"] = instructions(view.program);
  document["makespan"] = line.makespan;
  document["bubble"] = line.bubble;
  document["idle"] = line.idle;
  document["peak_activations"] = line.peak_activations;
  document["peak_weight_versions"] = line.peak_weight_versions;
  return document.dump() + "\n";
}

}  // namespace

std::string format_json(const ScheduleView& view) { return document_of(view, true); }
std::string format_json_summary(const ScheduleView& view) { return document_of(view, false); }

}  // namespace pipetrain
