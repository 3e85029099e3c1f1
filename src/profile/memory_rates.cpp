#include "profile/memory_rates.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "base/clock.hpp"
#include "profile/as_worker.hpp"
#include "profile/busy_neighbours.hpp"
#include "stage/memory.hpp"

namespace pipetrain {
namespace {

constexpr std::size_t least_bytes = std::size_t{1} << 20, most_bytes = std::size_t{256} << 20;
constexpr int repetitions = 5;  // of `most_bytes` each

using TwoArrays = std::array<float*, 2>;

// Goes through the first `bytes` of both together, as often as gives `most_bytes`.
double seconds_for(Stream& stream, const TwoArrays& arrays, std::size_t bytes) {
  const auto elements = static_cast<std::int64_t>(bytes / 2 / sizeof(float));
  const std::int64_t begin = now_ns();
  for (std::size_t done = 0; done < most_bytes; done += bytes)
    stream.add_up({.elements = elements, .parts = arrays});
  stream.finish();
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

}  // namespace

std::vector<MemoryRate> measure_memory_rates(Backend& backend) {
  std::vector<MemoryRate> rates;
  as_worker(cores_for(1, 1), [&] {
    const std::unique_ptr<Stream> stream = backend.make_stream({});
    StageMemory memory(*stream);
    TwoArrays arrays;
    for (float*& array : arrays)
      array = reinterpret_cast<float*>(memory.take(Use::Gradients, most_bytes / 2));
    for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes *= 4) {
      double least = seconds_for(*stream, arrays, bytes);
      for (int i = 1; i < repetitions; ++i)
        least = std::min(least, seconds_for(*stream, arrays, bytes));
      rates.push_back({.bytes = static_cast<std::int64_t>(bytes),
                       .bytes_per_second = 2.0 * most_bytes / least});
    }
  });
  return rates;
}

void keep_faster(std::vector<MemoryRate>& kept, const std::vector<MemoryRate>& measured) {
  for (std::size_t i = 0; i < kept.size(); ++i)
    kept[i].bytes_per_second = std::max(kept[i].bytes_per_second, measured[i].bytes_per_second);
}

}  // namespace pipetrain
