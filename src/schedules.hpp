// A published schedule is an order, a version policy, and what training does beside its program:
// one row of a table.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/indexed.hpp"
#include "order/order.hpp"
#include "program/costs.hpp"
#include "program/program.hpp"
#include "versions/bind.hpp"
#include "versions/policy.hpp"

namespace pipetrain {

// What a schedule is made for. Invalid combinations throw UsageError with the rule and a valid
// value.
struct ScheduleRequest {
  std::string schedule = "1f1b";
  int stages = 1;        // pipeline workers P
  int microbatches = 1;  // per mini-batch, N
  int minibatches = 1;   // K
  bool sync_gradients =
      false;  // updates wait for the whole model's gradient norm (clipping, skipping); those of
              // stages with several copies in any case for the sum of the copies' gradients
  Warmup warmup = Warmup::OneFOneB;
  bool vertical_sync = false;
  int virtual_stages = 1;  // per worker, where the schedule leaves that open
  // Of each stage (of each worker, where those hold several parts of the model), or one number for
  // all; empty: none has a second one.
  std::vector<int> replicas = {};
  MixRule mix = {};
  bool recompute = false;            // keep stage inputs only
  bool recomputed_gradient = false;  // gradient_rule = "recompute": by the weights of backward
  bool early_sends = false;          // gradients are sent before the last weight gradient
  bool fused_updates = false;        // weights are updated in the backward, where no norm is needed
  // With a layer that uses another one's parameter, or whose own is used so: their updates wait for
  // each other.
  std::set<StageId> tied = {};
};

// In how many parts a schedule has the model cut.
enum class Parts { OnePerWorker, VirtualStages, TwoPerWorker, Whole };

// Whether stages may have replicas (replica_rules.cpp), which share the micro-batches of each
// mini-batch, or take mini-batches in turn.
enum class Replicas { None, Equal, Any, TakeMinibatches };

// What a training does under a schedule beside running its program. How strongly is for the config
// to say, by keys that only such schedules have.
struct TrainingRules {
  enum class Rate {
    Common,   // every stage has the same learning rate
    ByDelay,  // a stage's rate starts divided by its delay (PipeMare, T1)
  } rate = Rate::Common;
  enum class Motion {  // what the mean motion of the weights, delta, is kept for
    NotKept,
    CorrectsBackward,  // sets the weights of a backward back by its delay (PipeMare, T2)
    EstimatesForward,  // replaces the weights of forwards that nobody stashed (I-TiMePReSt)
  } motion = Motion::NotKept;
  bool mixes = false;                 // backward reads a mixture of two versions: MixRule
  std::string_view sync_warmup = {};  // the schedule of the first epochs (PipeMare, T3)
};

struct Schedule {
  std::string_view name, summary, source;  // source: paper and section
  const Order* order = nullptr;
  const VersionPolicy* versions = nullptr;
  // Throws UsageError where the schedule cannot run with these values: the rule and the smallest
  // valid number.
  void (*refuse)(const ScheduleRequest&) = nullptr;
  const VersionPolicy* vertical = nullptr;  // in place of `versions` under vertical_sync
  Parts parts = Parts::OnePerWorker;
  Replicas replicas = Replicas::None;
  TrainingRules training = {};
  std::optional<Warmup> warmup = {};    // in place of the request's
  Charges charges = Charges::Channels;  // what devices it is made for: simulations go by it
};

std::span<const Schedule> schedules();
const Schedule* find_schedule(std::string_view name);
// Throws UsageError: unknown, with the nearest name.
const Schedule& require_schedule(std::string_view name);

// Does the pipeline drain at every update?
bool flushes(const Schedule& schedule);

// What a user can choose of a schedule.
bool takes_warmup(const Schedule& schedule);
bool takes_replicas(const Schedule& schedule);
bool takes_gradient_rule(const Schedule& schedule);  // backward may read other weights than forward

// The costs as the schedule charges them.
Costs charged(const Schedule& schedule, Costs costs);

int model_parts(const Schedule& schedule, int workers, int virtual_stages);

// Updates between a micro-batch's forward and its backward on each stage, the mean in steady state:
// what PipeMare's T1 and T2 go by.
Indexed<double, StageId> delays(const ScheduleRequest& request);

// This many mini-batches reach the steady state of a schedule that never drains and leave it again.
int steady_minibatches(const Schedule& schedule, const ScheduleRequest& request);
// Fewer, but enough to look at: two rounds between warm-up and drain, and as many activations and
// versions kept as ever. 1 where the pipeline drains at every update.
int shown_minibatches(const Schedule& schedule, const ScheduleRequest& request);

// The whole line: order, updates, versions, loads and transfers, checked.
Program make_program(const ScheduleRequest& request);
// The same for parts of the caller's own, named in what a failed check says.
Program make_program(const Schedule& schedule, const ScheduleRequest& request);
// The last passes, which send early and fuse as the request says.
Program finish(Program program, const ScheduleRequest& request);
// The line from updates to transfers, for an order that has been made; unchecked.
Program complete(Program order, const VersionPolicy& versions, const ScheduleRequest& request,
                 bool flushes);
// The part of it after the versions, where those are bound already.
Program complete_bound(Program bound, const ScheduleRequest& request, bool flushes);

// The request with what the schedule does not leave open: its warm-up, and no gradient sent early
// where it charges transfers otherwise than to channels.
ScheduleRequest settled(const Schedule& schedule, ScheduleRequest request);

// The stages whose updates wait for gradients of others, and ProgramShape::sync_groups of them.
std::set<StageId> syncing_stages(const ProgramShape& shape, const ScheduleRequest& request);
Indexed<int, StageId> sync_groups(const ProgramShape& shape, const ScheduleRequest& request);

// The beginning of the line, of a settled request: refuses as make_program does.
CompactOrder make_order(const Schedule& schedule, const ScheduleRequest& request);
// What versions the schedule binds for the request.
const VersionPolicy& policy_of(const Schedule& schedule, const ScheduleRequest& request);
BindRule bind_rule_of(const ScheduleRequest& request, bool flushes);

// Which stages have replicas, and how many (replica_rules.cpp): what order/replicas.hpp makes a
// pipeline of. Of each stage; empty where none has a second one. UsageError where the request names
// neither one number nor one per stage.
std::vector<int> replicas_of(const ScheduleRequest& request);
// How many workers the request's stages have together.
int workers_of(const ScheduleRequest& request);

// Throws UsageError with the rule where the schedule cannot have these replicas.
void refuse_replicas(const Schedule& schedule, const ScheduleRequest& request);

}  // namespace pipetrain
