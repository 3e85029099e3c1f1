// PipeDream's graph.txt: what is read, that it is written back equal, and how it is refused.
#include "plan/pipedream/graph_txt.hpp"

#include "base/error.hpp"
#include "base/rng.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

std::string node(const std::string& id, const std::string& numbers = "") {
  return id + " -- Linear(2, 2) -- " +
         (numbers.empty() ? "forward_compute_time=1.5, backward_compute_time=2.500, "
                            "activation_size=16.0, parameter_size=24.000"
                          : numbers) +
         "\n";
}

std::string numbers(const std::string& forward, const std::string& backward = "1",
                    const std::string& activation = "1", const std::string& parameters = "1") {
  return "forward_compute_time=" + forward + ", backward_compute_time=" + backward +
         ", activation_size=" + activation + ", parameter_size=" + parameters;
}

std::string refusal(const std::string& text) {
  try {
    parse_graph_txt(text, "p.graph.txt");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "it was read";
}

}  // namespace

TEST_CASE("a graph.txt is read as it is written") {
  const ProfileGraph graph = parse_graph_txt(
      "node1 -- Input0 -- forward_compute_time=0.000, backward_compute_time=0.000, "
      "activation_size=0.0, parameter_size=0.000\n"
      "node7 -- LSTM(  (a -- b): LSTM(4, 4)) -- forward_compute_time=3.190, "
      "backward_compute_time=5.348, activation_size=[64.0; 32.0; 8.0], parameter_size=50.000 -- "
      "stage_id=0\r\n"
      "\n"
      "\tnode1 -- node7\n"
      "\tnode1 -- node7",
      "p");
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].id == "node1");
  CHECK(graph.nodes[1].description == "LSTM(  (a -- b): LSTM(4, 4))");
  CHECK(graph.nodes[1].name() == "node7 LSTM");
  CHECK(graph.nodes[1].forward_ms == 3.19);
  CHECK(graph.nodes[1].backward_ms == 5.348);
  CHECK(graph.nodes[1].output_bytes == std::vector<double>{64, 32, 8});
  CHECK(graph.nodes[1].activation_bytes() == 104);
  CHECK(graph.nodes[1].parameter_bytes == 50);
  CHECK(graph.edges == std::vector<ProfiledEdge>{{0, 1}});  // an edge given twice counts once
}

TEST_CASE("what is written reads back equal") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    Random random(seed, "graph.txt");
    ProfileGraph graph;
    const int count = 1 + static_cast<int>(random.below(9));
    for (int n = 0; n < count; ++n) {
      ProfiledNode one{.id = "node" + std::to_string(n)};
      one.description = n % 3 == 0 ? "" : "Conv2d(3, 64) -- x";
      one.forward_ms = random.uniform(0, 100);
      one.backward_ms = n % 4 == 0 ? 0 : random.uniform(0, 1e-3);
      for (std::uint64_t o = random.below(3) + 1; o > 0; --o)
        one.output_bytes.push_back(random.uniform(0, 1e12));
      one.parameter_bytes = static_cast<double>(random.below(1 << 20));
      graph.nodes.push_back(one);
      for (int from = 0; from < n; ++from)
        if (random.below(3) == 0) graph.edges.push_back({from, n});
    }
    CHECK(parse_graph_txt(graph_txt(graph), "p") == graph);
  }
}

TEST_CASE("a graph.txt that is wrong is refused with its line") {
  const std::string two = node("node1") + node("node2");
  const struct {
    std::string text;
    std::vector<std::string> words;
  } rows[] = {
      {"", {"p.graph.txt: there is no node"}},
      {"\n \n", {"p.graph.txt: there is no node"}},
      {"{\"layers\": []}\n", {"p.graph.txt:1: ", "is not a node; write node1 -- NAME --"}},
      {two + "\tnode2 -- node1\n\tnode1 -- node2\n",
       {"p.graph.txt:4: ", "a cycle: ", "node1 -- node2 -- node1"}},
      {two + "\tnode1 -- node1\n", {"p.graph.txt:3: ", "cycle: node1 -- node1"}},
      {two + node("node3") + "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node2\n",
       {"p.graph.txt:6: ", "node2 -- node3"}},
      {two + "\tnode1 -- node22\n",
       {"p.graph.txt:3: no line describes a node node22", "did you mean 'node2'?"}},
      {two + "\tnodes -- node2\n", {"p.graph.txt:3: no line describes a node nodes"}},
      {two + "\tnode1 - node2\n", {"p.graph.txt:3: `node1 - node2` is not an edge"}},
      {two + "\tnode1 -- node2 -- node1\n", {"p.graph.txt:3: ", "is not an edge"}},
      {two + node("node1"), {"p.graph.txt:3: node1 is named twice, first in line 1"}},
      {node("node1", numbers("-0.5")),
       {"p.graph.txt:1: forward_compute_time = -0.5 is not valid", "milliseconds", "from 0"}},
      {node("node1", numbers("1", "nan")),
       {"p.graph.txt:1: backward_compute_time = nan is not valid"}},
      {node("node1", numbers("inf")), {"forward_compute_time = inf is not valid"}},
      {node("node1", numbers("1e999")), {"forward_compute_time = 1e999 is not valid"}},
      {node("node1", numbers("2ms")), {"forward_compute_time = 2ms is not valid"}},
      {node("node1", numbers("")), {"forward_compute_time = nothing is not valid"}},
      {node("node1", numbers("1", "1", "-4")), {"activation_size = -4 is not valid", "bytes"}},
      {node("node1", numbers("1", "1", "[4; -4]")), {"activation_size = -4 is not valid"}},
      {node("node1", numbers("1", "1", "4; 4")), {"activation_size = 4; 4", "[4.0; 2.0]"}},
      {node("node1", numbers("1", "1", "[]")), {"activation_size = nothing"}},
      {node("node1", numbers("1", "1", "[9e13; 9e13]")), {"activation_size", "1e+14 in all"}},
      {node("node1", numbers("1", "1", "1", "1e15")), {"parameter_size = 1e15", "1e+14"}},
      {node("node1", "forward_compute_time=1, activation_size=1, parameter_size=1"),
       {"p.graph.txt:1: backward_compute_time of node1 is missing"}},
      {node("node1", "forward_compute_time=1, forward_compute_time=1"),
       {"p.graph.txt:1: forward_compute_time is given twice"}},
      {node("node1", "forward_compute_time=1, backwards=1"),
       {"p.graph.txt:1: `backwards=1` is not known", "backward_compute_time"}},
      {"node1 -- Linear\n", {"p.graph.txt:1: `node1 -- Linear` is not a node"}},
      {"\x1b[31m -- Linear\n", {"`\\u001b[31m -- Linear`"}},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    const std::string message = refusal(row.text);
    for (const std::string& words : row.words) CHECK_THAT(message, Contains(words));
  }
}

TEST_CASE("a graph.txt of more nodes than are searched is refused") {
  std::string text;
  for (int n = 0; n < 4097; ++n) text += node("node" + std::to_string(n));
  CHECK_THAT(refusal(text), Contains("p.graph.txt:4097: the graph has more than 4096 nodes"));
}
