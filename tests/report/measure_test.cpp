#include "report/measure.hpp"

#include <cmath>

#include "catch.hpp"

using namespace pipetrain;

namespace {

RunRecord of(std::vector<double> accuracies, double seconds = 1) {
  RunRecord run;
  for (const double accuracy : accuracies)
    run.validations.push_back({.step = 10 * (std::ssize(run.validations) + 1),
                               .seconds = seconds * (std::ssize(run.validations) + 1),
                               .loss = 1 - accuracy,
                               .accuracy = accuracy,
                               .perplexity = {},
                               .bleu = {}});
  return run;
}

}  // namespace

TEST_CASE("runs are compared by a measure that all of them have") {
  std::vector<RunRecord> runs = {of({0.5, 0.9}), of({0.8})};
  CHECK(common_measure(runs) == Measure::Accuracy);
  for (RunRecord& run : runs)
    for (ValidationPoint& point : run.validations) point.accuracy.reset();
  CHECK(common_measure(runs) == Measure::Loss);
  runs.push_back({});  // no validations: does not count
  CHECK(common_measure(runs) == Measure::Loss);
  const std::vector<RunRecord> none(2);
  CHECK_FALSE(common_measure(none));
}

TEST_CASE("losses of different kinds are no common measure") {
  std::vector<RunRecord> runs = {of({0.5, 0.9}), of({0.8}), of({0.7})};
  for (RunRecord& run : runs) run.name = std::to_string(&run - runs.data());
  CHECK_FALSE(loss_kinds(runs).differ());
  runs[1].validations[0].accuracy.reset();  // as mse leaves it
  const LossKinds kinds = loss_kinds(runs);
  CHECK(kinds.differ());
  CHECK(kinds.cross_entropy == std::vector<std::string>{"0", "2"});
  CHECK(kinds.mse == std::vector<std::string>{"1"});
  CHECK_FALSE(common_measure(runs));
  CHECK(common_measure({&runs[1], 1}) == Measure::Loss);
  runs[0].validations.clear();
  runs[2].validations.clear();  // without validations: of no kind
  CHECK(common_measure(runs) == Measure::Loss);
}

TEST_CASE("BLEU comes before perplexity, and perplexity before accuracy") {
  std::vector<RunRecord> runs = {of({0.5, 0.9}), of({0.8})};
  for (RunRecord& run : runs)
    for (ValidationPoint& point : run.validations) {
      point.perplexity = 10 * point.loss;
      point.bleu = 30 * *point.accuracy;
    }
  CHECK(common_measure(runs) == Measure::Bleu);
  CHECK(common_target(runs, Measure::Bleu) == Approx(24));
  runs[1].validations[0].bleu.reset();  // now only one of them has it
  CHECK(common_measure(runs) == Measure::Perplexity);
  CHECK(common_measure({runs.data(), 1}) == Measure::Bleu);
  CHECK(common_target(runs, Measure::Perplexity) == Approx(2));  // lower is better
  CHECK(best_of(runs[0], Measure::Perplexity)->step == 20);
  runs[1].validations[0].perplexity.reset();
  CHECK(common_measure(runs) == Measure::Accuracy);
}

TEST_CASE("the target is what every run reached, and its time is that of reaching it first") {
  const std::vector<RunRecord> runs = {of({0.5, 0.97, 0.98, 0.96}, 2), of({0.6, 0.7, 0.9})};
  CHECK(common_target(runs, Measure::Accuracy) == 0.9);
  CHECK(first_at(runs[0], Measure::Accuracy, 0.9)->seconds == 4);
  CHECK(first_at(runs[1], Measure::Accuracy, 0.9)->seconds == 3);
  CHECK(first_at(runs[1], Measure::Accuracy, 0.91) == nullptr);
  CHECK(best_of(runs[0], Measure::Accuracy)->step == 30);
  CHECK(common_target(runs, Measure::Loss) == Approx(0.1));  // lower is better
  CHECK(best_of(runs[0], Measure::Loss)->step == 30);
}

TEST_CASE("values are printed as suits their measure") {
  CHECK(value_text(Measure::Accuracy, 0.9825) == "98.25%");
  CHECK(value_text(Measure::Loss, 0.5) == "0.5000");
  CHECK(value_text(Measure::Bleu, 37.7367) == "37.74");
  CHECK(value_text(Measure::Perplexity, 6.6267) == "6.627");
  CHECK_FALSE(value_of({.loss = std::nan(""), .accuracy = {}, .perplexity = {}, .bleu = {}},
                       Measure::Loss));
}
