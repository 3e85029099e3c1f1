// pipetrain methods: the schedules of this build.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/verbs.hpp"
#include "base/columns.hpp"
#include "base/json_text.hpp"
#include "schedules.hpp"

namespace pipetrain {

int methods(const Options& options) {
  std::vector<std::vector<std::string>> rows = {{"SCHEDULE", "WHAT IT DOES", "SOURCE"}};
  auto list = nlohmann::ordered_json::array();
  for (const Schedule& row : schedules()) {
    rows.push_back({std::string(row.name), std::string(row.summary), std::string(row.source)});
    list.push_back({{"name", row.name},
                    {"summary", row.summary},
                    {"source", row.source},
                    {"flushes", flushes(row)}});
  }
  std::cout << (options.json ? json_text(list) + '\n' : columns(rows));
  return 0;
}

}  // namespace pipetrain
