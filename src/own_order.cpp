#include "own_order.hpp"
#include "base/indexed.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include "base/error.hpp"
#include "program/check.hpp"
#include "program/csv.hpp"
#include "program/passes.hpp"
#include "program/text.hpp"
#include "versions/bind.hpp"
#include "versions/versions.hpp"

namespace pipetrain {
namespace {

bool is_order(Op op) {
  return op == Op::Forward || op == Op::Backward || op == Op::BackwardInput ||
         op == Op::BackwardWeight;
}
bool is_forward_transfer(Op op) {
  return op == Op::LoadInput || op == Op::ReceiveActivation || op == Op::SendActivation;
}

[[noreturn]] void refuse(int line, const std::string& message) {
  throw UsageError(fmt::format("line {}: {}", line, message));
}

// A worker's list, and where each instruction is in the file.
class Rows {
 public:
  Rows(std::vector<CsvInstruction> rows, int workers) : rows_(std::move(rows)), workers_(workers) {
    for (const CsvInstruction& row : rows_) {
      if (row.worker.value >= workers)
        refuse(row.line,
               fmt::format("worker {} does not exist with pipeline.stages = {}; write stages = {}",
                           row.worker.value, workers, last_worker() + 1));
      lines_[{row.worker, short_text(row.instruction)}] = row.line;
    }
    check_numbers("micro-batch", "micro-batches", &Instruction::microbatch);
    check_numbers("stage", "stages", &Instruction::stage);
    const std::set<WorkerId> busy = busy_workers();
    for (WorkerId w{0}; w.value < workers; ++w.value)
      if (!busy.contains(w))
        throw UsageError(
            fmt::format("pipeline.stages = {}, but worker {} has nothing to do; number the workers "
                        "without a gap, and write stages = {}",
                        workers, w.value, busy.size()));
  }

  const std::vector<CsvInstruction>& all() const { return rows_; }
  bool whole() const {
    return std::ranges::any_of(rows_, [](const auto& r) { return !is_order(r.instruction.op); });
  }
  Indexed<std::vector<Instruction>, WorkerId> lists() const {
    Indexed<std::vector<Instruction>, WorkerId> lists(workers_);
    for (const CsvInstruction& row : rows_) lists[row.worker].push_back(row.instruction);
    return lists;
  }
  // "line 7: ", the line in the file of the instruction, or of the one that it was added for;
  // otherwise "worker 2: ".
  std::string place(WorkerId worker, const Instruction* i) const {
    if (i)
      for (const Op op : {i->op, is_forward_transfer(i->op) ? Op::Forward : Op::Backward,
                          Op::BackwardInput, Op::BackwardHead, Op::BackwardUpdate}) {
        const auto found = lines_.find({worker, short_text({op, i->stage, i->microbatch, {}})});
        if (found != lines_.end()) return fmt::format("line {}: ", found->second);
      }
    return fmt::format("worker {}: ", worker.value);
  }

 private:
  std::set<WorkerId> busy_workers() const {
    std::set<WorkerId> busy;
    for (const CsvInstruction& row : rows_) busy.insert(row.worker);
    return busy;
  }
  int last_worker() const {
    int last = 0;
    for (const CsvInstruction& row : rows_) last = std::max(last, row.worker.value);
    return last;
  }
  // A number that goes both forward and backward somewhere is the order's; any other is a slip.
  template <class Id>
  void check_numbers(std::string_view what, std::string_view plural, Id Instruction::*number) {
    std::set<Id> forward, backward, known;
    for (const CsvInstruction& row : rows_) {
      if (row.instruction.op == Op::Forward) forward.insert(row.instruction.*number);
      if (is_backward(row.instruction.op)) backward.insert(row.instruction.*number);
    }
    std::ranges::set_intersection(forward, backward, std::inserter(known, known.end()));
    for (const CsvInstruction& row : rows_)
      if (const Id id = row.instruction.*number; !known.contains(id))
        refuse(
            row.line,
            fmt::format("{}: {} {} never goes {} on any {}; {} are numbered from 0 without a gap{}",
                        to_text(row.instruction), what, id.value,
                        forward.contains(id) ? "backward" : "forward",
                        what == "stage" ? "micro-batch" : "stage", plural,
                        meant(row.instruction, number, known)));
    Id next{0};
    while (known.contains(next)) ++next.value;
    for (const CsvInstruction& row : rows_)
      if (row.instruction.*number > next)
        refuse(row.line, fmt::format("{}: there is no {} {}; {} are numbered from 0 without a gap",
                                     to_text(row.instruction), what, next.value, plural));
  }
  // ": write 0B3, which is missing", if only one thing can have been meant.
  template <class Id>
  std::string meant(Instruction wrong, Id Instruction::*number, const std::set<Id>& known) const {
    std::set<Id> missing = known;
    for (const CsvInstruction& row : rows_) {
      Instruction same = row.instruction;
      same.*number = wrong.*number;
      if (short_text(same) == short_text(wrong)) missing.erase(row.instruction.*number);
    }
    if (missing.size() == 1) {
      wrong.*number = *missing.begin();
      return fmt::format(": write {}, which is missing", short_text(wrong));
    }
    return known.empty() ? "" : fmt::format(", here up to {}", known.rbegin()->value);
  }

  std::vector<CsvInstruction> rows_;
  int workers_;
  std::map<std::pair<WorkerId, std::string>, int> lines_;
};

void set_sizes(Program& program, const Rows& rows, int microbatches) {
  int last_stage = 0, last_microbatch = 0;
  for (const CsvInstruction& row : rows.all()) {
    last_stage = std::max(last_stage, row.instruction.stage.value);
    last_microbatch = std::max(last_microbatch, row.instruction.microbatch.value);
  }
  const int count = last_microbatch + 1;
  if (count % microbatches != 0)
    throw UsageError(
        fmt::format("the order has {} micro-batches, which is not a multiple of "
                    "pipeline.microbatches = {}; write microbatches = {}, or a divisor of that",
                    count, microbatches, count));
  program.stages = last_stage + 1;
  program.microbatches = microbatches;
  program.minibatches = count / microbatches;
}

// The workers of a stage, in the order in which they take the micro-batches: copies take turns.
std::vector<WorkerId> copies_of(const std::vector<WorkerId>& runs, StageId stage,
                                int microbatches) {
  const auto again = std::find(runs.begin() + 1, runs.end(), runs.front());
  std::vector<WorkerId> copies(runs.begin(), again);
  std::vector<int> names;
  for (const WorkerId w : runs) names.push_back(w.value);
  for (std::size_t m = 0; m < runs.size(); ++m)
    if (runs[m] != copies[m % copies.size()] || microbatches % static_cast<int>(copies.size()) != 0)
      throw UsageError(fmt::format(
          "stage {} runs its micro-batches on the workers {}; write one worker for all of them, or "
          "workers that take turns, each the same number in every mini-batch",
          stage.value, fmt::join(names, ", ")));
  return copies;
}

void set_placement(Program& program, const Rows& rows) {
  std::map<StageId, std::map<MicrobatchId, WorkerId>> forwards;
  for (const CsvInstruction& row : rows.all())
    if (row.instruction.op == Op::Forward)
      forwards[row.instruction.stage][row.instruction.microbatch] = row.worker;
  bool straight = program.stages == static_cast<int>(program.workers.size());
  for (StageId s{0}; s.value < program.stages; ++s.value) {
    std::vector<WorkerId> runs;
    for (MicrobatchId m{0}; m.value < program.total_microbatches(); ++m.value) {
      const auto found = forwards[s].find(m);
      if (found == forwards[s].end())
        throw UsageError(
            fmt::format("{} (forward) is missing; every micro-batch goes forward and "
                        "backward on every stage",
                        short_text({Op::Forward, s, m, {}})));
      runs.push_back(found->second);
    }
    program.placement.push_back(copies_of(runs, s, program.microbatches));
    straight = straight && program.placement.back() == std::vector{WorkerId{s.value}};
  }
  if (straight) program.placement.clear();
}

// Do the gradients of a mini-batch cross in one packet? If so, there is one send for all of them.
bool sends_gradients_together(const Program& program) {
  bool sends = false;
  for (const auto& list : program.workers)
    for (const Instruction& i : list) {
      sends = sends || i.op == Op::SendGradient;
      if (i.op == Op::SendGradient && !program.ends_minibatch(i.microbatch)) return false;
    }
  return sends && program.microbatches > 1;
}

void require_sound(const Program& program, const Rows& rows) {
  // Orders whose gradients cross together run ahead by whole mini-batches, as the timeprests do.
  std::vector<Diagnostic> found = check(
      program, program.gradients_together ? with_room_for_activations(program) : CheckOptions{});
  if (found.empty()) return;
  const auto instruction = [&](const Diagnostic& d) {
    const auto& list = program.workers[d.worker];
    return d.index < list.size() ? &list[d.index] : nullptr;
  };
  // Findings about the file come before those about what was added to it, each line only once.
  std::stable_partition(found.begin(), found.end(), [&](const Diagnostic& d) {
    const Instruction* i = instruction(d);
    return rows.whole() || (i && is_order(i->op));
  });
  constexpr std::size_t most = 3;  // the first mistake is often the cause of the others
  std::vector<std::string> lines;
  std::set<std::string> places;
  for (const Diagnostic& d : found) {
    const std::string place = rows.place(d.worker, instruction(d));
    if (places.insert(place).second || place.starts_with("worker"))
      lines.push_back(place + d.message);
  }
  const std::size_t count = lines.size();
  if (count > most) lines.resize(most);
  if (count > most) lines.push_back(fmt::format("and {} more", count - most));
  throw UsageError(fmt::format("{}", fmt::join(lines, "\n  ")));
}

// The k-th update of a stage makes version k.
Program with_counted_updates(Program program) {
  for (auto& list : program.workers) {
    std::map<StageId, int> made;
    for (Instruction& i : list)
      if (i.op == Op::Update) i.weights = {{++made[i.stage]}, AsStored{}};
  }
  return program;
}

// With everything that a check needs, on version 0 throughout.
Program outline(const Program& order) {
  Program bare = order;
  for (auto& list : bare.workers)
    for (Instruction& i : list) i.weights = {};
  Program program = add_loads(with_counted_updates(add_updates(std::move(bare))));
  if (program.has_copies()) program = add_gradient_sync(std::move(program));
  return add_transfers(std::move(program));
}

// An order binds no versions. If it names some, they must be those that it is going to read.
void check_named_versions(const Program& order, const Rows& rows) {
  const Program bound = bind_versions(add_updates(order), versions::latest);
  for (std::size_t w = 0; w < order.workers.size(); ++w) {
    std::size_t at = 0;
    for (const Instruction& i : order.workers[w]) {
      while (!is_order(bound.workers[w][at].op)) ++at;
      const Instruction& read = bound.workers[w][at++];
      if (i.weights == WeightRead{} || i.weights == read.weights || !reads_weights(i.op)) continue;
      throw UsageError(fmt::format(
          "{}{}: an order of F, B, I and W reads the newest weights, here version {}; leave the "
          "version out, or give the whole program",
          rows.place({static_cast<int>(w)}, &i), to_text(i), read.weights.version.value));
    }
  }
}

void refuse_extrapolation(const Rows& rows) {
  for (const CsvInstruction& row : rows.all())
    if (std::holds_alternative<Extrapolate>(row.instruction.weights.how))
      refuse(row.line, fmt::format("{}: only schedule = \"pipemare\" keeps the mean motion of the "
                                   "weights; read a stored version",
                                   to_text(row.instruction)));
}

}  // namespace

OwnOrder parse_own_order(std::string_view csv, int workers, int microbatches) {
  const Rows rows(parse_csv(csv), workers);
  refuse_extrapolation(rows);
  OwnOrder order;
  order.whole = rows.whole();
  order.program.workers = rows.lists();
  set_sizes(order.program, rows, microbatches);
  set_placement(order.program, rows);
  if (order.whole) {
    order.program.gradients_together = sends_gradients_together(order.program);
    require_sound(order.program, rows);
  } else {
    require_sound(outline(order.program), rows);
    check_named_versions(order.program, rows);
  }
  return order;
}

Program complete(const OwnOrder& order, const ScheduleRequest& request) {
  if (!order.whole) return complete(order.program, versions::latest, request, true);
  Program program = order.program;
  program.sync_groups = sync_groups(program, request);
  if (!request.recompute || program.has(Op::Recompute)) return program;
  const auto weights =
      keeps_forward_versions(program) ? RecomputeBy::Forward : RecomputeBy::Backward;
  return add_recomputes(std::move(program), weights);
}

}  // namespace pipetrain
