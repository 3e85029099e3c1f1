#include "profile/memory_rates.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "profile/as_worker.hpp"
#include "profile/busy_neighbours.hpp"

namespace pipetrain {
namespace {

constexpr std::size_t least_bytes = std::size_t{1} << 20, most_bytes = std::size_t{256} << 20;
constexpr int repetitions = 5;  // of `most_bytes` each

// Two arrays of zeros.
class Arrays {
 public:
  explicit Arrays(Stream& stream) : stream_(stream) {
    for (float*& array : arrays_) array = static_cast<float*>(stream.allocate(most_bytes / 2));
  }
  ~Arrays() {
    stream_.finish();
    for (float* const array : arrays_) stream_.release(array);
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  // Goes through the first `bytes` of both together, as often as gives `most_bytes`.
  double seconds(std::size_t bytes) const {
    const auto elements = static_cast<std::int64_t>(bytes / 2 / sizeof(float));
    const std::int64_t begin = now_ns();
    for (std::size_t done = 0; done < most_bytes; done += bytes)
      stream_.add_up({.elements = elements, .parts = arrays_});
    stream_.finish();
    return static_cast<double>(now_ns() - begin) * 1e-9;
  }

 private:
  Stream& stream_;
  std::array<float*, 2> arrays_ = {};
};

}  // namespace

std::vector<MemoryRate> measure_memory_rates(Backend& backend) {
  std::vector<MemoryRate> rates;
  as_worker(cores_for(1, 1), [&] {
    const std::unique_ptr<Stream> stream = backend.make_stream({});
    const Arrays arrays(*stream);
    for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes *= 4) {
      double least = arrays.seconds(bytes);
      for (int i = 1; i < repetitions; ++i) least = std::min(least, arrays.seconds(bytes));
      rates.push_back({.bytes = static_cast<std::int64_t>(bytes),
                       .bytes_per_second = 2.0 * most_bytes / least});
    }
  });
  return rates;
}

}  // namespace pipetrain
