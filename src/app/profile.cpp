// Time, bytes and FLOPs of each layer, measured on this machine: profile.json for `pipetrain plan`.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/verbs.hpp"
#include "base/columns.hpp"
#include "base/json_text.hpp"
#include "checkpoint/atomic_file.hpp"
#include "config/read.hpp"
#include "graph/graph.hpp"
#include "profile/cache.hpp"
#include "profile/measure.hpp"
#include "profile/profile_json.hpp"
#include "run/session.hpp"

namespace pipetrain {
namespace {

std::string ms(double value) { return fmt::format("{:.3f}", value); }

// For the point closest to the config's own micro-batches, which is the last with its number of
// threads.
std::string table_of(const Profile& profile, const ProfilePoint& point) {
  std::vector<std::vector<std::string>> rows = {{"layer", "kind", "forward", "input half",
                                                 "weight half", "update", "spread", "MFLOP",
                                                 "KiB sent"}};
  LayerTimes sum;
  for (std::size_t l = 0; l < profile.layers.size(); ++l) {
    const ProfiledLayer& layer = profile.layers[l];
    const LayerTimes& t = point.layers[l];
    rows.push_back({layer.name, layer.kind, ms(t.forward_ms), ms(t.backward_input_ms),
                    ms(t.backward_weight_ms), ms(t.update_ms + t.pack_ms + t.fused_update_ms),
                    fmt::format("{:.0f}%", 100 * t.spread),
                    fmt::format("{:.3f}", static_cast<double>(layer.flops) * 1e-6),
                    fmt::format("{:.1f}", static_cast<double>(layer.sent_bytes) / 1024)});
    sum.forward_ms += t.forward_ms;
    sum.backward_input_ms += t.backward_input_ms;
    sum.backward_weight_ms += t.backward_weight_ms;
    sum.update_ms += t.update_ms + t.pack_ms + t.fused_update_ms;
  }
  rows.push_back({"all", "", ms(sum.forward_ms), ms(sum.backward_input_ms),
                  ms(sum.backward_weight_ms), ms(sum.update_ms), "", "", ""});
  return fmt::format("ms of a micro-batch of {} on {} thread{} (MFLOP and KiB of one sample)\n{}",
                     point.samples, point.threads, point.threads == 1 ? "" : "s", columns(rows));
}

// Times of layers that varied much while they were measured.
std::vector<std::string> spread_notes(const Profile& profile) {
  std::vector<std::string> names;
  const auto& layers = profile.points.back().layers;
  const auto time_of = [](const LayerTimes& t) {
    return t.forward_ms + t.backward_input_ms + t.backward_weight_ms;
  };
  double all = 0;
  for (const LayerTimes& t : layers) all += time_of(t);
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (layers[l].spread > 0.5 && time_of(layers[l]) > 0.05 * all)
      names.push_back(profile.layers[l].name);
  if (names.empty()) return {};
  return {
      fmt::format("the times of {} varied by more than half while they were measured: other "
                  "programs were running; measure again when they are not",
                  fmt::join(names, ", "))};
}

}  // namespace

int profile(const Options& options) {
  const ReadConfig read = read_config(options.configs, options.sets);
  const Config& config = read.config;
  const Graph graph = load_graph(read);
  const std::filesystem::path file =
      options.output.empty() ? std::filesystem::path("profile.json") : options.output;
  check_output_file(file);
  const Datasets data = load_datasets(read, graph);
  const std::vector<int> samples =
      options.profile_samples.empty()
          ? microbatch_sizes_to_measure(config.data.batch_size, *data.train)
          : options.profile_samples;
  const std::vector<int> threads =
      options.profile_threads.empty() ? threads_to_measure(config) : options.profile_threads;
  spdlog::info("measures micro-batches of size {}", fmt::join(samples, ", "));
  const Profile profile = measure_profile({.config = config,
                                           .graph = graph,
                                           .data = *data.train,
                                           .samples = samples,
                                           .threads = threads});
  const nlohmann::ordered_json json = profile_json(profile);
  write_file(file, json_text(json, 1) + "\n");
  keep_profile(profile, samples, threads);
  for (const std::string& note : spread_notes(profile)) spdlog::warn("{}", note);
  if (options.json) {
    std::cout << json_text(json, 1) << '\n';
    return 0;
  }
  std::cout << table_of(profile, profile.points.back()) << std::flush;
  spdlog::info("profile  {}", file.string());
  return 0;
}

}  // namespace pipetrain
