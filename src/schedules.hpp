// A published schedule is an order, a version policy, and what training does besides its program:
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

// What a schedule is made for. Invalid combinations throw a UsageError with the rule and a valid
// value.
struct ScheduleRequest {
  std::string schedule = "1f1b";
  int stages = 1;        // pipeline workers P
  int microbatches = 1;  // per mini-batch, N
  int minibatches = 1;   // K
  bool sync_gradients =
      false;  // updates wait for the gradient norm of the whole model (clipping, skipping); those
              // of stages with several copies wait anyway, for the sum of the copies' gradients
  Warmup warmup = Warmup::OneFOneB;
  std::optional<BusyTimes> busy = {};  // in Schedule::busy_order
  bool vertical_sync = false;
  int virtual_stages = 1;  // per worker, if the schedule leaves that open
  // For each stage (for each worker, if workers hold several parts of the model), or one number for
  // all; empty: no stage has more than one.
  std::vector<int> replicas = {};
  MixRule mix = {};
  bool recompute = false;            // keep stage inputs only
  int segment_stages = 0;            // program/recompute_segments.hpp; 0: not in segments
  bool recomputed_gradient = false;  // gradient_rule = "recompute": by the backward's weights
  bool early_sends = false;          // gradients are sent before the last weight gradient
  bool fused_updates = false;        // weights are updated in the backward, if no norm is needed
  // Stages with a layer that uses another layer's parameter, or whose parameter another layer uses:
  // their updates wait for each other.
  std::set<StageId> tied = {};
};

// How many parts the model is cut into under a schedule.
enum class Parts { OnePerWorker, VirtualStages, TwoPerWorker, Whole };

// Whether stages may have replicas (replica_rules.cpp), and whether these share the micro-batches
// of each mini-batch, or take mini-batches in turn.
enum class Replicas { None, Equal, Any, TakeMinibatches };

// What training does under a schedule besides running its program. The config says how strongly, by
// keys that only such schedules have.
struct TrainingRules {
  enum class Rate {
    Common,   // every stage has the same learning rate
    ByDelay,  // a stage's rate starts divided by its delay (PipeMare, T1)
  } rate = Rate::Common;
  enum class Motion {  // what delta, the mean motion of the weights, is kept for
    NotKept,
    CorrectsBackward,  // sets the weights of a backward back by its delay (PipeMare, T2)
    EstimatesForward,  // replaces the weights of forwards that were not stashed (I-TiMePReSt)
  } motion = Motion::NotKept;
  bool mixes = false;                 // backward reads a mixture of two versions: MixRule
  std::string_view sync_warmup = {};  // the schedule of the first epochs (PipeMare, T3)
};

struct Schedule {
  std::string_view name, summary, source;  // source: paper and section
  const Order* order = nullptr;
  const Order* busy_order = nullptr;  // in place of `order` if the request asks for it
  const VersionPolicy* versions = nullptr;
  // Throws a UsageError if the schedule cannot run with these values: the rule and the smallest
  // valid number.
  void (*refuse)(const ScheduleRequest&) = nullptr;
  const VersionPolicy* vertical = nullptr;  // in place of `versions` under vertical_sync
  Parts parts = Parts::OnePerWorker;
  Replicas replicas = Replicas::None;
  TrainingRules training = {};
  std::optional<Warmup> warmup = {};    // in place of the request's
  Charges charges = Charges::Channels;  // which devices it is made for; simulations follow it
};

std::span<const Schedule> schedules();
const Schedule* find_schedule(std::string_view name);
// Throws a UsageError if the name is unknown: it suggests the nearest.
const Schedule& require_schedule(std::string_view name);

// Does the pipeline drain at every update?
bool flushes(const Schedule& schedule);

// What a user can choose under a schedule.
bool takes_warmup(const Schedule& schedule);
bool takes_busy(const Schedule& schedule);  // ScheduleRequest::busy
bool takes_replicas(const Schedule& schedule);
bool takes_gradient_rule(const Schedule& schedule);  // backward may read other weights than forward
bool takes_segments(const Schedule& schedule);       // ScheduleRequest::segment_stages

// The costs, as the schedule charges them.
Costs charged(const Schedule& schedule, Costs costs);

int model_parts(const Schedule& schedule, int workers, int virtual_stages);

// Updates between a micro-batch's forward and its backward on each stage: the mean in steady state,
// which PipeMare's T1 and T2 use.
Indexed<double, StageId> delays(const ScheduleRequest& request);

// Enough mini-batches for a never-draining schedule to reach its steady state and leave it again.
int steady_minibatches(const Schedule& schedule, const ScheduleRequest& request);
// Fewer, but enough to look at: two rounds between warm-up and drain, and as many activations and
// versions kept as there ever are. 1 if the pipeline drains at every update.
int shown_minibatches(const Schedule& schedule, const ScheduleRequest& request);

// The whole line of passes: order, updates, versions, loads and transfers, checked.
Program make_program(const ScheduleRequest& request);
// The same for parts of the caller's own; a failed check names them.
Program make_program(const Schedule& schedule, const ScheduleRequest& request);
// The last passes, which send early and fuse, as the request says.
Program finish(Program program, const ScheduleRequest& request);
// The line from updates to transfers, for an existing order; unchecked.
Program complete(Program order, const VersionPolicy& versions, const ScheduleRequest& request,
                 bool flushes);
// The part after the versions, for a program whose versions are bound already.
Program complete_bound(Program bound, const ScheduleRequest& request, bool flushes);

// The request with what the schedule fixes: its warm-up, and no early gradients if it charges
// transfers otherwise than to channels.
ScheduleRequest settled(const Schedule& schedule, ScheduleRequest request);

// The stages whose updates wait for gradients of others, and their ProgramShape::sync_groups.
std::set<StageId> syncing_stages(const ProgramShape& shape, const ScheduleRequest& request);
Indexed<int, StageId> sync_groups(const ProgramShape& shape, const ScheduleRequest& request);

// The beginning of the line, for a settled request. Refuses what make_program refuses.
CompactOrder make_order(const Schedule& schedule, const ScheduleRequest& request);
// Which versions the schedule binds for the request.
const VersionPolicy& policy_of(const Schedule& schedule, const ScheduleRequest& request);
BindRule bind_rule_of(const ScheduleRequest& request, bool flushes);

// How many replicas each stage has (replica_rules.cpp): what order/replicas.hpp makes a pipeline
// of. Empty if no stage has a second one. Throws a UsageError if the request gives neither one
// number nor one per stage.
std::vector<int> replicas_of(const ScheduleRequest& request);
// How many workers the request's stages have in total.
int workers_of(const ScheduleRequest& request);

// Throws a UsageError with the rule if the schedule cannot have these replicas.
void refuse_replicas(const Schedule& schedule, const ScheduleRequest& request);

}  // namespace pipetrain
