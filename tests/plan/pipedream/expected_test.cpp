// What PipeDream's released optimizer finds on the profiles of its authors, if those are available.
#include <nlohmann/json.hpp>

#include "base/input_file.hpp"
#include "catch.hpp"
#include "places.hpp"
#include "plan/pipedream/explore.hpp"
#include "plan/read_profile.hpp"

using namespace pipetrain;

namespace {

std::filesystem::path profiles() { return extras() / "data/pipedream-profiles"; }

std::string replicas(const std::string& profile, int devices) {
  const auto file = profiles() / profile;
  return replicas_text(explore_pipedream(read_graph_profile(file).cuts,
                                         {.levels = {{devices, 1.25e9}}}, file.string()));
}

PartitionRequest request_of(const nlohmann::json& row) {
  PartitionRequest request{.levels = {}, .costs = PipedreamCosts::Code};
  for (std::size_t l = 0; l < row["devices"].size(); ++l)
    request.levels.push_back({row["devices"][l], row["bandwidth_bytes_per_second"][l]});
  request.straight = row["straight"];
  return request;
}

}  // namespace

TEST_CASE("the plans of PipeDream's released optimizer are found") {
  const auto folder = profiles();
  if (!is_file(folder / "expected.json")) {
    WARN("skipped: no data/pipedream-profiles/expected.json in PIPETRAIN_EXTRAS");
    return;
  }
  const auto rows = nlohmann::json::parse(read_whole_file(folder / "expected.json"));
  CHECK(rows.size() == 21);
  for (const auto& row : rows) {
    INFO(row.dump());
    const auto file = folder / row["profile"].get<std::string>();
    const Proposal found =
        explore_pipedream(read_graph_profile(file).cuts, request_of(row), file.string());
    CHECK(found.bottleneck_ms == Approx(row["bottleneck_ms"].get<double>()).epsilon(1e-6));
    // Written with six decimals.
    CHECK(found.speedup.value() == Approx(row["speedup"].get<double>()).margin(5.1e-7).epsilon(0));
    CHECK(found.data_parallel_speedup.value() ==
          Approx(row["data_parallel_speedup"].get<double>()).margin(5.1e-7).epsilon(0));
  }
}

TEST_CASE("by the paper's costs the configurations that it prints are found") {
  if (!is_file(profiles() / "vgg16.graph.txt")) {
    WARN("skipped: no data/pipedream-profiles/vgg16.graph.txt in PIPETRAIN_EXTRAS");
    return;
  }
  CHECK(replicas("vgg16.graph.txt", 8) == "7-1");
  CHECK(replicas("vgg16.graph.txt", 16) == "15-1");
  CHECK(replicas("gnmt.graph.txt", 4) == "straight");
}
