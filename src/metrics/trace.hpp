// What the workers actually did in a few steps: metrics.trace_steps, written to trace.json.
//
//   stage 0   compute   [F0][F1]              [B0]          [B1]
//             send          [SA0][SA1]
//             receive             [waiting][RG0]   [wait][RG1]
//             update                                            [U1]
//   stage 1   receive   [waiting][RA0] ...           arrows: SA > RA > F and SG > RG > B
//
// A receive begins with the send that it waited for. Before that, and wherever else an instruction
// waits for a microsecond or more (for a packet, for the loader, for the other stages' norms),
// there is a slice "waiting".
//
// Each copy of a stage has its own tracks. With several ranks, each records its own stages, and
// rank 0's trace takes in what the others recorded.
//
// Threading: the worker that runs a stage writes its track. The reader must be synchronised with
// the workers: all have stopped, or a step after the last one traced has been reported.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "config/config.hpp"
#include "program/program.hpp"

namespace pipetrain {

struct TraceRecord {
  Instruction instruction;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t step = 0;                   // from 1
  int group = 0;                           // of tracks: one per stage, or per copy of a stage
  std::optional<std::int64_t> bytes = {};  // of the message or gradient sum that it carries
  bool waiting = false;  // only a part of the instruction; the record of the whole follows
};

// The track of one stage, or of one copy of it. Allocates all its memory at construction; a step
// that is not traced costs one comparison.
class TraceTrack {
 public:
  TraceTrack(const StepRange& steps, int group, std::size_t instructions);

  void begin(std::int64_t step, const Instruction& instruction) {
    traced_ = step >= steps_.first && step <= steps_.last;
    if (traced_)
      open_ = {.instruction = instruction,
               .begin_ns = now_ns(),
               .end_ns = 0,
               .step = step,
               .group = group_};
  }
  void carried(std::int64_t bytes) {
    if (traced_) open_.bytes = bytes;
  }
  bool traced() const { return traced_; }  // is the running instruction traced?
  void waited(std::int64_t begin_ns, std::int64_t end_ns) {
    if (traced_) record(begin_ns, end_ns, true);
  }
  void end() {
    if (traced_) record(open_.begin_ns, now_ns(), false);
    traced_ = false;
  }
  const std::vector<TraceRecord>& records() const { return records_; }
  void add(const TraceRecord& record);  // from another rank
  void clear() { records_.clear(); }    // keeps its memory

 private:
  void record(std::int64_t begin_ns, std::int64_t end_ns, bool waiting);

  StepRange steps_;
  int group_;
  TraceRecord open_;  // of the running instruction
  bool traced_ = false;
  std::vector<TraceRecord> records_;
};

class Trace {
 public:
  Trace(const StepRange& steps, const Program& program);

  const StepRange& steps() const { return steps_; }
  TraceTrack& track(StageId stage, int copy = 0) {
    return tracks_[first_[static_cast<std::size_t>(stage.value)] + copy];
  }
  bool empty() const;
  std::string text() const;  // trace.json, without what a failure cut short

  // Between ranks. `later_ns` converts times of another host's clock to this one's.
  std::vector<TraceRecord> take();  // moves out all that is recorded here
  void add(std::span<const TraceRecord> records, std::int64_t later_ns);
  // Not whole: other ranks still have something to add.
  void set_whole(bool whole) { whole_ = whole; }
  bool whole() const { return whole_; }

 private:
  StepRange steps_;
  int microbatches_;
  std::vector<TraceTrack> tracks_;  // by stage, then by copy
  std::vector<int> first_;          // per stage
  std::vector<std::string> names_;  // per track
  bool whole_ = true;
};

}  // namespace pipetrain
