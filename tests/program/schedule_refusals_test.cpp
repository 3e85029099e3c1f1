// What `pipetrain schedule` refuses, before it makes or prints anything.
#include "base/error.hpp"
#include "program/schedule_verb.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

TEST_CASE("sizes too large for memory are refused before anything is made") {
  auto options = options_of("1f1b", "json");
  options.stages = 1;
  options.microbatches = 65536;
  options.steps = 32768;
  CHECK_THROWS_WITH(printed(options), Contains("--microbatches 65536 and 32768 mini-batches") &&
                                          Contains("1.5e+10 instructions") &&
                                          Contains("4 GiB is the limit"));
  options.schedules = {"interleaved_1f1b"};
  options.virtual_stages = 1024;
  options.stages = 1024;
  CHECK_THROWS_AS(printed(options), UsageError);
}

TEST_CASE("a request that a schedule cannot meet is refused with the rule and what to write") {
  const auto refusal = [](const char* name, int stages, int microbatches) {
    auto options = options_of(name, "text");
    options.stages = stages;
    options.microbatches = microbatches;
    try {
      printed(options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK_THAT(refusal("interleaved_1f1b", 4, 6),
             Contains("multiple of --stages 4") && Contains("--microbatches 4 or 8"));
  CHECK_THAT(refusal("interleaved_1f1b", 4, 3), Contains("write --microbatches 4"));
  CHECK_THAT(refusal("chimera", 3, 6), Contains("even") && Contains("--stages 2 or 4"));
  CHECK_THAT(refusal("chimera", 1, 6), Contains("write --stages 2"));
  CHECK_THAT(refusal("chimera", 4, 7), Contains("even") && Contains("--microbatches 6 or 8"));
  CHECK_THAT(refusal("chimera", 4, 1), Contains("write --microbatches 2"));
  CHECK_THAT(refusal("data_parallel", 3, 4),
             Contains("multiple of --stages 3") && Contains("--microbatches 3 or 6"));
  CHECK(refusal("chimera", 4, 6) == "nothing");
  CHECK(refusal("zb_v", 4, 1) == "nothing");
}

TEST_CASE("mistakes are refused before anything is printed") {
  CHECK_THROWS_WITH(printed(options_of("1fb1", "text")), Contains("did you mean '1f1b'?"));
  CHECK_THROWS_WITH(printed(options_of("banana", "text")),
                    Contains("use one of: gpipe, ") && !Contains("did you mean"));
  CHECK_THROWS_WITH(printed(options_of("auto", "text")), Contains("there is no schedule `auto`"));
  CHECK_THROWS_WITH(printed(options_of("1f1b", "pdf")), Contains("svg"));
  auto options = options_of("1f1b", "text");
  options.microbatches = 0;
  CHECK_THROWS_WITH(printed(options), Contains("--microbatches 0: it must be at least 1"));
  options.microbatches = 1;
  options.times = "F";
  CHECK_THROWS_AS(printed(options), UsageError);
}
