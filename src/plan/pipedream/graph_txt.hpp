// graph.txt, the file that PipeDream's profiler writes: a line for each node, then one for each
// edge, which begins with a tab:
//
//   node1 -- encoder(10, 4) -- forward_compute_time=0.1, backward_compute_time=0.2,
//            activation_size=[16.0; 4.0], parameter_size=160.0           (all of it in one line)
//       node1 -- node2
//
// Times are in milliseconds, sizes in bytes; several outputs are in brackets. A stage number after
// the sizes (` -- stage_id=0`), which PipeDream's optimizer adds, is ignored.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "plan/pipedream/profile_graph.hpp"

namespace pipetrain {

// Throws a UsageError that begins with `where` and the line if the text is not such a file: a node
// named twice or nowhere, a cycle, a time or a size that is missing, negative or not finite.
ProfileGraph parse_graph_txt(std::string_view text, std::string_view where);

std::string graph_txt(const ProfileGraph& graph);  // reads back to an equal graph

}  // namespace pipetrain
