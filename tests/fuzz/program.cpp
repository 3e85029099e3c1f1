// Program text. What parses must come back equal from its text; a small program is checked too,
// which must find words for whatever is wrong with it.
#include "program/check.hpp"
#include "program/text.hpp"
#include "target.hpp"

using namespace pipetrain;

namespace {

constexpr int kMost = 64;  // check() is for programs as large as they claim; no need to wait here

bool small(const Program& program) {
  return program.stages <= kMost && program.microbatches <= kMost && program.minibatches <= kMost;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  return fuzz::refused_or_read([&] {
    const Program program = parse_program(fuzz::text_of(bytes, count));
    fuzz::require(parse_program(to_text(program)) == program, "a program reads back from its text");
    if (small(program)) show(program, check(program));
  });
}
