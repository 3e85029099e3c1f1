#include "app/plan_input.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "config/byte_size.hpp"
#include "config/read.hpp"
#include "graph/graph.hpp"
#include "machine/processor.hpp"
#include "machine/threads.hpp"
#include "plan/bapipe/explore.hpp"
#include "plan/cluster/read.hpp"
#include "plan/plan.hpp"
#include "plan/read_profile.hpp"
#include "profile/measure.hpp"
#include "profile/profile_json.hpp"
#include "run/session.hpp"

namespace pipetrain {
namespace {

constexpr std::int64_t kMostDevices = 1 << 16;
// A graph.txt is for one mini-batch and does not say of how many samples: it is cut into at most
// this many micro-batches, whose times are assumed to be proportional.
constexpr int kGraphSamples = 64;

// "8GiB", or a number of bytes.
std::int64_t bytes_in(const std::string& text) {
  double bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const bool plain = error == std::errc{} && end == text.data() + text.size();
  if (!plain) bytes = static_cast<double>(config::parse_bytes(text).value_or(0));
  if (bytes >= 1 && bytes < 9e18) return static_cast<std::int64_t>(bytes);
  throw UsageError(fmt::format(
      "--memory {}: not a size; write the memory of a device, such as 8GiB or 8589934592",
      printable(text)));
}

std::vector<EvenLevel> levels_in(const Options& options) {
  const auto& devices = options.devices;
  const auto& bandwidth = options.bandwidth;
  if (bandwidth.size() != devices.size())
    throw UsageError(fmt::format(
        "--bandwidth has {}, but --devices {} has {}; write the bytes per "
        "second of each level, innermost first, such as --bandwidth {}",
        counted(std::ssize(bandwidth), "number"), fmt::join(devices, ","), devices.size(),
        fmt::join(std::vector(devices.size(), std::string("1.25e9")), ",")));
  std::vector<EvenLevel> levels;
  std::int64_t count = 1;
  for (std::size_t l = 0; l < devices.size(); ++l) {
    levels.push_back({devices[l], bandwidth[l]});
    count *= devices[l];
    if (count > kMostDevices)
      throw UsageError(fmt::format("--devices {}: that is more than {} devices; write fewer",
                                   fmt::join(devices, ","), kMostDevices));
  }
  return levels;
}

// This machine's cores as devices, between which packets are handed over in place. If there are
// more stages than cores, they share cores.
Cluster this_machine(const Profile& profile, int threads, std::optional<int> stages = {}) {
  const int fit = std::max(1, available_cores() / threads),
            devices = std::max(fit, stages.value_or(1));
  constexpr double no_copy = 1e15;
  Cluster cluster = cluster_of({{.size = devices, .bytes_per_second = no_copy}});
  cluster.name = "this machine";
  for (Cluster::Level& level : cluster.levels)
    if (!profile.transports.empty()) level.wire.latency_ms = profile.transports[0].handover_ms;
  for (Cluster::Device& device : cluster.devices) {
    device.memory_bytes = memory_bytes() / devices;
    device.speed = static_cast<double>(fit) / devices;
  }
  return cluster;
}

// hardware.link joins all workers, each pair by its own link.
void put_links(const LinkRate& link, Cluster& cluster) {
  for (Cluster::Level& level : cluster.levels) {
    level.wire.bytes_per_second = std::min(level.wire.bytes_per_second, link.bytes_per_second);
    level.wire.latency_ms += 1e3 * link.latency_seconds;
  }
}

std::optional<Cluster> cluster_in(const Options& options) {
  if (!options.cluster.empty() && !options.devices.empty())
    throw UsageError("--cluster and --devices name two clusters; write one of them");
  if (!options.cluster.empty()) return read_cluster(options.cluster);
  if (options.devices.empty()) return std::nullopt;
  return cluster_of(levels_in(options));
}

bool is_json(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

// From a file, or from a shell's <(...), which can be read only once.
std::string profile_text(const Options& options) {
  if (options.profile.empty())
    throw UsageError(
        "pipetrain plan: --profile is missing; name a profile.json, which pipetrain profile CONFIG "
        "writes, or a graph.txt of PipeDream's profiler");
  try {
    return read_whole_stream(options.profile);
  } catch (const CannotRead& error) {
    throw UsageError(fmt::format("{}: cannot be read: {}; name a profile.json or a graph.txt",
                                 printable(options.profile.string()), error.why()));
  }
}

// ---- a profile from PipeDream

// It is a profile of no config's model, so a config would have no effect.
void refuse_config(const Options& options) {
  const std::string file = printable(options.profile.string());
  std::string configs;
  for (const std::filesystem::path& config : options.configs)
    configs += fmt::format("{}{}", configs.empty() ? "" : " ", printable(config.string()));
  if (!configs.empty())
    throw UsageError(
        fmt::format("the config {0} has no effect with {1}, which is not a profile of its model; "
                    "leave it out, or profile that model: pipetrain profile {0}",
                    configs, file));
  if (!options.sets.empty())
    throw UsageError(
        fmt::format("--set has no effect with {}, which is not a profile of a config's model; "
                    "leave it out",
                    file));
}

PlanInput from_graph(const Options& options, const std::string& text) {
  refuse_config(options);
  auto model = std::make_shared<ProfiledModel>(parse_graph_profile(text, options.profile.string()));
  model->chain.microbatch_samples = kGraphSamples;
  const std::optional<Cluster> cluster = cluster_in(options);
  if (!cluster)
    throw UsageError(
        "pipetrain plan: --devices is missing; write their number, such as --devices 4, or for two "
        "servers of four --devices 4,2; or a cluster, such as --cluster pipedream-a");
  return {.where = options.profile.string(),
          .chain = [model](int samples, int) { return scaled_chain(model->chain, samples); },
          .cuts = model->cuts,
          .minibatch_samples = kGraphSamples,
          .samples_assumed = true,
          .cluster = *cluster};
}

// ---- a profile of our own

// The layers as a chain of nodes, for PipeDream's optimizer.
CutStates cuts_of(const LayerChain& chain, const std::string& where) {
  ProfileGraph graph;
  for (const ChainLayer& layer : chain.layers) {
    ProfiledNode& node = graph.nodes.emplace_back();
    node.id = layer.name;
    node.forward_ms = layer.forward_ms;
    node.backward_ms = layer.backward_ms();
    node.output_bytes = {static_cast<double>(layer.sent_bytes)};
    node.parameter_bytes = static_cast<double>(layer.parameter_bytes);
    if (graph.nodes.size() > 1)
      graph.edges.push_back(
          {static_cast<int>(graph.nodes.size()) - 2, static_cast<int>(graph.nodes.size()) - 1});
  }
  return cut_states(graph, where);
}

Beside beside(int workers) { return workers > 1 ? Beside::Neighbours : Beside::Nobody; }

PlanInput from_profile_alone(const Options& options, const Profile& profile) {
  auto kept = std::make_shared<Profile>(profile);
  const int threads = profile.points.front().threads;
  PlanInput input{.where = options.profile.string(), .chain = {}, .cuts = {}, .cluster = {}};
  for (const ProfilePoint& point : profile.points)
    input.minibatch_samples = std::max(input.minibatch_samples, point.samples);
  const double all = input.minibatch_samples;
  input.chain = [kept, threads, all](int samples, int workers) {
    return chain_of(*kept, {.samples = static_cast<double>(samples),
                            .threads = threads,
                            .beside = beside(workers),
                            .microbatches = all / samples});
  };
  input.cluster = this_machine(profile, threads);
  return input;
}

PlanInput from_profile(const Options& options, const std::string& text) {
  if (options.configs.empty() && !options.sets.empty())
    throw UsageError(fmt::format(
        "--set changes a config, but none is given; name it: pipetrain plan CONFIG --profile {}",
        printable(options.profile.string())));
  const Profile profile = parse_profile_json(text, options.profile.string());
  PlanInput input;
  if (options.configs.empty()) {
    input = from_profile_alone(options, profile);
  } else {
    const ReadConfig read = read_config(options.configs, options.sets);
    const Graph graph = load_graph(read);
    require_same(profile.key, profile_key(read.config, graph), options.profile.string());
    input = plan_input(read, graph, profile);
    input.where = options.profile.string();
  }
  input.cuts = cuts_of(input.chain(input.minibatch_samples, 1), input.where);
  if (const std::optional<Cluster> cluster = cluster_in(options)) {
    input.cluster = *cluster;
    input.whole_cluster.reset();
  }
  return input;
}

}  // namespace

int threads_of(const Config& config, int workers) {
  const int given = config.hardware.threads_per_stage;
  return given > 0 ? given : std::max(1, available_cores() / workers);
}

PlanInput plan_input(const Options& options) {
  const std::string text = profile_text(options);
  PlanInput input = is_json(text) ? from_profile(options, text) : from_graph(options, text);
  if (options.memory) input.memory_bytes = bytes_in(*options.memory);
  input.allow_stale |= options.allow_stale;
  input.replicates = !options.straight;
  const std::vector<int> replicas = input.given.replicas.value_or(std::vector<int>{});
  if (options.straight && std::ranges::any_of(replicas, [](int count) { return count > 1; }))
    throw UsageError(
        fmt::format("--straight plans without replicas, but pipeline.replicas = [{}]; leave one of "
                    "them out",
                    fmt::join(replicas, ", ")));
  return input;
}

PlanInput plan_input(const ReadConfig& read, const Graph& graph, const Profile& profile) {
  auto kept = std::make_shared<Profile>(profile);
  const Config config = read.config;
  PlanInput input{.where = graph.name, .chain = {}, .cuts = {}, .cluster = {}};
  input.chain = [kept, config](int samples, int workers) {
    const bool alone = config.hardware.workers == Workers::Inline;
    return chain_of(*kept, {.samples = static_cast<double>(samples),
                            .threads = threads_of(config, workers),
                            .beside = beside(alone ? 1 : workers),
                            .microbatches = static_cast<double>(config.data.batch_size) / samples});
  };
  input.minibatch_samples = static_cast<int>(config.data.batch_size);
  input.copies_beside_weights = 1 + moments(config.optimizer);
  if (config.hardware.memory_limit > 0) input.memory_bytes = config.hardware.memory_limit;
  input.given = given_keys(read, graph);
  input.allow_stale = config.pipeline.allow_stale;
  for (const std::vector<Tie>& uses : trained_groups(graph)) {
    auto& layers = input.tied_layers.emplace_back();
    for (const Tie& use : uses) layers.push_back(use.layer.value);
  }
  const int threads = std::max(1, config.hardware.threads_per_stage);
  input.cluster = this_machine(profile, threads, input.given.stages);
  input.whole_cluster = this_machine(profile, threads);
  const std::optional<LinkRate> link = link_of(config.hardware);
  if (link && config.hardware.workers != Workers::Inline)
    for (Cluster* cluster : {&input.cluster, &*input.whole_cluster}) put_links(*link, *cluster);
  return input;
}

namespace {

// What no candidate of the search has.
void require_predictable(const PipelineConfig& pipeline) {
  if (has_own_order(pipeline))
    throw UsageError(
        "pipeline.schedule_csv: no plan predicts an order from a file; leave it out, and write a "
        "schedule or none");
  const Recompute rule = pipeline.recompute.rule;
  if (rule == Recompute::Segments || rule == Recompute::Kinds)
    throw UsageError(fmt::format(
        "pipeline.recompute {}: no plan predicts it; write recompute = \"stage\" or \"none\"",
        rule == Recompute::Segments ? "in segments" : "by kind of layer"));
  const bool may_be_busy =
      pipeline.automatic ? pipeline.allow_stale : takes_busy(require_schedule(pipeline.schedule));
  if (may_be_busy && pipeline.timeprest.times == TimePrestTimes::Busy)
    throw UsageError(
        "pipeline.timeprest.times = \"busy\": plans predict the timeprests in the order of slots "
        "only; write times = \"slots\"");
}

}  // namespace

GivenKeys given_keys(const ReadConfig& read, const Graph& graph) {
  const PipelineConfig& pipeline = read.config.pipeline;
  require_predictable(pipeline);
  const auto written = [&](const char* key) { return read.places.contains(key); };
  GivenKeys given;
  if (written("pipeline.schedule") && !pipeline.automatic) given.schedule = pipeline.schedule;
  if (written("pipeline.stages")) given.stages = pipeline.stages;
  if (written("pipeline.microbatches")) given.microbatches = pipeline.microbatches;
  if (written("pipeline.virtual_stages")) given.virtual_stages = pipeline.virtual_stages;
  if (written("pipeline.replicas")) given.replicas = pipeline.replicas;
  if (written("pipeline.warmup")) given.warmup = pipeline.warmup;
  if (written("pipeline.recompute")) given.recompute = pipeline.recompute.rule == Recompute::Stage;
  if (!pipeline.split.first_layers.empty())
    given.firsts = named_cuts(graph, pipeline.split.first_layers);
  return given;
}

namespace {

std::vector<SearchSeed> seeds_in(const PlanInput& input) {
  const CutStates cuts = input.cuts.states.empty()
                             ? cut_states(input.chain(input.minibatch_samples, 1), input.where)
                             : input.cuts;
  std::vector<SearchSeed> seeds = seeds_of({.cuts = cuts,
                                            .chains = chains_of(input),
                                            .cluster = input.cluster,
                                            .minibatch_samples = input.minibatch_samples,
                                            .memory_limit_bytes = input.memory_bytes});
  for (SearchSeed& seed : seeds)
    if (input.given.warmup) seed.warmup = *input.given.warmup;
  return seeds;
}

}  // namespace

std::vector<LayerChain> chains_of(const PlanInput& input) {
  std::vector<LayerChain> chains;
  for (int samples = input.minibatch_samples; samples >= 1; samples /= 2)
    if (input.minibatch_samples % samples == 0) chains.push_back(input.chain(samples, 1));
  return chains;
}

SearchInput search_input(const PlanInput& input) {
  return {.chain = input.chain,
          .cluster = input.cluster,
          .whole_cluster = input.whole_cluster,
          .minibatch_samples = input.minibatch_samples,
          .copies_beside_weights = input.copies_beside_weights,
          .memory_limit_bytes = input.memory_bytes,
          .allow_stale = input.allow_stale,
          .replicates = input.replicates,
          .tied_layers = input.tied_layers,
          .seeds = seeds_in(input),
          .schedule = input.given.schedule,
          .workers = input.given.stages,
          .microbatches = input.given.microbatches,
          .virtual_stages = input.given.virtual_stages,
          .replicas = input.given.replicas,
          .firsts = input.given.firsts,
          .warmup = input.given.warmup,
          .recompute = input.given.recompute};
}

void set_samples(Proposal& proposal, const PlanInput& input) {
  proposal.minibatch_samples = input.minibatch_samples;
  proposal.samples_assumed = input.samples_assumed;
}

void name_layers(Proposal& proposal, const LayerChain& chain) {
  for (ProposedStage& stage : proposal.stages) {
    if (!stage.layer_names.empty()) continue;
    for (int l = stage.first_layer; l <= stage.last_layer; ++l)
      stage.layer_names.push_back(chain.layers[l].name);
  }
}

}  // namespace pipetrain
