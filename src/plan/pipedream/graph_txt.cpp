#include "plan/pipedream/graph_txt.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace pipetrain {
namespace {

constexpr std::string_view kSeparator = " -- ";
constexpr double kLongestMs = 1e12;  // for one operation: 30 years
constexpr double kLargest = 1e14;    // bytes; the sum over the nodes of a graph fits 63 bits
constexpr int kMostNodes = 4096;     // the most that the search over its cuts can handle
constexpr int kMostEdges = 1 << 16;  // likewise
constexpr std::string_view kForm =
    "node1 -- NAME -- forward_compute_time=1.0, backward_compute_time=2.0, activation_size=4.0, "
    "parameter_size=8.0";

constexpr std::array<std::string_view, 4> kKeys = {"forward_compute_time", "backward_compute_time",
                                                   "activation_size", "parameter_size"};
using Values = std::array<std::optional<std::string_view>, 4>;

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(without_blanks(text.substr(0, end)));
    if (end == text.npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

class GraphTxtReader {
 public:
  explicit GraphTxtReader(std::string_view where) : where_(where) {}

  ProfileGraph read(std::string_view text) {
    for (line_ = 1; !text.empty(); ++line_) {
      const auto end = text.find('\n');
      read_line(text.substr(0, end));
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    if (graph_.nodes.empty())
      throw UsageError(
          fmt::format("{}: there is no node in it; a line of a graph.txt looks like: {}",
                      printable(where_), kForm));
    connect();
    if (const auto cycle = find_cycle(graph_); !cycle.empty()) report_cycle(cycle);
    return std::move(graph_);
  }

 private:
  struct NamedEdge {
    std::string_view from, to;
    int line = 0;
  };

  [[noreturn]] void refuse(int line, const std::string& what) const {
    throw UsageError(fmt::format("{}:{}: {}", printable(where_), line, what));
  }

  void read_line(std::string_view line) {
    if (without_blanks(line).empty()) return;
    if (line[0] == '\t' || line[0] == ' ')
      read_edge(without_blanks(line));
    else
      read_node(without_blanks(line));
  }

  void read_edge(std::string_view line) {
    const auto ends = parts_of(line, kSeparator);
    if (ends.size() != 2 || ends[0].empty() || ends[1].empty())
      refuse(line_, fmt::format("`{}` is not an edge; write two nodes, such as node1 -- node2, or, "
                                "for a node, begin the line with its name",
                                printable(line.substr(0, 80))));
    edges_.push_back({ends[0], ends[1], line_});
  }

  void read_node(std::string_view line) {
    // A description may contain anything, even the separator.
    const auto first = line.find(kSeparator);
    const auto numbers = line.rfind(" -- forward_compute_time=");
    if (first == line.npos || numbers == line.npos || first == 0)
      refuse(line_,
             fmt::format("`{}` is not a node; write {}", printable(line.substr(0, 80)), kForm));
    ProfiledNode node{.id = std::string(without_blanks(line.substr(0, first)))};
    const auto begin = first + kSeparator.size();
    if (begin <= numbers)
      node.description = std::string(without_blanks(line.substr(begin, numbers - begin)));
    read_numbers(line.substr(numbers + kSeparator.size()), node);
    add(std::move(node), line.substr(0, first));
  }

  void add(ProfiledNode node, std::string_view id) {
    const auto [there, is_new] =
        places_.emplace(without_blanks(id), static_cast<int>(lines_.size()));
    if (!is_new)
      refuse(line_,
             fmt::format("{} is named twice, first in line {}; give each node a name of its own",
                         printable(node.id), lines_[static_cast<std::size_t>(there->second)]));
    if (lines_.size() == kMostNodes)
      refuse(line_, fmt::format("the graph has more than {} nodes; join operations that follow "
                                "each other into one node",
                                kMostNodes));
    lines_.push_back(line_);
    graph_.nodes.push_back(std::move(node));
  }

  void read_numbers(std::string_view text, ProfiledNode& node) const {
    Values values;
    for (const std::string_view field : parts_of(parts_of(text, kSeparator)[0], ","))
      read_field(field, values);
    for (std::size_t k = 0; k < kKeys.size(); ++k)
      if (!values[k])
        refuse(line_,
               fmt::format("{} of {} is missing; write {}", kKeys[k], printable(node.id), kForm));
    node.forward_ms = number(kKeys[0], *values[0], kLongestMs, "milliseconds");
    node.backward_ms = number(kKeys[1], *values[1], kLongestMs, "milliseconds");
    node.output_bytes = numbers(kKeys[2], *values[2]);
    node.parameter_bytes = number(kKeys[3], *values[3], kLargest, "bytes");
  }

  void read_field(std::string_view field, Values& values) const {
    const auto equals = field.find('=');
    const auto key = std::find(kKeys.begin(), kKeys.end(), without_blanks(field.substr(0, equals)));
    if (equals == field.npos || key == kKeys.end())
      refuse(line_, fmt::format("`{}` is not known; write {}", printable(field.substr(0, 80)),
                                fmt::join(kKeys, ", ")));
    auto& value = values[static_cast<std::size_t>(key - kKeys.begin())];
    if (value) refuse(line_, fmt::format("{} is given twice; leave one out", *key));
    value = without_blanks(field.substr(equals + 1));
  }

  double number(std::string_view key, std::string_view text, double most,
                std::string_view unit) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || !(value >= 0 && value <= most))
      refuse(line_,
             fmt::format("{} = {} is not valid; write {}, a number from 0 to {:g}", key,
                         text.empty() ? "nothing" : printable(text.substr(0, 40)), unit, most));
    return std::abs(value);  // -0 is 0
  }

  // "4.0", or "[4.0; 2.0]".
  std::vector<double> numbers(std::string_view key, std::string_view text) const {
    const bool listed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
    if (listed) text = text.substr(1, text.size() - 2);
    std::vector<double> values;
    double sum = 0;
    for (const std::string_view part : parts_of(text, ";")) {
      values.push_back(number(key, part, kLargest, "bytes"));
      sum += values.back();
    }
    if (sum > kLargest || (!listed && values.size() > 1))
      refuse(
          line_,
          fmt::format("{} = {} is not valid; write bytes, up to {:g} in all, several as [4.0; 2.0]",
                      key, printable(text.substr(0, 40)), kLargest));
    return values;
  }

  int find(std::string_view id, int line) const {
    if (const auto found = places_.find(id); found != places_.end()) return found->second;
    std::vector<std::string_view> known;
    for (const auto& [name, place] : places_) known.push_back(name);
    std::sort(known.begin(), known.end());
    refuse(line, fmt::format("no line describes a node {}{}", printable(id), suggest(id, known)));
  }

  // Duplicate edges count once: what is read twice is sent once.
  void connect() {
    std::set<ProfiledEdge> seen;
    for (const NamedEdge& named : edges_) {
      const ProfiledEdge edge{find(named.from, named.line), find(named.to, named.line)};
      if (!seen.insert(edge).second) continue;
      if (seen.size() > kMostEdges)
        refuse(named.line, fmt::format("the graph has more than {} edges; join operations that "
                                       "follow each other into one node",
                                       kMostEdges));
      graph_.edges.push_back(edge);
      edge_lines_.push_back(named.line);
    }
  }

  // At the last line of the file with an edge of the cycle.
  [[noreturn]] void report_cycle(const std::vector<int>& cycle) const {
    std::vector<std::string> names;
    int line = 0;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const ProfiledEdge edge{cycle[i], cycle[(i + 1) % cycle.size()]};
      const auto at = std::find(graph_.edges.begin(), graph_.edges.end(), edge);
      line = std::max(line, edge_lines_[static_cast<std::size_t>(at - graph_.edges.begin())]);
      if (i < 8) names.push_back(printable(graph_.nodes[edge.from].id));
    }
    if (cycle.size() > 8) names.emplace_back("..");
    names.push_back(names.front());
    refuse(line, fmt::format("this edge closes a cycle: {}; take out an edge of it",
                             fmt::join(names, " -- ")));
  }

  std::string_view where_;
  int line_ = 0;
  ProfileGraph graph_;
  std::vector<int> lines_;  // of the nodes
  std::unordered_map<std::string_view, int> places_;
  std::vector<NamedEdge> edges_;
  std::vector<int> edge_lines_;  // of the graph's edges
};

}  // namespace

ProfileGraph parse_graph_txt(std::string_view text, std::string_view where) {
  return GraphTxtReader(where).read(text);
}

std::string graph_txt(const ProfileGraph& graph) {
  std::string text;
  for (const ProfiledNode& n : graph.nodes) {
    const std::string outputs = n.output_bytes.size() == 1
                                    ? fmt::format("{}", n.output_bytes[0])
                                    : fmt::format("[{}]", fmt::join(n.output_bytes, "; "));
    text += fmt::format(
        "{} -- {} -- forward_compute_time={}, backward_compute_time={}, activation_size={}, "
        "parameter_size={}\n",
        n.id, n.description, n.forward_ms, n.backward_ms, outputs, n.parameter_bytes);
  }
  for (const ProfiledEdge edge : graph.edges)
    text += fmt::format("\t{} -- {}\n", graph.nodes[edge.from].id, graph.nodes[edge.to].id);
  return text;
}

}  // namespace pipetrain
