#include "checkpoint/load.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/save.hpp"

namespace pipetrain {
namespace fs = std::filesystem;
namespace {

// What is wrong with one file; empty if it is as the manifest says.
std::string damage(const fs::path& path, const FileSum& wanted) {
  const auto describe = [&](const std::string& why) {
    return fmt::format("{}: {}", printable(path.string()), why);
  };
  try {
    InputFile file(path);
    if (file.size() != wanted.bytes)
      return describe(fmt::format("it has {} bytes instead of {}", file.size(), wanted.bytes));
    FileSum sum;
    std::vector<char> piece(1u << 20);
    while (const std::size_t got = file.read_some(piece.data(), piece.size()))
      add_bytes(sum, piece.data(), got);
    if (sum.bytes != wanted.bytes) return describe("it cannot be read to its end");
    if (sum != wanted)
      return describe(
          fmt::format("its checksum is {:08x} instead of {:08x}", sum.crc32, wanted.crc32));
  } catch (const CannotRead& error) {
    return describe(error.why());
  }
  return "";
}

std::string way_out(const fs::path& checkpoint, std::int64_t step) {
  const fs::path folder = fs::absolute(checkpoint).parent_path();
  const auto steps = committed_checkpoints(folder);
  const auto later = std::ranges::lower_bound(steps, step);
  if (later == steps.begin()) return "copy it again, or start over with --resume never";
  return fmt::format("copy it again, or resume from the previous one: --resume {}",
                     (checkpoint.parent_path() / checkpoint_name(*std::prev(later))).string());
}

bool is_text(const std::string& file) {
  return file == kConfigFile || file == kModelFile || file == kProgramFile;
}

template <class Wanted>
std::vector<std::string> damages_where(const fs::path& checkpoint, const Manifest& manifest,
                                       Wanted wanted) {
  std::vector<std::string> found;
  for (const CheckpointFile& file : manifest.files) {
    if (!wanted(file.name)) continue;
    const std::string one = damage(checkpoint / file.name, file.sum);
    if (!one.empty()) found.push_back(one);
  }
  return found;
}

void take_texts(Checkpoint& read) {
  for (const CheckpointFile& file : read.manifest.files) {
    const fs::path path = read.folder / file.name;
    if (file.name == kConfigFile) read.config = read_whole_file(path);
    if (file.name == kModelFile) read.model = read_whole_file(path);
    if (file.name == kProgramFile) read.program = read_whole_file(path);
  }
}

void refuse_damaged(const Checkpoint& read, const std::vector<std::string>& found) {
  if (found.empty()) return;
  throw DataError(fmt::format("{}: this checkpoint is damaged:\n  {}\n{}", read.folder.string(),
                              fmt::join(found, "\n  "),
                              way_out(read.folder, read.manifest.progress.step)));
}

}  // namespace

Manifest read_manifest(const fs::path& checkpoint) {
  const fs::path file = checkpoint / kManifestFile;
  try {
    return parse_manifest(read_whole_file(file), file.string());
  } catch (const CannotRead& error) {
    throw DataError(fmt::format("{}: {}: this checkpoint is incomplete; name another one",
                                file.string(), error.why()));
  }
}

std::vector<std::string> damages(const fs::path& checkpoint, const Manifest& manifest) {
  return damages_where(checkpoint, manifest, [](const std::string&) { return true; });
}

Checkpoint read_checkpoint_texts(const fs::path& checkpoint) {
  Checkpoint read{checkpoint, read_manifest(checkpoint), "", "", "", {}};
  refuse_damaged(read, damages_where(checkpoint, read.manifest, is_text));
  take_texts(read);
  return read;
}

Checkpoint read_checkpoint(const fs::path& checkpoint) {
  Checkpoint read{checkpoint, read_manifest(checkpoint), "", "", "", {}};
  refuse_damaged(read, damages(checkpoint, read.manifest));
  take_texts(read);
  std::set<std::string> names;
  for (const CheckpointFile& file : read.manifest.files) {
    const fs::path path = checkpoint / file.name;
    if (!file.name.ends_with(".safetensors")) continue;
    for (StoredTensor& tensor : read_safetensors(path)) {
      if (!names.insert(tensor.name).second)
        throw DataError(fmt::format("{}: '{}' is also in another file of this checkpoint; {}",
                                    path.string(), printable(tensor.name),
                                    way_out(checkpoint, read.manifest.progress.step)));
      read.tensors.push_back(std::move(tensor));
    }
  }
  return read;
}

std::vector<StoredTensor> model_tensors(Checkpoint checkpoint) {
  std::erase_if(checkpoint.tensors,
                [](const StoredTensor& t) { return t.name.find('/') != t.name.npos; });
  return std::move(checkpoint.tensors);
}

StoredWeights read_stored_weights(const fs::path& named) {
  const bool is_pointer = named.filename() == "latest" || named.filename() == "best";
  if (!is_pointer && !is_folder(named)) return {read_safetensors(named), named};
  if (const fs::path last = named / "model.safetensors"; !is_pointer && is_there(last))
    return {read_safetensors(last), last};
  const fs::path folder = find_checkpoint(named);
  return {model_tensors(read_checkpoint(folder)), folder};
}

NamedTensors read_weights(const fs::path& named, const Graph& graph) {
  const StoredWeights stored = read_stored_weights(named);
  return match_tensors(stored.tensors, expected_parameters(graph), stored.from.string(), graph);
}

}  // namespace pipetrain
