// A list of forwards and backwards that keeps what repeats once: read back, it is what was written.
#include "program/compute_list.hpp"

#include <random>

#include "catch.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

std::vector<ComputeInstruction> read_back(const ComputeList& list) {
  std::vector<ComputeInstruction> found;
  for (const ComputeInstruction i : list) found.push_back(i);
  return found;
}

// Stretches of a few instructions that repeat, and some that do not.
std::vector<ComputeInstruction> random_list(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const Op ops[] = {Op::Forward, Op::Backward, Op::BackwardInput, Op::BackwardWeight};
  std::vector<ComputeInstruction> list;
  for (int stretch = below(12); stretch > 0; --stretch) {
    std::vector<ComputeInstruction> body;
    for (int n = 1 + below(9); n > 0; --n)
      body.emplace_back(ops[below(4)], StageId{below(3)}, MicrobatchId{below(50)});
    const int step = below(4) - 1, times = below(3) == 0 ? 1 : 1 + below(900);
    for (int t = 0; t < times; ++t)
      for (const ComputeInstruction i : body) list.push_back(i.later(t * step));
  }
  return list;
}

}  // namespace

TEST_CASE("a compute list read back is what was written, whatever repeats in it") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int n = 0; n < 200; ++n) {
    const auto written = random_list(random);
    ComputeList list;
    for (std::size_t at = 0; at < written.size(); ++at) {
      list.push_back(written[at]);
      if (at == written.size() / 2) CHECK(read_back(list).size() == at + 1);
    }
    CHECK(list.size() == written.size());
    CHECK(list.empty() == written.empty());
    CHECK(list.kept() <= list.size());
    if (read_back(list) != written) FAIL_CHECK("list " << n);
  }
}

TEST_CASE("what is declared to repeat equals what would have been written one by one") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int n = 0; n < 200; ++n) {
    ComputeList said, written;
    for (int part = static_cast<int>(random() % 8); part > 0; --part) {
      const ComputeInstruction f(Op::Forward, {1}, {part}), b(Op::Backward, {1}, {part + 3});
      const int times = static_cast<int>(random() % 40) * static_cast<int>(random() % 90),
                step = static_cast<int>(random() % 3);
      said.repeat({f, b}, times, step);
      for (int t = 0; t < times; ++t)
        for (const ComputeInstruction i : {f, b}) written.push_back(i.later(t * step));
      for (int single = static_cast<int>(random() % 100); single > 0; --single)
        for (ComputeList* list : {&said, &written}) list->push_back(b.later(single * single));
    }
    CHECK(said == written);
    CHECK(read_back(said) == read_back(written));
  }
}

TEST_CASE("lists are equal if their instructions are") {
  ComputeList once, again, shorter;
  for (int m = 0; m < 5000; ++m) {
    const ComputeInstruction i(Op::Forward, {1}, {m});
    once.push_back(i);
    again.push_back(i);
    if (m < 4999) shorter.push_back(i);
  }
  CHECK(once == again);
  CHECK_FALSE(once == shorter);
  shorter.push_back({Op::Forward, {1}, {5001}});
  CHECK_FALSE(once == shorter);
  CHECK(ComputeList() == ComputeList());
}

TEST_CASE("a worker keeps only a few instructions of a large order") {
  for (const char* name : {"gpipe", "1f1b", "zb_h1", "zb_h2", "zb_v", "pipedream", "timeprest"}) {
    const Schedule& row = require_schedule(name);
    ScheduleRequest request{.schedule = name, .stages = 16, .microbatches = 4096};
    request.minibatches = shown_minibatches(row, request);
    const CompactOrder order = make_order(row, settled(row, request));
    CAPTURE(name);
    for (const ComputeList& list : order.workers) {
      CHECK(list.size() >= 8192);
      CHECK(list.kept() < 300);
    }
  }
}
