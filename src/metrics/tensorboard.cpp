#include "metrics/tensorboard.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/input_file.hpp"

namespace pipetrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "events.out.tfevents.";

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The numbers in the names, ten digits wide, are seconds since 1970 and always grow: readers go by
// the order of the names.
fs::path next_file(const fs::path& folder, const std::vector<fs::path>& earlier) {
  auto number = static_cast<std::int64_t>(now_seconds());
  const auto name = [&] { return folder / fmt::format("{}{:010}.pipetrain", prefix, number); };
  if (!earlier.empty()) {
    const std::string last = earlier.back().filename().string().substr(prefix.size());
    const auto digits =
        std::find_if_not(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (digits - last.begin() == 10)
      number = std::max<std::int64_t>(number, std::stoll(last.substr(0, 10)) + 1);
  }
  return name();
}

std::string bytes_of(const fs::path& file) {
  try {
    return read_whole_file(file, std::uint64_t{1} << 40);
  } catch (const CannotRead& error) {
    throw DeviceError(
        fmt::format("{}: cannot be read: {}; remove it, and run the same command again",
                    file.string(), error.why()));
  }
}

// The records of scalars up to a step. After a torn record nothing more can be recognised.
std::string kept_records(std::string_view bytes, std::int64_t keep_steps) {
  std::string kept;
  while (const auto record = first_record(bytes)) {
    if (record->has_scalars && record->step <= keep_steps) kept += record->whole;
    bytes.remove_prefix(record->whole.size());
  }
  return kept;
}

void remove_old(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  if (error)
    throw DeviceError(fmt::format("{}: cannot be removed: {}; check the disk and its permissions",
                                  file.string(), error.message()));
}

// Appears under its name complete or not at all: if this is cut short, the old file is still
// needed.
void write_whole(const fs::path& path, const std::string& bytes) {
  const fs::path part = path.parent_path() / ".tfevents.part";
  std::error_code error;
  try {
    AppendFile file(part);
    file.write(bytes);
    file.close();
    fs::rename(part, path, error);
    if (error)
      throw DeviceError(
          fmt::format("{}: cannot be renamed into place: {}; check the disk and its "
                      "permissions, then run the same command again",
                      path.string(), error.message()));
  } catch (const DeviceError&) {
    fs::remove(part, error);
    throw;
  }
}

TensorBoardFile::Begun begin_file(const fs::path& folder, std::int64_t keep_steps) {
  const std::vector<fs::path> earlier = event_files(folder);
  const double now = now_seconds();
  std::string front = version_record(now);
  if (!earlier.empty()) {
    front += restart_record(now, 0);
    if (keep_steps > 0) front += kept_records(bytes_of(earlier.back()), keep_steps);
  }
  const fs::path path = next_file(folder, earlier);
  write_whole(path, front);
  for (const fs::path& old : earlier) remove_old(old);
  return {path, front.size()};
}

void add_numbers(const nlohmann::ordered_json& object, const std::string& group,
                 std::vector<Scalar>& out) {
  for (const auto& [key, value] : object.items())
    if (value.is_number() && key != "step") out.push_back({group + "/" + key, value.get<double>()});
}

}  // namespace

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(prefix)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void remove_event_files(const fs::path& folder) {
  for (const fs::path& file : event_files(folder)) remove_old(file);
}

std::vector<Scalar> scalars_of(const nlohmann::ordered_json& event) {
  const std::string kind = event.value("event", "");
  std::vector<Scalar> out;
  if (kind != "step" && kind != "validation") return out;
  add_numbers(event, kind == "step" ? "train" : "validation", out);
  const auto stages = event.find("stages");
  if (stages == event.end()) return out;
  for (std::size_t s = 0; s < stages->size(); ++s)
    add_numbers((*stages)[s], fmt::format("stage_{}", s), out);
  return out;
}

TensorBoardFile::TensorBoardFile(const fs::path& folder, std::int64_t keep_steps)
    : TensorBoardFile(begin_file(folder, keep_steps)) {}

TensorBoardFile::TensorBoardFile(const Begun& begun) : file_(begun.path, begun.bytes) {}

void TensorBoardFile::write(const nlohmann::ordered_json& event) {
  std::vector<Scalar> scalars = scalars_of(event);
  if (scalars.empty()) return;
  file_.write(scalar_record({now_seconds(), event.at("step").get<std::int64_t>(), scalars}));
}

}  // namespace pipetrain
