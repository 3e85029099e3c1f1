// `pipetrain eval` from outside: which weights it takes, and what it says if they do not fit.
#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("eval takes --model, else the run's weights, else model.init") {
  const TestFolder folder;
  const std::string config = folder.config().string(), here = "cd " + folder.path.string() + ";";
  REQUIRE(run_binary("train --quiet " + config + " --output trained", here).code == 0);
  const fs::path trained = folder.path / "trained/model.safetensors";
  const json validated = events_of(folder.path / "trained").back()["validation"];

  const Ran by_run = run_binary("eval --json " + config + " --output trained", here);
  INFO(by_run.err);
  REQUIRE(by_run.code == 0);
  const json result = json::parse(by_run.out);
  CHECK(result["loss"].get<double>() == Approx(validated["loss"].get<double>()).epsilon(1e-6));
  CHECK(result["accuracy"] == validated["accuracy"]);
  CHECK(result["top5"] == validated["top5"]);
  CHECK(result["samples"] == 40);
  CHECK(result["data"] == "validation");
  CHECK(result["model"] == "trained/model.safetensors");

  const std::string init = " --set 'model.init=\"trained/model.safetensors\"'";
  const json by_model =
      json::parse(run_binary("eval --json " + config + " --model " + trained.string(), here).out);
  const json by_init = json::parse(run_binary("eval --json " + config + init, here).out);
  CHECK(by_model["loss"] == result["loss"]);
  CHECK(by_init["loss"] == result["loss"]);
  CHECK(by_init["model"] == fs::canonical(trained).string());

  const Ran text = run_binary("eval " + config + " --output trained", here);
  CHECK(has(text.out, "% of 40 samples"));
  // A folder that is named must hold weights: nothing else is taken silently.
  CHECK(run_binary("eval " + config + init + " --output nowhere", here).code == 3);
}

TEST_CASE("a run of an inline model can be read again, whatever else is in its [model]") {
  const TestFolder folder;
  const std::string config = folder.config().string(), here = "cd " + folder.path.string() + ";";
  REQUIRE(run_binary("train --quiet " + config + " --output first", here).code == 0);
  const Ran tuned = run_binary("train --quiet " + config +
                                   " --output tuned --set 'model.trainable=[\"fc2.*\"]' "
                                   "--set 'model.init=\"first/model.safetensors\"' "
                                   "--set 'model.init_ignore=[\"fc2.*\"]'",
                               here);
  INFO(tuned.err);
  REQUIRE(tuned.code == 0);
  CHECK(run_binary("eval tuned", here).code == 0);
  CHECK(run_binary("checkpoint export tuned --output weights.safetensors", here).code == 0);
  const Ran again =
      run_binary("train --quiet tuned/config.resolved.toml --output again --resume never", here);
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK((bytes_of(folder.path / "again/model.safetensors") ==
         bytes_of(folder.path / "tuned/model.safetensors")));
}

TEST_CASE("eval without weights says what to do; weights of another model are listed") {
  const TestFolder folder;
  const std::string config = folder.config().string(), here = "cd " + folder.path.string() + ";";
  const Ran none = run_binary("eval " + config, here);
  CHECK(none.code == 3);
  CHECK(none.out.empty());
  CHECK(has(none.err, "runs/small/model.safetensors"));
  CHECK(has(none.err, "--model"));
  CHECK(run_binary("eval " + config + " --model missing", here).code == 3);

  REQUIRE(run_binary("train --quiet " + config + " --output run", here).code == 0);
  const std::string other = folder
                                .write("other.toml", R"([model]
input = { shape = [1, 28, 28] }
layers = [{ name = "flatten", kind = "flatten" }, { name = "fc1", kind = "linear", out_features = 10 }]
[data]
kind = "glyphs"
train_samples = 64
validation_samples = 8
)")
                                .string();
  const Ran wrong = run_binary("eval " + other + " --output run", here);
  CHECK(wrong.code == 3);
  CHECK(has(wrong.err, "'fc1.weight' is [16, 784] there, [10, 784] in the model"));
  CHECK(has(wrong.err, "'fc2.bias' is not in the model"));
}

TEST_CASE("eval without validation data takes the training data, and says so") {
  const TestFolder folder;
  const fs::path config = folder.config();
  const std::string here = "cd " + folder.path.string() + ";";
  REQUIRE(run_binary("train --quiet " + config.string(), here).code == 0);
  const json result = json::parse(run_binary("eval --json " + config.string() +
                                                 " --set data.validation_samples=0 "
                                                 "--set validation.every_epochs=0",
                                             here)
                                      .out);
  CHECK(result["data"] == "train");
  CHECK(result["samples"] == 96);
  const Ran text = run_binary("eval " + config.string() +
                                  " --set data.validation_samples=0 "
                                  "--set validation.every_epochs=0",
                              here);
  CHECK(has(text.out, " on the training data: "));
  CHECK(has(text.err, "[data] has no validation samples: eval measures the training data"));
}
