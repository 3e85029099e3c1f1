#include "run/earlier_run.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/save.hpp"
#include "config/keys.hpp"
#include "config/read.hpp"
#include "config/value.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace fs = std::filesystem;
namespace {

config::OnResume on_resume(std::string_view key) {
  const config::Key* row = config::find_key(key);
  return row ? row->on_resume : config::OnResume::Same;  // model.layers has no row
}

Config config_of(const fs::path& folder) {
  try {
    return read_config({folder / kConfigFile}, {}).config;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}\n{}: this earlier run cannot be identified; {}", error.what(),
                                 folder.string(), kWaysOut));
  }
}

struct Kept {
  Config config;
  bool same_length = false;
};

// Where the config gives no value, the one that the first start worked out holds.
Config with_kept(Config config, const Config& kept) {
  auto& number = config.pipeline.pipemare.anneal_steps;
  if (!number) number = kept.pipeline.pipemare.anneal_steps;
  return config;
}

// Compares with the config kept in `folder`.
Kept check_config(const fs::path& folder, const Config& config, std::string_view ways_out) {
  std::vector<std::string> differing;
  Kept kept = {config_of(folder), true};
  for (const std::string& key : differing_keys(kept.config, with_kept(config, kept.config))) {
    if (on_resume(key) == config::OnResume::Same) differing.push_back(key);
    if (on_resume(key) == config::OnResume::NewLength) kept.same_length = false;
  }
  if (!differing.empty())
    throw UsageError(fmt::format("{}: holds a run with another config (these keys differ: {}); {}",
                                 folder.string(), fmt::join(differing, ", "), ways_out));
  return kept;
}

// For a checkpoint that --resume names, wherever the run that resumes from it writes.
std::string ways_out_of(const fs::path& checkpoint) {
  return fmt::format(
      "give them the values that {} has or, without --resume, begin another training with its "
      "weights: model.init = {}",
      (checkpoint / kConfigFile).string(), config::quote(checkpoint.string()));
}

// As in the model file, whatever the config trains of them: the keys have already been compared.
Indexed<Layer, LayerId> layers_of_file(const Graph& graph) {
  Indexed<Layer, LayerId> layers = graph.layers;
  for (Layer& layer : layers)
    for (Parameter& parameter : layer.parameters) {
      parameter.trained = true;
      parameter.lr_factor = 1;
    }
  return layers;
}

}  // namespace

EarlierRun earlier_run(const fs::path& folder, const Options& options, const Config& config) {
  EarlierRun earlier;
  if (options.resume == "never") return earlier;
  const bool was_here = is_there(folder / kConfigFile);
  if (options.resume != "auto") {
    earlier.checkpoint = read_checkpoint_texts(find_checkpoint(options.resume));
    const fs::path& named = earlier.checkpoint->folder;
    const Config then = check_config(named, config, ways_out_of(named)).config;
    if (was_here)
      earlier.same_length = check_config(folder, with_kept(config, then), kWaysOut).same_length;
    earlier.anneal_steps = then.pipeline.pipemare.anneal_steps;
    earlier.training = then.training;
    return earlier;
  }
  Kept kept;
  if (was_here) kept = check_config(folder, config, kWaysOut);
  const auto steps = committed_checkpoints(folder / "checkpoints");
  if (!steps.empty()) {
    earlier.checkpoint =
        read_checkpoint_texts(folder / "checkpoints" / checkpoint_name(steps.back()));
    if (!was_here) kept = check_config(earlier.checkpoint->folder, config, kWaysOut);
    earlier.anneal_steps = kept.config.pipeline.pipemare.anneal_steps;
    earlier.training = kept.config.training;
  }
  earlier.same_length = kept.same_length;
  earlier.finished = was_here && is_there(folder / "model.safetensors");
  if (earlier.finished && !earlier.checkpoint && !earlier.same_length)
    throw UsageError(fmt::format(
        "{}: holds a finished run of another length, and no checkpoint to resume from; {}",
        folder.string(), kWaysOut));
  return earlier;
}

std::optional<fs::path> kept_config(const fs::path& folder, const std::string& resume) {
  if (resume == "never") return std::nullopt;
  if (resume != "auto") return find_checkpoint(resume) / kConfigFile;
  if (is_there(folder / kConfigFile)) return folder / kConfigFile;
  const auto steps = committed_checkpoints(folder / "checkpoints");
  if (steps.empty()) return std::nullopt;
  return folder / "checkpoints" / checkpoint_name(steps.back()) / kConfigFile;
}

void check_length(const Checkpoint& checkpoint, std::int64_t steps) {
  const std::int64_t trained = checkpoint.manifest.progress.step;
  if (steps < trained)
    throw UsageError(
        fmt::format("{}: {} steps are trained already, but the config asks for {}; ask for at "
                    "least that many (training.steps, training.epochs), or {}",
                    checkpoint.folder.string(), trained, steps, kWaysOut));
}

void check_model(const Checkpoint& checkpoint, const Graph& graph) {
  if (checkpoint.model.empty()) return;  // the config has the layers, and has been compared
  const fs::path file = checkpoint.folder / kModelFile;
  const Graph then = read_model_text(checkpoint.model, file.string());
  const auto layers = layers_of_file(graph);
  std::vector<std::string> differences;
  if (then.input != graph.input)
    differences.push_back(
        fmt::format("the input was {}, and is {} now", then.input.text(), graph.input.text()));
  if (then.loss != graph.loss || then.label_smoothing != graph.label_smoothing)
    differences.push_back("the loss differs");
  const auto describe = [](const Layer& l) {
    return fmt::format("{} '{}' {}", kind_name(l.spec), l.name, l.output.text());
  };
  for (std::size_t l = 0; l < std::max(then.layers.size(), layers.size()); ++l) {
    if (l >= layers.size())
      differences.push_back(fmt::format("{} is gone", describe(then.layers[l])));
    else if (l >= then.layers.size())
      differences.push_back(fmt::format("{} is new", describe(layers[l])));
    else if (then.layers[l] != layers[l])
      differences.push_back(fmt::format("{} was {}, or has other keys or inputs",
                                        describe(layers[l]), describe(then.layers[l])));
  }
  if (!differences.empty())
    throw UsageError(
        fmt::format("{}: model '{}' has changed since:\n  {}\nrestore it ({} has the original), {}",
                    checkpoint.folder.string(), printable(graph.name),
                    fmt::join(differences, "\n  "), file.string(), kWaysOut));
}

void check_order(const Checkpoint& checkpoint, const Config& config, const Program& program) {
  if (!has_own_order(config.pipeline) || checkpoint.program == to_text(program)) return;
  const std::string folder = checkpoint.folder.string();
  const std::string name = config.pipeline.schedule_csv.string();
  if (!checkpoint.program.empty())
    throw UsageError(fmt::format("{}: {} holds another order now ({} has the one that was run); {}",
                                 folder, name, (checkpoint.folder / kProgramFile).string(),
                                 kWaysOut));
  const std::int64_t step = checkpoint.manifest.progress.step;
  if (step % program.minibatches != 0)
    throw UsageError(
        fmt::format("{}: after step {} the {} mini-batches of {} are not complete; resume from a "
                    "multiple of {}",
                    folder, step, program.minibatches, name, program.minibatches));
}

nlohmann::ordered_json end_of_run(const fs::path& folder) {
  auto end = nlohmann::ordered_json::object();
  const fs::path file = folder / "metrics.jsonl";
  if (!is_there(file)) return end;
  TextLines lines(file);
  for (std::string line; lines.next(line);) {
    auto event = nlohmann::ordered_json::parse(line, nullptr, false);
    if (event.is_object() && event.value("event", "") == "end") end = std::move(event);
  }
  end.erase("event");
  return end;
}

}  // namespace pipetrain
