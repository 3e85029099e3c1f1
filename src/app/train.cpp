// The main path: from a config to trained weights. Read this first.
//
//   config ─> graph ─> data ─> plan ─> pipeline ─> segments of mini-batches ─> model.safetensors
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/build_info.hpp"
#include "app/follow_plan.hpp"
#include "app/predicted_step.hpp"
#include "app/rank.hpp"
#include "app/rank_identity.hpp"
#include "app/split_by_profile.hpp"
#include "app/train_follower.hpp"
#include "app/training_config.hpp"
#include "app/verbs.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/json_text.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/save.hpp"
#include "compile/compiled_pipeline.hpp"
#include "config/read.hpp"
#include "data/text/pieces.hpp"
#include "data/text/vocabulary.hpp"
#include "graph/graph.hpp"
#include "program/text.hpp"
#include "report/report.hpp"
#include "report/run_record.hpp"
#include "run/annealing.hpp"
#include "run/class_names.hpp"
#include "run/communicated.hpp"
#include "run/data_changes.hpp"
#include "run/data_sums.hpp"
#include "run/earlier_run.hpp"
#include "run/fine_tuning.hpp"
#include "run/length_notes.hpp"
#include "run/outlook.hpp"
#include "run/rank_data.hpp"
#include "run/run_directory.hpp"
#include "run/run_end.hpp"
#include "run/run_lock.hpp"
#include "run/training.hpp"
#include "transport/launcher.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

ConsoleOptions console_options(const Options& options, const Config& config,
                               const TrainingLength& length) {
  const int descriptor = options.json ? STDERR_FILENO : STDOUT_FILENO;
  return {.out = options.json ? &standard_error() : &standard_output(),
          .quiet = options.quiet,
          .terminal = isatty(descriptor) != 0 && launch().ranks == 1,  // mpirun makes terminals
          .size = [descriptor] { return terminal_size(descriptor); },
          .log_every_steps = config.metrics.log_every_steps,
          .total_steps = length.steps,
          .total_epochs = (length.steps - 1) / length.steps_per_epoch + 1};
}

// `main` waits for the reader to take the rest.
void print_json(const Options& options, const ordered_json& result) {
  if (options.json) standard_output().keep(json_text(result) + "\n");
}

int told_finished(const Options& options, const std::filesystem::path& folder) {
  ordered_json result = {{"already_finished", true}, {"output", folder.string()}};
  result.update(end_of_run(folder));
  print_json(options, result);
  return 0;
}

int tell_finished(const Options& options, const std::filesystem::path& folder) {
  spdlog::info("{}: this run has finished; nothing to do (to start over: --resume never)",
               folder.string());
  return told_finished(options, folder);
}

int tell_stopped_early(const Options& options, const std::filesystem::path& folder,
                       const Progress& progress) {
  spdlog::info(
      "{}: this run has stopped early, after {} without progress; nothing to do (to "
      "start over: --resume never)",
      folder.string(), counted(progress.without_progress, "validation"));
  return told_finished(options, folder);
}

void describe_run(const std::filesystem::path& folder, const Config& config,
                  const ordered_json& plan, const SegmentProgram& program, const Datasets& data) {
  write_file(folder / kConfigFile, dump_config(config, false));
  write_file(folder / "build.json", json_text(build_info()) + "\n");
  write_file(folder / "plan.json", json_text(plan) + "\n");
  write_file(folder / "program.txt", to_text(program));
  if (data.vocabulary) write_file(folder / vocabulary_file, data.vocabulary->json());
  if (data.pieces) write_file(folder / pieces_file, data.pieces->model());
  if (!data.class_names.empty())
    write_file(folder / class_names_file, class_names_json(data.class_names));
}

// The initial state: a checkpoint's weights and all that belongs to them, or the first weights.
Progress load_beginning(Pipeline& pipeline, const Config& config, const Graph& graph,
                        const std::optional<Checkpoint>& checkpoint, std::int64_t steps) {
  if (!checkpoint) {
    pipeline.set_parameters(first_parameters(config, graph));
    return {};
  }
  const Checkpoint read = read_checkpoint(checkpoint->folder);
  check_length(read, steps);
  pipeline.set_state(match_tensors(read.tensors, expected_state(graph, config),
                                   checkpoint->folder.string(), graph));
  return read.manifest.progress;
}

// A page that cannot be written does not fail the run.
void leave_report(const std::filesystem::path& folder) {
  try {
    write_report(folder);
  } catch (const std::exception& error) {
    spdlog::warn("this run has no report (pipetrain report {} makes it): {}", folder.string(),
                 error.what());
  }
}

// What --overfit-one-batch is run for. Metrics that cannot be read do not fail the run.
void tell_losses(const std::filesystem::path& folder) {
  try {
    const std::vector<StepPoint> steps = read_run(folder).steps;
    if (steps.size() > 1)
      spdlog::info("the loss went from {:.4g} to {:.4g}", steps.front().loss, steps.back().loss);
  } catch (const Error& error) {
    spdlog::warn("{}", error.what());
  }
}

struct Ended {
  ordered_json event;
  int signal = 0;  // the one that ended it; 0: none
};

// Trains, and writes to metrics.jsonl how that ended, however it did.
Ended run_training(const TrainingInput& input) {
  Training training(input);
  try {
    input.metrics.write(training.start_event());
    training.run();
    const int signal = training.stop_signal();
    if (signal == 0)
      write_parameters(input.folder / "model.safetensors", input.pipeline.parameters());
    const ordered_json end = training.end_event();
    input.metrics.write(end);
    input.metrics.close();
    leave_report(input.folder);
    return {end, signal};
  } catch (const std::exception& error) {
    try {
      input.console.end();
      input.metrics.write(training.error_event(error));
      leave_report(input.folder);
    } catch (const std::exception&) {  // the first failure is the one to report
    }
    throw;
  }
}

std::optional<EarlierLength> length_before(const EarlierRun& earlier, Config config,
                                           const Dataset& train) {
  if (!earlier.checkpoint) return std::nullopt;
  config.training = earlier.training;
  return EarlierLength{earlier.checkpoint->manifest.progress.step,
                       training_length(config, train).steps};
}

std::optional<double> step_ms_of(const std::optional<PredictedStep>& predicted) {
  return predicted ? std::optional(predicted->step_ms) : std::nullopt;
}

// On a single process, or as rank 0 of a job.
int lead_training(const Options& options, Job* job) {
  ReadConfig read = read_training_config(options);
  for (const std::string& note : read.notes) spdlog::info("{}", note);
  const Config& config = read.config;
  const Ranks ranks = ranks_of(job, config);
  const std::filesystem::path folder = run_directory(options, config);
  check_output(folder);
  const Graph graph = load_graph(read);
  std::optional<RunLock> lock;
  EarlierRun earlier;
  if (!options.dry_run) {
    lock.emplace(folder);
    if (config.pipeline.automatic) keep_plan(read, graph, folder, options.resume);
    earlier = earlier_run(folder, options, config);
    if (earlier.checkpoint) check_model(*earlier.checkpoint, graph);
    if (earlier.finished && earlier.same_length) return tell_finished(options, folder);
    check_writable(folder);
  }
  if (job)
    send_start(
        *job, {folder, earlier.checkpoint ? earlier.checkpoint->folder : "", earlier.anneal_steps});

  const Datasets data = load_datasets(
      earlier.checkpoint ? with_kept_tokens(read, earlier.checkpoint->folder) : read, graph);
  for (const std::string& note : data.notes) spdlog::info("{}", note);
  if (earlier.checkpoint)
    check_class_names(earlier.checkpoint->folder, data.class_names, config.data.train_folder);
  std::optional<Proposal> planned;
  if (config.pipeline.automatic) planned = follow_plan(read, graph, *data.train);
  const bool cut_by_profile = !job && split_by_profile(read, graph, *data.train);
  const std::unique_ptr<Backend> backend = backend_of(config, ranks);
  const Plan plan = load_plan(read, graph, *backend);
  const DataFacts facts = placed(read, [&] { return data_facts(config, data); });
  const TrainingLength& length = facts.length;
  if (job) send_data_facts(*job, facts);
  placed(read, [&] { check_segments(config, length); });
  for (const std::string& note :
       length_notes(config, length, length_before(earlier, config, *data.train)))
    spdlog::warn("{}", note);
  const std::string annealing = settle_annealing(read.config, earlier.anneal_steps, length);
  PipelineInput input = pipeline_input(config, graph, plan, *backend, data, length);
  input.ranks = ranks;
  if (asks_for_validation(config) && !data.validation)
    spdlog::warn(
        "[validation] is configured, but [data] has no validation samples: the run does not "
        "validate");

  const auto bleu =
      asks_for_validation(config) ? bleu_score({graph, config, data, *backend}) : nullptr;

  Console console(console_options(options, config, length));
  std::optional<CompiledPipeline> compiled;
  ordered_json result = placed(read, [&] {
    compiled.emplace(compile_pipeline(input));
    return outlook(*compiled);
  });
  if (planned) {
    console.line(proposal_text(*planned));
    result["planned"] = ordered_json::parse(proposal_json(*planned));
  }
  console.line(plan_text(graph, plan));
  if (cut_by_profile) console.line("cut by the model's profile");
  if (const std::string trained = trained_text(graph); !trained.empty()) console.line(trained);
  if (worker_count(config.pipeline) > 1) console.line("sends  " + forecast_text(*compiled));
  if (const int workers = worker_count(config.pipeline); workers > config.pipeline.stages)
    console.line(fmt::format("replicas  {}: {} workers, numbered stage by stage",
                             fmt::join(config.pipeline.replicas, "-"), workers));
  const std::optional<PredictedStep> predicted = step_by_cached_profile(*compiled, *data.train);
  if (predicted) {
    console.line(fmt::format("predicted  {:.3g} ms a step, bubble {:.1f}% (by the model's profile)",
                             predicted->step_ms, 100 * predicted->bubble));
    result["step_ms_predicted"] = predicted->step_ms;
    result["bubble_predicted"] = predicted->bubble;
  }
  if (!annealing.empty()) console.line(annealing);
  if (job) compare_ranks(*job, config, facts);
  if (options.dry_run) {
    if (!config.model.init.empty()) (void)first_parameters(config, graph);  // is it readable?
    if (!data.class_names.empty()) {
      console.line(class_names_text(data.class_names));
      result["classes"] = ordered_json::parse(class_names_json(data.class_names));
    }
    console.line(outlook_text(*compiled, data, length));
    console.line(
        fmt::format("a dry run: nothing was written; the run would go to {}", folder.string()));
    result.update(outlook_details(*compiled, data, length));
    result["output"] = folder.string();
    print_json(options, result);
    return 0;
  }
  const DataSums sums = data_sums(config.data, data);
  if (earlier.checkpoint) check_data(*earlier.checkpoint, sums, options.accept_changed_data);
  Pipeline pipeline(*std::move(compiled), make_in_process_channel, job);
  const Progress begin = load_beginning(pipeline, config, graph, earlier.checkpoint, length.steps);
  if (earlier.finished && begin.step == length.steps) return tell_finished(options, folder);
  if (earlier.finished && stops_early(config.validation, begin))
    return tell_stopped_early(options, folder, begin);
  if (begin.step > 0)
    console.line(fmt::format("resumes after step {}, from {}", begin.step,
                             earlier.checkpoint->folder.string()));
  if (earlier.checkpoint) check_order(*earlier.checkpoint, config, pipeline.program());
  make_folder(folder);
  lock->take();
  clear_run(folder, earlier.checkpoint ? &begin : nullptr);
  describe_run(folder, config, result, pipeline.segment_program(), data);
  RunMetrics metrics({.folder = folder,
                      .config = config.metrics,
                      .program = pipeline.program(),
                      .keep_steps = begin.step});
  pipeline.set_trace(metrics.trace());
  const auto [end, signal] = run_training({.config = config,
                                           .graph = graph,
                                           .data = data,
                                           .data_sums = sums,
                                           .length = length,
                                           .pipeline = pipeline,
                                           .metrics = metrics,
                                           .console = console,
                                           .bleu = bleu.get(),
                                           .folder = folder,
                                           .begin = begin,
                                           .predicted_step_ms = step_ms_of(predicted),
                                           .job = job});
  if (signal)
    spdlog::warn("{}", interrupted_text(end, folder));
  else
    console.last(end_text(end, folder));
  if (options.overfit_one_batch && !signal) tell_losses(folder);
  if (end.contains("warning")) spdlog::warn("warning: {}", end["warning"].get<std::string>());
  result.update(end);
  result.erase("event");
  result["output"] = folder.string();
  print_json(options, result);
  return signal ? 128 + signal : 0;
}

}  // namespace

int train(const Options& options) {
  const std::unique_ptr<Job> job = join_job();
  if (!job) return lead_training(options, nullptr);
  return run_rank(*job, [&] {
    return job->leads() ? lead_training(options, job.get()) : follow_training(options, *job);
  });
}

}  // namespace pipetrain
