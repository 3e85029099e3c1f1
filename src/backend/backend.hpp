// How layers are computed: one of the two virtual seams. A backend lowers the whole, uncut graph
// once; layouts, fusions and rounding points are chosen there, so that no cut of the graph changes
// a bit. Stages then take the kernels of their layers from that one lowering.
//
// The caller owns all memory: kernels get pointers, never allocate and never keep one. A call
// enqueues its work on the stream that it is given (backend/stream.hpp): a host backend has done
// the work on return, a device does it later, in the stream's order.
// Threading: once made, a Lowering may be used by several threads at once; a Kernel by one thread
// at a time, and always with the same stream. Errors: a failing library call throws DeviceError
// with the layer's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/stream.hpp"
#include "base/ids.hpp"
#include "base/indexed.hpp"
#include "base/precision.hpp"
#include "graph/backend_costs.hpp"

namespace pipetrain {

struct Graph;

enum class Mode { Train, Evaluate };
template <class T>
using ByMode = IndexedArray<T, 2, Mode>;

// The weights that a layer reads in one direction, forward or backward.
struct Weights {
  std::span<const void* const> parameters;  // in the stored layout, in the layer's order
  const void* packed = nullptr;             // packed for this direction, if packed_bytes() > 0
};

struct RandomKey {  // dropout: the mask is a function of these and the layer's name
  std::uint64_t seed = 0;
  std::uint64_t step = 0;        // mini-batches since training began
  std::uint64_t microbatch = 0;  // within the mini-batch
};

struct ForwardArguments {
  Stream* stream = nullptr;
  std::span<const void* const> inputs;
  void* output = nullptr;  // equals inputs[0] if aliases_input
  Weights weights;
  std::span<void* const> buffers;  // running statistics, updated in Train, read in Evaluate
  bool again = false;              // recomputation: leave running statistics alone
  void* saved = nullptr;           // saved_bytes, kept until the backward of this micro-batch
  void* scratch = nullptr;         // scratch_bytes, free before and after the call
  RandomKey random;
  // One tensor per entry of state_bytes, or empty. On entry: what the previous position left (zeros
  // before the first position); on return: what this position leaves.
  std::span<void* const> state = {};
};

struct BackwardInputArguments {
  Stream* stream = nullptr;
  std::span<const void* const> inputs;  // null if the traits say that they are not read
  const void* output = nullptr;
  const void* output_gradient = nullptr;
  std::span<void* const> input_gradients;  // null: not wanted. Overwritten, never added to
  Weights weights;
  void* saved = nullptr;  // backward_input() may add to it for backward_weight(), which comes later
  void* scratch = nullptr;
  RandomKey random;
};

// An update of a layer's parameters, done by its kernel.
struct FusedUpdate {
  std::span<const UpdateRule> rules;            // one per parameter, in the layer's order
  std::span<const UpdateArguments> parameters;  // likewise
};

struct BackwardWeightArguments {
  Stream* stream = nullptr;
  std::span<const void* const> inputs;
  const void* output_gradient = nullptr;
  std::span<void* const> gradients;  // f32, stored layout, one per parameter
  bool accumulate = false;           // add to what is there; otherwise overwrite
  // Null unless fuses_sgd: also update the parameters, with the gradients as they are summed up.
  // `gradients` holds nothing of use afterwards.
  const FusedUpdate* update = nullptr;
  const void* saved = nullptr;
  void* scratch = nullptr;
};

// What the memory plan must know about a kernel; fixed when the kernel is made.
struct KernelTraits {
  bool aliases_input = false;  // output is inputs[0]: forward() does nothing
  bool aliases_gradient =
      false;  // every input gradient is the output gradient: backward_input() does nothing
  bool backward_input_reads_inputs = false, backward_input_reads_output = false;
  bool backward_weight_reads_inputs = false;
  // backward_weight() reads what backward_input() has added to `saved`; backward_input() is then
  // called first even if no input gradient is wanted.
  bool backward_weight_needs_backward_input = false;
  bool fuses_sgd = false;  // backward_weight() and update() can do an sgd update
  std::size_t saved_bytes = 0, scratch_bytes = 0;
  // For a layer that carries state from one position of a sequence to the next, in a kernel that
  // evaluates sequences of length one: the bytes of each tensor of that state, [samples, ...].
  std::vector<std::size_t> state_bytes;
};

// One layer compiled for one number of samples and one mode. Holds neither activations nor weights.
// The kernels of a backend share their tables of sinusoidal positions.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const KernelTraits& traits() const = 0;
  virtual void forward(const ForwardArguments& arguments) = 0;
  virtual void backward_input(const BackwardInputArguments& arguments) = 0;
  virtual void backward_weight(const BackwardWeightArguments& arguments) = 0;
  // If fuses_sgd: gives the same bits as an update during backward_weight(), from gradients that
  // backward_weight() has left in memory.
  virtual void update(Stream& /*stream*/, const FusedUpdate&, void* /*scratch*/) {}
};

struct Targets {                          // of one micro-batch; exactly one is set
  const std::int32_t* classes = nullptr;  // cross_entropy: [samples], or [samples, T] for sequences
  const float* values = nullptr;          // mse: [samples, output shape], plain row-major
};

struct LossResult {
  double sum =
      0;  // over labels: cross entropy; or over samples: mean squared error of its elements
  // Labels (cross_entropy only) whose output is the largest, or among the five largest.
  std::int64_t correct = 0, correct_top5 = 0;
};

struct LossArguments {  // of one micro-batch
  Stream* stream = nullptr;
  const void* output = nullptr;  // of the model, stored layout
  Targets targets;               // in host memory, read before the call returns
  void* scratch = nullptr;       // scratch_bytes()
};

class LossKernel {
 public:
  virtual ~LossKernel() = default;
  virtual std::size_t scratch_bytes() const = 0;
  // Adds the micro-batch's sums to *result. A label of kNoLabel adds nothing and gets gradients of
  // 0. DataError: any other label that is not an output's index.
  virtual void forward(const LossArguments& arguments, LossResult* result) = 0;
  // gradient = scale * d(sum)/d(output), in the output's stored layout.
  virtual void backward(const LossArguments& arguments, double scale, void* gradient) = 0;
};

enum class Pass { Forward, Backward };

struct KernelOptions {
  int samples = 1;
  Mode mode = Mode::Train;
};

// A graph as one backend computes it. Shared and immutable.
class Lowering {
 public:
  virtual ~Lowering() = default;

  // Bytes of an activation (and of its gradient) in its stored layout.
  virtual std::size_t value_bytes(ValueId value, int samples) const = 0;
  // Do kernels read the graph's plain input in place? Then load_input() is not called.
  virtual bool reads_plain_input() const { return false; }
  // The graph's input: plain row-major [samples, shape], f32 or int32 tokens -> stored layout.
  virtual void load_input(Stream& stream, const void* plain, int samples, void* stored) const = 0;
  // Any value, stored layout -> plain f32 row-major. For tests, `eval` and generation.
  virtual void store_value(Stream& stream, ValueId value, const void* stored, int samples,
                           float* plain) const = 0;
  // a += b, elementwise over a value of this many samples: sums the gradients of a fan-out.
  virtual void add_value(Stream& stream, ValueId value, int samples, void* a,
                         const void* b) const = 0;

  // Parameters are kept in a stored layout (f32, any permutation, zero-padded); `plain` is
  // PyTorch's.
  virtual std::size_t parameter_bytes(LayerId layer, int parameter) const = 0;
  virtual void load_parameter(Stream& stream, LayerId layer, int parameter, const float* plain,
                              void* stored) const = 0;
  virtual void store_parameter(Stream& stream, LayerId layer, int parameter, const void* stored,
                               float* plain) const = 0;

  // Copies made once per weight version, for kernels that want another layout or type. 0: no copy.
  virtual std::size_t packed_bytes(LayerId layer, Pass pass) const = 0;
  virtual void pack(Stream& stream, LayerId layer, Pass pass,
                    std::span<const void* const> parameters, void* packed) const = 0;

  virtual std::unique_ptr<Kernel> make_kernel(LayerId layer,
                                              const KernelOptions& options) const = 0;
  virtual std::unique_ptr<LossKernel> make_loss(int samples) const = 0;
};

struct LowerOptions {
  int samples = 1;  // of a training micro-batch, for which layouts are chosen
  // A stage may recompute its activations with other weights: no layer does part of its neighbour's
  // backward, since the neighbour may be across a cut and see other activations. Changes no bit by
  // itself.
  bool recomputes = false;
  Precision precision = Precision::F32;
};

// Whose stream it is: a backend with several devices spreads the workers over them.
struct StreamOptions {
  int worker = 0, workers = 1;
};

// Must outlive its lowerings and its streams.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  // UsageError: a precision that the backend does not support.
  virtual std::unique_ptr<const Lowering> lower(const Graph& graph,
                                                const LowerOptions& options) = 0;
  // What the graph's layers cost on this backend. Measures nothing and refuses no precision.
  virtual BackendCosts costs(const Graph& graph, Precision precision) const = 0;
  // The stream for one copy of a stage.
  virtual std::unique_ptr<Stream> make_stream(const StreamOptions& options) = 0;
  virtual int device_of(const StreamOptions& /*options*/) const { return 0; }  // of that stream
  virtual bool asynchronous() const { return false; }                          // its streams
};

// For a backend that computes in f32 only: UsageError if the options ask for bf16.
void refuse_bf16(std::string_view backend, const LowerOptions& options);

// `name`: "cpu", "reference" or "cuda"; UsageError or DeviceError says what is missing. `devices`:
// for cuda, as the config names them; empty: the first one.
std::unique_ptr<Backend> make_backend(std::string_view name,
                                      std::span<const std::string> devices = {});

}  // namespace pipetrain
