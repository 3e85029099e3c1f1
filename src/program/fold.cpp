#include "program/fold.hpp"

#include <algorithm>
#include <numeric>

namespace pipetrain {
namespace {

using List = std::vector<Instruction>;

std::size_t common_prefix(const List& a, const List& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

// Does `longer` have `shorter` up to `at`, then a round, and then the rest of `shorter` shifted?
bool has_loop_at(const Program& program, const List& shorter, const List& longer, std::size_t at) {
  const std::size_t length = longer.size() - shorter.size();
  return std::equal(shorter.begin() + static_cast<std::ptrdiff_t>(at), shorter.end(),
                    longer.begin() + static_cast<std::ptrdiff_t>(at + length), longer.end(),
                    [&](const Instruction& a, const Instruction& b) {
                      return shifted(a, program, program.minibatches_per_round()) == b;
                    });
}

std::optional<Loop> find_loop(const Program& program, const List& shorter, const List& longer) {
  if (longer.size() < shorter.size()) return std::nullopt;
  // As late as possible, so that a drain has the most after it.
  for (std::size_t at = common_prefix(shorter, longer) + 1; at-- > 0;)
    if (has_loop_at(program, shorter, longer, at))
      return Loop{at, at + longer.size() - shorter.size()};
  return std::nullopt;
}

}  // namespace

Instruction shifted(Instruction i, const Program& program, int minibatches) {
  if (minibatches == 0) return i;
  i.microbatch.value += minibatches * program.microbatches;
  if (!reads_weights(i.op) && i.op != Op::Update) return i;
  const int updates = minibatches / program.minibatches_per_update(i.stage);
  i.weights.version.value += updates;
  if (auto* blend = std::get_if<Blend>(&i.weights.how)) blend->other.value += updates;
  return i;
}

std::optional<FoldedProgram> fold(const Program& shorter, const Program& longer) {
  FoldedProgram folded{longer, {}};
  for (std::size_t w = 0; w < longer.workers.size(); ++w) {
    const auto loop = find_loop(longer, shorter.workers[w], longer.workers[w]);
    if (!loop) return std::nullopt;
    folded.loops.push_back(*loop);
  }
  return folded;
}

Program unfold(const FoldedProgram& folded, int rounds) {
  Program program = folded.program;
  const int round_minibatches = program.minibatches_per_round();
  program.minibatches += (rounds - 1) * round_minibatches;
  for (std::size_t w = 0; w < program.workers.size(); ++w) {
    const List& from = folded.program.workers[w];
    const auto [begin, end] = folded.loops[w];
    List list(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(begin));
    for (int round = 0; round < rounds; ++round)
      for (std::size_t at = begin; at < end; ++at)
        list.push_back(shifted(from[at], program, round * round_minibatches));
    for (std::size_t at = end; at < from.size(); ++at)
      list.push_back(shifted(from[at], program, (rounds - 1) * round_minibatches));
    program.workers[w] = std::move(list);
  }
  return program;
}

int timed_rounds(int stages, int microbatches) {
  constexpr int groups = 3, fewest = 2;
  const int least = std::max(fewest, (groups * stages + microbatches - 1) / microbatches);
  if (microbatches > groups * stages) return least;
  const int whole = stages / std::gcd(stages, microbatches);
  return (least + whole - 1) / whole * whole;
}

}  // namespace pipetrain
