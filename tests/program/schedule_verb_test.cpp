// `pipetrain schedule`, from its options to what it prints.
#include <map>

#include "places.hpp"
#include "program/schedule_verb.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

TEST_CASE("json: the fixed names, and instruction texts that make the program again") {
  auto options = options_of("1f1b", "json");
  options.times = "F=1,B=2";
  const auto document = nlohmann::json::parse(printed(options));
  CHECK(document["schedule"] == "1f1b");
  CHECK(document["minibatches"] == 1);
  CHECK(document["makespan"] == 33);
  CHECK(document["bubble"].get<double>() == Approx(3.0 / 11));
  CHECK(document["idle"] == nlohmann::json({9, 6, 3, 0}));
  CHECK(document["peak_activations"] == nlohmann::json({4, 3, 2, 1}));
  CHECK(document["peak_weight_versions"] == nlohmann::json({1, 1, 1, 1}));
  Program program;
  program.stages = 4;
  program.microbatches = 8;
  for (const auto& list : document["workers"]) {
    program.workers.emplace_back();
    for (const auto& text : list)
      program.workers.back().push_back(parse_instruction(text.get<std::string>()));
  }
  CHECK(program ==
        make_program({.schedule = "1f1b", .stages = 4, .microbatches = 8, .early_sends = true}));
}

TEST_CASE("text: times are whole where they are, and what is only rounding is 0") {
  auto options = options_of("1f1b", "text");
  options.times = "F=0.001,B=0.002";
  CHECK(printed(options).find("idle                  0.009 0.006 0.003 0  (per worker") !=
        std::string::npos);
  options.times = "F=1000000,B=3000000";
  CHECK(printed(options).find("makespan              44000000\n") != std::string::npos);
}

TEST_CASE("text: a picture of dashes alone is refused, its numbers are not") {
  auto options = options_of("1f1b", "text");
  options.times = "F=1000000,B=3";
  CHECK_THROWS_WITH(printed(options), Contains("columns wide") && Contains("--summary"));
  options.summary = true;
  CHECK(printed(options).find("110000") != std::string::npos);
}

TEST_CASE("json: lists and numbers of every schedule are those of its program and simulation") {
  for (const Schedule& row : schedules()) {
    auto options = options_of(std::string(row.name), "json");
    options.stages = 4;
    options.microbatches = 8;
    options.times = "F=1,B=2,transfer=0.25,slowdown=1/2/1/1,jitter=0.2";
    const auto document = document_of(options);
    CAPTURE(row.name);
    const Drawing drawn = drawings_of(options_as_text(options)).front();
    CHECK(document["minibatches"] == drawn.shape.minibatches);
    CHECK(document["makespan"] == drawn.picture->line.makespan);
    CHECK(document["bubble"] == drawn.picture->line.bubble);
    CHECK(document["idle"] == nlohmann::json(drawn.picture->line.idle));
    CHECK(document["peak_weight_versions"] ==
          nlohmann::json(drawn.picture->line.peak_weight_versions));
    for (std::size_t w = 0; w < 4; ++w)
      for (std::size_t at = 0; at < drawn.picture->program.workers[w].size(); ++at)
        if (document["workers"][w][at] != to_text(drawn.picture->program.workers[w][at]))
          FAIL_CHECK("worker " << w << ", instruction " << at);
    options.summary = true;
    auto alone = document;
    alone.erase("workers");
    CHECK(document_of(options) == alone);
  }
}

TEST_CASE("without --times forward takes 1 and backward 2") {
  CHECK(nlohmann::json::parse(printed(options_of("gpipe", "json")))["makespan"] == 33);
}

TEST_CASE("csv has one row per instruction") {
  auto options = options_of("1f1b", "csv");
  options.stages = options.microbatches = 1;
  options.steps = 2;
  CHECK(
      printed(options) ==
      "worker,start,end,instruction,op,stage,microbatch,minibatch,version\n"
      "0,0,0,0L0,L,0,0,0,\n0,0,1,0F0,F,0,0,0,0\n0,1,3,0B0,B,0,0,0,0\n0,3,3,0U0@1,U,0,0,0,1\n"
      "0,3,3,0L1,L,0,1,1,\n0,3,4,0F1@1,F,0,1,1,1\n0,4,6,0B1@1,B,0,1,1,1\n0,6,6,0U1@2,U,0,1,1,2\n");
}

TEST_CASE("trace: a thread per worker, complete events in microseconds") {
  const auto document = nlohmann::json::parse(printed(options_of("1f1b", "trace")));
  int forwards = 0;
  double end = 0;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] != "X") continue;
    forwards += event["cat"] == "forward";
    end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
  }
  CHECK(forwards == 4 * 8);
  CHECK(end == 33000);
}

TEST_CASE("trace: no two slices of a track overlap, even if a worker does two things at once") {
  for (const char* name : {"1f1b_sno", "fbp_as"}) {
    auto options = options_of(name, "trace");
    options.times = "F=1,B=2,transfer=0.5,jitter=0.1";
    const auto document = nlohmann::json::parse(printed(options));
    std::map<int, double> free_at;  // per track, whose slices come in the order of time
    std::size_t tracks = 0, computed = 0;
    CAPTURE(name);
    for (const auto& event : document["traceEvents"]) {
      tracks += event["name"] == "thread_name";
      if (event["ph"] != "X" || event["dur"] == 0) continue;
      double& free = free_at[event["tid"]];
      CHECK(event["ts"].get<double>() >= free - 1e-6);
      free = event["ts"].get<double>() + event["dur"].get<double>();
      computed += event["cat"] == "forward" || event["cat"] == "backward";
    }
    CHECK(tracks == 8);
    CHECK(computed == 4 * 16);
  }
}

TEST_CASE("svg: a worker that forwards and backwards share has a row for each") {
  const auto svg = printed(options_of("fbp_as", "svg"));
  CHECK_THAT(svg, Contains(">stage 0 F</text>") && Contains(">stage 3 B</text>"));
  CHECK_THAT(printed(options_of("1f1b", "svg")), !Contains("stage 0 F"));
}

TEST_CASE("svg: a box with a number per compute instruction, a tick per update") {
  const auto svg = printed(options_of("gpipe", "svg"));
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (auto at = svg.find(what); at != svg.npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count("class=\"number\"") == 4 * 16);
  CHECK(count("class=\"update\"") == 4 + 1);  // one in the legend
  CHECK(count("<g>") == count("</g>"));
}

TEST_CASE(
    "svg: light or dark; later chunks, the other direction and other mini-batches are marked") {
  const auto plain = printed(options_of("1f1b", "svg"));
  CHECK_THAT(plain, Contains("prefers-color-scheme:dark"));
  CHECK_THAT(plain, !Contains("class=\"bar\"") && !Contains("class=\"odd\""));
  CHECK_THAT(printed(options_of("zb_v", "svg")),
             Contains("class=\"bar\"") && Contains(">stage of a later chunk</text>"));
  auto options = options_of("chimera", "svg");
  options.microbatches = 4;
  options.steps = 2;
  CHECK_THAT(printed(options), Contains(">second pipeline, the other direction</text>") &&
                                   Contains("class=\"odd\"") &&
                                   Contains(">lighter: every other mini-batch</text>"));
}

TEST_CASE("svg: boxes name their versions if these differ from the mini-batch's number") {
  auto options = options_of("pipedream", "svg");
  options.steps = 4;
  CHECK_THAT(printed(options), Contains(">v1</text>") && Contains("v: the stage's version"));
  options.schedules = {"pipemare"};
  CHECK_THAT(printed(options), Contains("d</text>") || Contains("\u03b4</text>"));
  options.schedules = {"1f1b"};
  CHECK_THAT(printed(options), !Contains("class=\"version\" x"));
}

TEST_CASE("a csv file with an order of one's own is drawn like a schedule") {
  auto options = options_of((source_tree() / "configs/orders/two-and-two.csv").string(), "json");
  options.stages = 2;
  options.microbatches = 4;
  options.times = "F=1,B=2";
  CHECK(nlohmann::json::parse(printed(options))["makespan"] == 15);
  options.stages = 3;
  CHECK_THROWS_WITH(printed(options), Contains("two-and-two.csv") && Contains("--stages 2"));
  options.schedules = {"gone.csv"};
  CHECK_THROWS_WITH(printed(options), Contains("gone.csv: cannot be read"));
}

TEST_CASE("--warmup, --virtual-stages and --vertical-sync reach the schedule") {
  const auto document = [](Options options) { return nlohmann::json::parse(printed(options)); };
  auto options = options_of("1f1b", "json");
  options.warmup = Warmup::Double;
  CHECK(document(options)["peak_activations"] == nlohmann::json({7, 5, 3, 1}));
  options = options_of("interleaved_1f1b", "json");
  options.virtual_stages = 2;
  CHECK(document(options)["makespan"] == (8 * 2 + 3) * 3);
  CHECK(document(options)["peak_activations"] == nlohmann::json({11, 9, 7, 5}));
  options.format = "text";
  CHECK_THAT(printed(options), Contains("8 micro-batches, 2 virtual stages;") &&
                                   Contains("micro-batches times stages in flight"));
  options = options_of("pipedream", "json");
  options.microbatches = 1;
  options.steps = 8;
  CHECK(document(options)["peak_weight_versions"] == nlohmann::json({4, 3, 2, 1}));
  options.vertical_sync = true;
  CHECK(document(options)["peak_weight_versions"] == nlohmann::json({4, 4, 4, 4}));
}

TEST_CASE("--tied shows what a shared parameter costs if nothing drains") {
  auto options = options_of("pipedream", "json");
  options.stages = 4;
  options.microbatches = 1;
  options.steps = 20;
  options.times = "F=1,B=1";
  const auto bubble = [&] {
    return nlohmann::json::parse(printed(options))["bubble"].get<double>();
  };
  const double alone = bubble();
  options.tied = {0, 3};
  CHECK(bubble() > alone + 0.3);
  options.tied = {0, 4};
  CHECK_THROWS_WITH(printed(options), Contains("--tied 4: pipedream has stages 0 to 3 here"));
}

TEST_CASE("backwards that go together take one time for the whole mini-batch, by default 2N") {
  auto options = options_of("timeprest", "json");
  options.stages = 2;
  options.microbatches = 4;
  options.steps = 1;
  options.times = "F=1,B=1";
  CHECK(document_of(options)["makespan"].get<double>() == Approx(4 + 1 + 2));
  options.times.clear();
  CHECK(document_of(options)["makespan"] == 1 + 4 + 2 * 8);
}

TEST_CASE("a time axis without any time is still a picture") {
  auto options = options_of("1f1b", "text");
  options.times = "F=0,B=0";
  CHECK_THAT(printed(options), Contains("makespan              0\n"));
  options.format = "svg";
  CHECK_THAT(printed(options), Contains("</svg>"));
}
