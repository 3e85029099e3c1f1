// The time that a picture of slices shows: all of it, without long stretches in which nothing was
// traced, such as a validation between two steps.
#pragma once

#include <span>
#include <vector>

#include "report/trace_slices.hpp"

namespace pipetrain {

// All times in microseconds.
class TimeScale {
 public:
  struct Break {
    double at = 0;        // in shown time
    double left_out = 0;  // what is between `at` and `at + break_length()`, in true time
  };

  // At least one slice.
  explicit TimeScale(std::span<const TraceSlice> slices);

  // Shown time since the first slice's begin, of a time in the trace.
  double shown(double time) const;
  double length() const { return length_; }  // shown, above 0
  double break_length() const { return break_length_; }
  const std::vector<Break>& breaks() const { return breaks_; }

 private:
  struct Stretch {
    double begin, end, shown;  // `shown`: that of begin
  };

  std::vector<Stretch> stretches_;  // ascending, disjoint
  std::vector<Break> breaks_;
  double length_ = 0, break_length_ = 0;
};

}  // namespace pipetrain
