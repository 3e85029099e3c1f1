// What was measured for a model's layers on a machine (`pipetrain profile`), and the chain of
// layers that planners make from it for one size of micro-batch.
//
// Times are medians in milliseconds, for one micro-batch on the threads of one stage; bytes and
// FLOPs are per sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/layer_chain.hpp"

namespace pipetrain {

struct LayerTimes {
  double forward_ms = 0, backward_input_ms = 0;
  double first_weight_ms = 0;  // the weight gradient of a mini-batch's first micro-batch: written
  double backward_weight_ms = 0;  // of each further one: added to the sum, which is read again
  double update_ms = 0;           // once per mini-batch, not fused
  double pack_ms = 0;             // after the update: new weights in the layouts that kernels read
  double fused_update_ms = 0;  // what the update adds to the weight gradient that it is fused into
  double cut_forward_ms = 0, cut_backward_ms = 0;  // what a cut after the layer adds to both sides
  double split_backward_ms = 0;  // what is added if its two halves do not run one after the other
  double spread = 0;  // of repeated measurements: half the middle 80%, as a share of the median

  // Of the weight gradient, on average over a mini-batch's micro-batches.
  double weight_ms(double microbatches) const {
    return backward_weight_ms + (first_weight_ms - backward_weight_ms) / microbatches;
  }
};

struct ProfiledLayer {
  std::string name, kind;
  std::int64_t sent_bytes = 0;       // over a cut after it, one way, in the precision of training
  std::int64_t saved_bytes = 0;      // kept from its forward to its backward
  std::int64_t parameter_bytes = 0;  // f32, of the parameters it owns
  std::int64_t flops = 0;            // of its forward
};

struct ProfilePoint {
  int samples = 1;       // in a micro-batch
  int threads = 1;       // of the stage's kernels
  int neighbours = 0;    // other stages that train at the same time, each on its own cores
  int microbatches = 2;  // in a mini-batch; in flight at once all with one version, one with more
  int versions = 1;      // of the weights, kept by the stage
  std::int64_t held_bytes =
      0;  // held by the stage meanwhile: what a step goes through, and caches may or may not hold
  std::vector<LayerTimes> layers = {};
  double load_ms = 0;  // for the first layer's input
  double loss_ms = 0, loss_gradient_ms = 0;
  double rest_ms = 0;  // per mini-batch: what is in none of these
};

struct TransportTimes {
  std::string name;             // threads | mpi | nccl
  double handover_ms = 0;       // for a packet, from the sender's call to the receiver's return
  double bytes_per_second = 0;  // 0: packets are handed over in place
};

// The rate of one core that reads and writes this many bytes again and again.
struct MemoryRate {
  std::int64_t bytes = 0;
  double bytes_per_second = 0;
};

// What a profile is valid for: times of another model, precision or machine say nothing.
struct ProfileKey {
  std::string model, shapes;  // shapes: a sum over names, kinds, sizes
  std::string precision, backend, optimizer;
  std::string machine;  // processor, instructions, cores
  std::string library;  // the one that computes, with its version
  bool operator==(const ProfileKey&) const = default;
};

struct Profile {
  ProfileKey key;
  std::vector<ProfiledLayer> layers = {};
  std::vector<ProfilePoint> points = {};  // by threads, then samples, ascending
  std::vector<TransportTimes> transports = {};
  std::vector<MemoryRate> memory = {};  // ascending by bytes
};

// Who else computes while a stage does. Cores share memory, its bandwidth and their clock, so times
// are longer beside busy neighbours.
enum class Beside { Nobody, Neighbours };

// The circumstances for which times are wanted.
struct Conditions {
  double samples = 1;  // of a micro-batch
  int threads = 1;
  Beside beside = Beside::Nobody;
  double held_bytes = 0;       // held by the worker; 0: little
  double microbatches = 2;     // in a mini-batch
  int versions = 0;            // of the weights; 0: not known
  bool all_in_flight = false;  // a stage holds all micro-batches of a mini-batch, of several
};

// Times as measured, or interpolated between the two nearest sizes of micro-batch; above the
// largest, in proportion to it. Between measurements of one size that held less and more, times are
// interpolated by the logarithm of the bytes, and extrapolated the same way up to twice the most
// bytes. An update that must keep the weights it starts from writes others: its times are those of
// points with one version or with several, as wanted. A stage that holds all micro-batches of a
// mini-batch takes the times of its forwards and backwards from points that did too. If nothing
// was measured beside neighbours, times are those measured alone. Throws a UsageError if no point
// has that number of threads.
ProfilePoint point_of(const Profile& profile, const Conditions& wanted);

// Bytes per second for a worker that holds this many bytes, interpolated by the logarithm of the
// bytes. 0 if nothing was measured.
double memory_rate(const Profile& profile, double held_bytes);

// For a whole number of samples.
LayerChain chain_of(const Profile& profile, const Conditions& wanted);

}  // namespace pipetrain
