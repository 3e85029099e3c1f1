// A checkpoint as a folder. The first byte says how far the manifest is made to fit what the other
// bytes (changed_folder.hpp) do to the folder, because sums refuse nearly every change: not at all,
// its own checksum, the size and the checksum of each file too. Then everything that a resumed run
// reads is read: it must give the values that were saved, or a user or data error.
#include <algorithm>
#include <optional>

#include "changed_folder.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/load.hpp"
#include "checkpoint/save.hpp"
#include "checkpoint/state.hpp"
#include "config/read.hpp"
#include "fitted_manifest.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "memory_folder.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

constexpr const char* kModel = R"(name = "small"
input = { shape = [1, 2, 2] }
layers = [
  { name = "conv", kind = "conv2d", out_channels = 2, kernel = 1 },
  { name = "bn", kind = "batch_norm" },
  { name = "flatten", kind = "flatten" },
  { name = "fc", kind = "linear", out_features = 3 },
]
)";
constexpr const char* kConfig = R"([model]
file = "model.toml"
[data]
kind = "synthetic"
batch_size = 4
[optimizer]
momentum = 0.9
)";

fs::path checkpoint_in(const fs::path& folder) { return folder / checkpoint_name(12); }

NamedTensors with_values(NamedTensors tensors) {
  for (auto& [name, tensor] : tensors) {
    const auto count = static_cast<std::size_t>(tensor.shape.elements());
    std::visit([&](auto& values) { values.assign(count, 1); }, tensor.values);
  }
  return tensors;
}

StageTensors stage_of(const std::vector<std::string>& layers, const NamedTensors& all) {
  StageTensors stage{layers, {}};
  for (const auto& [name, tensor] : all)
    if (std::ranges::count(layers, name.substr(0, name.find('.'))) > 0)
      stage.tensors[name] = tensor;
  return stage;
}

// What was saved, as it is stored on a disk and as it is read.
struct Saved {
  Graph graph;
  Config config;
  fuzz::Entries entries;
  Checkpoint read;
};

Saved saved_checkpoint() {
  const fuzz::MemoryFolder folder;
  const fs::path config = folder.path() / kConfigFile;
  write_file(config, kConfig);
  Saved saved{read_model_text(kModel, kModelFile), read_config({config}, {}).config, {}, {}};
  const NamedTensors all = with_values(expected_state(saved.graph, saved.config));
  Snapshot snapshot{.manifest = {},
                    .stages = {stage_of({"conv", "bn"}, all), stage_of({"flatten", "fc"}, all)},
                    .config = kConfig,
                    .model = kModel,
                    .program = "worker 0\n"};
  snapshot.manifest.model = "small";
  snapshot.manifest.progress.step = 12;
  snapshot.manifest.progress.best = ValidationResult{10, 1, 0.5, 0.75, {}, {}};
  save_checkpoint(folder.path(), snapshot);
  saved.entries = fuzz::entries_of(checkpoint_in(folder.path()));
  saved.read = read_checkpoint(checkpoint_in(folder.path()));
  return saved;
}

// Sizes and sums of the files that the manifest names, as they are now.
std::string with_sums(const std::string& text, const fuzz::Entries& entries) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("files") || !json["files"].is_array()) return text;
  for (auto& file : json["files"]) {
    if (!file.is_object() || !file.contains("name") || !file["name"].is_string()) continue;
    const auto found = entries.find(file["name"].get<std::string>());
    if (found == entries.end()) continue;
    const std::string& content = found->second.content;
    file["bytes"] = content.size();
    file["crc32"] = fuzz::crc_text(content);
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void fit_manifest(fuzz::Entries& entries, int how_far) {
  const auto manifest = entries.find(kManifestFile);
  if (manifest == entries.end() || manifest->second.kind != fuzz::Entry::Kind::File) return;
  std::string& text = manifest->second.content;
  if (how_far == 2) text = with_sums(text, entries);
  if (how_far >= 1) text = fuzz::with_checksum(text);
}

template <class Read>
bool read_or_refused(Read read) {
  try {
    read();
    return true;
  } catch (const UsageError&) {
  } catch (const DataError&) {
  }
  return false;
}

bool equal(const StoredTensor& a, const StoredTensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.data == b.data;
}

bool equal(const Checkpoint& a, const Checkpoint& b) {
  return a.manifest == b.manifest && a.config == b.config && a.model == b.model &&
         std::ranges::equal(a.tensors, b.tensors, [](auto& x, auto& y) { return equal(x, y); });
}

void read_as_resuming_does(const fs::path& folder, const Saved& saved, bool sums_are_old) {
  if (read_or_refused([&] { (void)read_checkpoint_texts(folder); })) {
    read_or_refused([&] { (void)read_config({folder / kConfigFile}, {}); });
    read_or_refused([&] { (void)read_model(folder / kModelFile); });
  }
  std::optional<Checkpoint> read;
  const bool whole = read_or_refused([&] {
    const Manifest manifest = read_manifest(folder);
    const bool no_damage = damages(folder, manifest).empty();
    fuzz::require(read_or_refused([&] { read = read_checkpoint(folder); }) <= no_damage,
                  "a checkpoint with damages is refused");
  });
  if (!read) return;
  fuzz::require(whole && (!sums_are_old || equal(*read, saved.read)),
                "a checkpoint whose sums fit is the one that was saved");
  read_or_refused([&] {
    const NamedTensors state = match_tensors(
        read->tensors, expected_state(saved.graph, saved.config), folder.string(), saved.graph);
    fuzz::require(!state.empty(), "a state has tensors");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static const fuzz::MemoryFolder folder;
  static const Saved saved = saved_checkpoint();
  if (count == 0) return 0;
  const int how_far = bytes[0] % 3;
  fuzz::Entries entries = saved.entries;
  fuzz::change(entries, fuzz::text_of(bytes + 1, count - 1));
  fit_manifest(entries, how_far);
  const fs::path checkpoint = checkpoint_in(folder.path());
  fs::create_directory(checkpoint);
  fuzz::write_entries(entries, checkpoint);
  read_as_resuming_does(checkpoint, saved, how_far == 0);
  fs::remove_all(checkpoint);
  return 0;
}
