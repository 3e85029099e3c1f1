// What was measured of a model's layers on a machine (`pipetrain profile`), and the chain of layers
// that planners make of it for one size of micro-batch.
//
// Times are medians in milliseconds of one micro-batch on one stage's threads; bytes and FLOPs are
// of one sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/layer_chain.hpp"

namespace pipetrain {

struct LayerTimes {
  double forward_ms = 0, backward_input_ms = 0, backward_weight_ms = 0;
  double update_ms = 0;        // once per mini-batch, by itself
  double pack_ms = 0;          // after it: new weights in the layouts that kernels read
  double fused_update_ms = 0;  // what it adds to the weight gradient that it is fused into
  double cut_forward_ms = 0, cut_backward_ms = 0;  // that a cut after it adds to both sides
  double spread = 0;  // of repeated measurements: half the middle 80%, as a share of the median
};

struct ProfiledLayer {
  std::string name, kind;
  std::int64_t sent_bytes = 0;       // over a cut after it, one way, as the precision has them
  std::int64_t saved_bytes = 0;      // kept from its forward to its backward
  std::int64_t parameter_bytes = 0;  // f32, of what it owns
  std::int64_t flops = 0;            // of its forward
};

struct ProfilePoint {
  int samples = 1;       // in a micro-batch
  int threads = 1;       // of the stage's kernels
  int neighbours = 0;    // other stages that train at the same time, each on cores of its own
  int microbatches = 2;  // of a mini-batch, all in flight at once
  int versions = 1;      // of the weights, that were kept
  std::int64_t held_bytes =
      0;  // by the stage meanwhile: what a step goes through and caches may hold
  std::vector<LayerTimes> layers = {};
  double load_ms = 0;  // of the first layer's input
  double loss_ms = 0, loss_gradient_ms = 0;
  double rest_ms = 0;  // per mini-batch: what none of these is
};

struct TransportTimes {
  std::string name;             // threads | mpi | nccl
  double handover_ms = 0;       // of a packet, from the sender's call to the receiver's return
  double bytes_per_second = 0;  // 0: packets are handed over in place
};

// Of one core, which reads and writes that many bytes again and again.
struct MemoryRate {
  std::int64_t bytes = 0;
  double bytes_per_second = 0;
};

// What a profile holds for: times of another model, precision or machine say nothing.
struct ProfileKey {
  std::string model, shapes;  // shapes: a sum over names, kinds, sizes
  std::string precision, backend, optimizer;
  std::string machine;  // processor, instructions, cores
  std::string library;  // that computes, with its version
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
// beside busy neighbours are longer.
enum class Beside { Nobody, Neighbours };

// What times are asked for.
struct Conditions {
  double samples = 1;  // of a micro-batch
  int threads = 1;
  Beside beside = Beside::Nobody;
  double held_bytes = 0;    // by the worker; 0: little
  double microbatches = 2;  // of a mini-batch
};

// Measured, or between the two sizes of micro-batch next to it; beyond the largest in proportion.
// Likewise between the measurements of a size that held less and more, by the logarithm of the
// bytes; beyond the most by the same measure, up to twice as many bytes. Where nothing was measured
// beside neighbours, the times are those alone. UsageError where no point has that number of
// threads.
ProfilePoint point_of(const Profile& profile, const Conditions& wanted);

// Bytes per second where a worker holds that many: between those measured by the logarithm of the
// bytes. 0 where nothing was measured.
double memory_rate(const Profile& profile, double held_bytes);

LayerChain chain_of(const Profile& profile, int samples, int threads, Beside beside);

}  // namespace pipetrain
