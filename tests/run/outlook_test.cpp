// What is known about a training before its first step.
#include "run/outlook.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "run/run_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

struct Outlook {
  explicit Outlook(const std::vector<std::string>& sets = {})
      : rig(sets),
        backend(make_backend("reference")),
        compiled(compile_pipeline(pipeline_input(rig.config(), rig.graph(), rig.plan(), *backend,
                                                 rig.data(), rig.length()))) {}
  RunRig rig;
  std::unique_ptr<Backend> backend;
  CompiledPipeline compiled;
};

}  // namespace

TEST_CASE("the outlook predicts the bytes that the pipeline then holds", "[outlook]") {
  Outlook o({"validation.every_steps=2"});
  const auto json = outlook(o.compiled);
  CHECK(json["model"] == "small");
  CHECK(json["parameters"] == 6 * 8 + 8 + 8 * 3 + 3);
  CHECK(json["schedule"] == "gpipe");
  CHECK(json["stages"].size() == 2);
  const auto held = o.rig.pipeline().memory();
  REQUIRE(held.size() == 2);
  for (std::size_t s = 0; s < held.size(); ++s) {
    CHECK(json["memory_bytes"][s] == held[s].training.total());
    CHECK(json["validation_memory_bytes"][s] == held[s].validation.total());
    CHECK(held[s].validation.total() > 0);
  }
}

TEST_CASE("without validation no memory is planned for it", "[outlook]") {
  const Outlook o;
  const nlohmann::ordered_json shown = outlook(o.compiled);
  REQUIRE(shown["validation_memory_bytes"].size() == 2);
  for (const auto& bytes : shown["validation_memory_bytes"]) CHECK(bytes == 0);
}

TEST_CASE("a stage that does not fit into the memory's limit is refused", "[outlook]") {
  const Outlook fits({"hardware.memory_limit=\"1MiB\""});
  CHECK_NOTHROW(outlook(fits.compiled));
  const Outlook none({"hardware.memory_limit=\"1KiB\""});
  CHECK_THROWS_WITH(outlook(none.compiled),
                    Contains("hardware.memory_limit = 1.0 KiB is too small: stage 1 needs") &&
                        Contains("more stages, smaller micro-batches"));
}

TEST_CASE("a dry run shows data, length, layers and program", "[outlook]") {
  const Outlook o;
  const auto json = outlook_details(o.compiled, o.rig.data(), o.rig.length());
  CHECK(json["train_samples"] == 32);
  CHECK(json["validation_samples"] == 16);
  CHECK(json["steps"] == 4);
  CHECK(json["layers"].size() == 3);
  CHECK(json["layers"][2]["stage"] == 1);
  CHECK(json["layers"][2]["parameters"]["fc2.weight"] == std::vector<int>{3, 8});
  std::size_t sum = 0;
  const auto planned = outlook(o.compiled);
  for (const auto& [use, bytes] : planned["memory"][0].items()) sum += bytes.get<std::size_t>();
  CHECK(sum == planned["memory_bytes"][0]);
  const std::string text = outlook_text(o.compiled, o.rig.data(), o.rig.length());
  CHECK_THAT(text,
             Contains("fc2.weight [3, 8]") && Contains("mini-batches of 8: 4 an epoch, 4 in"));
  CHECK_THAT(text, Contains(json["program"].back().get<std::string>()));
}
