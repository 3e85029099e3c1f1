#include "checkpoint/save.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/input_file.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/safetensors.hpp"

namespace pipetrain {
namespace fs = std::filesystem;
namespace {

void make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) fail_file(folder, "created");
}

FileSum write_text(const fs::path& file, const std::string& text) {
  OutputFile out(file);
  out.write(text.data(), text.size());
  return out.finish();
}

FileSum write_tensors(const fs::path& file, const NamedTensors& tensors) {
  OutputFile out(file);
  write_safetensors(out, views_of(tensors));
  return out.finish();
}

// The files of all stages, in order, whichever process wrote them.
std::vector<CheckpointFile> stage_files(const fs::path& folder, const Snapshot& snapshot) {
  if (snapshot.others) snapshot.others->begin(folder);
  std::vector<StageFile> written = write_stages(folder, snapshot.stages);
  if (snapshot.others) {
    const OtherStages theirs = snapshot.others->finish();
    for (const auto& some : {theirs.written, write_stages(folder, theirs.unwritten)})
      written.insert(written.end(), some.begin(), some.end());
  }
  std::ranges::sort(written, {}, &StageFile::stage);
  std::vector<CheckpointFile> files;
  for (StageFile& one : written) {
    PIPETRAIN_CHECK(one.stage == std::ssize(files), "nobody has written stage {}", files.size());
    files.push_back(std::move(one.file));
  }
  PIPETRAIN_CHECK(files.size() == snapshot.stages.size(), "{} of {} stages were written",
                  files.size(), snapshot.stages.size());
  return files;
}

std::uint64_t write_files(const fs::path& folder, Snapshot& snapshot) {
  std::vector<CheckpointFile>& files = snapshot.manifest.files;
  files = stage_files(folder, snapshot);
  files.push_back({kConfigFile, write_text(folder / kConfigFile, snapshot.config), {}});
  if (!snapshot.model.empty())
    files.push_back({kModelFile, write_text(folder / kModelFile, snapshot.model), {}});
  if (!snapshot.program.empty())
    files.push_back({kProgramFile, write_text(folder / kProgramFile, snapshot.program), {}});
  const FileSum manifest = write_text(folder / kManifestFile, manifest_text(snapshot.manifest));
  return std::accumulate(files.begin(), files.end(), manifest.bytes,
                         [](std::uint64_t sum, const auto& f) { return sum + f.sum.bytes; });
}

}  // namespace

std::vector<StageFile> write_stages(const fs::path& folder,
                                    const std::vector<StageTensors>& stages) {
  std::vector<StageFile> files;
  for (int s = 0; s < std::ssize(stages); ++s) {
    if (stages[s].layers.empty()) continue;
    const std::string name = fmt::format("stage-{:04}.safetensors", s);
    files.push_back({s, {name, write_tensors(folder / name, stages[s].tensors), stages[s].layers}});
  }
  return files;
}

std::uint64_t save_checkpoint(const fs::path& checkpoints, Snapshot snapshot) {
  const std::int64_t step = snapshot.manifest.progress.step;
  const fs::path whole = checkpoints / checkpoint_name(step);
  const fs::path part = whole.string() + ".part";
  make_folder(checkpoints);
  remove_leftovers(checkpoints);
  make_folder(part);
  const std::uint64_t bytes = write_files(part, snapshot);
  flush_folder(part, part);
  const fs::path replaced = whole.string() + ".replaced.part";
  const bool replaces = is_there(whole);
  // At once where the file system can: then there is a whole checkpoint at every moment.
  const bool exchanged = replaces && ::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, whole.c_str(),
                                                 RENAME_EXCHANGE) == 0;
  if (replaces && !exchanged && ::rename(whole.c_str(), replaced.c_str()) != 0)
    fail_file(whole, "replaced");
  if (!exchanged && ::rename(part.c_str(), whole.c_str()) != 0)
    fail_file(whole, "renamed into place");
  flush_folder(checkpoints, whole);
  if (replaces) remove_leftovers(checkpoints);
  return bytes;
}

}  // namespace pipetrain
