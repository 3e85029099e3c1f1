// Which problems of a config are reported together, and where: files, misspelt keys, --set.
#include <sstream>

#include "catch.hpp"
#include "read_support.hpp"

using namespace pipetrain;

namespace {

int lines_of(const std::string& text) {
  std::istringstream stream(text);
  int lines = 0;
  for (std::string line; std::getline(stream, line);) ++lines;
  return lines;
}

}  // namespace

TEST_CASE("every problem is found in one run, in the order of the file") {
  const std::string message = refusal(
      "[pipeline]\nstags = 2\nmicrobatches = 0\nschedule = \"1fb1\"\n[data]\nkind = \"idx\"\n"
      "[optimizer]\nlr = \"x\"\n");
  INFO(message);
  CHECK(lines_of(message) == 7);  // also: no model, no train_images, no train_labels
  CHECK(message.find("run.toml:1:1: no model is named") == 0);
  CHECK(message.find("run.toml:2:1") < message.find("run.toml:3:16"));
  CHECK(message.find("run.toml:3:16") < message.find("run.toml:4:12"));
  CHECK(message.find("run.toml:8:6") != std::string::npos);
}

TEST_CASE("a key with a problem of its own gets no second one from the rules") {
  CHECK(lines_of(refusal(kModel + "[pipeline]\nmicrobatches = 0\n[data]\nbatch_size = 7\n")) == 1);
  CHECK(lines_of(refusal(kModel + "[data]\nkind = \"idxx\"\n[validation]\nevery_steps = 1\n")) ==
        1);
}

TEST_CASE("a misspelt key is one problem: what its absence alone would cause is not reported too") {
  const std::vector<std::pair<std::string, std::string>> alone = {
      {"[model]\nfiel = \"m.toml\"\n", "2:1: unknown key model.fiel"},
      {"[modle]\nfile = \"m.toml\"\n", "1:2: unknown table modle"},
      {"[[model.layer]]\nname = \"a\"\n", "1:9: unknown key model.layer"},
      {"[[layers]]\nname = \"a\"\n", "1:3: unknown key layers"},
      {kModel + "[data]\nbatch_size = 30\n[pipeline]\nmicrobatches = 4\nmicrobatchs = 3\n", ""},
      {kModel + "[data]\nbatch_sise = 30\n[pipeline]\nmicrobatches = 3\n", "4:1: unknown key"},
      {kModel + "[data]\nknd = \"parallel_text\"\nbatch_size = 30\n[pipeline]\nmicrobatches = 4\n",
       "4:1: unknown key data.knd"},
      {kModel + "[data]\nkind = \"idx\"\ntrain_imags = \"a\"\ntrain_labels = \"b\"\n",
       "5:1: unknown key data.train_imags"},
      {kModel + "[pipeline]\nstags = 3\nsplit = [\"a\", \"b\"]\n",
       "4:1: unknown key pipeline.stags"},
      {kModel + "[lr_schedule]\nkind = \"step\"\nmilestone = [3]\n", "5:1: unknown key"},
      {kModel + "[optimizer]\nnesterov = true\nmomentun = 0.9\n", "5:1: unknown key"},
  };
  for (const auto& [toml, start] : alone) {
    const std::string message = refusal(toml);
    INFO(toml << "\n-> " << message);
    CHECK(lines_of(message) == (start.empty() ? 2 : 1));  // both keys are there: both are wrong
    CHECK(message.find("run.toml:" + start) == 0);
  }
  // A misspelt --set was meant to override the file; a correct one does.
  const std::string text = kModel + "[data]\nbatch_size = 32\n[pipeline]\nmicrobatches = 5\n";
  CHECK(lines_of(refusal(text, {"pipeline.microbatchs=4"})) == 1);
  CHECK(lines_of(refusal(kModel + "[data]\nbatch_sise = 8\n",
                         {"data.batch_size=9", "pipeline.microbatches=2"})) == 2);
}

TEST_CASE("a model is asked for, and unknown keys of [model] are refused") {
  CHECK(refusal("").find("run.toml:1:1: no model is named; write [model]") == 0);
  CHECK(refusal("[model]\nname = \"x\"\n").find("no model is named") != std::string::npos);
  const std::string message = refusal("[model]\nfiel = \"x\"\n");
  CHECK(message.find("unknown key model.fiel; did you mean model.file?") != std::string::npos);
}

TEST_CASE("files that cannot be read are named, all of them") {
  const Folder folder;
  try {
    read_config({folder.path() / "none.toml", folder.path()}, {});
    FAIL("was taken");
  } catch (const UsageError& error) {
    const std::string message = error.what();
    INFO(message);
    CHECK(message.find("none.toml: cannot be read: No such file") != std::string::npos);
    CHECK(message.find("it is a folder") != std::string::npos);
    CHECK(lines_of(message) == 2);
  }
}

TEST_CASE("problems of --set name it") {
  const auto with = [](const std::string& set) { return refusal(kModel, {set}); };
  CHECK(with("pipeline.stages=0")
            .find("--set pipeline.stages: pipeline.stages = 0 is out of range") == 0);
  CHECK(with("pipeline.stags=2").find("--set pipeline.stags: unknown key") == 0);
  CHECK(with("pipeline.stages").find("--set pipeline.stages: this is not a setting") == 0);
  CHECK(with("=3").find("write --set key.path=value") != std::string::npos);
  CHECK(with("a b=3").find("this is not a setting") != std::string::npos);
  CHECK(with("pipeline.stages=").find("--set pipeline.stages: ") == 0);
  CHECK(with("pipeline.split=[\"a\"").find("--set pipeline.split: ") == 0);
  CHECK(with("model.trainable=[fc3.*, \"conv1.bias\"]")
            .find("--set model.trainable: strings in an array need quotes; write --set "
                  "'model.trainable=[\"fc3.*\", \"conv1.bias\"]'") == 0);
  CHECK(with("data.mean=[0.5, half]").find("'data.mean=[0.5, \"half\"]'") != std::string::npos);
  CHECK(with("pipeline.schedule=gpip").find("did you mean 'gpipe'?") != std::string::npos);
  CHECK(with("pipeline=3").find("pipeline is a value") != std::string::npos);
}
