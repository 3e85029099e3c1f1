#include "run/rank_saving.hpp"

#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/input_file.hpp"
#include "base/start_thread.hpp"
#include "checkpoint/output_file.hpp"
#include "run/run_directory.hpp"
#include "runtime/commands.hpp"
#include "transport/channel.hpp"
#include "transport/note_fields.hpp"

namespace pipetrain {
namespace fs = std::filesystem;
namespace {

// In a checkpoint's folder until it is committed: a process that sees it shares rank 0's file
// system. A host may have a folder of the same name on its own disk.
constexpr const char* mark_file = "mark";

std::string new_mark() {
  return std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
}

bool sees_mark(const fs::path& folder, const std::string& mark) {
  try {
    return read_whole_file(folder / mark_file) == mark;
  } catch (const CannotRead&) {
    return false;
  }
}

Note note_of(const std::vector<StageFile>& written) {
  NoteWriter out;
  out.number(written.size());
  for (const auto& [stage, file] : written) {
    out.number(static_cast<std::uint64_t>(stage));
    out.text(file.name);
    out.number(file.sum.bytes);
    out.number(file.sum.crc32);
    out.number(file.layers.size());
    for (const std::string& layer : file.layers) out.text(layer);
  }
  return std::move(out.note);
}

std::vector<StageFile> files_in(const Note& note) {
  NoteReader in(note);
  std::vector<StageFile> written;
  for (std::uint64_t files = in.number(); files > 0; --files) {
    StageFile& one = written.emplace_back();
    one.stage = static_cast<int>(in.number());
    one.file.name = in.text();
    one.file.sum.bytes = in.number();
    one.file.sum.crc32 = static_cast<std::uint32_t>(in.number());
    for (std::uint64_t layers = in.number(); layers > 0; --layers)
      one.file.layers.push_back(in.text());
  }
  return written;
}

// Both are indexed by stage, and no stage has layers in both.
void add_stages(std::vector<StageTensors>& to, std::vector<StageTensors> more) {
  to.resize(std::max(to.size(), more.size()));
  for (std::size_t s = 0; s < more.size(); ++s)
    if (!more[s].layers.empty()) to[s] = std::move(more[s]);
}

}  // namespace

void RankWriters::begin(const fs::path& folder) {
  folder_ = folder;
  const std::string mark = new_mark();
  OutputFile out(folder / mark_file);
  out.write(mark.data(), mark.size());
  out.finish();
  NoteWriter go;
  go.text(folder.string());
  go.text(mark);
  for (const int rank : ranks_) job_.notes().send(rank, Topic::Save, go.note);
}

Note RankWriters::take(int rank) const {
  try {
    return job_.notes().take(Topic::Saved, rank);
  } catch (const ChannelClosed& closed) {
    job_.rethrow(closed);
  }
}

OtherStages RankWriters::finish() {
  OtherStages all;
  std::vector<int> gathered;
  for (const int rank : ranks_) {
    const std::vector<StageFile> files = files_in(take(rank));
    all.written.insert(all.written.end(), files.begin(), files.end());
    if (!files.empty()) continue;
    gathered.push_back(rank);
    add_stages(all.unwritten, stages_in(take(rank)));
  }
  remove_file(folder_ / mark_file);
  if (!gathered.empty()) report_gathered(gathered);
  return all;
}

void RankWriters::report_gathered(const std::vector<int>& ranks) {
  if (std::exchange(reported_, true)) return;
  spdlog::info(
      "rank 0 writes the checkpoints' stages of rank{} {}, where {} is not on the same disk; name "
      "a "
      "folder with --output that all hosts share, and each rank writes its own",
      ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "), folder_.parent_path().string());
}

StageSaver::~StageSaver() {
  if (writing_.joinable()) writing_.join();
}

void StageSaver::save(std::vector<StageTensors> stages) {
  if (writing_.joinable()) writing_.join();
  writing_ =
      start_thread([this, stages = std::move(stages)]() mutable { write(std::move(stages)); });
}

void StageSaver::write(std::vector<StageTensors> stages) {
  try {
    const Note go = job_.notes().take(Topic::Save, 0);
    NoteReader in(go);
    const fs::path folder = in.text();
    if (sees_mark(folder, in.text())) {
      job_.notes().send(0, Topic::Saved, note_of(write_stages(folder, stages)));
    } else {
      job_.notes().send(0, Topic::Saved, note_of(std::vector<StageFile>{}));
      job_.notes().send(0, Topic::Saved, pipetrain::note_of(stages));
    }
  } catch (const ChannelClosed&) {  // the job has failed
  } catch (const std::exception& error) {
    job_.report(error);
  }
}

}  // namespace pipetrain
