#include "checkpoint/load.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/save.hpp"

namespace pipetrain {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kLargestText = 64u << 20;

// A small file; nothing and a reason where it cannot be read.
std::string read_text(const fs::path& file, std::string& problem) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) {
    problem = "it is missing";
    return "";
  }
  if (fs::file_size(file, error) > kLargestText) {
    problem = "it is far too large";
    return "";
  }
  std::ifstream in(file, std::ios::binary);
  std::string text(fs::file_size(file, error), '\0');
  if (error || !in.read(text.data(), std::ssize(text))) problem = "it cannot be read";
  return text;
}

// What is wrong with one file; nothing where it is as the manifest says.
std::string damage(const fs::path& file, const FileSum& wanted) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error) return fmt::format("{}: {}", file.string(), error.message());
  if (bytes != wanted.bytes)
    return fmt::format("{}: it has {} bytes instead of {}", file.string(), bytes, wanted.bytes);
  std::ifstream in(file, std::ios::binary);
  FileSum sum;
  std::vector<char> piece(1u << 20);
  while (in.read(piece.data(), std::ssize(piece)) || in.gcount() > 0)
    add_bytes(sum, piece.data(), static_cast<std::size_t>(in.gcount()));
  if (in.bad() || sum.bytes != wanted.bytes)
    return fmt::format("{}: it cannot be read to its end", file.string());
  if (sum != wanted)
    return fmt::format("{}: its checksum is {:08x} instead of {:08x}", file.string(), sum.crc32,
                       wanted.crc32);
  return "";
}

std::string way_out(const fs::path& checkpoint, std::int64_t step) {
  const fs::path folder = fs::absolute(checkpoint).parent_path();
  const auto steps = committed_checkpoints(folder);
  const auto later = std::ranges::lower_bound(steps, step);
  if (later == steps.begin()) return "copy it again, or start over with --resume never";
  return fmt::format("copy it again, or go on from the one before it: --resume {}",
                     (checkpoint.parent_path() / checkpoint_name(*std::prev(later))).string());
}

}  // namespace

Manifest read_manifest(const fs::path& checkpoint) {
  const fs::path file = checkpoint / kManifestFile;
  std::string problem;
  const std::string text = read_text(file, problem);
  if (!problem.empty())
    throw DataError(fmt::format("{}: {}: this is no whole checkpoint; name another one",
                                file.string(), problem));
  return parse_manifest(text, file.string());
}

std::vector<std::string> damages(const fs::path& checkpoint, const Manifest& manifest) {
  std::vector<std::string> found;
  for (const CheckpointFile& file : manifest.files) {
    const std::string one = damage(checkpoint / file.name, file.sum);
    if (!one.empty()) found.push_back(one);
  }
  return found;
}

Checkpoint read_checkpoint(const fs::path& checkpoint) {
  Checkpoint read{checkpoint, read_manifest(checkpoint), "", "", {}};
  const auto found = damages(checkpoint, read.manifest);
  if (!found.empty())
    throw DataError(fmt::format("{}: this checkpoint is damaged:\n  {}\n{}", checkpoint.string(),
                                fmt::join(found, "\n  "),
                                way_out(checkpoint, read.manifest.progress.step)));
  std::set<std::string> names;
  for (const CheckpointFile& file : read.manifest.files) {
    const fs::path path = checkpoint / file.name;
    std::string problem;
    if (file.name == kConfigFile) read.config = read_text(path, problem);
    if (file.name == kModelFile) read.model = read_text(path, problem);
    if (!file.name.ends_with(".safetensors")) continue;
    for (StoredTensor& tensor : read_safetensors(path)) {
      if (!names.insert(tensor.name).second)
        throw DataError(fmt::format("{}: '{}' is also in another file of this checkpoint; {}",
                                    path.string(), tensor.name,
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

NamedTensors read_weights(const fs::path& named, const Graph& graph) {
  const bool is_pointer = named.filename() == "latest" || named.filename() == "best";
  if (!is_pointer && !fs::is_directory(named)) return read_parameters(named, graph);
  const fs::path folder = find_checkpoint(named);
  return match_tensors(model_tensors(read_checkpoint(folder)), expected_parameters(graph),
                       folder.string(), graph);
}

}  // namespace pipetrain
