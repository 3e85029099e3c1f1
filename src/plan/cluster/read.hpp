// A cluster file (TOML, docs/planning-bapipe.md) -> Cluster, and the clusters that have names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/cluster/cluster.hpp"

namespace pipetrain {

// `--cluster`: the name of a preset, otherwise a file. Throws a UsageError with every problem:
// `file:line:column: what is wrong; what to write instead`.
Cluster read_cluster(const std::string& file_or_preset);

// `origin` replaces the file in messages, and names the cluster if `name` is absent.
Cluster read_cluster_text(const std::string& toml, const std::string& origin);

// A cluster of a paper, as the text of a cluster file.
struct ClusterPreset {
  std::string_view name, summary, toml;
};
std::span<const ClusterPreset> cluster_presets();

}  // namespace pipetrain
