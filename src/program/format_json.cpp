// One JSON document: what is known of a schedule's times and memory, and its program.
#include <nlohmann/json.hpp>
#include <ostream>

#include "program/format.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

// Texts of instructions contain nothing that JSON would escape.
std::string json_list(const std::vector<Instruction>& list) {
  std::string text = "[";
  for (const Instruction& i : list) {
    text += text.size() == 1 ? "\"" : ",\"";
    append_text(text, i);
    text += '"';
  }
  return text += ']';
}

// The document's members, without the braces around them.
std::string members(const nlohmann::ordered_json& object) {
  const std::string text = object.dump();
  return text.substr(1, text.size() - 2);
}

}  // namespace

void write_json(const JsonView& view, std::ostream& out) {
  out << '{' << members({{"schedule", view.schedule}, {"minibatches", view.minibatches}});
  for (std::size_t w = 0; w < view.workers; ++w)
    out << (w == 0 ? ",\"workers\":[" : ",") << json_list(view.list({static_cast<int>(w)}));
  if (view.workers > 0) out << ']';
  nlohmann::ordered_json numbers;
  numbers["makespan"] = view.numbers.makespan;
  numbers["bubble"] = view.numbers.bubble;
  numbers["idle"] = view.numbers.idle;
  numbers["peak_activations"] = view.numbers.peak_activations;
  numbers["peak_weight_versions"] = view.numbers.peak_weight_versions;
  out << ',' << members(numbers) << '}';
}

}  // namespace pipetrain
