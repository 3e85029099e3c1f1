#include "run_rig.hpp"

#include <fstream>

#include "checkpoint/atomic_file.hpp"
#include "checkpoint/save.hpp"
#include "graph/graph.hpp"
#include "run/data_sums.hpp"
#include "run/run_directory.hpp"

namespace pipetrain::testing {

const char* const kSmallModel = R"(
name = "small"
input = { shape = [6] }
layers = [
  { name = "fc1", kind = "linear", out_features = 8 },
  { name = "relu", kind = "relu" },
  { name = "fc2", kind = "linear", out_features = 3 },
]
)";

namespace {

namespace fs = std::filesystem;

constexpr const char* kRigConfig = R"(
[model]
file = "model.toml"
[data]
kind = "synthetic"
train_samples = 32
validation_samples = 16
batch_size = 8
[pipeline]
schedule = "gpipe"
stages = 2
microbatches = 2
[optimizer]
lr = 0.05
[training]
steps = 4
[hardware]
backend = "reference"
workers = "inline"
)";

ReadConfig read_rig(const fs::path& folder, const std::vector<std::string>& sets,
                    const std::string& model) {
  write_file(folder / "model.toml", model);
  write_file(folder / "small.toml", kRigConfig);
  return read_config({folder / "small.toml"}, sets);
}

fs::path made(const fs::path& folder) {
  make_folder(folder);
  return folder;
}

}  // namespace

Progress progress_at(std::int64_t step) {
  Progress progress;
  progress.step = step;
  return progress;
}

RunRig::RunRig(const std::vector<std::string>& sets, const std::string& model)
    : read_(read_rig(scratch_.path, sets, model)),
      graph_(load_graph(read_)),
      backend_(make_backend(config().hardware.backend)),
      data_(load_datasets(read_, graph_)),
      plan_(load_plan(read_, graph_, *backend_)),
      length_(training_length(config(), *data_.train)),
      pipeline_(pipeline_input(config(), graph_, plan_, *backend_, data_, length_)),
      folder_(made(scratch_.path / "run")),
      metrics_({.folder = folder_, .config = config().metrics, .program = pipeline_.program()}),
      sums_(data_sums(config().data, data_)) {
  pipeline_.set_parameters(first_parameters(config(), graph_));
}

TrainingInput RunRig::input(const Progress& begin) {
  return {.config = config(),
          .graph = graph_,
          .data = data_,
          .data_sums = sums_,
          .length = length_,
          .pipeline = pipeline_,
          .metrics = metrics_,
          .console = console_,
          .bleu = nullptr,
          .folder = folder_,
          .begin = begin};
}

void RunRig::keep_config() const {
  write_file(folder_ / kConfigFile, dump_config(config(), false));
}

void RunRig::finish() { write_parameters(folder_ / "model.safetensors", pipeline_.parameters()); }

std::vector<nlohmann::ordered_json> RunRig::events(const std::string& kind) const {
  std::vector<nlohmann::ordered_json> found;
  std::ifstream lines(folder_ / "metrics.jsonl");
  for (std::string line; std::getline(lines, line);)
    if (auto event = nlohmann::ordered_json::parse(line); event["event"] == kind)
      found.push_back(std::move(event));
  return found;
}

std::vector<std::int64_t> RunRig::steps_of(const std::string& kind) const {
  std::vector<std::int64_t> steps;
  for (const auto& event : events(kind)) steps.push_back(event["step"].get<std::int64_t>());
  return steps;
}

}  // namespace pipetrain::testing
