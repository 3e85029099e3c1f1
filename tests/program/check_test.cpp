// One tampered program per rule of check.hpp. Each is well-formed but for one change.
#include "program/check.hpp"

#include <algorithm>

#include "catch.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

const std::string good =
    "program stages=2 microbatches=2 minibatches=2\n"
    "0: 0L0 0F0 0SA0 0L1 0F1 0SA1 0RG0 0B0 0RG1 0B1 0U1@1 "
    "0L2 0F2@1 0SA2 0L3 0F3@1 0SA3 0RG2 0B2@1 0RG3 0B3@1 0U3@2\n"
    "1: 1RA0 1F0 1B0 1SG0 1RA1 1F1 1B1 1SG1 1U1@1 "
    "1RA2 1F2@1 1B2@1 1SG2 1RA3 1F3@1 1B3@1 1SG3 1U3@2\n";

std::string replaced(std::string text, const std::string& old, const std::string& fresh) {
  const auto at = text.find(old);
  REQUIRE(at != text.npos);
  return text.replace(at, old.size(), fresh);
}

// The first diagnostic after `old` became `fresh`, as "rule: message".
std::string refused(const std::string& old, const std::string& fresh, CheckOptions options = {}) {
  const auto found = check(parse_program(replaced(good, old, fresh)), options);
  return found.empty() ? "nothing" : found[0].rule + ": " + found[0].message;
}

}  // namespace

TEST_CASE("the program that the others tamper with is well-formed") {
  CHECK(show(parse_program(good), check(parse_program(good))).find(": ") == std::string::npos);
  CHECK(parse_program(good) == make_program({"1f1b", 2, 2, 2}));
}

TEST_CASE("place: an instruction on a worker that does not hold its stage") {
  CHECK_THAT(refused("0F0 ", "1F0 "), Contains("place: 1F0") && Contains("worker 0"));
}
TEST_CASE("place: a micro-batch or stage that does not exist") {
  CHECK_THAT(refused("0F0 ", "0F4 "), Contains("place: 0F4"));
  CHECK_THAT(refused("0F0 ", "2F0 "), Contains("place: 2F0"));
}
TEST_CASE("place: an instruction twice") {
  CHECK_THAT(refused("0F0 ", "0F0 0F0 "), Contains("0F0 appears twice"));
}
TEST_CASE("place: one worker too few, and a placement out of range") {
  CHECK_THAT(refused("stages=2", "stages=3"), Contains("place"));
  CHECK_THAT(refused("minibatches=2", "minibatches=2 placement=0,2"), Contains("worker 2, of 2"));
  CHECK_THAT(refused("minibatches=2", "minibatches=2 placement=0"), Contains("placement has 1"));
}
TEST_CASE("place: an update of a mini-batch that is not complete there") {
  CHECK_THAT(refused("0U1@1", "0U0@1"), Contains("place: 0U0@1"));
}
TEST_CASE("compute: a forward is missing") {
  CHECK_THAT(refused("1RA1 1F1 ", "1RA1 "), Contains("compute: 1F1 (forward) is missing"));
}
TEST_CASE("compute: a backward is missing, or its weight half") {
  CHECK_THAT(refused("1B1 1SG1 ", "1SG1 "), Contains("compute: 1B1 (backward) is missing"));
  CHECK_THAT(refused("1B1 1SG1 ", "1I1 1SG1 "), Contains("1W1") && Contains("is missing"));
}
TEST_CASE("compute: a backward both split and whole") {
  CHECK_THAT(refused("1B1 ", "1B1 1I1 1W1 "), Contains("goes backward twice"));
}
TEST_CASE("compute: a backward before its forward") {
  CHECK_THAT(refused("1F1 1B1 ", "1B1 1F1 "), Contains("compute: 1B1 comes before 1F1"));
}
TEST_CASE("compute: a weight half before its input half") {
  CHECK_THAT(refused("1B1 ", "1W1 1I1 "), Contains("compute: 1W1 comes before 1I1"));
}
TEST_CASE("compute: a recomputation after its backward") {
  CHECK_THAT(refused("1B1 ", "1R1 1B1 "), Contains("compute: 0R0 (recompute) is missing"));
  CHECK(check(parse_program("program stages=1 microbatches=1 minibatches=1\n"
                            "0: 0L0 0F0 0B0 0R0 0U0@1\n"))[0]
            .message == "0B0 comes before 0R0 (recompute)");
}
TEST_CASE("compute: heads, tails and fused updates are backwards and updates") {
  const std::string lowered = to_text(make_program({.schedule = "1f1b",
                                                    .stages = 2,
                                                    .microbatches = 2,
                                                    .minibatches = 2,
                                                    .early_sends = true,
                                                    .fused_updates = true}));
  const auto found = [&](const std::string& old, const std::string& fresh) {
    const auto all = check(parse_program(replaced(lowered, old, fresh)));
    return all.empty() ? "nothing" : all[0].rule + ": " + all[0].message;
  };
  CHECK(found("1BH0", "1BH0") == "nothing");
  CHECK_THAT(found("1BT0 ", ""), Contains("compute: 1W0 (backward (weight half)) is missing"));
  CHECK_THAT(found("1BT0 1RA1 1F1", "1RA1 1F1 1BT0"),
             Contains("compute: 1RA1 is between a head and its tail"));
  CHECK_THAT(found("1BH0 1SG0 1BT0", "1I0 1SG0 1BT0"), Contains("1BT0 does not follow its head"));
  CHECK_THAT(found("1TU1", "1BT1"), Contains("update: 1U1 (update) is missing"));
  CHECK_THAT(found("0BU1", "0BU1 0U1@1"), Contains("place: 0U1@1 appears twice"));
}
TEST_CASE("input: stage 0 forwards what it has not loaded") {
  CHECK_THAT(refused("0L1 ", ""), Contains("input: 0F1 needs 0L1"));
}
TEST_CASE("input: a receive is missing, or a send") {
  CHECK_THAT(refused("1RA1 ", ""), Contains("input: 1F1 needs 1RA1"));
  CHECK_THAT(refused("0RG1 ", ""), Contains("input: 0B1 needs 0RG1"));
  CHECK_THAT(refused("0SA1 ", ""), Contains("input: 0SA1 (send activation) is missing"));
  CHECK_THAT(refused("1SG1 ", ""), Contains("input: 1SG1 (send gradient) is missing"));
}
TEST_CASE("input: a send before what makes it") {
  CHECK_THAT(refused("0F1 0SA1 ", "0SA1 0F1 "), Contains("input: 0SA1 comes before 0F1"));
  CHECK_THAT(refused("1B1 1SG1 ", "1SG1 1B1 "), Contains("input: 1SG1 comes before 1B1"));
}
TEST_CASE("input: the outer stages have no transfers outwards") {
  CHECK_THAT(refused("0F0 ", "0RA0 0F0 "), Contains("stage 0 of 2 has no receive activation"));
  CHECK_THAT(refused("1F0 ", "1F0 1SA0 "), Contains("stage 1 of 2 has no send activation"));
  CHECK_THAT(refused("1F0 ", "1L0 1F0 "), Contains("stage 1 of 2 has no load input"));
}
TEST_CASE("order: a channel is read in another order than it is written") {
  CHECK_THAT(refused("1RA0 1F0 1B0 1SG0 1RA1 1F1 1B1 1SG1", "1RA1 1F1 1B1 1SG1 1RA0 1F0 1B0 1SG0"),
             Contains("order: 0RG0 is sent micro-batch 1 instead"));
}
TEST_CASE("update: before the last backward of its mini-batch") {
  CHECK_THAT(refused("0RG1 0B1 0U1@1", "0U1@1 0RG1 0B1"),
             Contains("update: 0U1@1 comes before 0B1"));
}
TEST_CASE("update: it is missing, or makes another version than its mini-batch's") {
  CHECK_THAT(refused("0U3@2", ""), Contains("update: 0U3 (update) is missing"));
  CHECK_THAT(refused("0U3@2", "0U3@3"), Contains("update: 0U3@3 makes version 2"));
}
TEST_CASE("update: mini-batches in turn") {
  const auto text = replaced(replaced(good, "0U1@1 ", ""), "0U3@2", "0U3@2 0U1@1");
  const auto program = parse_program(text);
  CHECK_THAT(show(program, check(program)), Contains("mini-batch 1 updates too early"));
}
TEST_CASE("update: the next mini-batch's gradients come after it") {
  const auto found =
      check(parse_program("program stages=1 microbatches=1 minibatches=2\n"
                          "0: 0L0 0F0 0L1 0F1 0B0 0B1 0U0@1 0U1@2\n"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "0B1 of the next mini-batch comes before 0U0@1");
}
TEST_CASE("update: once a stage hands in, it does so for every mini-batch") {
  CHECK_THAT(refused("0U1@1", "0Y1 0U1@1"), Contains("update: 0U3@2 needs 0Y3"));
  CHECK_THAT(refused("0RG1 0B1 0U1@1", "0Y1 0RG1 0B1 0U1@1"), Contains("comes before 0B1"));
}
TEST_CASE("update: the copies of a stage sum their gradients before it") {
  const std::string head = "program stages=1 microbatches=2 minibatches=1 placement=0+1\n";
  const auto together = head + "0: 0L0 0F0 0B0 0Y1 0U1@1\n1: 0L1 0F1 0B1 0Y1 0U1@1\n";
  CHECK(check(parse_program(together)).empty());
  const auto apart = check(parse_program(head + "0: 0L0 0F0 0B0 0U1@1\n1: 0L1 0F1 0B1 0U1@1\n"));
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].message == "0U1@1 needs 0Y1 before it");
}
TEST_CASE("version: one that is not made yet") {
  CHECK_THAT(refused("0F2@1", "0F2@2"),
             Contains("version: 0F2@2 reads version 2, but the newest is 1"));
  CHECK_THAT(refused("0B2@1", "0B2@1~2*0.5"), Contains("version: 0B2@1~2*0.5"));
}
TEST_CASE("version: more held than the store has room for") {
  const CheckOptions one{.weight_versions = {1, 1}};
  CHECK(check(parse_program(good), one).empty());
  CHECK_THAT(refused("0B3@1", "0B3", one),
             Contains("version: stage 0 holds 2 versions, but may hold 1"));
  CHECK(refused("0B3@1", "0B3", {.weight_versions = {2, 1}}) == "nothing");
}
TEST_CASE("deadlock: both wait for the other") {
  const auto found = check(
      parse_program(replaced(good, "0SA0 0L1 0F1 0SA1 0RG0 0B0 ", "0RG0 0L1 0F1 0SA0 0SA1 0B0 ")));
  REQUIRE(found.size() == 2);
  CHECK(found[0].message == "worker 0 waits forever at 0RG0 (receive gradient): nothing arrives");
  CHECK(found[1].message == "worker 1 waits forever at 1RA0 (receive activation): nothing arrives");
}
TEST_CASE("deadlock: stages that agree on the order and not on when, by the channels' room") {
  // Stage 0 forwards everything first, stage 1 goes backward at once.
  const auto program = parse_program(
      "program stages=2 microbatches=4 minibatches=1\n"
      "0: 0L0 0F0 0SA0 0L1 0F1 0SA1 0L2 0F2 0SA2 0L3 0F3 0SA3 "
      "0RG0 0B0 0RG1 0B1 0RG2 0B2 0RG3 0B3 0U3@1\n"
      "1: 1RA0 1F0 1B0 1SG0 1RA1 1F1 1B1 1SG1 1RA2 1F2 1B2 1SG2 1RA3 1F3 1B3 1SG3 1U3@1\n");
  const auto found = check(program);
  REQUIRE(found.size() == 2);
  CHECK(found[0].message ==
        "worker 0 waits forever at 0SA3 (send activation): its channel holds 1 already");
  CHECK(found[1].message ==
        "worker 1 waits forever at 1SG1 (send gradient): its channel holds 1 already");
  CHECK(check(program, {.channel_capacity = 2, .weight_versions = {}}).empty());
}
TEST_CASE("deadlock: norms that are waited for in a circle") {
  // Stage 0 hands in mini-batch 0 after a third forward, for which stage 1 has no room before
  // that.
  const auto found = check(parse_program(
      "program stages=2 microbatches=1 minibatches=3\n"
      "0: 0L0 0F0 0SA0 0L1 0F1 0SA1 0L2 0F2 0SA2 0RG0 0B0 0Y0 0U0@1 0RG1 0B1 0Y1 0U1@2 "
      "0RG2 0B2 0Y2 0U2@3\n"
      "1: 1RA0 1F0 1B0 1SG0 1Y0 1U0@1 1RA1 1F1@1 1B1@1 1SG1 1Y1 1U1@2 1RA2 1F2@2 1B2@2 "
      "1SG2 1Y2 1U2@3\n"));
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0].message, Contains("0SA2"));
  CHECK_THAT(found[1].message, Contains("1U0@1 (update): not every stage"));
}

TEST_CASE("deadlock: an update that waits for the stages before it, and forwards in its way") {
  const auto make = [](Warmup warmup) {
    return make_program({.schedule = "pipedream",
                         .stages = 3,
                         .microbatches = 1,
                         .minibatches = 4,
                         .warmup = warmup,
                         .tied = {{0}, {2}}});
  };
  CHECK(find_deadlock(make(Warmup::OneFOneB), 1).empty());
  const Program ahead = make(Warmup::Double);
  CHECK(check(ahead, with_room_for_activations(ahead)).empty());
  const auto found = find_deadlock(ahead, 1);
  REQUIRE_FALSE(found.empty());
  CHECK_THAT(found.back().message, Contains("2U0@1 (update): not every stage"));
}
TEST_CASE("update: a stage that shares no parameter waits for no other") {
  const auto program = make_program({.schedule = "pipedream",
                                     .stages = 3,
                                     .microbatches = 1,
                                     .minibatches = 2,
                                     .tied = {{0}, {1}}});
  const auto text = to_text(program);
  CHECK_THAT(text, Contains("0Y0 0U0@1"));
  CHECK_THAT(text, Contains("1Y0 1U0@1"));
  CHECK_THAT(text, !Contains("2Y"));
  const auto once = parse_program(replaced(text, "1Y1 ", ""));
  CHECK_THAT(show(once, check(once)), Contains("1U1@2 needs 1Y1 before it"));
}

TEST_CASE("show marks what was found in the grid") {
  const auto program =
      parse_program("program stages=1 microbatches=1 minibatches=1\n0: 0L0 0B0 0F0 0U0@1\n");
  CHECK(show(program, check(program)) ==
        "worker 0  0L0 >0B0< 0F0 0U0@1\n"
        "compute: 0B0 comes before 0F0 (forward)\n");
}
