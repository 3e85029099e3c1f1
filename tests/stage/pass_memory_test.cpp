// One block for the passes of training and of validation, which take turns in it.
#include "stage/pass_memory.hpp"

#include <set>

#include "base/check.hpp"
#include "catch.hpp"
#include "runtime/counting.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

struct CountedStream {
  BackendCounts counts;
  std::unique_ptr<Backend> backend = counting_backend(make_backend("reference"), counts);
  std::unique_ptr<Stream> stream = backend->make_stream({});
};

PassNeedsOfModes needs() {
  PassNeedsOfModes modes;
  modes[static_cast<std::size_t>(Mode::Train)] = {
      .each = {.slot = 100, .workspace = 500, .scratch = 10, .input_slot = 64},
      .slots = 3,
      .input_slots = 2,
      .packets = 192};
  modes[static_cast<std::size_t>(Mode::Evaluate)] = {.each = {.workspace = 700, .scratch = 20},
                                                     .packets = 128};
  return modes;
}

}  // namespace

TEST_CASE("the block is as large as the larger mode, not their sum", "[pass memory]") {
  CountedStream rig;
  PassMemory memory(*rig.stream);
  const PassNeedsOfModes modes = needs();
  MemoryAccount train = modes[0].account(), evaluate = modes[1].account();
  CHECK(train[Use::Activations] == 3 * 128 + 2 * 64);
  CHECK(train[Use::Workspace] == 512 + 64);
  CHECK(train[Use::Packets] == 192);
  CHECK(evaluate.total() == 704 + 64 + 128);
  memory.lay_out(modes);
  CHECK(rig.counts.allocations == 1);
  CHECK(memory.slot(Mode::Train, 0) == memory.workspace(Mode::Evaluate));  // the same bytes
}

TEST_CASE("places of one mode do not overlap, and are aligned", "[pass memory]") {
  CountedStream rig;
  PassMemory memory(*rig.stream);
  memory.lay_out(needs());
  std::byte* const first = memory.slot(Mode::Train, 0);
  CHECK(memory.slot(Mode::Train, 2) == first + 256);
  CHECK(memory.input_slot(Mode::Train, 0) == first + 384);
  CHECK(memory.workspace(Mode::Train) == first + 512);
  CHECK(memory.scratch(Mode::Train) == first + 1024);
  CHECK(memory.take_packet(Mode::Train, 64) == first + 1088);
  CHECK(memory.take_packet(Mode::Train, 128) == first + 1152);
  CHECK_THROWS_AS(memory.take_packet(Mode::Train, 1), InternalError);
  CHECK(memory.take_packet(Mode::Evaluate, 128) == memory.scratch(Mode::Evaluate) + 64);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
}

TEST_CASE("a block that grows is exchanged, and given back at the end", "[pass memory]") {
  CountedStream rig;
  {
    PassMemory memory(*rig.stream);
    PassNeedsOfModes modes = needs();
    memory.lay_out(modes);
    modes[1].each.workspace = 300;  // smaller: the block stays
    memory.lay_out(modes);
    CHECK(rig.counts.allocations == 1);
    modes[0].slots = 9;
    memory.lay_out(modes);
    CHECK(rig.counts.allocations == 2);
    CHECK(rig.counts.releases == 1);
  }
  CHECK(rig.counts.releases == 2);
}

TEST_CASE("a workspace may be another stage's, if that is large enough", "[pass memory]") {
  CountedStream rig;
  PassMemory lender(*rig.stream), borrower(*rig.stream);
  lender.lay_out(needs());
  PassNeedsOfModes modes = needs();
  PassNeeds& training = modes[Mode::Train];
  training.each.workspace = 100;
  training.each.scratch = 400;
  training.lender = StageCopy{{1}, 0};
  CHECK(training.account()[Use::Workspace] == 0);
  borrower.borrow(Mode::Train, lender);
  borrower.lay_out(modes);
  CHECK(borrower.workspace(Mode::Train) == lender.workspace(Mode::Train));
  CHECK(borrower.scratch(Mode::Train) == lender.workspace(Mode::Train) + 128);
  CHECK(borrower.take_packet(Mode::Train, 64) == borrower.slot(Mode::Train, 0) + 512);
  CHECK(borrower.workspace(Mode::Evaluate) != lender.workspace(Mode::Evaluate));

  training.each.scratch = 600;
  borrower.lay_out(modes);
  CHECK_THROWS_AS(borrower.workspace(Mode::Train), InternalError);
}
