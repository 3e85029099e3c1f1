// How layers are computed: one of the two virtual seams. A backend lowers the whole, uncut graph
// once; layouts, fusions and rounding points are chosen there, so that no cut of the graph changes
// a bit. Stages then take the kernels of their layers from that one lowering.
//
// Memory is the caller's throughout: kernels get pointers, never allocate and never keep one.
// Threading: a Lowering may be used by several threads at once once made; a Kernel by one at a
// time. Errors: a failing library call throws DeviceError with the layer's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

enum class Mode { Train, Evaluate };

// The weights that one pass of one layer reads.
struct Weights {
  std::span<const void* const> parameters;  // in the stored layout, in the layer's order
  const void* packed = nullptr;             // this pass's packed copy, where packed_bytes() > 0
};

struct RandomKey {  // dropout: the mask is a function of these and the layer's name
  std::uint64_t seed = 0;
  std::uint64_t step = 0;        // mini-batches since training began
  std::uint64_t microbatch = 0;  // within the mini-batch
};

struct ForwardArguments {
  std::span<const void* const> inputs;
  void* output = nullptr;  // equals inputs[0] where aliases_input()
  Weights weights;
  std::span<void* const> buffers;  // running statistics, updated in Train, read in Evaluate
  bool again = false;              // a recomputation: running statistics stay as they are
  void* saved = nullptr;           // saved_bytes(), kept until the backward of this micro-batch
  void* scratch = nullptr;         // scratch_bytes(), free before and after the call
  RandomKey random;
};

struct BackwardInputArguments {
  std::span<const void* const> inputs;  // null where reads() says that nobody reads it
  const void* output = nullptr;
  const void* output_gradient = nullptr;
  std::span<void* const> input_gradients;  // null: nobody wants it. Overwritten, never added to
  Weights weights;
  const void* saved = nullptr;
  void* scratch = nullptr;
  RandomKey random;
};

// One fused pass over a parameter. Moments are zero at first.
struct UpdateRule {
  enum class Kind { Sgd, Adam, AdamW } kind = Kind::Sgd;
  double lr = 0, momentum = 0, weight_decay = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool nesterov = false;
  double gradient_scale = 1;  // clipping
  std::int64_t step = 1;      // from 1: Adam's bias correction, and sgd's first momentum
  // PipeMare, section 3.2: delta = delta_decay * delta + (1 - delta_decay) * (new - old weights);
  // corrected = new weights - correction * delta.
  double delta_decay = 0, correction = 0;
};

struct UpdateArguments {
  std::int64_t elements = 0;
  const float* weights = nullptr;  // the live version
  float* new_weights = nullptr;    // where the next version goes; may be `weights`
  const float* gradient = nullptr;
  float* first_moment = nullptr;     // sgd: velocity (null without momentum); adam: m
  float* second_moment = nullptr;    // adam: v
  double* sum_of_squares = nullptr;  // null, or where to put what sum_of_squares(gradient) gives
  float *delta = nullptr, *corrected = nullptr;  // null, or kept up; corrected only beside delta
};

struct Combination {  // result = a * x + b * y, elementwise
  std::int64_t elements = 0;
  float* result = nullptr;
  double a = 1, b = 0;
  const float *x = nullptr, *y = nullptr;
};

struct Summation {            // each of parts[i] becomes the sum of all, added in their order
  std::int64_t elements = 0;  // of each
  std::span<float* const> parts;
};

// An update of a layer's parameters by its kernel.
struct FusedUpdate {
  UpdateRule rule;
  std::span<const UpdateArguments> parameters;  // in the layer's order
};

struct BackwardWeightArguments {
  std::span<const void* const> inputs;
  const void* output_gradient = nullptr;
  std::span<void* const> gradients;  // f32, stored layout, one per parameter
  bool accumulate = false;           // add to what is there; otherwise overwrite
  // Where fuses_sgd, else null: update the parameters too, by the gradients as they are summed up.
  // What is in `gradients` afterwards is of no use.
  const FusedUpdate* update = nullptr;
  const void* saved = nullptr;
  void* scratch = nullptr;
};

// What the memory plan must know about a kernel; fixed when it is made.
struct KernelTraits {
  bool aliases_input = false;  // output is inputs[0]: forward() does nothing
  bool aliases_gradient =
      false;  // every input gradient is the output gradient: backward_input() does nothing
  bool backward_input_reads_inputs = false, backward_input_reads_output = false;
  bool backward_weight_reads_inputs = false;
  bool fuses_sgd = false;  // backward_weight() and update() can do an update by sgd
  std::size_t saved_bytes = 0, scratch_bytes = 0;
};

// One layer for one number of samples and one mode, compiled. Holds no activation and no weight.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const KernelTraits& traits() const = 0;
  virtual void forward(const ForwardArguments& arguments) = 0;
  virtual void backward_input(const BackwardInputArguments& arguments) = 0;
  virtual void backward_weight(const BackwardWeightArguments& arguments) = 0;
  // Where fuses_sgd: the same bits as an update on the way of backward_weight(), by gradients that
  // it has left in memory.
  virtual void update(const FusedUpdate&, void* /*scratch*/) {}
};

struct Targets {                          // of one micro-batch; one of the two is set
  const std::int32_t* classes = nullptr;  // cross_entropy: [samples]
  const float* values = nullptr;          // mse: [samples, output shape], plain row-major
};

struct LossResult {
  double sum = 0;  // over samples: cross entropy, or mean squared error of each sample's elements
  std::int64_t correct = 0;  // samples whose largest output is their class (cross_entropy)
};

class LossKernel {
 public:
  virtual ~LossKernel() = default;
  virtual std::size_t scratch_bytes() const = 0;
  virtual LossResult forward(const void* output, const Targets& targets, void* scratch) = 0;
  // gradient = scale * d(sum)/d(output), in the output's stored layout.
  virtual void backward(const void* output, const Targets& targets, double scale, void* gradient,
                        void* scratch) = 0;
};

enum class Pass { Forward, Backward };

struct KernelOptions {
  int samples = 1;
  Mode mode = Mode::Train;
};

// A graph as one backend computes it. Shared, unchanging.
class Lowering {
 public:
  virtual ~Lowering() = default;

  // Bytes of an activation (and of its gradient) in its stored layout.
  virtual std::size_t value_bytes(ValueId value, int samples) const = 0;
  // Input of the graph: plain f32 row-major [samples, shape] -> stored layout.
  virtual void load_input(const float* plain, int samples, void* stored) const = 0;
  // Any value, stored layout -> plain f32 row-major. For tests, `eval` and generation.
  virtual void store_value(ValueId value, const void* stored, int samples, float* plain) const = 0;
  // a += b, elementwise over a value of that many samples: the gradients of a fan-out.
  virtual void add_value(ValueId value, int samples, void* a, const void* b) const = 0;

  // Parameters live in a stored layout (f32, any permutation, zero-padded); PyTorch's is `plain`.
  virtual std::size_t parameter_bytes(LayerId layer, int parameter) const = 0;
  virtual void load_parameter(LayerId layer, int parameter, const float* plain,
                              void* stored) const = 0;
  virtual void store_parameter(LayerId layer, int parameter, const void* stored,
                               float* plain) const = 0;

  // Copies made once per weight version, for kernels that want another layout or type. 0: none.
  virtual std::size_t packed_bytes(LayerId layer, Pass pass) const = 0;
  virtual void pack(LayerId layer, Pass pass, std::span<const void* const> parameters,
                    void* packed) const = 0;

  virtual std::unique_ptr<Kernel> make_kernel(LayerId layer,
                                              const KernelOptions& options) const = 0;
  virtual std::unique_ptr<LossKernel> make_loss(int samples) const = 0;
};

struct LowerOptions {
  int samples = 1;  // of a training micro-batch: layouts are chosen for it
  // A stage may make its activations again by other weights: no layer does a part of its
  // neighbour's backward, which may lie behind a cut and see other activations. Changes no bit by
  // itself.
  bool recomputes = false;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::unique_ptr<const Lowering> lower(const Graph& graph,
                                                const LowerOptions& options) = 0;

  virtual void* allocate(
      std::size_t bytes) = 0;  // 64-byte aligned, zeroed; DeviceError when there is none
  virtual void release(void* memory) noexcept = 0;
  virtual void apply(const UpdateRule& rule, const UpdateArguments& arguments) = 0;
  virtual void combine(const Combination& combination) = 0;
  virtual void add_up(const Summation& summation) = 0;
  // Sum of squares in f64, in a fixed order for a fixed number of threads.
  virtual double sum_of_squares(const float* values, std::int64_t elements) = 0;
};

// "cpu" | "reference" | "cuda"; UsageError or DeviceError says what is missing.
std::unique_ptr<Backend> make_backend(std::string_view name);

}  // namespace pipetrain
