// Several runs side by side, one row each: for a page, a terminal or a program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "report/measure.hpp"
#include "report/table.hpp"

namespace pipetrain {

struct Comparison {
  std::optional<Measure> measure;  // none: no run validated, or nothing can be compared
  std::optional<double> target;    // the one of "time to" and "epochs to"
};

// If no `target` is given: the best value that every run that was validated and learnt reached, so
// that each of them has a time. UsageError if the measure never has the value `target`.
Comparison comparison_of(std::span<const RunRecord> runs, std::optional<double> target);

// Why the `target` of a command line changes nothing; empty if it does, or if there is none.
std::string target_note(std::span<const RunRecord> runs, std::optional<double> target);

// Run, schedule, stages, best value, seconds and epochs to the target, total seconds, step time,
// bubble, memory, largest mean staleness of any stage, versions of the weights. In columns where
// the ranked runs differ, the best value is marked, in every run that has it; a run that learnt
// nothing is not ranked.
TableRows comparison_rows(std::span<const RunRecord> runs, const Comparison& comparison);
std::string comparison_text(std::span<const RunRecord> runs, const Comparison& comparison);
nlohmann::ordered_json comparison_json(std::span<const RunRecord> runs,
                                       const Comparison& comparison);

// "The best accuracy: 1f1b with 98.10%. First to reach 97.50%: pipedream, after 12.1 s of
// training.", with the names of all that tie; or that losses of different kinds are not ranked.
// Empty if no run validated or there is only one run.
std::string comparison_sentence(std::span<const RunRecord> runs, const Comparison& comparison);
// A sentence that names the runs that learnt nothing; empty if there are none.
std::string failures_text(std::span<const RunRecord> runs);

}  // namespace pipetrain
