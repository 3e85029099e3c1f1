// pipetrain layers: the kinds of layer that a model file may use, with their keys and defaults.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/verbs.hpp"
#include "base/columns.hpp"
#include "base/json_text.hpp"
#include "graph/kinds.hpp"

namespace pipetrain {

int layers(const Options& options) {
  std::vector<std::vector<std::string>> rows = {{"KIND", "KEYS", "WHAT IT DOES"}};
  auto list = nlohmann::ordered_json::array();
  for (const LayerKind& kind : layer_kinds()) {
    rows.push_back({std::string(kind.name), std::string(kind.keys), std::string(kind.summary)});
    list.push_back({{"name", kind.name}, {"keys", kind.keys}, {"summary", kind.summary}});
  }
  std::cout << (options.json ? json_text(list) + '\n' : columns(rows));
  return 0;
}

}  // namespace pipetrain
