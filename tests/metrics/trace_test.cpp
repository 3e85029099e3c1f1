// trace.json: slices on the tracks of their stage, arrows along the micro-batches.
#include "metrics/trace.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "catch.hpp"
#include "program/text.hpp"

using namespace pipetrain;
using nlohmann::json;

namespace {

const Program& two_stages() {
  static const Program program = parse_program(
      "program stages=2 microbatches=1 minibatches=1\n"
      "0: 0L0 0F0 0SA0 0RG0 0B0 0U0@1\n"
      "1: 1RA0 1F0 1B0 1SG0 1U0@1\n");
  return program;
}

// As workers would, one instruction after the other.
void run(Trace& trace, std::int64_t step) {
  const auto& [first, second] = std::tie(two_stages().workers[0], two_stages().workers[1]);
  const auto one = [&](const Instruction& i) {
    trace.track(i.stage).begin(step, i);
    trace.track(i.stage).end();
  };
  for (int i : {0, 1, 2}) one(first[static_cast<std::size_t>(i)]);
  for (int i : {0, 1, 2, 3, 4}) one(second[static_cast<std::size_t>(i)]);
  for (int i : {3, 4, 5}) one(first[static_cast<std::size_t>(i)]);
}

json events_of(const Trace& trace, const std::string& phase) {
  const json document = json::parse(trace.text());
  json found = json::array();
  for (const json& event : document["traceEvents"])
    if (event["ph"] == phase) found.push_back(event);
  return found;
}

}  // namespace

TEST_CASE("only the steps that are asked for are recorded", "[trace]") {
  Trace trace({.first = 2, .last = 3}, two_stages());
  run(trace, 1);
  CHECK(trace.empty());
  for (int step = 2; step < 6; ++step) run(trace, step);
  CHECK(trace.track({0}).records().size() == 12);
  CHECK(trace.track({1}).records().size() == 10);
}

TEST_CASE("recording takes no more memory than at the start", "[trace]") {
  Trace trace({.first = 1, .last = 3}, two_stages());
  const auto* const begin = trace.track({0}).records().data();
  for (int step = 1; step < 5; ++step) run(trace, step);
  CHECK(trace.track({0}).records().data() == begin);
}

TEST_CASE("each instruction is a slice on its track", "[trace]") {
  Trace trace({.first = 1, .last = 1}, two_stages());
  run(trace, 1);
  std::map<std::string, std::pair<int, int>> tracks;
  for (const json& slice : events_of(trace, "X")) {
    CHECK(slice["dur"].get<double>() >= 0);
    CHECK(slice["ts"].get<double>() >= 0);
    CHECK(slice["args"]["step"] == 1);
    tracks[slice["args"]["instruction"]] = {slice["pid"], slice["tid"]};
  }
  const std::map<std::string, std::pair<int, int>> expected = {
      {"0L0", {0, 2}}, {"0F0", {0, 0}},   {"0SA0", {0, 1}}, {"0RG0", {0, 2}},
      {"0B0", {0, 0}}, {"0U0@1", {0, 3}}, {"1RA0", {1, 2}}, {"1F0", {1, 0}},
      {"1B0", {1, 0}}, {"1SG0", {1, 1}},  {"1U0@1", {1, 3}}};
  CHECK(tracks == expected);
  const json first = events_of(trace, "X").at(1);
  CHECK(first["name"] == "F0");
  CHECK(first["cat"] == "forward");
  CHECK(first["args"]["version"] == 0);
  CHECK(first["args"]["microbatch"] == 0);
}

TEST_CASE("tracks and groups have names", "[trace]") {
  const Trace trace({.first = 1, .last = 1}, two_stages());
  std::vector<std::string> names;
  for (const json& event : events_of(trace, "M"))
    if (event["args"].contains("name")) names.push_back(event["args"]["name"]);
  CHECK(names == std::vector<std::string>{"stage 0", "compute", "send", "receive", "update",
                                          "stage 1", "compute", "send", "receive", "update"});
}

TEST_CASE("arrows go from a send through the receive to what reads it", "[trace]") {
  Trace trace({.first = 1, .last = 2}, two_stages());
  run(trace, 1);
  run(trace, 2);
  std::map<int, std::vector<json>> arrows;
  for (const char* phase : {"s", "t", "f"})
    for (const json& event : events_of(trace, phase)) arrows[event["id"]].push_back(event);
  REQUIRE(arrows.size() == 4);  // two a step
  for (const auto& [id, points] : arrows) {
    REQUIRE(points.size() == 3);
    const bool forward = points[0]["name"] == "activation";
    CHECK(points[0]["pid"] == (forward ? 0 : 1));
    CHECK(points[0]["tid"] == 1);
    CHECK(points[1]["pid"] == (forward ? 1 : 0));
    CHECK(points[1]["tid"] == 2);
    CHECK(points[2]["pid"] == (forward ? 1 : 0));
    CHECK(points[2]["tid"] == 0);
    CHECK(points[2]["bp"] == "e");
    CHECK(points[0]["ts"] <= points[1]["ts"]);
    CHECK(points[1]["ts"] <= points[2]["ts"]);
  }
}

TEST_CASE("an arrow to an instruction that a failure cut off is left out", "[trace]") {
  Trace trace({.first = 1, .last = 1}, two_stages());
  const Instruction& send = two_stages().workers[0][2];
  trace.track({0}).begin(1, send);
  trace.track({0}).end();
  trace.track({1}).begin(1, two_stages().workers[1][0]);  // waits forever
  CHECK(events_of(trace, "X").size() == 1);
  CHECK(events_of(trace, "s").empty());
}

TEST_CASE("a wait of a microsecond or more is a slice in that of its instruction", "[trace]") {
  Trace trace({.first = 1, .last = 1}, two_stages());
  TraceTrack& track = trace.track({0});
  for (const std::size_t at : {0u, 1u, 3u}) {  // L, F, and RG, which is a wait itself
    track.begin(1, two_stages().workers[0][at]);
    const std::int64_t begin = now_ns();
    track.waited(begin, begin + (at == 1 ? 999 : 1000));
    track.end();
  }
  const json slices = events_of(trace, "X");
  REQUIRE(slices.size() == 4);  // none in RG, which is itself the wait
  CHECK(slices[0]["name"] == "waiting");
  CHECK(slices[0]["dur"] == 1.0);
  CHECK(slices[0]["tid"] == 2);
  CHECK(slices[0]["args"]["instruction"] == "0L0");
  CHECK(slices[1]["name"] == "L0");
  CHECK(slices[2]["name"] == "F0");
  CHECK(slices[3]["name"] == "RG0");
}

TEST_CASE("a receive begins with its send; until then it waits", "[trace]") {
  Trace trace({.first = 1, .last = 1}, two_stages());
  const Instruction& send = two_stages().workers[0][2];
  trace.track({1}).begin(1, two_stages().workers[1][0]);
  for (const std::int64_t start = now_ns(); now_ns() < start + 2000;) {
  }
  trace.track({0}).begin(1, send);
  trace.track({0}).end();
  trace.track({1}).end();
  const json slices = events_of(trace, "X");
  REQUIRE(slices.size() == 3);
  CHECK(slices[0]["name"] == "SA0");
  CHECK(slices[1]["name"] == "waiting");
  CHECK(slices[1]["ts"] == 0.0);
  CHECK(slices[1]["dur"] == slices[0]["ts"]);
  CHECK(slices[2]["name"] == "RA0");
  CHECK(slices[2]["ts"] == slices[0]["ts"]);
  CHECK(slices[2]["tid"] == slices[1]["tid"]);
}

TEST_CASE("what another rank recorded is inserted once, in this rank's time", "[trace]") {
  Trace whole({.first = 1, .last = 2}, two_stages()), other({.first = 1, .last = 2}, two_stages());
  run(whole, 1);
  const std::vector<TraceRecord> all = whole.take();
  CHECK(whole.empty());
  std::vector<TraceRecord> first, second;
  for (const TraceRecord& r : all) (r.group == 0 ? first : second).push_back(r);
  whole.add(first, 0);
  other.add(second, -5000);  // as its host's clock has it
  const std::vector<TraceRecord> theirs = other.take();
  CHECK(other.take().empty());
  whole.add(theirs, 5000);
  REQUIRE(whole.track({1}).records().size() == second.size());
  CHECK(whole.track({1}).records()[0].begin_ns == second[0].begin_ns);
  CHECK(events_of(whole, "X").size() == all.size());
  CHECK(events_of(whole, "s").size() == 2);
}

TEST_CASE("a receive that another clock puts before its send has no negative length", "[trace]") {
  Trace trace({.first = 1, .last = 1}, two_stages());
  run(trace, 1);
  std::vector<TraceRecord> records = trace.take();
  for (TraceRecord& r : records)
    if (r.group == 1) r.begin_ns -= 1'000'000'000, r.end_ns -= 1'000'000'000;
  trace.add(records, 0);
  for (const json& slice : events_of(trace, "X")) CHECK(slice["dur"].get<double>() >= 0);
}
