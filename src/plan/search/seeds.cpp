#include "plan/search/seeds.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "plan/bapipe/explore.hpp"
#include "plan/bapipe/schedules.hpp"
#include "plan/pipedream/explore.hpp"
#include "plan/pipedream/partition.hpp"

namespace pipetrain {
namespace {

// PipeDream's, a second or two on one core: what others plan must not cost more than our search.
constexpr double kMostSeedCandidates = 2e8;

// Of lines such as `warmup = "double"`; empty where no line has the key.
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

template <class Explore>
void add_seed(std::vector<SearchSeed>& seeds, Explore explore) {
  try {
    if (auto seed = seed_of(explore())) seeds.push_back(std::move(*seed));
  } catch (const UsageError&) {  // the planner finds nothing
  }
}

void add_pipedream(std::vector<SearchSeed>& seeds, const SeedInput& in) {
  const auto levels = even_levels(in.cluster);
  if (!levels) return;
  PartitionRequest request{.levels = {}, .memory_bytes = in.memory_limit_bytes};
  for (const EvenLevel& level : *levels)
    request.levels.push_back({level.size, level.bytes_per_second});
  for (const PipedreamCosts costs : {PipedreamCosts::Paper, PipedreamCosts::Code})
    for (const bool straight : {false, true}) {
      request.costs = costs;
      request.straight = straight;
      if (candidates(in.cuts, request) > kMostSeedCandidates) continue;
      add_seed(seeds, [&] { return explore_pipedream(in.cuts, request, "the profile"); });
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
  add_seed(seeds, [&] {
    return explore_bapipe({.chains = in.chains,
                           .cluster = in.cluster,
                           .minibatch_samples = in.minibatch_samples,
                           .memory_limit_bytes = in.memory_limit_bytes,
                           .split_layers = false});
  });
  return seeds;
}

}  // namespace pipetrain
