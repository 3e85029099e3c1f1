#include "checkpoint/folder.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "checkpoint/output_file.hpp"

namespace pipetrain {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kPart = ".part";

// The step in a checkpoint's name; none if it is not such a name.
std::optional<std::int64_t> step_of(const std::string& name) {
  const std::string digits = name.substr(std::min(name.size(), kPrefix.size()));
  if (digits.empty() || digits.size() > 12 || digits.find_first_not_of("0123456789") != digits.npos)
    return std::nullopt;
  const std::int64_t step = std::stoll(digits);
  if (checkpoint_name(step) != name) return std::nullopt;
  return step;
}

[[noreturn]] void fail(const fs::path& path, std::string_view what, const std::error_code& error) {
  errno = error.value();
  fail_file(path, what);
}

// Names in the folder; empty if it does not exist.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) fail(folder, "listed", error);
  return names;
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail(path, "removed", error);
}

bool is_checkpoint(const fs::path& path) { return is_there(path / "manifest.json"); }

// `latest` and `best` hold the name of a checkpoint next to them.
fs::path pointed_to(const fs::path& pointer) {
  std::string name(checkpoint_name(0).size() + 8, '\0');  // a longer text is not a name
  name.resize(InputFile(pointer).read_some(name.data(), name.size()));
  name.resize(std::min(name.size(), name.find('\n')));
  if (!step_of(name))
    throw DataError(fmt::format(
        "{}: it does not name a checkpoint; name the folder of one (step-...)", pointer.string()));
  const fs::path checkpoint = pointer.parent_path() / name;
  if (!is_folder(checkpoint))
    throw DataError(fmt::format("{}: it names {}, which is not there; name another checkpoint",
                                pointer.string(), name));
  return checkpoint;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:08}", kPrefix, step); }

std::vector<std::int64_t> committed_checkpoints(const fs::path& checkpoints) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(checkpoints))
    if (const auto step = step_of(name)) steps.push_back(*step);
  std::ranges::sort(steps);
  return steps;
}

fs::path find_checkpoint(const fs::path& named) {
  if (is_file(named)) return pointed_to(named);
  if (is_checkpoint(named)) return named;
  const fs::path path = named.filename().empty() ? named.parent_path() : named;
  if (step_of(path.filename().string()) && is_folder(path))
    throw DataError(fmt::format(
        "{}: manifest.json is missing, so this checkpoint is incomplete; name another one",
        path.string()));
  for (const fs::path& folder : {path / "checkpoints", path}) {
    const auto steps = committed_checkpoints(folder);
    if (!steps.empty()) return folder / checkpoint_name(steps.back());
  }
  throw DataError(
      fmt::format("{}: there is no checkpoint; name the folder of one "
                  "(.../checkpoints/step-00001000) or of a run that has one",
                  named.string()));
}

void remove_checkpoint(const fs::path& checkpoints, std::int64_t step) {
  const fs::path whole = checkpoints / checkpoint_name(step);
  const fs::path part = whole.string() + std::string(kPart);
  remove_tree(part);
  std::error_code error;
  fs::rename(whole, part, error);
  if (error) fail(whole, "removed", error);
  remove_tree(part);
}

void remove_leftovers(const fs::path& checkpoints) {
  for (const std::string& name : names_in(checkpoints))
    if (name.ends_with(kPart)) remove_tree(checkpoints / name);
}

std::vector<std::int64_t> prune_checkpoints(const fs::path& checkpoints, const KeepRule& keep) {
  std::vector<std::int64_t> steps = committed_checkpoints(checkpoints);
  const auto older = std::max<std::int64_t>(0, std::ssize(steps) - keep.latest);
  steps.resize(older);
  std::erase_if(steps, [&](std::int64_t step) { return step == keep.best; });
  for (const std::int64_t step : steps) remove_checkpoint(checkpoints, step);
  return steps;
}

}  // namespace pipetrain
