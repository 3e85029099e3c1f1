// PipeDream's graph.txt. What is read comes back equal from its text, and has states to cut at.
#include "plan/pipedream/graph_txt.hpp"

#include "plan/pipedream/cut_states.hpp"
#include "target.hpp"

using namespace pipetrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  return fuzz::refused_or_read([&] {
    const ProfileGraph graph = parse_graph_txt(fuzz::text_of(bytes, count), "input");
    fuzz::require(parse_graph_txt(graph_txt(graph), "text") == graph,
                  "a graph reads back from its text");
    const ProfileGraph part = computed_part(graph);
    if (part.nodes.empty() || part.nodes.size() > 64) return;  // no need to wait here
    const CutStates cuts = cut_states(part, "input", 256);
    fuzz::require(cuts.states.back().layers.count() == static_cast<int>(part.nodes.size()),
                  "the last state holds every layer");
  });
}
