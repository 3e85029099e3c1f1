#include "backend/cuda/peak.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "backend/cuda/devices.hpp"
#include "backend/cuda/kernel.hpp"
#include "backend/cuda/matmul.hpp"
#include "base/rng.hpp"

namespace pipetrain {
namespace {

constexpr std::int64_t kSize = 4096;
constexpr int kRuns = 20;

// Memory on a stream's device, released in the destructor.
class Block {
 public:
  Block(Stream& stream, std::size_t bytes) : stream_(stream), memory_(stream.allocate(bytes)) {}
  ~Block() { stream_.release(memory_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* get() const { return memory_; }

 private:
  Stream& stream_;
  void* memory_;
};

double seconds(cuda::DeviceStream& stream, cuda::Matmul& product,
               const cuda::MatmulArguments& arguments) {
  const auto begin = stream.make_timed_fence(), end = stream.make_timed_fence();
  stream.record(*begin);
  product(stream, arguments);
  stream.record(*end);
  end->wait();
  return stream.seconds_between(*begin, *end);
}

// Between -1 and 1. Operands that are all alike draw less power than those of a training, and a
// device that draws less keeps a higher clock: that peak would be out of reach for any training.
std::vector<float> pseudo_random() {
  std::vector<float> numbers(kSize * kSize);
  Random random(0, "peak");
  for (float& number : numbers)
    number = static_cast<float>(static_cast<std::int32_t>(random.next())) * 0x1p-31f;
  return numbers;
}

double peak_of(int device) {
  cuda::DeviceStream stream(device);
  const std::vector<float> numbers = pseudo_random();
  const std::size_t bytes = numbers.size() * sizeof(float);
  const Block a(stream, bytes), b(stream, bytes), d(stream, bytes),
      scratch(stream, cuda::kMatmulScratchBytes);
  for (const Block* block : {&a, &b}) stream.write(block->get(), numbers.data(), bytes);
  cuda::Matmul product("peak", {.m = kSize, .n = kSize, .k = kSize});
  const cuda::MatmulArguments arguments{.a = cuda::floats(a.get()),
                                        .b = cuda::floats(b.get()),
                                        .d = cuda::floats(d.get()),
                                        .scratch = scratch.get()};
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) best = std::min(best, seconds(stream, product, arguments));
  stream.finish();
  return 2.0 * kSize * kSize * kSize / best * 1e-9;
}

}  // namespace

double measured_cuda_peak_gflops(std::span<const std::string> devices) {
  const std::vector<int> named = cuda::find_devices(devices);
  double sum = 0;
  for (const int device : std::set<int>(named.begin(), named.end())) sum += peak_of(device);
  return sum;
}

}  // namespace pipetrain
