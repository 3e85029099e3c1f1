#include "program/passes.hpp"

#include "catch.hpp"
#include "program/text.hpp"

using namespace pipetrain;

namespace {
Program parsed(const char* workers,
               const char* head = "program stages=2 microbatches=2 minibatches=1\n") {
  return parse_program(std::string(head) + workers);
}
std::string body(const Program& program) {
  const auto text = to_text(program);
  return text.substr(text.find('\n') + 1);
}
}  // namespace

TEST_CASE("an update is right after the backward that completes its mini-batch") {
  CHECK(body(add_updates(parsed("0: 0F0 0F1 0B1 0B0\n1: 1F0 1B0 1F1 1B1\n"))) ==
        "0: 0F0 0F1 0B1 0B0 0U1\n1: 1F0 1B0 1F1 1B1 1U1\n");
}

TEST_CASE("the weight half of a split backward completes its mini-batch") {
  CHECK(body(add_updates(parsed("0: 0F0 0F1 0I0 0I1 0W0 0W1\n1: 1F0 1I0 1F1 1I1 1W0 1W1\n"))) ==
        "0: 0F0 0F1 0I0 0I1 0W0 0W1 0U1\n1: 1F0 1I0 1F1 1I1 1W0 1W1 1U1\n");
}

TEST_CASE("each copy of a stage updates after the micro-batches that it runs") {
  const auto head = "program stages=1 microbatches=2 minibatches=2 placement=0+1\n";
  CHECK(body(add_updates(parsed("0: 0F0 0B0 0F2 0B2\n1: 0F1 0B1 0F3 0B3\n", head))) ==
        "0: 0F0 0B0 0U1 0F2 0B2 0U3\n1: 0F1 0B1 0U1 0F3 0B3 0U3\n");
}

TEST_CASE("updates of a worker's stages wait for the last gradient that it hands in") {
  const auto head = "program stages=2 microbatches=1 minibatches=2 placement=0,0\n";
  CHECK(
      body(add_gradient_sync(add_updates(parsed("0: 0F0 1F0 1B0 0B0 0F1 1F1 1B1 0B1\n", head)))) ==
      "0: 0F0 1F0 1B0 1Y0 0B0 0Y0 1U0 0U0 0F1 1F1 1B1 1Y1 0B1 0Y1 1U1 0U1\n");
}

TEST_CASE("loads, norms and transfers are next to what needs them") {
  const auto order = add_updates(parsed("0: 0F0 0F1 0B0 0B1\n1: 1F0 1B0 1F1 1B1\n"));
  CHECK(body(add_loads(order)) == "0: 0L0 0F0 0L1 0F1 0B0 0B1 0U1\n1: 1F0 1B0 1F1 1B1 1U1\n");
  CHECK(body(add_gradient_sync(order)) ==
        "0: 0F0 0F1 0B0 0B1 0Y1 0U1\n1: 1F0 1B0 1F1 1B1 1Y1 1U1\n");
  CHECK(body(add_transfers(order)) ==
        "0: 0F0 0SA0 0F1 0SA1 0RG0 0B0 0RG1 0B1 0U1\n"
        "1: 1RA0 1F0 1B0 1SG0 1RA1 1F1 1B1 1SG1 1U1\n");
}

TEST_CASE("gradients are sent after the input half") {
  const auto head = "program stages=2 microbatches=1 minibatches=1\n";
  CHECK(body(add_transfers(parsed("0: 0F0 0I0 0W0\n1: 1F0 1I0 1W0\n", head))) ==
        "0: 0F0 0SA0 0RG0 0I0 0W0\n1: 1RA0 1F0 1I0 1SG0 1W0\n");
}

TEST_CASE("only stages that share a parameter hand in and wait") {
  const auto order = add_updates(parsed("0: 0F0 0F1 0B0 0B1\n1: 1F0 1B0 1F1 1B1\n"));
  CHECK(body(add_gradient_sync(order, {{0}})) ==
        "0: 0F0 0F1 0B0 0B1 0Y1 0U1\n1: 1F0 1B0 1F1 1B1 1U1\n");
  const auto head = "program stages=3 microbatches=1 minibatches=1 placement=0,0,0\n";
  CHECK(body(add_gradient_sync(add_updates(parsed("0: 0F0 1F0 2F0 2B0 1B0 0B0\n", head)),
                               {{0}, {2}})) == "0: 0F0 1F0 2F0 2B0 2Y0 1B0 1U0 0B0 0Y0 2U0 0U0\n");
}

TEST_CASE("a backward whose gradients are sent at once becomes a head, the send and a tail") {
  const auto order = parsed("0: 0L0 0F0 0SA0 0RG0 0B0@2\n1: 1RA0 1F0 1B0@2 1SG0\n",
                            "program stages=2 microbatches=1 minibatches=1\n");
  CHECK(body(send_gradients_early(order)) ==
        "0: 0L0 0F0 0SA0 0RG0 0B0@2\n1: 1RA0 1F0 1BH0@2 1SG0 1BT0\n");
  CHECK(send_gradients_early(send_gradients_early(order)) == send_gradients_early(order));
}

TEST_CASE("halves, and backwards whose send comes later, are sent as they were") {
  const char* const head = "program stages=2 microbatches=2 minibatches=1\n";
  for (const char* const worker : {"1I0 1SG0 1W0 1I1 1SG1 1W1", "1B0 1F1 1SG0 1B1", "1B0 1SG1"}) {
    const auto order = parse_program(std::string(head) + "0: 0F0\n1: " + worker + "\n");
    CHECK(send_gradients_early(order) == order);
  }
}

TEST_CASE("an update right after a backward is fused into it") {
  const auto fused = [](const char* workers) { return body(fuse_updates(parsed(workers))); };
  CHECK(fused("0: 0B0 0B1 0U1@1\n1: 1BH1 1SG1 1BT1 1U1@1\n") == "0: 0B0 0BU1\n1: 1BH1 1SG1 1TU1\n");
  CHECK(fused("0: 0I0 0I1 0W0 0W1 0U1@1\n1: 1B1@3-0.5d 1U1@1\n") ==
        "0: 0I0 0I1 0W0 0WU1\n1: 1BU1@3-0.5d\n");
  for (const char* const kept : {"0: 0B1 0Y1 0U1@1\n", "0: 0B1 1U1@1\n", "0: 0I1 0U1@1\n",
                                 "0: 0BH1 0SG1 0U1@1\n", "0: 0B1 0RA2 0U1@1\n"})
    CHECK(fused(kept) == kept);
}
