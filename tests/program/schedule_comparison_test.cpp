// `pipetrain schedule` of several schedules, over which mini-batches, and what it notes beside
// them.
#include "places.hpp"
#include "program/schedule_verb.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

TEST_CASE("without --steps a picture shows what its schedule is for") {
  auto options = options_of("pipedream", "json");
  options.microbatches = 1;
  CHECK(document_of(options)["peak_weight_versions"] == nlohmann::json({4, 3, 2, 1}));
  CHECK(document_of(options)["minibatches"] == 6);
  options.microbatches = 8;
  CHECK(document_of(options)["minibatches"] == 3);
  CHECK(document_of(options)["peak_weight_versions"] == nlohmann::json({2, 2, 2, 1}));
  CHECK(notes_of(options).empty());
  options.steps = 1;
  CHECK_THAT(notes_of(options),
             Contains("one mini-batch never fills the pipeline of pipedream: this is 1f1b's") &&
                 Contains("write 3"));
  options.schedules = {"gpipe"};
  options.steps.reset();
  CHECK(document_of(options)["minibatches"] == 1);
  options.schedules = {"interleaved_1f1b"};
  CHECK(document_of(options)["makespan"] == (8 * 2 + 3) * 3);
  CHECK(notes_of(options).empty());
  options.virtual_stages = 1;
  CHECK_THAT(notes_of(options), Contains("is 1f1b with --warmup double"));
}

TEST_CASE("sizes that leave nothing of a schedule, and options without effect on it, are noted") {
  const auto notes = [](const char* name, int stages, int microbatches) {
    auto options = options_of(name, "text");
    options.stages = stages;
    options.microbatches = microbatches;
    return notes_of(options);
  };
  CHECK_THAT(notes("1f1b", 1, 8), Contains("with one stage: nothing waits"));
  CHECK_THAT(notes("zb_h1", 4, 1), Contains("zb_h1 with one micro-batch: hardly"));
  CHECK_THAT(notes("timeprest", 4, 1), Contains("pipedream's order"));
  CHECK(notes("pipedream", 4, 1).empty());
  CHECK(notes("data_parallel", 1, 1).find("one stage") != std::string::npos);
  auto options = options_of("gpipe", "text");
  options.warmup = Warmup::Full;
  options.virtual_stages = 2;
  options.vertical_sync = true;
  CHECK(notes_of(options) ==
        "--warmup has no effect on gpipe\n--vertical-sync has no effect on gpipe\n"
        "--virtual-stages has no effect on gpipe\n");
  options = options_of("zb_h1", "text");
  options.times = "F=1,B=2,W=0";
  CHECK_THAT(notes_of(options), Contains("W (backward (weight half)) takes 0 under zb_h1"));
}

TEST_CASE("several schedules: each picture, then a table; all take the same mini-batches") {
  auto options = options_of("gpipe", "text");
  options.schedules = {"gpipe", "1f1b", "pipedream"};
  options.microbatches = 1;
  const auto text = printed(options);
  for (const char* title : {"gpipe, 4 stages, 1 micro-batch, 6 mini-batches; one column",
                            "\n\n1f1b, 4 stages, 1 micro-batch, 6 mini-batches; one column",
                            "\n\npipedream, 4 stages, 1 micro-batch, 6 mini-batches; one column"})
    CHECK_THAT(text, Contains(title));
  const std::string table =
      "schedule   stages  mini-batches  makespan  bubble  peak activations  peak weight versions\n"
      "gpipe      4       6             72        0.7500  1 1 1 1           1 1 1 1\n"
      "1f1b       4       6             72        0.7500  1 1 1 1           1 1 1 1\n"
      "pipedream  4       6             27        0.3333  4 3 2 1           4 3 2 1\n";
  CHECK(text.ends_with("\n\n" + table));
  CHECK_THAT(notes_of(options), Contains("all take 6 mini-batches"));
  options.summary = true;
  CHECK(printed(options) == table);
  options.format = "versions";
  CHECK_THROWS_WITH(printed(options), Contains("--summary"));
  options.summary = false;
  CHECK_THAT(printed(options), Contains("gpipe, 4") && Contains("\n\npipedream, 4"));
}

TEST_CASE("several schedules as json are a list, and without the instructions a short one") {
  auto options = options_of("gpipe", "json");
  options.schedules = {"gpipe", "zb_v"};
  auto list = document_of(options);
  REQUIRE(list.size() == 2);
  CHECK(list[0]["schedule"] == "gpipe");
  CHECK(list[1]["schedule"] == "zb_v");
  CHECK(list[1]["workers"].size() == 4);
  CHECK_THAT(notes_of(options), Contains("gpipe 4, zb_v 8; compare bubbles"));
  options.summary = true;
  list = document_of(options);
  CHECK_FALSE(list[0].contains("workers"));
  CHECK(list[0]["makespan"] == 33);
  options.schedules = {"gpipe"};
  CHECK(document_of(options)["makespan"] == 33);
  for (const char* format : {"csv", "trace"}) {
    options = options_of("gpipe", format);
    options.schedules = {"gpipe", "1f1b"};
    CHECK_THROWS_WITH(printed(options), Contains("name one of: gpipe, 1f1b"));
  }
}

TEST_CASE("svg: several schedules are one under the other, over one time axis") {
  auto options = options_of("gpipe", "svg");
  const std::string alone = printed(options);
  options.schedules = {"gpipe", "chimera"};
  const std::string sheet = printed(options);
  const auto count = [](const std::string& text, const std::string& what) {
    int found = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count(sheet, "<svg ") == 1);
  CHECK(count(sheet, "class=\"title\"") == 2);
  CHECK(count(sheet, "class=\"row\"") == 8);
  CHECK(count(sheet, "class=\"axis\"") == count(alone, "class=\"axis\""));  // of the longer one
  CHECK(count(sheet, ">forward</text>") == 1);
  CHECK(count(sheet, ">second pipeline, the other direction</text>") == 1);
}

TEST_CASE("an order from a file is compared with schedules, over its own mini-batches") {
  const std::string file = source_tree() / "configs/orders/two-and-two.csv";
  auto options = options_of(file, "json");
  options.schedules = {file, "1f1b", "pipedream"};
  options.stages = 2;
  options.microbatches = 4;
  const auto list = document_of(options);
  CHECK(list[0]["makespan"] == 15);
  CHECK(list[0]["minibatches"] == 1);
  CHECK(list[1]["minibatches"] == 3);
  CHECK_THAT(notes_of(options), Contains("two-and-two.csv 1, 1f1b 3, pipedream 3"));
  options.times = "B=8";
  options.schedules = {"pipedream", "timeprest"};
  CHECK_THAT(notes_of(options), Contains("whole mini-batch under timeprest"));
}
