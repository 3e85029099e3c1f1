#include "app/train_follower.hpp"

#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/logging.hpp"
#include "app/rank.hpp"
#include "app/rank_identity.hpp"
#include "app/training_config.hpp"
#include "base/check.hpp"
#include "base/input_file.hpp"
#include "graph/graph.hpp"
#include "metrics/trace.hpp"
#include "run/annealing.hpp"
#include "run/interrupts.hpp"
#include "run/rank_data.hpp"
#include "run/rank_saving.hpp"
#include "run/session.hpp"

namespace pipetrain {
namespace {

struct StartHead {
  std::uint64_t folder_bytes = 0;
  std::int64_t has_anneal_steps = 0, anneal_steps = 0;
};

// Nothing if rank 0 has nothing to train.
std::optional<TrainingStart> take_start(Job& job) {
  const Note note = job.notes().take(Topic::Command, 0);
  if (note.empty()) return std::nullopt;
  StartHead head;
  PIPETRAIN_CHECK(note.size() >= sizeof head, "a training starts with {} bytes", note.size());
  std::memcpy(&head, note.data(), sizeof head);
  TrainingStart start;
  const std::string_view paths(reinterpret_cast<const char*>(note.data()) + sizeof head,
                               note.size() - sizeof head);
  start.folder = paths.substr(0, head.folder_bytes);
  start.checkpoint = paths.substr(std::min<std::uint64_t>(head.folder_bytes, paths.size()));
  if (head.has_anneal_steps != 0) start.anneal_steps = head.anneal_steps;
  return start;
}

// If rank 0 has made the run's folder and this host sees it.
void log_into_run(const TrainingStart& start, const Ranks& ranks, int workers, bool reads) {
  if (!is_there(start.folder)) return;
  log_to(start.folder / fmt::format("rank-{}.log", ranks.rank));
  std::vector<int> here;
  for (WorkerId w{0}; w.value < workers; ++w.value)
    if (ranks.has(w, workers)) here.push_back(w.value);
  spdlog::info("rank {} of {}, process {}: workers {} of {}{}", ranks.rank, ranks.count, ::getpid(),
               fmt::join(here, ", "), workers, reads ? "" : "; reads no samples");
}

}  // namespace

void send_start(Job& job, const TrainingStart& start) {
  const std::string folder = start.folder.string(), paths = folder + start.checkpoint.string();
  const StartHead head{folder.size(), start.anneal_steps.has_value(),
                       start.anneal_steps.value_or(0)};
  Note note(sizeof head + paths.size());
  std::memcpy(note.data(), &head, sizeof head);
  std::memcpy(note.data() + sizeof head, paths.data(), paths.size());
  job.notes().send_to_others(Topic::Command, note);
}

int follow_training(const Options& options, Job& job) {
  const Interrupts interrupts;
  spdlog::set_level(spdlog::level::off);  // rank 0 prints; log_to() starts this rank's own log
  ReadConfig read = read_training_config(options);
  const Config& config = read.config;
  const Ranks ranks = ranks_of(&job, config);
  const Graph graph = load_graph(read);
  const auto start = take_start(job);
  if (!start) return 0;
  const bool reads = placed(read, [&] { return reads_samples(config, ranks); });
  Datasets data;
  if (reads)
    data = load_datasets(
        start->checkpoint.empty() ? read : with_kept_tokens(read, start->checkpoint), graph);
  const std::unique_ptr<Backend> backend = backend_of(config, ranks);
  const Plan plan = load_plan(read, graph, *backend);
  const DataFacts facts = reads ? data_facts(config, data) : take_data_facts(job);
  placed(read, [&] { check_segments(config, facts.length); });
  (void)settle_annealing(read.config, start->anneal_steps, facts.length);
  PipelineInput input = pipeline_input(config, graph, plan, *backend, data, facts.length);
  input.ranks = ranks;
  input.sizes = facts.sizes;
  CompiledPipeline compiled = placed(read, [&] { return compile_pipeline(input); });
  compare_ranks(job, config, facts);
  if (options.dry_run) return 0;
  Pipeline pipeline(std::move(compiled), make_in_process_channel, &job);
  std::optional<Trace> trace;
  if (const auto& steps = config.metrics.trace_steps) trace.emplace(*steps, pipeline.program());
  pipeline.set_trace(trace ? &*trace : nullptr);
  const auto make_loader = [&](Mode mode, std::int64_t first) {
    return std::make_unique<Loader>(mode == Mode::Train ? *data.train : *data.validation,
                                    loader_options(pipeline, config, mode, first),
                                    pipeline.loader_readers(mode));
  };
  StageSaver saver(job);
  pipeline.serve(
      {.make_loader = make_loader,
       .on_training = [&] { log_into_run(*start, ranks, worker_count(config.pipeline), reads); },
       .save = [&](auto stages) { saver.save(std::move(stages)); }});
  spdlog::info("the training has ended");
  return 0;
}

}  // namespace pipetrain
