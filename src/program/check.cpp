#include "program/check.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/check.hpp"
#include "program/liveness.hpp"
#include "program/rendezvous.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

bool ends_minibatch(Op op) { return op == Op::Update || op == Op::SyncGradients; }

struct Checker {
  const Program& program;
  std::vector<Diagnostic> found = {};
  // The index of each instruction in its worker's list, by what it is.
  std::map<std::tuple<WorkerId, StageId, Op, MicrobatchId>, std::size_t> index = {};

  template <class... Args>
  void report(std::string_view rule, WorkerId worker, std::size_t at,
              fmt::format_string<Args...> message, Args&&... args) {
    found.push_back(
        {std::string(rule), fmt::format(message, std::forward<Args>(args)...), worker, at});
  }

  std::optional<std::size_t> find(WorkerId worker, StageId stage, Op op, MicrobatchId m) const {
    auto it = index.find({worker, stage, op, m});
    return it == index.end() ? std::nullopt : std::optional(it->second);
  }

  // ---- place
  bool check_sizes() {
    const auto workers = program.workers.size();
    if (program.stages < 1 || program.microbatches < 1 || program.minibatches < 1)
      report("place", {0}, 0, "stages, micro-batches and mini-batches are at least 1");
    else if (program.placement.empty() && workers != static_cast<std::size_t>(program.stages))
      report("place", {0}, 0, "{} stages on {} workers need a placement", program.stages, workers);
    else if (!program.sync_groups.empty() && std::ssize(program.sync_groups) != program.stages)
      report("place", {0}, 0, "there are {} sync groups, and {} stages", program.sync_groups.size(),
             program.stages);
    else if (!program.placement.empty())
      check_placement();
    return found.empty();
  }

  void check_placement() {
    if (program.placement.size() != static_cast<std::size_t>(program.stages))
      return report("place", {0}, 0, "the placement has {} stages, the program {}",
                    program.placement.size(), program.stages);
    for (std::size_t s = 0; s < program.placement.size(); ++s) {
      if (program.placement[s].empty()) report("place", {0}, 0, "stage {} is on no worker", s);
      for (auto w : program.placement[s])
        if (w.value < 0 || w.value >= static_cast<int>(program.workers.size()))
          report("place", {0}, 0, "stage {} is on worker {}, of {}", s, w.value,
                 program.workers.size());
    }
  }

  bool holds(WorkerId worker, StageId stage) const {
    if (program.placement.empty()) return worker.value == stage.value;
    const auto& copies = program.placement[stage.value];
    return std::find(copies.begin(), copies.end(), worker) != copies.end();
  }

  bool belongs(WorkerId worker, const Instruction& i) const {
    if (ends_minibatch(i.op))
      return holds(worker, i.stage) && i.microbatch == name_of_update(i.stage, i.microbatch);
    return program.worker_of(i.stage, i.microbatch) == worker;
  }

  // The micro-batch that names the update of which micro-batch m is a part.
  MicrobatchId name_of_update(StageId s, MicrobatchId m) const {
    return program.name_of_update(s, program.update_for(s, program.minibatch_of(m)));
  }

  void check_places() {
    each([&](WorkerId w, std::size_t at, const Instruction& i) {
      if (i.stage.value < 0 || i.stage.value >= program.stages || i.microbatch.value < 0 ||
          i.microbatch.value >= program.total_microbatches())
        return report("place", w, at, "{}: there are {} stages and {} micro-batches", to_text(i),
                      program.stages, program.total_microbatches());
      if (ends_minibatch(i.op) && holds(w, i.stage) && !belongs(w, i))
        report("place", w, at, "{} does not name the last micro-batch of its update", to_text(i));
      else if (!belongs(w, i))
        report("place", w, at, "{} is on worker {}, but stage {} runs micro-batch {} on worker {}",
               to_text(i), w.value, i.stage.value, i.microbatch.value,
               program.worker_of(i.stage, i.microbatch).value);
      for (const auto& [op, microbatch] : roles_of(i))
        if (!index.emplace(std::tuple{w, i.stage, op, microbatch}, at).second)
          return report("place", w, at, "{} appears twice", to_text(i));
    });
  }

  // What an instruction is to the rules: a head and its tail are the two halves of a backward, and
  // a fused update is a backward and an update in one place.
  static Op role_of(Op op) {
    const Op backward = without_update(op);
    return backward == Op::BackwardHead   ? Op::BackwardInput
           : backward == Op::BackwardTail ? Op::BackwardWeight
                                          : backward;
  }
  std::vector<std::pair<Op, MicrobatchId>> roles_of(const Instruction& i) const {
    std::vector<std::pair<Op, MicrobatchId>> roles{{role_of(i.op), i.microbatch}};
    if (fuses_update(i.op)) roles.push_back({Op::Update, name_of_update(i.stage, i.microbatch)});
    return roles;
  }

  // ---- compute, input
  // `then` needs `first` before it on the same worker. Both are looked up; `then` is present.
  void need_before(std::string_view rule, const Instruction& then, std::size_t at, Op first) {
    need_before(rule, then, at, first, then.microbatch);
  }
  void need_before(std::string_view rule, const Instruction& then, std::size_t at, Op first,
                   MicrobatchId m) {
    const auto worker = program.worker_of(then.stage, then.microbatch);
    const auto before = find(worker, then.stage, first, m);
    const auto text = short_text({first, then.stage, m, {}});
    if (!before)
      report(rule, worker, at, "{} needs {} ({}) before it", to_text(then), text, op_name(first));
    else if (*before > at)
      report(rule, worker, at, "{} comes before {} ({})", to_text(then), text, op_name(first));
  }

  void need(std::string_view rule, StageId s, MicrobatchId m, Op op) {
    const auto worker = program.worker_of(s, m);
    if (!find(worker, s, op, m))
      report(rule, worker, program.workers[worker.value].size(), "{} ({}) is missing",
             short_text({op, s, m, {}}), op_name(op));
  }

  Op input_half(StageId stage, MicrobatchId m) const {
    const auto worker = program.worker_of(stage, m);
    const bool whole = find(worker, stage, Op::Backward, m).has_value();
    return whole ? Op::Backward : Op::BackwardInput;
  }

  // The micro-batch that names the packet in which a gradient crosses a boundary.
  MicrobatchId gradient_name(MicrobatchId m) const {
    return program.gradients_together ? program.last_microbatch_of(program.minibatch_of(m)) : m;
  }
  void need_gradients_before(const Instruction& send, std::size_t at) {
    const int count = program.gradients_together ? program.microbatches : 1;
    for (MicrobatchId m{send.microbatch.value - count + 1}; m <= send.microbatch; ++m.value)
      need_before("input", send, at, input_half(send.stage, m), m);
  }

  void check_presence() {
    const bool recomputes = program.has(Op::Recompute);
    std::set<StageId> receive_again;  // a stage gets all of its inputs again, or none
    for (const auto& [what, at] : index)
      if (std::get<Op>(what) == Op::ReceiveRecomputed)
        receive_again.insert(std::get<StageId>(what));
    const StageId last{program.stages - 1};
    for (StageId s{0}; s <= last; ++s.value)
      for (MicrobatchId m{0}; m.value < program.total_microbatches(); ++m.value) {
        const auto w = program.worker_of(s, m);
        need("compute", s, m, Op::Forward);
        if (recomputes) need("compute", s, m, Op::Recompute);
        if (receive_again.contains(s)) need("input", s, m, Op::ReceiveRecomputed);
        if (auto i = find(w, s, Op::BackwardInput, m)) {
          need("compute", s, m, Op::BackwardWeight);
          if (find(w, s, Op::Backward, m))
            report("compute", w, *i, "micro-batch {} goes backward twice on stage {}", m.value,
                   s.value);
        } else {
          need("compute", s, m, Op::Backward);
        }
        if (s < last) need("input", s, m, Op::SendActivation);
        if (s.value > 0 && gradient_name(m) == m) need("input", s, m, Op::SendGradient);
      }
  }

  void check_dependence(WorkerId w, std::size_t at, const Instruction& i) {
    const bool bottom = i.stage.value == 0, top = i.stage.value == program.stages - 1;
    switch (role_of(i.op)) {
      case Op::Forward:
        return need_before("input", i, at, bottom ? Op::LoadInput : Op::ReceiveActivation);
      case Op::Backward:
      case Op::BackwardInput:
        need_before("compute", i, at, Op::Forward);
        if (find(w, i.stage, Op::Recompute, i.microbatch))
          need_before("compute", i, at, Op::Recompute);
        if (!top) need_before("input", i, at, Op::ReceiveGradient, gradient_name(i.microbatch));
        return need_in_turn(i, at);
      case Op::BackwardWeight:
        need_before("compute", i, at, Op::BackwardInput);
        return need_in_turn(i, at);
      case Op::Recompute:
        if (find(w, i.stage, Op::ReceiveRecomputed, i.microbatch))
          need_before("input", i, at, Op::ReceiveRecomputed);
        return need_before("compute", i, at, Op::Forward);
      case Op::SendRecomputed:
        return top ? misplaced(w, at, i) : need_before("input", i, at, Op::Recompute);
      case Op::ReceiveRecomputed:
        return bottom ? misplaced(w, at, i) : need_before("input", i, at, Op::Forward);
      case Op::SendActivation:
        return top ? misplaced(w, at, i) : need_before("input", i, at, Op::Forward);
      case Op::SendGradient:
        return bottom || gradient_name(i.microbatch) != i.microbatch ? misplaced(w, at, i)
                                                                     : need_gradients_before(i, at);
      case Op::LoadInput:
        return bottom ? void() : misplaced(w, at, i);
      case Op::ReceiveActivation:
        return bottom ? misplaced(w, at, i) : void();
      case Op::ReceiveGradient:
        return top ? misplaced(w, at, i) : void();
      default:
        return;
    }
  }

  // Backwards that share a packet run in turn, from the first micro-batch, which begins the packet.
  void need_in_turn(const Instruction& i, std::size_t at) {
    if (program.gradients_together && i.microbatch.value % program.microbatches != 0)
      need_before("compute", i, at, role_in_turn(i), {i.microbatch.value - 1});
  }

  // Between a head and its tail no other instruction may use the workspace, which is that of all
  // stages of the worker, or wait: workers on one thread share the workspace too.
  void check_tails(WorkerId w) {
    const Instruction* head = nullptr;
    const auto& list = program.workers[w.value];
    for (std::size_t at = 0; at < list.size(); ++at) {
      const Instruction& i = list[at];
      const bool tail = without_update(i.op) == Op::BackwardTail;
      const bool of_head = head && i.stage == head->stage && i.microbatch == head->microbatch;
      if (tail && !of_head) report("compute", w, at, "{} does not follow its head", to_text(i));
      if (head && !(of_head && (tail || i.op == Op::SendGradient)))
        report("compute", w, at, "{} is between a head and its tail", to_text(i));
      if (i.op != Op::SendGradient) head = i.op == Op::BackwardHead ? &i : nullptr;
    }
    if (head) need("compute", head->stage, head->microbatch, Op::BackwardTail);
  }

  // The last of a mini-batch's backwards may be a head when those before it are whole.
  Op role_in_turn(const Instruction& i) const {
    const Op role = role_of(i.op);
    return gives_input_gradient(role) ? input_half(i.stage, {i.microbatch.value - 1})
           : find(program.worker_of(i.stage, i.microbatch), i.stage, role, {i.microbatch.value - 1})
               ? role
               : Op::Backward;
  }

  void misplaced(WorkerId w, std::size_t at, const Instruction& i) {
    report("input", w, at, "{}: stage {} of {} has no {}", to_text(i), i.stage.value,
           program.stages, op_name(i.op));
  }

  // ---- update
  void check_updates() {
    const std::set<StageId> syncing = program.syncing_stages();
    for (int w = 0; w < static_cast<int>(program.workers.size()); ++w)
      for (StageId s{0}; s.value < program.stages; ++s.value)
        if (holds({w}, s))
          check_updates_of({w}, s, program.copies_of(s) > 1 || syncing.contains(s));
  }

  void check_updates_of(WorkerId w, StageId s, bool synced) {
    std::size_t previous = 0;
    for (int update = 0; update < program.updates_of(s); ++update) {
      const auto last = program.name_of_update(s, update);
      const auto at = find(w, s, Op::Update, last);
      if (!at) {
        report("update", w, program.workers[w.value].size(), "{} (update) is missing",
               short_text({Op::Update, s, last, {}}));
        continue;
      }
      check_update(w, *at, update, synced);
      if (*at < previous)
        report("update", w, *at, "mini-batch {} updates too early",
               program.minibatch_of(last).value);
      previous = *at;
    }
  }

  void check_update(WorkerId w, std::size_t at, int number, bool synced) {
    const Instruction written = program.workers[w.value][at];
    const Instruction update{
        Op::Update, written.stage, program.name_of_update(written.stage, number),
        fuses_update(written.op) ? WeightRead{program.version_made_by(written), {}}
                                 : written.weights};
    if (update.weights != WeightRead{{number + 1}, AsStored{}})
      report("update", w, at, "{} makes version {}", to_text(update), number + 1);
    const auto sync = find(w, update.stage, Op::SyncGradients, update.microbatch);
    if (synced && (!sync || *sync > at))
      report("update", w, at, "{} needs {} before it", to_text(update),
             short_text({Op::SyncGradients, update.stage, update.microbatch, {}}));
    const int microbatches = program.minibatches_per_update(update.stage) * program.microbatches;
    for (int m = number * microbatches; m <= update.microbatch.value; ++m)
      for (Op op : {Op::Backward, Op::BackwardWeight}) {
        const auto backward = find(w, update.stage, op, {m});
        if (backward && *backward > std::min(at, sync.value_or(at)))
          report("update", w, at, "{} comes before {}", to_text(update),
                 short_text({op, update.stage, {m}, {}}));
      }
    check_next_minibatch(w, at, update);
  }

  // Gradients are summed up in one place, so those of the next mini-batch come after the update.
  void check_next_minibatch(WorkerId w, std::size_t at, const Instruction& update) {
    const int first = update.microbatch.value + 1,
              count = program.minibatches_per_update(update.stage) * program.microbatches;
    for (int m = first; m < std::min(first + count, program.total_microbatches()); ++m)
      for (Op op : {Op::Backward, Op::BackwardWeight}) {
        const auto backward = find(w, update.stage, op, {m});
        if (backward && *backward < at)
          report("update", w, *backward, "{} of the next mini-batch comes before {}",
                 short_text({op, update.stage, {m}, {}}), to_text(update));
      }
  }

  // ---- version
  void check_versions(const std::vector<int>& allowed) {
    std::map<std::pair<WorkerId, StageId>, Version> newest;
    each([&](WorkerId w, std::size_t at, const Instruction& i) {
      Version& live = newest[{w, i.stage}];
      const auto* blend = std::get_if<Blend>(&i.weights.how);
      if (reads_weights(i.op))
        for (Version v : {i.weights.version, blend ? blend->other : i.weights.version})
          if (v.value < 0 || v > live)
            report("version", w, at, "{} reads version {}, but the newest is {}", to_text(i),
                   v.value, live.value);
      if (updates(i.op)) live = program.version_made_by(i);
    });
    if (allowed.empty() || !found.empty()) return;
    const auto held = peak_weight_versions(program);
    for (int s = 0; s < program.stages; ++s)
      if (held[s] > allowed[s])
        report("version", program.worker_of({s}, {0}), 0,
               "stage {} holds {} versions, but may hold {}", s, held[s], allowed[s]);
  }

  template <class Visit>
  void each(Visit visit) {
    for (std::size_t w = 0; w < program.workers.size(); ++w)
      for (std::size_t at = 0; at < program.workers[w].size(); ++at)
        visit(WorkerId{static_cast<int>(w)}, at, program.workers[w][at]);
  }
};

}  // namespace

std::vector<Diagnostic> check(const Program& program, const CheckOptions& options) {
  Checker checker{program};
  if (!checker.check_sizes()) return checker.found;
  checker.check_places();
  if (!checker.found.empty()) return checker.found;  // the other rules look things up by place
  checker.check_presence();
  checker.each([&](WorkerId w, std::size_t at, const Instruction& i) {
    checker.check_dependence(w, at, i);
  });
  for (int w = 0; w < static_cast<int>(program.workers.size()); ++w) checker.check_tails({w});
  if (checker.found.empty()) checker.found = find_misread_channels(program);
  checker.check_updates();
  checker.check_versions(options.weight_versions);
  if (!checker.found.empty()) return checker.found;
  auto stuck = find_deadlock(program, options.channel_capacity, options.activation_capacity);
  if (stuck.empty() && options.rendezvous) stuck = find_rendezvous_deadlock(program);
  return stuck;
}

CheckOptions with_room_for_activations(const Program& program) {
  const std::vector<int> in_flight = peak_inputs(program);
  return {.channel_capacity = 1,
          .activation_capacity = *std::max_element(in_flight.begin(), in_flight.end())};
}

}  // namespace pipetrain
