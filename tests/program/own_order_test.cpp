// Orders of a user's own: what pipetrain prints can be given back to it, and an order of forwards
// and backwards has the rest added.
#include "own_order.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "order_csv.hpp"
#include "program/check.hpp"
#include "program/csv.hpp"
#include "program/text.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// Only the lines that compute.
std::string order_of(const Program& program) {
  std::string text = "instruction,worker\n";
  for (std::size_t w = 0; w < program.workers.size(); ++w)
    for (const Instruction& i : program.workers[w])
      if (i.op == Op::Forward || is_backward(i.op))
        text += short_text(i) + "," + std::to_string(w) + "\n";
  return text;
}

std::string refusal(const std::string& csv, int workers, int microbatches) {
  try {
    parse_own_order(csv, workers, microbatches);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing";
}

ScheduleRequest request_of(const Schedule& row, int k) {
  return {.schedule = std::string(row.name),
          .stages = 4,
          .microbatches = 4,
          .minibatches = k,
          .virtual_stages = 2};
}

}  // namespace

TEST_CASE("a schedule's csv given back is its program, of several mini-batches too") {
  for (const Schedule& row : schedules()) {
    if (row.name == "pipemare") continue;  // its backwards need delta
    for (const int k : {1, 6}) {
      const Program program = make_program(request_of(row, k));
      CAPTURE(row.name, k);
      const OwnOrder order = parse_own_order(csv_of(program), 4, 4);
      CHECK(order.whole);
      CHECK(to_text(complete(order, {})) == to_text(program));
    }
  }
}

TEST_CASE("a busy order's csv given back is its program, which runs ahead of its receivers") {
  for (const char* schedule : {"timeprest", "v_timeprest", "i_timeprest"}) {
    ScheduleRequest request = request_of(require_schedule(schedule), 6);
    request.busy = BusyTimes{.forward = 1, .backward = 8};
    const Program program = make_program(request);
    CAPTURE(schedule);
    CHECK(to_text(complete(parse_own_order(csv_of(program), 4, 4), {})) == to_text(program));
  }
}

TEST_CASE("forwards and backwards alone get updates, transfers and the newest weights") {
  for (const Schedule& row : schedules()) {
    if (!flushes(row)) continue;
    for (const bool sync : {false, true})
      for (const bool recompute : {false, true}) {
        ScheduleRequest request = request_of(row, 2);
        request.sync_gradients = sync;
        request.recompute = recompute;
        CAPTURE(row.name, sync, recompute);
        const Program program = make_program(request);
        const OwnOrder order = parse_own_order(order_of(program), 4, 4);
        CHECK_FALSE(order.whole);
        CHECK(to_text(complete(order, request)) == to_text(program));
      }
  }
}

TEST_CASE("a whole program recomputes if the config says so") {
  const Program program = make_program({"gpipe", 2, 2});
  const OwnOrder order = parse_own_order(csv_of(program), 2, 2);
  ScheduleRequest request;
  request.recompute = true;
  const Program again = complete(order, request);
  CHECK(check(again).empty());
  CHECK(to_text(again).find("1R1") != std::string::npos);
}

TEST_CASE("columns in any place, others unread, quotes, comments and blank lines") {
  const auto rows = parse_csv(
      "# mine\n\nop,\"instruction\", worker ,note\r\nF,\"2F0@3\",1,x\r\n\n# then\nB,2B0,1,\n");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].worker == WorkerId{1});
  CHECK(to_text(rows[0].instruction) == "2F0@3");
  CHECK(rows[0].line == 4);
  CHECK(rows[1].line == 7);
}

TEST_CASE("what is wrong with an order is reported with its line") {
  const std::string head = "worker,instruction\n";
  const std::string last = "1,1F0\n1,1F1\n1,1B0\n1,1B1\n";
  const std::string good = head + "0,0F0\n0,0F1\n0,0B0\n0,0B1\n" + last;
  CHECK(refusal(good, 2, 2) == "nothing");
  CHECK(refusal(good, 2, 1) == "nothing");  // two mini-batches of one micro-batch

  CHECK_THAT(refusal("", 2, 2), Contains("no instruction"));
  CHECK_THAT(refusal("0,0F0\n", 2, 2), Contains("line 1") && Contains("worker,instruction"));
  CHECK_THAT(refusal(head + "0\n", 2, 2), Contains("line 2") && Contains("too few"));
  CHECK_THAT(refusal(head + "a,0F0\n", 2, 2),
             Contains("line 2") && Contains("`a` is not a worker"));
  CHECK_THAT(refusal(head + "-1,0F0\n", 2, 2), Contains("line 2") && Contains("not a worker"));
  CHECK_THAT(refusal(head + "0,0G0\n", 2, 2), Contains("line 2") && Contains("such as 2F0"));
  CHECK_THAT(refusal(good, 1, 2), Contains("line 6: worker 1") && Contains("write stages = 2"));
  CHECK_THAT(refusal(good, 3, 2), Contains("worker 2 has nothing to do") && Contains("stages = 2"));
  CHECK_THAT(refusal(head + "0,0F0\n0,0B0\n2,0F1\n2,0B1\n", 3, 2),
             Contains("worker 1 has nothing"));
  CHECK_THAT(refusal(head + "2147483647,0F0\n", 2, 2), Contains("line 2") && Contains("0 to 1023"));
  CHECK(refusal("\xEF\xBB\xBF" + good, 2, 2) == "nothing");
  CHECK_THAT(refusal(good, 2, 4), Contains("is not a multiple of pipeline.microbatches = 4"));
  CHECK_THAT(refusal(head + "0,0F2147483647\n", 1, 1), Contains("line 2") && Contains("gap"));
  CHECK_THAT(refusal(head + "0,2147483647F0\n", 1, 1), Contains("line 2") && Contains("gap"));

  CHECK_THAT(refusal(head + "0,0F0\n0,0B0\n0,0F1\n" + last, 2, 2),
             Contains("0B1 (backward) is missing"));
  CHECK_THAT(refusal(head + "0,0F0\n0,0B0\n0,0B1\n" + last, 2, 2),
             Contains("0F1 (forward) is missing"));
  CHECK_THAT(refusal(head + "0,0B0\n0,0F0\n0,0F1\n0,0B1\n" + last, 2, 2),
             Contains("line 2: 0B0 comes before 0F0"));
  CHECK_THAT(refusal(good + "1,1B1\n", 2, 2), Contains("line 10: 1B1 appears twice"));
  CHECK_THAT(refusal(head + "0,0F0\n0,0F1\n0,0B1\n0,0B0\n" + last, 2, 2),
             Contains("line 4: 0RG1 is sent micro-batch 0 instead"));
  CHECK_THAT(refusal(head + "0,0F0\n0,0F1\n1,0B0\n0,0B1\n" + last, 2, 2),
             Contains("line 4: 0B0 is on worker 1, but stage 0 runs micro-batch 0 on worker 0"));
  CHECK_THAT(refusal(head + "0,0F0\n0,0F1\n1,0F2\n0,0F3\n0,0B0\n0,0B1\n1,0B2\n0,0B3\n", 2, 4),
             Contains("stage 0") && Contains("0, 0, 1, 0") && Contains("take turns"));
  CHECK_THAT(refusal(head + "0,0F0\n0,0F1@1\n0,0B0\n0,0B1\n" + last, 2, 2),
             Contains("line 3: 0F1@1") && Contains("newest weights, here version 0"));
  CHECK_THAT(refusal(head + "0,0F0@0-1.5d\n0,0B0\n", 1, 1),
             Contains("line 2") && Contains("pipemare"));
}

TEST_CASE("whole programs: gradients of two mini-batches are not mixed, all recompute or none") {
  const auto whole = [](const std::string& words) {
    std::string csv = "worker,instruction\n";
    for (std::size_t at = 0; at < words.size();) {
      const auto end = std::min(words.find(' ', at), words.size());
      csv += "0," + words.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return csv;
  };
  CHECK(refusal(whole("0L0 0F0 0B0 0U0@1 0L1 0F1@1 0B1@1 0U1@2"), 1, 1) == "nothing");
  CHECK_THAT(refusal(whole("0L0 0F0 0B0 0L1 0F1 0B1 0U0@1 0U1@2"), 1, 1),
             Contains("line 7: 0B1 of the next mini-batch comes before 0U0@1"));
  CHECK_THAT(refusal(whole("0L0 0F0 0B0 0Y0 0L1 0F1 0B1 0Y1 0U0@1 0U1@2"), 1, 1),
             Contains("0B1 of the next mini-batch"));
  CHECK_THAT(refusal(whole("0L0 0F0 0R0 0B0 0L1 0F1 0B1 0U1@1"), 1, 2),
             Contains("0R1 (recompute) is missing"));
  CHECK_THAT(
      refusal("worker,instruction\n0,0L0\n0,0F0\n0,0SA0\n0,0L1\n0,0F1\n0,0SA1\n0,0RG1\n0,0B0\n"
              "0,0B1\n0,0U1@1\n1,1RA0\n1,1F0\n1,1RA1\n1,1F1\n1,1B1\n1,1B0\n1,1SG1\n1,1U1@1\n",
              2, 2),
      Contains("line 16: 1B1 comes before 1B0"));
}

TEST_CASE("an order that waits forever is refused") {
  // Each worker wants the other's micro-batch first.
  CHECK(refusal("worker,instruction\n0,0F0\n0,0B0\n0,0F1\n0,0B1\n1,1F0\n1,1F1\n1,1B0\n1,1B1\n", 2,
                2) ==
        "line 3: worker 0 waits forever at 0RG0 (receive gradient): nothing arrives\n  "
        "line 7: worker 1 waits forever at 1RA1 (receive activation): nothing arrives");
}

TEST_CASE("a cell with a slip in it is named, with what may have been meant") {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = "worker,instruction\n";
    for (const char* worker : {"0", "1"})
      for (const char* op : {"F", "B"})
        for (const char* m : {"0", "1", "2", "3"})
          text += std::string(worker) + "," + worker + op + m + "\n";
    return text.replace(text.find(from), from.size(), to);
  };
  const auto told = [&](const std::string& from, const std::string& to) {
    return refusal(with(from, to), 2, 4);
  };
  CHECK(told("0B3", "0B3") == "nothing");
  CHECK(told("0B3", "0B9") ==
        "line 9: 0B9: micro-batch 9 never goes forward on any stage; micro-batches are numbered "
        "from 0 "
        "without a gap: write 0B3, which is missing");
  CHECK_THAT(told("0B3", "0B4"), Contains("line 9: 0B4") && Contains("write 0B3"));
  CHECK_THAT(told("0F1", "0F8"),
             Contains("line 3: 0F8: micro-batch 8 never goes backward on any stage") &&
                 Contains("write 0F1"));
  CHECK_THAT(told("1F0", "9F0"),
             Contains("line 10: 9F0: stage 9 never goes backward on any micro-batch") &&
                 Contains("write 1F0"));
  CHECK_THAT(told("1B3", "2B3"),
             Contains("line 17: 2B3: stage 2 never goes forward on any") && Contains("write 1B3"));
  CHECK_THAT(told("0B3\n", "0B3\n0,0B9\n"), Contains("line 10: 0B9") && Contains("here up to 3"));
  CHECK_THAT(told("0B3", "0X3"), Contains("line 9: `0X3` is not an instruction") &&
                                     Contains("letters (L F B I W R SA RA SR RR SG RG Y U "));
  CHECK_THAT(refusal("worker,instruction\n0,0F0\n0,0F2\n0,0B0\n0,0B2\n", 1, 2),
             Contains("line 3: 0F2: there is no micro-batch 1;"));
}
