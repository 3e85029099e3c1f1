// The measures by which runs are compared: how good a model became, and how soon.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace pipetrain {

// Of validations. The measure that says most comes first: a text has an accuracy too, of its
// tokens.
enum class Measure { Bleu, Perplexity, Accuracy, Loss };
inline constexpr std::array all_measures{Measure::Bleu, Measure::Perplexity, Measure::Accuracy,
                                         Measure::Loss};

struct MeasureWords {
  std::string name;  // "accuracy"
  bool higher_is_better = false;
};
MeasureWords measure_words(Measure measure);
std::string value_text(Measure measure, double value);  // "98.25%", "3.1416"

std::optional<double> value_of(const ValidationPoint& point, Measure measure);
bool is_better(Measure measure, double a, double b);  // false if either is NaN

// The names of the runs with validations, by the loss that they were trained with. Losses of
// different kinds cannot be compared.
struct LossKinds {
  std::vector<std::string> cross_entropy, mse;
  bool differ() const { return !cross_entropy.empty() && !mse.empty(); }
};
LossKinds loss_kinds(std::span<const RunRecord> runs);

// The first of all_measures that each run with validations has; none if there is none, if it is a
// loss of different kinds, or if no run has validations.
std::optional<Measure> common_measure(std::span<const RunRecord> runs);

// The validation with the best value, the first of several equals; null if there is none.
const ValidationPoint* best_of(const RunRecord& run, Measure measure);
// The first validation that is at least as good as `target`; null if there is none.
const ValidationPoint* first_at(const RunRecord& run, Measure measure, double target);

// The best value that every run with validations has reached: the worst of their bests. Runs that
// learnt nothing do not count, unless none did.
std::optional<double> common_target(std::span<const RunRecord> runs, Measure measure);

std::size_t most_staleness(const RunRecord& run);  // index of the stage; 0 if there is none
std::size_t busiest_stage(const RunRecord& run);   // the same
std::size_t memory_of(const RunRecord& run);       // in training, over all stages, as measured

}  // namespace pipetrain
