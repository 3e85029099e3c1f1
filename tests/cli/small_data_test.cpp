// Data sets smaller than what a pipeline holds: a last mini-batch with fewer samples than
// micro-batches, a mini-batch larger than the data, one sample to validate on four stages.
#include "catch.hpp"
#include "run_folder.hpp"

namespace {

struct Result {
  std::string weights;
  std::vector<nlohmann::json> samples, validations;
  bool operator==(const Result&) const = default;
};

Result train(const TestFolder& folder, const std::string& options) {
  const std::filesystem::path run = folder.path / "run";
  const Ran ran =
      run_binary("train " + folder.config().string() + " --quiet --resume never --output " +
                 run.string() + " --set data.drop_last=false --set pipeline.split='\"auto\"' " +
                 "--set data.validation_samples=1 " + options);
  INFO(options << "\n" << ran.err);
  REQUIRE(ran.code == 0);
  Result result{bytes_of(run / "model.safetensors"), {}, {}};
  for (const nlohmann::json& event : events_of(run)) {
    if (event["event"] == "step") result.samples.push_back(event["samples"]);
    if (event["event"] == "validation") result.validations.push_back(event["loss"]);
  }
  return result;
}

}  // namespace

TEST_CASE(
    "a last mini-batch with fewer samples than micro-batches: any number of stages, same bits") {
  const TestFolder folder;
  // 7 samples in mini-batches of 4 + 3, cut in 4 parts of which one is empty.
  const std::string data =
      "--set data.train_samples=7 --set data.batch_size=4 --set pipeline.microbatches=4 ";
  const Result one = train(folder, data + "--set pipeline.stages=1");
  CHECK(one.samples == std::vector<nlohmann::json>{4, 3, 4, 3});
  CHECK(one.validations.size() == 2);
  for (const std::string stages : {"2", "4"})
    for (const std::string workers : {"threads", "inline"})
      CHECK(train(folder, data + "--set pipeline.stages=" + stages +
                              " --set hardware.workers=" + workers) == one);
}

TEST_CASE("a mini-batch larger than the data holds all of them") {
  const TestFolder folder;
  const Result result = train(folder,
                              "--set data.train_samples=7 --set data.batch_size=64 "
                              "--set pipeline.microbatches=16 --set pipeline.stages=3");
  CHECK(result.samples == std::vector<nlohmann::json>{7, 7});
}
