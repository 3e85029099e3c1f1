// Inspects, verifies, exports, reshards and prunes checkpoints. Uses no device.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/verbs.hpp"
#include "base/bytes_text.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/json_text.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/load.hpp"
#include "checkpoint/reshard.hpp"
#include "checkpoint/save.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "metrics/console.hpp"
#include "run/run_directory.hpp"

namespace pipetrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// The checkpoints in a run's folder or in a folder of checkpoints; or the one that was named.
std::vector<fs::path> checkpoints_of(const fs::path& named) {
  const fs::path newest = find_checkpoint(named);
  if (is_there(named / "manifest.json") || is_file(named)) return {newest};
  std::vector<fs::path> all;
  for (const std::int64_t step : committed_checkpoints(newest.parent_path()))
    all.push_back(newest.parent_path() / checkpoint_name(step));
  return all;
}

ordered_json description(const fs::path& folder) {
  const Manifest manifest = read_manifest(folder);
  const Progress& p = manifest.progress;
  ordered_json files = ordered_json::array();
  std::uint64_t bytes = 0;
  for (const CheckpointFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.sum.bytes}, {"layers", file.layers}});
    bytes += file.sum.bytes;
  }
  ordered_json out = {{"path", folder.string()}, {"model", manifest.model},     {"step", p.step},
                      {"epoch", manifest.epoch}, {"seed", manifest.seed},       {"bytes", bytes},
                      {"seconds", p.seconds},    {"skipped_updates", p.skipped}};
  const auto add = [&](const char* name, const std::optional<ValidationResult>& v) {
    if (!v) return;
    out[name] = {{"step", v->step}, {"loss", v->loss}};
    if (v->accuracy) out[name]["accuracy"] = *v->accuracy;
    if (v->top5) out[name]["top5"] = *v->top5;
    if (v->bleu) out[name]["bleu"] = *v->bleu;
  };
  add("last_validation", p.last);
  add("best_validation", p.best);
  out["files"] = files;
  return out;
}

std::string line_of(const char* name, const ordered_json& validation) {
  std::string text =
      fmt::format("  {:<16} loss {:.4f} after step {}", name, validation["loss"].get<double>(),
                  validation["step"].get<std::int64_t>());
  if (validation.contains("accuracy"))
    text += fmt::format(", accuracy {:.2f}%", 100 * validation["accuracy"].get<double>());
  if (validation.contains("bleu"))
    text += fmt::format(", BLEU {:.2f}", validation["bleu"].get<double>());
  return text + "\n";
}

std::string text_of(const ordered_json& d) {
  std::string text = fmt::format(
      "{}\n  {:<16} {}\n  {:<16} {} (epoch {})\n  {:<16} {}\n", d["path"].get<std::string>(),
      "model", printable(d["model"].get<std::string>()), "step", d["step"].get<std::int64_t>(),
      d["epoch"].get<std::int64_t>(), "size", bytes_text(d["bytes"].get<std::size_t>()));
  if (d.contains("last_validation")) text += line_of("last validation", d["last_validation"]);
  if (d.contains("best_validation")) text += line_of("best validation", d["best_validation"]);
  for (const ordered_json& file : d["files"]) {
    const auto layers =
        fmt::format("{}", fmt::join(file["layers"].get<std::vector<std::string>>(), " "));
    text += fmt::format("  {:<24} {:>10}  {}\n", printable(file["name"].get<std::string>()),
                        bytes_text(file["bytes"].get<std::size_t>()), printable(layers));
  }
  return text;
}

void print(const Options& options, const ordered_json& json, const std::string& text) {
  std::cout << (options.json ? json_text(json) + "\n" : text);
}

int info(const Options& options) {
  ordered_json all = ordered_json::array();
  std::string text;
  for (const fs::path& folder : checkpoints_of(options.checkpoint)) {
    all.push_back(description(folder));
    text += text_of(all.back());
  }
  print(options, {{"checkpoints", all}}, text);
  return 0;
}

// Checks all of them, then fails with the first bad one.
int verify(const Options& options) {
  ordered_json all = ordered_json::array();
  std::string text, problems;
  for (const fs::path& folder : checkpoints_of(options.checkpoint)) {
    std::string problem;
    try {
      (void)read_checkpoint(folder);
    } catch (const DataError& error) {
      problem = error.what();
    }
    all.push_back({{"path", folder.string()}, {"whole", problem.empty()}});
    if (problem.empty())
      text += fmt::format("{}: whole\n", folder.string());
    else
      problems += (problems.empty() ? "" : "\n") + problem;
  }
  print(options, {{"checkpoints", all}}, text);
  if (!problems.empty()) throw DataError(problems);
  return 0;
}

const fs::path& output_of(const Options& options, const char* what) {
  if (options.output.empty())
    throw UsageError(
        fmt::format("pipetrain checkpoint {0} needs somewhere to write; name it with --output {1}",
                    options.name, what));
  return options.output;
}

int reshard(const Options& options) {
  const fs::path output = output_of(options, "DIR");
  if (is_there(output))
    throw UsageError(fmt::format("{}: already exists; name a new folder", output.string()));
  const fs::path from = find_checkpoint(options.checkpoint);
  const Snapshot snapshot = resharded(read_checkpoint(from), options.stages);
  make_folder(output);
  save_checkpoint(output, snapshot);
  const fs::path to = output / checkpoint_name(snapshot.manifest.progress.step);
  print(options, description(to), text_of(description(to)));
  return 0;
}

Graph graph_of(const Checkpoint& checkpoint) {
  if (checkpoint.model.empty()) return read_inline_model(checkpoint.folder / kConfigFile);
  return read_model_text(checkpoint.model, (checkpoint.folder / kModelFile).string());
}

int export_weights(const Options& options) {
  const fs::path output = output_of(options, "FILE.safetensors");
  check_output_file(output);
  const fs::path from = find_checkpoint(options.checkpoint);
  Checkpoint read = read_checkpoint(from);
  const Graph graph = graph_of(read);
  const NamedTensors tensors = match_tensors(model_tensors(std::move(read)),
                                             expected_parameters(graph), from.string(), graph);
  write_parameters(output, tensors);
  print(options,
        {{"from", from.string()}, {"weights", output.string()}, {"tensors", tensors.size()}},
        fmt::format("{}: the weights of {}, {}\n", output.string(), from.string(),
                    counted(std::ssize(tensors), "tensor")));
  return 0;
}

int prune(const Options& options) {
  const fs::path newest = find_checkpoint(options.checkpoint);
  const fs::path folder = newest.parent_path();
  KeepRule keep{options.keep_latest, std::nullopt};
  if (options.keep_best && is_there(folder / "best"))
    keep.best = read_manifest(find_checkpoint(folder / "best")).progress.step;
  remove_leftovers(folder);
  const auto removed = prune_checkpoints(folder, keep);
  std::string text;
  for (const std::int64_t step : removed)
    text += fmt::format("{}: removed\n", (folder / checkpoint_name(step)).string());
  for (const std::int64_t step : committed_checkpoints(folder))
    text += fmt::format("{}: kept\n", (folder / checkpoint_name(step)).string());
  print(options, {{"removed", removed}, {"kept", committed_checkpoints(folder)}}, text);
  return 0;
}

struct Verb {
  std::string_view name;
  int (*run)(const Options&);
};
constexpr Verb verbs[] = {{"info", info},
                          {"verify", verify},
                          {"reshard", reshard},
                          {"export", export_weights},
                          {"prune", prune}};

}  // namespace

int checkpoint(const Options& options) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs) {
    if (verb.name == options.name) return verb.run(options);
    names.push_back(verb.name);
  }
  throw UsageError(fmt::format("pipetrain checkpoint: there is no verb {}{}; write one of: {}",
                               options.name, suggest(options.name, names), fmt::join(names, ", ")));
}

}  // namespace pipetrain
