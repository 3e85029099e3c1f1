// What the layers of a model take on some device, as PipeDream's profiler wrote it. Profiles of our
// own are read by profile/profile_json.hpp.
#pragma once

#include <filesystem>
#include <string>

#include "plan/layer_chain.hpp"
#include "plan/pipedream/cut_states.hpp"
#include "plan/pipedream/profile_graph.hpp"

namespace pipetrain {

struct ProfiledModel {
  LayerChain chain;  // the layers in one topological order
  CutStates cuts;    // every place where PipeDream may cut them
};

// PipeDream's graph.txt. UsageError with the file and the line for what is wrong in it, and for a
// file that cannot be read.
ProfiledModel read_graph_profile(const std::filesystem::path& file);
// The same of its text; `where` stands for the file in messages.
ProfiledModel parse_graph_profile(const std::string& text, const std::string& where);

// The nodes in topological order; over a cut goes whatever a later node reads of an earlier one.
LayerChain chain_of(const ProfileGraph& graph);

}  // namespace pipetrain
