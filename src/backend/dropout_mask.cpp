#include "backend/dropout_mask.hpp"

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"

namespace pipetrain {

// One block is drawn from everything that identifies the mask; it is the key and the stream for all
// others.
DropoutMask::DropoutMask(double p, std::string_view layer, const RandomKey& key) {
  const auto block = philox(key.seed ^ hash_name(layer), key.step, key.microbatch);
  parts_ = {.key = (std::uint64_t{block[1]} << 32) | block[0],
            .stream = (std::uint64_t{block[3]} << 32) | block[2],
            .dropped_below = static_cast<std::uint64_t>(std::llround(p * 0x1p32)),
            .scale = p < 1 ? static_cast<float>(1 / (1 - p)) : 0.0f};
}

// Element i is number i % 4 of block i / 4.
void DropoutMask::factors(std::int64_t first, std::int64_t count, float* factors) const {
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t element = first + done, skipped = element % 4;
    const auto numbers = philox(parts_.key, static_cast<std::uint64_t>(element / 4), parts_.stream);
    const std::int64_t taken = std::min(4 - skipped, count - done);
    for (std::int64_t i = 0; i < taken; ++i) {
      const auto number = numbers[skipped + i];
      factors[done + i] = number < parts_.dropped_below ? 0.0f : parts_.scale;
    }
    done += taken;
  }
}

}  // namespace pipetrain
