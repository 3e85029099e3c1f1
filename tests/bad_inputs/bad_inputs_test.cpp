// Every row of the table through the front door: the built binary, in a folder of its own. Refused
// with the right code, in words that help, with nothing written, and without a crash.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "catch.hpp"
#include "cli/run_binary.hpp"
#include "data/data_files.hpp"
#include "places.hpp"
#include "row.hpp"

namespace fs = std::filesystem;
using pipetrain::test::contains;
using pipetrain::test::Folder;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // sanitizers map terabytes for themselves
#else
constexpr bool sanitized = false;
#endif

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto part :
       {command_rows, config_rows, model_rows, plan_rows, profile_rows, image_rows,
        image_folder_rows, array_rows, text_rows, translation_rows, generate_rows, weight_rows,
        checkpoint_rows, order_rows, permission_rows, report_rows})
    for (Row& row : part()) rows.push_back(std::move(row));
  return rows;
}

void write(const fs::path& folder, const std::vector<InputFile>& files) {
  for (const InputFile& file : files) {
    const fs::path path = folder / file.name;
    if (file.name.ends_with('/')) {
      fs::create_directories(path);
      continue;
    }
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << file.bytes;
  }
}

// If the tests run as root: a user id that belongs to nobody, who then owns the folder too.
const std::string as_nobody = "setpriv --reuid=54321 --regid=54321 --clear-groups --no-new-privs ";
bool is_root() { return ::geteuid() == 0; }
bool can_be_nobody() {
  return !is_root() ||
         std::system(
             (as_nobody + built_binary().string() + " --version >/dev/null 2>&1").c_str()) == 0;
}

Ran run_row(const Row& row, const fs::path& folder) {
  std::string before = "cd '" + folder.string() + "'; " + row.prepare;
  if (row.little_memory && !sanitized) before += "ulimit -v 2000000; ";
  if (row.ordinary_user && is_root()) before += "chown -R 54321 .; ";
  if (row.most_threads > 0) before += "prlimit --nproc=" + std::to_string(row.most_threads) + " ";
  if (row.ordinary_user && is_root()) before += as_nobody;
  return run_binary(row.command, before);
}

}  // namespace

TEST_CASE("the inputs that the rows damage are valid before that", "[bad_inputs]") {
  const Folder folder;
  write(folder / "", base_files());
  for (const std::string config :
       {"base", "tiny", "array", "c10", "c100", "folder", "weights", "text", "tokens"}) {
    const Row row{config, {}, "train " + config + ".toml --output out/" + config, 0, {}, true};
    const Ran ran = run_row(row, folder / "");
    INFO(config << ": " << ran.err);
    CHECK(ran.code == 0);
  }
}

TEST_CASE("every bad input is refused with its code and words that help", "[bad_inputs]") {
  const std::vector<Row> rows = all_rows();
  CHECK(rows.size() >= 100);
  const bool nobody = can_be_nobody();
  if (!nobody) WARN("skipped: the rows of permissions, for which setpriv runs the binary");
  std::set<std::string> names;
  for (const Row& row : rows) {
    if (sanitized && row.new_refuses) continue;
    if (row.ordinary_user && (sanitized || !nobody)) continue;
    const Folder folder;
    write(folder / "", base_files());
    write(folder / "", row.files);
    const Ran ran = run_row(row, folder / "");
    INFO(row.name << ": pipetrain " << row.command << "\n-> " << ran.code << "\n" << ran.err);
    CHECK(names.insert(row.name).second);
    CHECK(ran.code == row.code);
    CHECK_FALSE(row.words.empty());
    for (const std::string& word : row.words) {
      INFO("expected: " << word);
      CHECK(contains(ran.err, word));
    }
    CHECK_FALSE(contains(ran.err, "a bug in pipetrain"));
    CHECK_FALSE((row.code == 2 && fs::exists(folder / "runs")));  // nothing was written
  }
}
