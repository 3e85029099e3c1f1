// What `pipetrain benchmark` prints for people: the same numbers as its JSON, as a table row and
// lines about the stages for each config.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace pipetrain {

void print_benchmark_header();
// Prints one entry of the JSON's `results`.
void print_benchmark(const nlohmann::ordered_json& result);

}  // namespace pipetrain
