// The lists of a cluster file, one function each. Problems go to `problems`, and reading continues.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/model_text.hpp"
#include "graph/problems.hpp"
#include "plan/cluster/cluster.hpp"

namespace pipetrain::cluster_file {

// What a name means: one device ("v100-2"), or all devices of an entry with a count ("v100").
using DeviceNames = std::map<std::string, std::vector<int>, std::less<>>;

DeviceNames read_devices(const model_file::List& list, std::vector<Cluster::Device>& devices,
                         model_file::Problems& problems);
void read_levels(const model_file::List& list, Cluster& cluster, model_file::Problems& problems);
void read_links(const model_file::List& list, const DeviceNames& names, Cluster& cluster,
                model_file::Problems& problems);

}  // namespace pipetrain::cluster_file
