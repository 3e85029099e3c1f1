// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11, "Parallel random numbers: as
// easy as 1, 2, 3"). The n-th number of a key is a pure function of (key, n), so results never
// depend on the order in which stages, threads or processes ask for numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pipetrain {

// Four 32-bit numbers of block `counter` under `key`.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter, std::uint64_t stream);

// FNV-1a, to key a stream by a name (a parameter, a layer). The same on every platform.
std::uint64_t hash_name(std::string_view name);

// A stream of random numbers keyed by (seed, name). Copies continue independently.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : key_(seed), stream_(stream) {}
  Random(std::uint64_t seed, std::string_view name) : Random(seed, hash_name(name)) {}

  std::uint32_t next();
  double uniform();                        // [0, 1), 53 bits
  double uniform(double low, double high)  // [low, high)
  {
    return low + (high - low) * uniform();
  }
  double normal();                           // mean 0, deviation 1 (Box-Muller)
  std::uint64_t below(std::uint64_t count);  // 0 .. count-1, unbiased

 private:
  std::uint64_t key_, stream_, counter_ = 0;
  std::array<std::uint32_t, 4> block_{};
  int left_ = 0;
};

}  // namespace pipetrain
