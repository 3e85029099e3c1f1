// What a run says when it ends: the last model, the best one, and whether something went wrong.
#include <cmath>

#include "catch.hpp"
#include "checkpoint/folder.hpp"
#include "run/course.hpp"
#include "run/run_end.hpp"
#include "run_binary.hpp"
#include "run_folder.hpp"

using namespace pipetrain;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::optional<std::string> warning(int classes, const std::vector<double>& losses) {
  Course course(classes);
  for (const double loss : losses) {
    StepSummary step;
    step.loss = loss;
    course.see(step);
  }
  return course.warning();
}

std::vector<double> then(int count, double a, int more, double b) {
  std::vector<double> losses(static_cast<std::size_t>(count), a);
  losses.insert(losses.end(), static_cast<std::size_t>(more), b);
  return losses;
}

}  // namespace

TEST_CASE("a loss that blew up is reported") {
  CHECK_FALSE(warning(0, {}));
  CHECK_FALSE(warning(0, then(1, 1, 30, 49)));
  const auto told = warning(0, then(1, 1, 30, 60));
  REQUIRE(told);
  CHECK(has(*told, "60 times that of the first step"));
  CHECK(has(*told, "optimizer.lr"));
  // A skipped update's loss is not a number to compare with.
  CHECK_FALSE(warning(0, {std::nan(""), 1, 1}));
}

TEST_CASE("a training whose loss blew up but stayed finite ends with 0, a warning and its event") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const Ran ran = run_binary("train " + folder.config().string() + " --quiet --output " +
                             run.string() + " --set optimizer.lr=100");
  INFO(ran.err);
  CHECK(ran.code == 0);
  const json end = events_of(run).back();
  REQUIRE(end["event"] == "end");
  const std::string warning = end.value("warning", "");
  CHECK(has(warning, "this training did not converge"));
  CHECK_FALSE(has(warning, "diverged"));  // that is exit code 5
  CHECK(has(ran.err, "warning: " + warning));
}

TEST_CASE("a loss that ended at chance after it had been below is reported") {
  const double chance = std::log(10);
  CHECK_FALSE(warning(10, then(20, chance, 20, chance)));       // nothing was learnt: no news
  CHECK_FALSE(warning(10, then(20, 0.5 * chance, 20, 1.5)));    // still below
  CHECK_FALSE(warning(10, then(1, 0.5 * chance, 20, chance)));  // too few steps to judge by
  CHECK_FALSE(warning(0, then(20, 0.5 * chance, 20, chance)));  // no classes
  const auto told = warning(10, then(20, 0.5 * chance, 20, chance));
  REQUIRE(told);
  CHECK(has(*told, "chance among 10 classes"));
}

TEST_CASE("the end names the last model and the best, with their paths") {
  nlohmann::ordered_json end = {
      {"step", 60},
      {"seconds", 1.0},
      {"validation", {{"step", 60}, {"loss", 2.0}, {"accuracy", 0.28}}},
      {"best_validation", {{"step", 30}, {"loss", 1.5}, {"accuracy", 0.48}}},
      {"best_checkpoint", "r/checkpoints/step-00000030"}};
  const std::string text = end_text(end, "r");
  CHECK(has(text,
            "last     step 60: validation loss 2.0000, accuracy 28.00%  r/model.safetensors\n"));
  CHECK(has(
      text,
      "best     step 30: validation loss 1.5000, accuracy 48.00%  r/checkpoints/step-00000030\n"));
  end["best_validation"]["step"] = 60;
  CHECK(has(end_text(end, "r"), "r/model.safetensors  (the best)\n"));
  CHECK_FALSE(has(end_text(end, "r"), "best     step"));
  end.erase("validation");
  end.erase("best_validation");
  CHECK(has(end_text(end, "r"), "last     step 60  r/model.safetensors\n"));
}

TEST_CASE("eval takes a run directory, and --best its best checkpoint") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  // The rate is so large that the last validation is not the best.
  REQUIRE(run_binary("train " + folder.config().string() + " --quiet --output " + run.string() +
                     " --set validation.before_first_step=true --set optimizer.lr=30" +
                     " --set optimizer.max_norm=1")
              .code == 0);
  const json end = events_of(run).back();
  const std::int64_t best = end["best_validation"]["step"];
  REQUIRE(best < 6);
  CHECK(end["best_checkpoint"] == (run / "checkpoints" / checkpoint_name(best)).string());

  const auto loss_of = [&](const std::string& options) {
    const Ran ran = run_binary("eval --json " + run.string() + options);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out)["loss"].get<double>();
  };
  CHECK(loss_of("") == Approx(end["validation"]["loss"].get<double>()).epsilon(1e-6));
  CHECK(loss_of(" --best") == Approx(end["best_validation"]["loss"].get<double>()).epsilon(1e-6));
  CHECK(has(run_binary("eval --best --model x " + run.string()).err, "write one of them"));
  fs::remove(run / "checkpoints" / "best");
  const Ran none = run_binary("eval --best " + run.string());
  CHECK(none.code == 3);
  CHECK(has(none.err, "keep_best"));
}

TEST_CASE("a folder that is not a run's is refused with what to name") {
  const TestFolder folder;
  const Ran ran = run_binary("eval " + folder.path.string());
  CHECK(ran.code == 2);
  CHECK(has(ran.err, "without config.resolved.toml"));
}
