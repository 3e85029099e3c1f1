// on_nonfinite: an update that is left out is reported in its step, in the end and on the console;
// one that is not ends the run.
#include <limits>

#include "catch.hpp"
#include "run_folder.hpp"

namespace {

std::string npy(const std::string& type, const std::string& shape, const std::string& elements) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\0\x76\0", 10) + header + "\n" + elements;
}

// 8 samples of which the fifth is infinite: in file order, the third mini-batch of 2.
void write_data(const TestFolder& folder) {
  std::vector<float> x(32, 0.5f);
  x[17] = std::numeric_limits<float>::infinity();
  folder.write("x.npy", npy("<f4", "(8, 4)", {reinterpret_cast<const char*>(x.data()), 128}));
  folder.write("y.npy", npy("<i4", "(8,)", std::string(32, '\0')));
  folder.write("bad.toml", R"([model]
input = { shape = [4] }
[[model.layers]]
name = "fc"
kind = "linear"
out_features = 3
[data]
kind = "npy"
train_inputs = "x.npy"
train_labels = "y.npy"
batch_size = 2
shuffle = false
[training]
epochs = 3
)");
}

}  // namespace

TEST_CASE("skip: three updates are left out, and counted") {
  const TestFolder folder;
  write_data(folder);
  const auto run = folder.path / "run";
  const Ran ran = run_binary("train " + (folder.path / "bad.toml").string() + " --output " +
                             run.string() + " --set training.on_nonfinite=skip");
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(has(ran.out, "3 updates skipped: gradients not finite"));
  std::vector<int> skipped;
  for (const nlohmann::json& event : events_of(run)) {
    if (event["event"] == "step" && event.value("skipped", false)) skipped.push_back(event["step"]);
    if (event["event"] == "end") CHECK(event["skipped"] == 3);
  }
  CHECK(skipped == std::vector<int>{3, 7, 11});
}

TEST_CASE("stop: exit code 5, and the message is in metrics.jsonl too") {
  const TestFolder folder;
  write_data(folder);
  const auto run = folder.path / "run";
  const Ran ran =
      run_binary("train " + (folder.path / "bad.toml").string() + " --output " + run.string());
  CHECK(ran.code == 5);
  INFO(ran.err);
  CHECK(has(ran.err, "diverged at step 3"));
  CHECK(has(ran.err, "fc.weight, layer \"fc\" on stage 0"));
  CHECK(has(ran.err, "training sample 4"));
  const nlohmann::json last = events_of(run).back();
  CHECK(last["event"] == "error");
  CHECK(last["exit_code"] == 5);
  CHECK(has(last["message"], "layer \"fc\""));
}
