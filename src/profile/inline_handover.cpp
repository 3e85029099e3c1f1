// A model that computes next to nothing, in one stage and in four, on one thread: the additional
// time of four stages is that of their packets.
#include <algorithm>
#include <string_view>

#include "base/median.hpp"
#include "config/read.hpp"
#include "graph/graph.hpp"
#include "profile/handover.hpp"
#include "profile/watched_training.hpp"
#include "run/session.hpp"

namespace pipetrain {
namespace {

constexpr std::string_view four_layers = R"(name = "handover"
input = { shape = [4] }
layers = [
  { name = "fc1", kind = "linear", out_features = 4 }, { name = "fc2", kind = "linear", out_features = 4 },
  { name = "fc3", kind = "linear", out_features = 4 }, { name = "fc4", kind = "linear", out_features = 4 },
])";
constexpr int lots = 9, steps = 50, microbatches = 2;

ReadConfig small_config() {
  ReadConfig read;
  read.config.name = "handover";
  read.config.inline_model = four_layers;
  read.config.data.kind = DataKind::Synthetic;
  return read;
}

// Time per mini-batch that is not timed as part of its layers.
double rest_ms(WatchedTraining& training) {
  training.run(steps);
  training.forget();
  std::vector<double> rests;
  for (std::size_t lot = 0; lot < lots; ++lot) {
    const double ms = training.run(steps);
    training.end_lot(steps);
    rests.push_back(ms - training.watched_ms(lot));
  }
  return median(rests);
}

}  // namespace

TransportTimes measure_inline_handover() {
  const ReadConfig read = small_config();
  const Graph graph = load_graph(read);
  const Datasets data = load_datasets(read, graph);
  const auto rest_of = [&](const std::vector<int>& firsts) {
    WatchedTraining training({.config = read.config,
                              .graph = graph,
                              .data = *data.train,
                              .samples = 4,
                              .microbatches = microbatches,
                              .firsts = firsts});
    return rest_ms(training);
  };
  const std::vector<int> four = {0, 1, 2, 3};
  const int boundaries = static_cast<int>(four.size()) - 1;
  const double more = rest_of(four) - rest_of({0});
  const int packets = 2 * boundaries * microbatches;  // there and back
  return {.name = "inline", .handover_ms = std::max(0.0, more / packets)};
}

}  // namespace pipetrain
