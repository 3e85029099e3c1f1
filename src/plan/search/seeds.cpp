#include "plan/search/seeds.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "plan/bapipe/explore.hpp"
#include "plan/bapipe/schedules.hpp"
#include "plan/pipedream/partition.hpp"

namespace pipetrain {
namespace {

// PipeDream's, a second or two on one core: seeds must not cost more than our own search.
constexpr double kMostSeedCandidates = 2e8;

// The value in lines such as `warmup = "double"`; empty if no line has the key.
std::string value_in(const std::string& keys, const std::string& key) {
  const std::string begin = key + " = \"";
  const std::size_t at = keys.find(begin);
  if (at == keys.npos) return "";
  const std::size_t from = at + begin.size();
  return keys.substr(from, keys.find('"', from) - from);
}

Warmup warmup_named(const std::string& word) {
  const auto found = std::ranges::find(warmup_words, word);
  return found == warmup_words.end() ? Warmup::OneFOneB
                                     : static_cast<Warmup>(found - warmup_words.begin());
}

// Null if the stages' layers follow each other in the chain, too.
std::shared_ptr<const LayerOrder> order_of(const SeedInput& in,
                                           const std::vector<PartitionStage>& stages) {
  LayerOrder order;
  for (const PartitionStage& stage : stages) {
    for (const int layer : in.cuts.layers(stage.from, stage.to)) order.layers.push_back(layer);
    order.sent_bytes.resize(order.layers.size(), 0);
    order.sent_bytes.back() = in.cuts.crossing_bytes(stage.to) / in.minibatch_samples;
  }
  if (std::ranges::is_sorted(order.layers)) return nullptr;
  return std::make_shared<const LayerOrder>(std::move(order));
}

SearchSeed seed_of(const SeedInput& in, const std::vector<PartitionStage>& stages) {
  SearchSeed seed{.of = "pipedream",
                  .schedule = "pipedream",
                  .workers = static_cast<int>(stages.size()),
                  .firsts = {},
                  .order = order_of(in, stages)};
  int first = 0;
  for (const PartitionStage& stage : stages) {
    seed.firsts.push_back(first);
    seed.replicas.push_back(static_cast<int>(stage.devices.size()));
    first += static_cast<int>(in.cuts.layers(stage.from, stage.to).size());
  }
  if (std::ranges::all_of(seed.replicas, [](int count) { return count == 1; })) seed.replicas = {};
  return seed;
}

void add_pipedream(std::vector<SearchSeed>& seeds, const SeedInput& in) {
  const auto levels = even_levels(in.cluster);
  if (!levels || !(in.cuts.states.back().compute_ms > 0)) return;
  PartitionRequest request{.levels = {}, .memory_bytes = in.memory_limit_bytes};
  for (const EvenLevel& level : *levels)
    request.levels.push_back({level.size, level.bytes_per_second});
  for (const PipedreamCosts costs : {PipedreamCosts::Paper, PipedreamCosts::Code})
    for (const bool straight : {false, true}) {
      request.costs = costs;
      request.straight = straight;
      if (candidates(in.cuts, request) > kMostSeedCandidates) continue;
      if (const auto stages = fastest_partition(in.cuts, request))
        seeds.push_back(seed_of(in, *stages));
    }
}

void add_bapipe(std::vector<SearchSeed>& seeds, const SeedInput& in) {
  try {
    const Proposal plan = explore_bapipe({.chains = in.chains,
                                          .cluster = in.cluster,
                                          .minibatch_samples = in.minibatch_samples,
                                          .memory_limit_bytes = in.memory_limit_bytes,
                                          .split_layers = false});
    if (auto seed = seed_of(plan)) seeds.push_back(std::move(*seed));
  } catch (const UsageError&) {  // this planner finds no plan
  }
}

}  // namespace

std::optional<SearchSeed> seed_of(const Proposal& proposal) {
  SearchSeed seed{.of = proposal.objective, .microbatches = proposal.microbatches, .firsts = {}};
  const std::string keys = schedule_keys(proposal.schedule);
  seed.schedule = value_in(keys, "schedule");
  seed.warmup = warmup_named(value_in(keys, "warmup"));
  for (const ProposedStage& stage : proposal.stages) {
    if (stage.first_share != 1 || stage.last_share != 1) return std::nullopt;
    seed.firsts.push_back(stage.first_layer);
    seed.replicas.push_back(stage.replicas);
  }
  if (std::ranges::all_of(seed.replicas, [](int count) { return count == 1; })) seed.replicas = {};
  const Schedule* row = find_schedule(seed.schedule);
  if (!row) return std::nullopt;
  seed.workers = static_cast<int>(seed.firsts.size());
  if (row->parts == Parts::Whole) {
    seed.workers = seed.replicas.empty() ? 1 : seed.replicas[0];
    seed.replicas = {};
  }
  if (row->charges != Charges::Channels) {
    seed.schedule = "1f1b";
    seed.warmup = row->warmup.value_or(Warmup::OneFOneB);
  }
  return seed;
}

std::vector<SearchSeed> seeds_of(const SeedInput& in) {
  std::vector<SearchSeed> seeds;
  add_pipedream(seeds, in);
  add_bapipe(seeds, in);
  return seeds;
}

}  // namespace pipetrain
