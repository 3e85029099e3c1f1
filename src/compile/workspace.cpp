#include "compile/workspace.hpp"

#include <algorithm>
#include <utility>

namespace pipetrain {
namespace {

using Range = std::pair<std::size_t, std::size_t>;  // bytes [begin, end)

bool alive_together(const Block& a, const Block& b) {
  return a.first_use <= b.last_use && b.first_use <= a.last_use;
}

// The first gap that is large enough.
std::size_t first_fit(std::vector<Range> taken, std::size_t bytes) {
  std::sort(taken.begin(), taken.end());
  std::size_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (offset + bytes <= begin) break;
    offset = std::max(offset, end);
  }
  return offset;
}

}  // namespace

std::size_t place_workspace(std::vector<Block>& blocks, std::size_t from) {
  std::vector<const Block*> placed;
  std::size_t end = 0;
  for (std::size_t b = from; b < blocks.size(); ++b) {
    Block& block = blocks[b];
    if (block.area != Area::Workspace || block.first_use < 0) continue;
    std::vector<Range> taken;
    for (const Block* other : placed)
      if (alive_together(*other, block))
        taken.emplace_back(other->offset, other->offset + other->bytes);
    block.offset = first_fit(std::move(taken), block.bytes);
    end = std::max(end, block.offset + block.bytes);
    placed.push_back(&block);
  }
  return end;
}

}  // namespace pipetrain
