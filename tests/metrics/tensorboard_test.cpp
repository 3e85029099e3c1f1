// A run's event file: the numbers of its events, and no step twice after a restart.
#include "metrics/tensorboard.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("pipetrain-events-" + std::to_string(::getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

nlohmann::ordered_json step(int number) {
  return {{"event", "step"}, {"step", number}, {"loss", 1.0 / number}};
}
nlohmann::ordered_json validation(int number) {
  return {{"event", "validation"}, {"step", number}, {"loss", 0.5}};
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

fs::path only_file(const Folder& folder) {
  const auto files = event_files(folder.path);
  REQUIRE(files.size() == 1);
  return files[0];
}

// The steps of the scalars, in the order of the file; the test fails if it ends with a torn one.
std::vector<std::int64_t> steps_of(const fs::path& file) {
  const std::string bytes = bytes_of(file);
  std::string_view rest = bytes;
  std::vector<std::int64_t> steps;
  while (const auto record = first_record(rest)) {
    if (record->has_scalars) steps.push_back(record->step);
    rest.remove_prefix(record->whole.size());
  }
  CHECK(rest.empty());
  return steps;
}

void write_steps(const Folder& folder, std::int64_t keep_steps, int first, int last) {
  TensorBoardFile file(folder.path, keep_steps);
  for (int s = first; s <= last; ++s) file.write(step(s));
}

}  // namespace

TEST_CASE("scalars are named after the part of the run that they describe", "[tensorboard]") {
  std::vector<std::pair<std::string, double>> found;
  const nlohmann::ordered_json event = {
      {"event", "step"},
      {"step", 4},
      {"loss", 2.5},
      {"skipped", true},
      {"stages", {{{"busy", 0.5}, {"memory_bytes", 1024}}, {{"busy", 0.25}}}}};
  for (const Scalar& scalar : scalars_of(event)) found.emplace_back(scalar.tag, scalar.value);
  CHECK(found == std::vector<std::pair<std::string, double>>{{"train/loss", 2.5},
                                                             {"stage_0/busy", 0.5},
                                                             {"stage_0/memory_bytes", 1024},
                                                             {"stage_1/busy", 0.25}});
  CHECK(scalars_of(validation(3)).at(0).tag == "validation/loss");
  CHECK(scalars_of({{"event", "end"}, {"step", 4}, {"loss", 1}}).empty());
}

TEST_CASE("a new run takes the place of an old one's file", "[tensorboard]") {
  const Folder folder;
  write_steps(folder, 0, 1, 5);
  const fs::path old = only_file(folder);
  write_steps(folder, 0, 1, 2);
  CHECK(only_file(folder) > old);  // readers go by the order of names
  CHECK(steps_of(only_file(folder)) == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("a run that resumes has no step twice", "[tensorboard]") {
  const Folder folder;
  write_steps(folder, 0, 1, 6);
  write_steps(folder, 4, 5, 8);
  CHECK(steps_of(only_file(folder)) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  write_steps(folder, 7, 8, 8);
  CHECK(steps_of(only_file(folder)) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("the file of a run that resumes begins with its version and an order to forget",
          "[tensorboard]") {
  const Folder folder;
  write_steps(folder, 0, 1, 2);
  write_steps(folder, 1, 2, 2);
  const std::string bytes = bytes_of(only_file(folder));
  const auto first = first_record(bytes);
  REQUIRE(first);
  CHECK(first->whole.find("brain.Event:2") != std::string_view::npos);
  const auto second = first_record(std::string_view(bytes).substr(first->whole.size()));
  REQUIRE(second);
  const std::string order = restart_record(0, 0);  // after the frame and the wall time
  CHECK(second->whole.substr(21, 6) == std::string_view(order).substr(21, 6));
}

TEST_CASE("validations go by their step too", "[tensorboard]") {
  const Folder folder;
  {
    TensorBoardFile file(folder.path, 0);
    file.write(validation(0));
    file.write(step(1));
    file.write(validation(1));
    file.write(step(2));
    file.write(validation(2));
  }
  TensorBoardFile file(folder.path, 1);
  CHECK(steps_of(only_file(folder)) == std::vector<std::int64_t>{0, 1, 1});
}

TEST_CASE("a torn record that a killed run left is removed", "[tensorboard]") {
  const Folder folder;
  write_steps(folder, 0, 1, 3);
  const fs::path file = only_file(folder);
  fs::resize_file(file, fs::file_size(file) - 5);
  write_steps(folder, 3, 4, 4);
  CHECK(steps_of(only_file(folder)) == std::vector<std::int64_t>{1, 2, 4});
}

TEST_CASE("a start that was killed before the old file was gone counts once", "[tensorboard]") {
  const Folder folder;
  write_steps(folder, 0, 1, 3);
  const fs::path old = only_file(folder);
  const std::string kept = bytes_of(old);
  write_steps(folder, 2, 3, 3);
  std::ofstream(old, std::ios::binary) << kept;
  CHECK(event_files(folder.path).size() == 2);
  write_steps(folder, 3, 4, 4);
  CHECK(steps_of(only_file(folder)) == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("a folder that refuses is a device error", "[tensorboard]") {
  CHECK_THROWS_AS(TensorBoardFile("/nowhere/at/all", 0), DeviceError);
}
