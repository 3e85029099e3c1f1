#include "compile/memory_account.hpp"

#include <algorithm>
#include <numeric>

namespace pipetrain {

std::size_t MemoryAccount::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
}

MemoryAccount operator+(MemoryAccount a, const MemoryAccount& b) {
  for (std::size_t use = 0; use < a.bytes.size(); ++use) a.bytes[use] += b.bytes[use];
  return a;
}

HeldMemory operator+(const HeldMemory& a, const HeldMemory& b) {
  return {a.training + b.training, a.validation + b.validation};
}

std::size_t HeldMemory::most() const { return std::max(training.total(), validation.total()); }

}  // namespace pipetrain
