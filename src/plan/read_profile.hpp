// How long the layers of a model take on some device, as PipeDream's profiler wrote it. Our own
// profiles are read by profile/profile_json.hpp.
#pragma once

#include <filesystem>
#include <string>

#include "plan/layer_chain.hpp"
#include "plan/pipedream/cut_states.hpp"
#include "plan/pipedream/profile_graph.hpp"

namespace pipetrain {

struct ProfiledModel {
  LayerChain chain;  // the layers in one topological order
  CutStates cuts;    // every point where PipeDream may cut them
};

// Reads PipeDream's graph.txt. Throws a UsageError with the file and the line if it is wrong or
// cannot be read.
ProfiledModel read_graph_profile(const std::filesystem::path& file);
// The same for its text; `where` replaces the file in messages.
ProfiledModel parse_graph_profile(const std::string& text, const std::string& where);

// The nodes in topological order. Whatever a later node reads from an earlier one crosses the cut.
LayerChain chain_of(const ProfileGraph& graph);

}  // namespace pipetrain
