// How the accesses of a kernel's threads clash.
#include "fake_cuda/kernel_threads.hpp"

namespace fake_cuda {

void KernelThreads::clear() {
  at_ = {};
  places_.clear();
}

void KernelThreads::at(std::int64_t block, int thread, int syncs) { at_ = {block, thread, syncs}; }

// Blocks run in any order, so nothing orders the accesses of two of them.
bool KernelThreads::clash(const At& earlier, bool shared) const {
  if (earlier.block < 0) return false;
  if (earlier.block != at_.block) return !shared;
  return earlier.thread != at_.thread && earlier.syncs == at_.syncs;
}

bool KernelThreads::read(std::uintptr_t place, bool shared) {
  if (!known()) return false;
  Place& seen = places_[place];
  const bool same_phase = seen.reader.block == at_.block && seen.reader.syncs == at_.syncs;
  if (seen.reader.block >= 0 && seen.reader.block != at_.block) seen.many_blocks = true;
  seen.many_readers = same_phase && (seen.many_readers || seen.reader.thread != at_.thread);
  seen.reader = at_;
  return clash(seen.writer, shared);
}

bool KernelThreads::write(std::uintptr_t place, bool shared) {
  if (!known()) return false;
  Place& seen = places_[place];
  const bool same_phase = seen.reader.block == at_.block && seen.reader.syncs == at_.syncs;
  const bool races = clash(seen.writer, shared) || clash(seen.reader, shared) ||
                     (same_phase && seen.many_readers) || (!shared && seen.many_blocks);
  seen.writer = at_;
  return races;
}

}  // namespace fake_cuda
