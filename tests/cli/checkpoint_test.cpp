// The verb `checkpoint`.
#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Saved {
  Saved() {
    REQUIRE(run_binary("train --quiet " + folder.config().string() + " --output " + run.string() +
                       " --set checkpoint.every_steps=2 --set checkpoint.keep_latest=9 "
                       "--set optimizer.momentum=0.9")
                .code == 0);
  }
  Ran checkpoint(const std::string& verb, const std::string& more = "") const {
    return run_binary("checkpoint " + verb + " " + run.string() + " " + more);
  }
  const TestFolder folder;
  const fs::path run = folder.path / "run";
};

}  // namespace

TEST_CASE("checkpoint info lists what there is") {
  const Saved saved;
  const json all = json::parse(saved.checkpoint("info", "--json").out)["checkpoints"];
  REQUIRE(all.size() == 4);  // after steps 2, 3 (the best), 4 and 6
  CHECK(all[3]["step"] == 6);
  CHECK(all[3]["files"][0]["layers"] == json{"flatten", "fc1"});
  CHECK(all[3]["best_validation"]["loss"].is_number());
  CHECK(has(saved.checkpoint("info").out, "small"));
}

TEST_CASE("checkpoint export writes the weights, as the run did") {
  const Saved saved;
  const fs::path file = saved.folder.path / "weights.safetensors";
  REQUIRE(saved.checkpoint("export", "--output " + file.string()).code == 0);
  CHECK((bytes_of(file) == bytes_of(saved.run / "model.safetensors")));
  CHECK(saved.checkpoint("export").code == 2);
}

TEST_CASE("checkpoint reshard: another number of files, the same training") {
  const Saved saved;
  const fs::path other = saved.folder.path / "other";
  const fs::path from = saved.run / "checkpoints/step-00000004";
  REQUIRE(
      run_binary("checkpoint reshard " + from.string() + " --stages 3 --output " + other.string())
          .code == 0);
  const auto names = files_of(other / "step-00000004");
  CHECK(std::ranges::count_if(names, [](const auto& n) { return n.starts_with("stage-"); }) == 3);
  CHECK(run_binary("checkpoint verify " + other.string()).code == 0);
  const fs::path again = saved.folder.path / "again";
  REQUIRE(run_binary("train --quiet " + saved.folder.config().string() + " --output " +
                     again.string() +
                     " --set checkpoint.every_steps=2 --set optimizer.momentum=0.9 "
                     "--resume " +
                     (other / "step-00000004").string())
              .code == 0);
  CHECK((bytes_of(again / "model.safetensors") == bytes_of(saved.run / "model.safetensors")));
  CHECK(run_binary("checkpoint reshard " + from.string() + " --stages 5 --output " +
                   (saved.folder.path / "five").string())
            .code == 2);
}

TEST_CASE("checkpoint prune keeps the newest and the best") {
  const Saved saved;
  const json best = json::parse(
      saved.checkpoint("info", "--json").out)["checkpoints"][3]["best_validation"]["step"];
  fs::create_directory(saved.run / "checkpoints/step-00000005.part");
  REQUIRE(saved.checkpoint("prune", "--keep-latest 1").code == 0);
  const auto names = files_of(saved.run / "checkpoints");
  CHECK(std::ranges::find(names, "step-00000006") != names.end());
  CHECK(std::ranges::find(names, "step-0000000" + std::to_string(best.get<int>())) != names.end());
  CHECK(names.size() == (best == 6 ? 3 : 4));
}

TEST_CASE("checkpoint refuses what it does not know") {
  const TestFolder folder;
  const Ran verb = run_binary("checkpoint verfy " + folder.path.string());
  CHECK(verb.code == 2);
  CHECK(has(verb.err, "did you mean 'verify'?"));
  CHECK(run_binary("checkpoint info " + (folder.path / "none").string()).code == 3);
  CHECK(run_binary("checkpoint info " + folder.path.string()).code == 3);
}
