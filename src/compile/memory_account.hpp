// The bytes that a stage holds, by what they are for.
#pragma once

#include <array>
#include <cstddef>

#include "base/indexed.hpp"

namespace pipetrain {

// What a stage's bytes are for, in the order of reports.
enum class Use { Weights, Gradients, Optimizer, Activations, Workspace, Packets };
inline constexpr int use_count = 6;

struct MemoryAccount {
  IndexedArray<std::size_t, use_count, Use> bytes{};
  std::size_t& operator[](Use use) { return bytes[use]; }
  std::size_t operator[](Use use) const { return bytes[use]; }
  std::size_t total() const;
  bool operator==(const MemoryAccount&) const = default;
};

MemoryAccount operator+(MemoryAccount a, const MemoryAccount& b);

// What a stage holds while it trains, and while it validates: its parameters, and what the passes
// of that mode take. The passes of both modes use the same memory, one after the other.
struct HeldMemory {
  MemoryAccount training, validation;  // validation: zeros if there is none
  std::size_t most() const;            // held at once
  bool operator==(const HeldMemory&) const = default;
};
HeldMemory operator+(const HeldMemory& a, const HeldMemory& b);

}  // namespace pipetrain
