// Products of ones: each element is the number of its terms, to the bit, whichever way a library
// cuts a long sum in pieces.
#include "backend/cuda/matmul.hpp"

#include "../../catch.hpp"
#include "device_values.hpp"

using namespace pipetrain;
using namespace pipetrain::cuda;
using namespace pipetrain::testing;

namespace {

constexpr std::int64_t kTermsMax = 5'000'000;  // of a product: quick on a software device too

class Ones {
 public:
  explicit Ones(DeviceStream& stream) : stream_(stream) {
    const Floats ones(largest, 1);
    a_ = static_cast<float*>(stream.allocate(ones.size() * sizeof(float)));
    b_ = static_cast<float*>(stream.allocate(ones.size() * sizeof(float)));
    d_ = static_cast<float*>(stream.allocate(256 * 256 * sizeof(float)));
    scratch_ = stream.allocate(kMatmulScratchBytes);
    stream.write(a_, ones.data(), ones.size() * sizeof(float));
    stream.write(b_, ones.data(), ones.size() * sizeof(float));
  }
  ~Ones() {
    stream_.finish();
    for (void* const block :
         {static_cast<void*>(a_), static_cast<void*>(b_), static_cast<void*>(d_), scratch_})
      stream_.release(block);
  }
  Ones(const Ones&) = delete;
  Ones& operator=(const Ones&) = delete;

  // Does every element equal the number of its terms, plus what was there before if it accumulates?
  bool counted(const MatmulProblem& problem, bool accumulate) {
    const Floats before(static_cast<std::size_t>(problem.m * problem.n), 7);
    stream_.write(d_, before.data(), before.size() * sizeof(float));
    Matmul multiply("ones", problem);
    multiply(stream_, {.a = a_, .b = b_, .d = d_, .accumulate = accumulate, .scratch = scratch_});
    Floats result(before.size());
    stream_.read(result.data(), d_, result.size() * sizeof(float));
    const auto terms = static_cast<float>(problem.k + (accumulate ? 7 : 0));
    return std::ranges::all_of(result, [&](float x) { return x == terms; });
  }

 private:
  static constexpr auto largest = static_cast<std::size_t>(kTermsMax);
  DeviceStream& stream_;
  float *a_, *b_, *d_;
  void* scratch_;
};

}  // namespace

TEST_CASE("products of ones count their terms, however many", "[device]") {
  if (!has_device()) return;
  DeviceStream stream(0);
  Ones ones(stream);
  for (const std::int64_t k : {1, 1037, 4099, 10007, 65537})
    for (const std::int64_t m : {1, 10, 64, 256})
      for (const std::int64_t n : {1, 10, 64, 256}) {
        if (m * n * k > kTermsMax) continue;
        INFO("m " << m << ", n " << n << ", k " << k);
        CHECK(ones.counted({.m = m, .n = n, .k = k}, false));
        CHECK(ones.counted({.m = m, .n = n, .k = k, .transposes_a = true}, true));
        CHECK(ones.counted({.m = m, .n = n, .k = k, .transposes_b = true}, m > n));
      }
}
