#include "program/communication.hpp"

namespace pipetrain {
namespace {

constexpr Volume StageVolumes::*volume_kinds[] = {&StageVolumes::activations,
                                                  &StageVolumes::gradients,
                                                  &StageVolumes::all_reduce, &StageVolumes::tied};

}  // namespace

Volume ring_all_reduce(std::int64_t bytes, int members) {
  if (members < 2) return {};
  return {2 * (members - 1) * bytes, std::int64_t{2} * (members - 1) * members};
}

void StageVolumes::add(const StageVolumes& other) {
  for (const auto kind : volume_kinds) (this->*kind).add(other.*kind);
  link_seconds += other.link_seconds;
}

void Communication::add(std::span<const StageVolumes> parts) {
  if (stages.size() < parts.size()) stages.resize(parts.size());
  for (std::size_t s = 0; s < parts.size(); ++s) stages[s].add(parts[s]);
}

Volume Communication::total() const {
  Volume total;
  for (const auto kind : volume_kinds) total.add(of(kind));
  return total;
}

Volume Communication::of(Volume StageVolumes::*kind) const {
  Volume sum;
  for (const StageVolumes& stage : stages) sum.add(stage.*kind);
  return sum;
}

double Communication::link_seconds() const {
  double seconds = 0;
  for (const StageVolumes& stage : stages) seconds += stage.link_seconds;
  return seconds;
}

}  // namespace pipetrain
