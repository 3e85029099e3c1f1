// The states of a graph, against those written down by hand.
#include "plan/pipedream/cut_states.hpp"

#include <set>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

// A node per letter, with 2^i bytes sent by the i-th; edges as "ab".
ProfileGraph graph_of(const std::string& letters, const std::vector<std::string>& edges) {
  ProfileGraph graph;
  for (const char letter : letters) {
    ProfiledNode node{.id = std::string(1, letter)};
    node.forward_ms = 1;
    node.backward_ms = 2;
    node.output_bytes = {static_cast<double>(1 << graph.nodes.size())};
    node.parameter_bytes = 10;
    graph.nodes.push_back(node);
  }
  for (const std::string& edge : edges)
    graph.edges.push_back(
        {static_cast<int>(letters.find(edge[0])), static_cast<int>(letters.find(edge[1]))});
  return graph;
}

std::string letters_of(const CutStates& cuts, std::size_t state) {
  std::set<char> letters;
  for (const int layer : cuts.layers(kNoLayers, static_cast<int>(state)))
    letters.insert(cuts.names[static_cast<std::size_t>(layer)][0]);
  return {letters.begin(), letters.end()};
}

std::set<std::string> states_of(const ProfileGraph& graph) {
  const CutStates cuts = cut_states(graph, "p");
  std::set<std::string> states;
  for (std::size_t s = 0; s < cuts.states.size(); ++s) states.insert(letters_of(cuts, s));
  CHECK(states.size() == cuts.states.size());
  return states;
}

using States = std::set<std::string>;

}  // namespace

TEST_CASE("layers in a row are cut between any two") {
  CHECK(states_of(graph_of("abc", {"ab", "bc"})) == States{"a", "ab", "abc"});
  CHECK(states_of(graph_of("cba", {"ab", "bc"})) == States{"a", "ab", "abc"});  // in any order
}

TEST_CASE("branches are cut in every way that keeps inputs with their readers") {
  CHECK(states_of(graph_of("abcd", {"ab", "ac", "bd", "cd"})) ==
        States{"a", "ab", "ac", "abc", "abcd"});
  CHECK(states_of(graph_of("abcd", {"ab", "bc", "ac", "cd"})) ==  // a skip
        States{"a", "ab", "abc", "abcd"});
}

TEST_CASE("a later source comes with its first reader, and a disconnected part at the end") {
  CHECK(states_of(graph_of("abxc", {"ab", "xb", "bc"})) == States{"a", "abx", "abcx"});
  CHECK(states_of(graph_of("abxy", {"ab", "xy"})) == States{"a", "ab", "abx", "abxy"});
}

TEST_CASE("a state's sums are those of its layers, and of the tensors that leave it") {
  const CutStates cuts = cut_states(graph_of("abcd", {"ab", "ac", "bd", "cd"}), "p");
  for (std::size_t s = 0; s < cuts.states.size(); ++s) {
    const std::string letters = letters_of(cuts, s);
    INFO(letters);
    const CutState& state = cuts.states[s];
    CHECK(state.compute_ms == 3.0 * static_cast<double>(letters.size()));
    CHECK(state.parameter_bytes == 10.0 * static_cast<double>(letters.size()));
    const double crossing = letters == "a"     ? 1
                            : letters == "ab"  ? 1 + 2  // c still reads a
                            : letters == "ac"  ? 1 + 4
                            : letters == "abc" ? 2 + 4
                                               : 0;
    CHECK(state.crossing_bytes == crossing);
  }
  CHECK(cuts.states.back().saved_bytes == 15);
  CHECK(cuts.inside.back().size() == 4);
}

TEST_CASE("a node that no stage computes is left out") {
  ProfileGraph graph = graph_of("iabgk", {"ia", "ab", "ag", "bk"});
  graph.nodes[0].description = "Input";
  graph.nodes[3].description = "__getitem__(0)";
  CHECK(states_of(computed_part(graph)) == States{"a", "ab", "abk"});
  graph.edges.push_back({3, 4});  // now something reads it
  CHECK(states_of(computed_part(graph)).count("abgk") == 1);
}

TEST_CASE("a chain of layers has the states of a graph in a row") {
  LayerChain chain;
  for (int i = 0; i < 3; ++i)
    chain.layers.push_back({.name = std::to_string(i),
                            .forward_ms = 1,
                            .backward_input_ms = 2,
                            .backward_weight_ms = 4,
                            .sent_bytes = 5 + i,
                            .saved_bytes = 7,
                            .parameter_bytes = 11});
  const CutStates cuts = cut_states(chain, "p");
  REQUIRE(cuts.states.size() == 3);
  CHECK(cuts.compute_ms(0, 2) == 14);
  CHECK(cuts.saved_bytes(kNoLayers, 1) == 14);
  CHECK(cuts.parameter_bytes(1, 2) == 11);
  CHECK(cuts.crossing_bytes(1) == 6);
  CHECK(cuts.layers(0, 2) == std::vector<int>{1, 2});
  CHECK(cuts.inside[2] == std::vector<int>{0, 1});
}

TEST_CASE("more states than are searched are refused with their number") {
  // Twenty branches of one layer each: two to the twenty ways to cut them.
  std::vector<std::string> edges;
  const std::string letters = "abcdefghijklmnopqrstuvw";
  for (const char branch : letters.substr(1, 20)) {
    edges.push_back(std::string("a") + branch);
    edges.push_back(branch + std::string("v"));
  }
  CHECK_THROWS_WITH(cut_states(graph_of("abcdefghijklmnopqrstuv", edges), "p.graph.txt"),
                    Contains("p.graph.txt: its branches can be cut in more than 4096 ways"));
  CHECK_THROWS_AS(cut_states(graph_of("abc", {"ab", "bc"}), "p", 2), UsageError);
}
