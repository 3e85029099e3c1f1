// What the binary says about CUDA: in a build without it, on a machine without a device, and on one
// with a device.
#include <algorithm>
#include <filesystem>

#include "catch.hpp"
#include "run_folder.hpp"

namespace {

nlohmann::json devices() { return nlohmann::json::parse(run_binary("devices --json").out); }

bool built_in() {
  const nlohmann::json backends = devices()["backends"];
  return std::find(backends.begin(), backends.end(), "cuda") != backends.end();
}

std::ptrdiff_t line_count(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

TEST_CASE("devices lists every GPU, or says in one sentence why there is none") {
  const nlohmann::json cuda = devices()["cuda"];
  const std::string text = run_binary("devices").out;
  INFO(text);
  for (const auto& device : cuda["devices"]) {
    CHECK(device["memory_bytes"].get<double>() > 1e9);
    CHECK(has(text, "\n" + device["device"].get<std::string>() + " "));
    CHECK(has(text, device["name"].get<std::string>()));
    CHECK(has(text, "compute capability " + device["compute_capability"].get<std::string>()));
  }
  CHECK(cuda.contains("why_none") == cuda["devices"].empty());
  if (!cuda.contains("why_none")) return;
  const std::string why = cuda["why_none"];
  CHECK(why.size() > 5);
  CHECK(why.find_first_of("\n") == why.npos);
  CHECK(has(text, "\ncuda      " + why + "\n"));
}

TEST_CASE(
    "the build information names the versions of the CUDA libraries, or that there are none") {
  const auto info = nlohmann::json::parse(run_binary("--build-info --json").out);
  if (!built_in()) {
    CHECK(info["cuda"] == "not in this build");
    CHECK_FALSE(info.contains("cudnn"));
    return;
  }
  for (const char* name : {"cuda", "cuda_driver", "cudnn", "cublaslt", "nccl"})
    CHECK(info.contains(name));
}

TEST_CASE("a training on a missing GPU ends with one sentence, and leaves nothing") {
  if (!devices()["cuda"]["devices"].empty()) {
    WARN("skipped: there is a GPU here");
    return;
  }
  const TestFolder folder;
  const std::filesystem::path run = folder.path / "run";
  const Ran ran = run_binary("train '" + folder.config().string() + "' --output '" + run.string() +
                             "' --set 'hardware.backend=\"cuda\"'");
  INFO(ran.err);
  CHECK(ran.code == 4);
  CHECK(ran.out.empty());
  CHECK(line_count(ran.err) == 1);
  CHECK_FALSE(std::filesystem::exists(run));
}

TEST_CASE("a missing GPU is named", "[gpu]") {
  const std::size_t count = devices()["cuda"]["devices"].size();
  if (count == 0) {
    WARN("skipped: there is no GPU here");
    return;
  }
  const TestFolder folder;
  const std::string beyond = "cuda:" + std::to_string(count);
  const Ran ran = run_binary(
      "train '" + folder.config().string() + "' --output '" + (folder.path / "run").string() +
      "' --set 'hardware.backend=\"cuda\"'" + " --set 'hardware.devices=[\"" + beyond + "\"]'");
  INFO(ran.err);
  CHECK(ran.code == 4);
  CHECK(has(ran.err, beyond));
}
