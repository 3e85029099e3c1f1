// How fast a config trains on this machine, and where the time goes: samples per second, step time,
// share of peak, bubble and memory per stage. Data is in memory beforehand; nothing is written.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/follow_plan.hpp"
#include "app/print_benchmark.hpp"
#include "app/rank.hpp"
#include "app/rank_identity.hpp"
#include "app/split_by_profile.hpp"
#include "app/verbs.hpp"
#include "backend/cpu/peak.hpp"
#include "backend/cuda/peak.hpp"
#include "base/json_text.hpp"
#include "base/median.hpp"
#include "base/process_memory.hpp"
#include "compile/compiled_pipeline.hpp"
#include "config/read.hpp"
#include "graph/graph.hpp"
#include "graph/lengths.hpp"
#include "machine/threads.hpp"
#include "metrics/console.hpp"
#include "profile/measure.hpp"
#include "profile/predict_step.hpp"
#include "profile/profile_json.hpp"
#include "run/communicated.hpp"
#include "run/rank_data.hpp"
#include "run/report.hpp"
#include "run/session.hpp"
#include "schedules.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

// How much of a training is measured: both, at least.
struct Measure {
  std::int64_t warmup_steps = 5, steps = 20;
  double seconds = 3;
};
constexpr std::int64_t longest = 1 << 20;  // more steps than fit into the measured time

// What is measured if the user names no config.
constexpr std::string_view suite[] = {
    R"(name = "mlp"
input = { shape = [1, 28, 28] }
layers = [
  { name = "flatten", kind = "flatten" },
  { name = "fc1", kind = "linear", out_features = 512 }, { name = "relu1", kind = "relu" },
  { name = "fc2", kind = "linear", out_features = 512 }, { name = "relu2", kind = "relu" },
  { name = "fc3", kind = "linear", out_features = 10 },
])",
    R"(name = "lenet5"
input = { shape = [1, 28, 28] }
layers = [
  { name = "conv1", kind = "conv2d", out_channels = 6, kernel = 5, padding = 2 },
  { name = "relu1", kind = "relu" }, { name = "pool1", kind = "max_pool", kernel = 2 },
  { name = "conv2", kind = "conv2d", out_channels = 16, kernel = 5 },
  { name = "relu2", kind = "relu" }, { name = "pool2", kind = "max_pool", kernel = 2 },
  { name = "flatten", kind = "flatten" },
  { name = "fc1", kind = "linear", out_features = 120 }, { name = "relu3", kind = "relu" },
  { name = "fc2", kind = "linear", out_features = 84 }, { name = "relu4", kind = "relu" },
  { name = "fc3", kind = "linear", out_features = 10 },
])"};

std::vector<ReadConfig> configs_of(const Options& options) {
  std::vector<ReadConfig> configs;
  for (const auto& file : options.configs) configs.push_back(read_config({file}, options.sets));
  if (!configs.empty()) return configs;
  for (const std::string_view model : suite)
    for (const int stages : {1, 2}) {
      Config& config = configs.emplace_back().config;
      config.inline_model = model;
      config.name = fmt::format("{}, {} stage{}", model == suite[0] ? "mlp" : "lenet5", stages,
                                stages > 1 ? "s" : "");
      config.data.kind = DataKind::Synthetic;
      config.pipeline.stages = stages;
      config.pipeline.microbatches = stages == 1 ? 1 : 8;
      config.hardware.threads_per_stage = 0;
    }
  return configs;
}

// Multiply-adds of forward and backward count as two FLOPs each; the first layer with parameters
// has no input gradient.
double training_flops(const Graph& graph) {
  const Indexed<bool, ValueId> trained = trained_values(graph);
  double flops = 0;
  for (const Layer& layer : graph.layers) {
    int passes = layer.trains() ? 2 : 1;
    for (const ValueId input : layer.inputs)
      if (trained[input]) {
        ++passes;
        break;
      }
    flops += passes * static_cast<double>(layer.flops);
  }
  return flops;
}

// Whole mini-batches only, of all lengths that occur.
OrderOptions benchmark_order(const Config& config) {
  OrderOptions order = training_order(config);
  order.drop_last = true;
  return order;
}

// The mean over an epoch, because samples may have different lengths.
double training_flops(const Graph& graph, const Dataset& dataset, const Config& config) {
  const auto order = dataset.order(benchmark_order(config));
  std::map<Lengths, double> of_lengths;
  double flops = 0, samples = 0;
  for (std::int64_t step = 0; step < order->steps_per_epoch(); ++step) {
    const Minibatch minibatch = order->of(step);
    const auto count = static_cast<double>(minibatch.samples.size());
    auto known = of_lengths.find(minibatch.lengths);
    if (known == of_lengths.end())
      known =
          of_lengths
              .emplace(minibatch.lengths, training_flops(with_lengths(graph, minibatch.lengths)))
              .first;
    flops += count * known->second;
    samples += count;
  }
  return flops / samples;
}

DataFacts benchmark_facts(const Config& config, const Datasets& data) {
  return {training_length(config, *data.train),
          {.train = data.train->order(benchmark_order(config))->sizes(), .validation = {}}};
}

LoaderOptions benchmark_loader(const Pipeline& pipeline, const Config& config, std::int64_t first) {
  LoaderOptions options = loader_options(pipeline, config, Mode::Train, first);
  options.order = benchmark_order(config);
  return options;
}

struct Measured {
  std::vector<StepSummary> steps;
  ProcessMemory warm;            // after the warm-up
  std::size_t loader_bytes = 0;  // of warm.heap_bytes
  std::optional<ordered_json> communication;
};

// Steps come in groups: an order of the user's own is the program of several mini-batches, and
// copies that take whole mini-batches in turn repeat after a round.
std::int64_t group_size(const Pipeline& pipeline, const Config& config) {
  const Program& program = pipeline.program();
  return has_own_order(config.pipeline) ? program.minibatches : program.minibatches_per_round();
}

// Before steps are measured: at least `least`, and under a schedule that never drains until the
// pipeline is full and every version of its weights has been in use.
std::int64_t warmup_length(const Pipeline& pipeline, const Config& config, std::int64_t least) {
  const std::int64_t group = group_size(pipeline, config);
  std::int64_t steps = (least + group - 1) / group * group;
  if (!repeats_program(config)) {
    const Schedule& schedule = require_schedule(config.pipeline.schedule);
    const ScheduleRequest request = schedule_request(config, config.pipeline.stages);
    steps = std::max(steps, group * shown_minibatches(schedule, request));
  }
  return steps;
}

// Steps in a row, within one segment: neither those that fill the pipeline nor those that drain it
// take the time of a step of a long training.
Measured measure(Pipeline& pipeline, const Config& config, const Dataset& dataset,
                 const Measure& least) {
  Measured measured;
  const std::int64_t first = warmup_steps(
      config, pipeline.input().steps_per_epoch);  // the synchronous epochs are left out
  const std::size_t without_loader = process_memory().heap_bytes;
  Loader loader(dataset, benchmark_loader(pipeline, config, first),
                pipeline.loader_readers(Mode::Train));
  StepReporter reporter({.steps_per_epoch = 1, .steps = 1}, pipeline.memory(),
                        worker_count(config.pipeline));
  measured.loader_bytes = process_memory().heap_bytes - without_loader;
  Communicated communicated(pipeline, dataset, benchmark_order(config));
  const std::int64_t group = group_size(pipeline, config),
                     warm = first + warmup_length(pipeline, config, least.warmup_steps);
  std::vector<StepSummary>& steps = measured.steps;
  double seconds = 0;
  std::atomic<bool> enough = false;
  reporter.begin_segment();
  const std::int64_t trained = pipeline.train(
      loader, first, (longest - first) / group * group,
      [&](const StepRecord& record) {
        StepSummary step = reporter.summarize(record);
        communicated.count(step.communication);
        if (record.step + 1 == warm) measured.warm = process_memory();
        if (record.step < warm || enough) return;
        seconds += step.seconds;
        steps.push_back(std::move(step));
        const std::int64_t count = std::ssize(steps);
        enough = count % group == 0 && count >= least.steps && seconds >= least.seconds;
      },
      &enough);
  communicated.end_segment(first, trained);
  measured.communication = communicated.json();
  if (measured.communication) (*measured.communication)["steps"] = trained;
  return measured;
}

// The part of benchmark_one() on ranks other than 0.
int follow_benchmark(ReadConfig read, Job& job) {
  const Config& config = read.config;
  const Ranks ranks = ranks_of(&job, config);
  const Graph graph = load_graph(read);
  const bool reads = reads_samples(config, ranks);
  const Datasets data = reads ? load_datasets(read, graph) : Datasets{};
  const DataFacts facts = reads ? benchmark_facts(config, data) : take_data_facts(job);
  const std::unique_ptr<Backend> backend = backend_of(config, ranks);
  const Plan plan = load_plan(read, graph, *backend);
  PipelineInput input{graph, plan, config, *backend, longest, facts.sizes};
  input.ranks = ranks;
  CompiledPipeline compiled = compile_pipeline(input);
  compare_ranks(job, config, facts);
  Pipeline pipeline(std::move(compiled), make_in_process_channel, &job);
  pipeline.serve({[&](Mode mode, std::int64_t first) {
    return std::make_unique<Loader>(*data.train, benchmark_loader(pipeline, config, first),
                                    pipeline.loader_readers(mode));
  }});
  return 0;
}

struct NamedProfile {
  std::string file;
  Profile profile;
};

// On a single process, or as rank 0 of a job.
ordered_json benchmark_one(ReadConfig read, double peak, const NamedProfile* profile,
                           const Measure& least, Job* job) {
  const Config& config = read.config;
  const Ranks ranks = ranks_of(job, config);
  const Graph graph = load_graph(read);
  const Datasets data = load_datasets(read, graph);
  const DataFacts facts = benchmark_facts(config, data);
  if (job) send_data_facts(*job, facts);
  if (config.pipeline.automatic) follow_plan(read, graph, *data.train);
  if (!job) split_by_profile(read, graph, *data.train);
  const std::unique_ptr<Backend> backend = backend_of(config, ranks);
  const Plan plan = load_plan(read, graph, *backend);
  PipelineInput input{graph, plan, config, *backend, longest, facts.sizes};
  input.ranks = ranks;
  const ProcessMemory before = process_memory();
  CompiledPipeline compiled = compile_pipeline(input);
  const std::size_t kernel_bytes = process_memory().heap_bytes - before.heap_bytes;
  const std::vector<HeldMemory> predicted = predicted_memory(compiled);
  std::optional<PredictedStep> step;
  if (profile) {
    require_same(profile->profile.key, profile_key(config, graph), profile->file);
    step = predict_step(compiled, profile->profile);
  }
  if (job) compare_ranks(*job, config, facts);
  Pipeline pipeline(std::move(compiled), make_in_process_channel, job);
  if (!pipeline.has_own_cores())
    spdlog::warn(
        "{}: not every thread has a core of its own (other pipetrain runs use the cores, or there "
        "are too few): these times do not measure the machine",
        config.name);
  pipeline.set_parameters(first_parameters(config, graph));
  const Measured measured = measure(pipeline, config, *data.train, least);
  const std::vector<StepSummary>& steps = measured.steps;

  std::vector<double> seconds;
  double total = 0, bubble = 0, samples = 0;
  for (const StepSummary& s : steps) {
    seconds.push_back(s.seconds);
    total += s.seconds;
    bubble += s.bubble * s.seconds;
    samples += s.samples;
  }
  const double per_second = samples / total;
  const double gflops = training_flops(graph, *data.train, config) * per_second * 1e-9;
  ordered_json result = {{"config", config.name},
                         {"samples_per_second", per_second},
                         {"steps", steps.size()},
                         {"step_ms_median", 1e3 * median(seconds)},
                         {"step_ms_min", 1e3 * *std::min_element(seconds.begin(), seconds.end())},
                         {"gflops", gflops},
                         {"peak_gflops", peak},
                         {"share_of_peak", gflops / peak},
                         {"bubble", bubble / total}};
  if (step) {
    result["step_ms_predicted"] = step->step_ms;
    result["bubble_predicted"] = step->bubble;
  }
  const std::vector<HeldMemory> memory = pipeline.memory();
  input.sizes.validation = minibatch_sizes(config, data).validation;
  const std::vector<HeldMemory> with_validation = predicted_memory(compile_pipeline(input));
  for (std::size_t stage = 0; stage < memory.size(); ++stage) {
    double busy = 0, waiting = 0;
    for (const StepSummary& s : steps) {
      busy += s.stages[stage].busy * s.seconds / total;
      waiting += s.stages[stage].waiting * s.seconds / total;
    }
    result["stages"].push_back(
        {{"busy", busy},
         {"waiting", waiting},
         {"memory_bytes_predicted", predicted[stage].training.total()},
         {"memory_bytes_measured", memory[stage].training.total()},
         {"validation_memory_bytes", with_validation[stage].validation.total()}});
    if (step) result["stages"].back()["busy_predicted"] = step->busy[stage];
  }
  if (measured.communication) result["communication"] = *measured.communication;
  // Besides the stages, the heap holds kernels and memory that is not accounted for: threads, the
  // steps' records.
  result["process"] = {
      {"kernel_bytes", kernel_bytes},
      {"pipeline_bytes", measured.warm.heap_bytes - measured.loader_bytes - before.heap_bytes},
      {"loader_bytes", measured.loader_bytes},
      {"resident_bytes", measured.warm.resident_bytes - before.resident_bytes}};
  return result;
}

// The devices of the cuda backend, without duplicates; empty: the config runs on the machine's own
// cores.
std::vector<std::string> devices_of(const HardwareConfig& hardware) {
  if (hardware.backend != "cuda") return {};
  if (hardware.devices.empty()) return {"cuda:0"};
  const std::set<std::string> each(hardware.devices.begin(), hardware.devices.end());
  return {each.begin(), each.end()};
}

double peak_gflops(const std::vector<std::string>& devices) {
  return devices.empty() ? measured_peak_gflops(available_cores())
                         : measured_cuda_peak_gflops(devices);
}

int lead_benchmark(const Options& options, Job* job) {
  ordered_json results = ordered_json::array();
  const std::vector<ReadConfig> configs = configs_of(options);
  std::optional<NamedProfile> profile;
  if (!options.profile.empty())
    profile = NamedProfile{options.profile.string(), read_profile_json(options.profile)};
  Measure least;
  if (options.seconds > 0) least = {2, 3, options.seconds};
  if (job) (void)ranks_of(job, configs.front().config);  // before CUDA starts
  std::map<std::vector<std::string>, double> peaks;
  for (const ReadConfig& read : configs) {
    const std::vector<std::string> devices = devices_of(read.config.hardware);
    const auto [peak, is_new] = peaks.try_emplace(devices);
    if (!is_new) continue;
    peak->second = peak_gflops(devices);
    if (!options.json)
      fmt::print("peak of {}: {:.0f} GFLOP/s, one large matmul\n",
                 devices.empty() ? "this machine" : fmt::format("{}", fmt::join(devices, ", ")),
                 peak->second);
  }
  if (!options.json) print_benchmark_header();
  for (const ReadConfig& read : configs) {
    results.push_back(benchmark_one(read, peaks.at(devices_of(read.config.hardware)),
                                    profile ? &*profile : nullptr, least, job));
    if (!options.json) print_benchmark(results.back());
  }
  const bool beyond = std::ranges::any_of(
      results, [](const ordered_json& r) { return r["share_of_peak"].get<double>() > 1; });
  if (beyond && !options.json)
    fmt::print(
        "\nGFLOP/s count the operations of direct convolutions. Winograd F(2x2, 3x3) needs fewer, "
        "so a\nshare of the peak can be above 100%.\n");
  const double first = peaks.at(devices_of(configs.front().config.hardware));
  if (options.json)
    std::cout << json_text(ordered_json{{"peak_gflops", first}, {"results", results}}) << std::endl;
  return 0;
}

// Ranks measure a single config: each start of the ranks is for one.
int benchmark_rank(const Options& options, Job& job) {
  if (options.configs.size() != 1)
    throw UsageError(
        "pipetrain benchmark measures one config at a time on several ranks; name one");
  if (job.leads()) return lead_benchmark(options, &job);
  return follow_benchmark(configs_of(options).front(), job);
}

}  // namespace

int benchmark(const Options& options) {
  const std::unique_ptr<Job> job = join_job();
  if (!job) return lead_benchmark(options, nullptr);
  return run_rank(*job, [&] { return benchmark_rank(options, *job); });
}

}  // namespace pipetrain
