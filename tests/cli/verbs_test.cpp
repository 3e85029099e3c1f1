// The binary from outside: verbs, lists, what goes where, and the exit codes.
#include <nlohmann/json.hpp>
#include <regex>

#include "catch.hpp"
#include "places.hpp"
#include "run_folder.hpp"

namespace {

const char* const kVerbs[] = {"train",    "eval",       "benchmark", "profile", "plan",
                              "schedule", "checkpoint", "generate",  "report",  "compare",
                              "methods",  "layers",     "devices"};

}  // namespace

TEST_CASE("help lists every verb") {
  for (const std::string arguments : {"", "--help", "-h"}) {
    const Ran ran = run_binary(arguments);
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());
    for (const std::string verb : kVerbs) CHECK(has(ran.out, "pipetrain " + verb));
    CHECK(has(ran.out, "`pipetrain VERB --help` prints"));
  }
}

TEST_CASE("version and build information") {
  CHECK(has(run_binary("--version").out, "pipetrain 0."));
  const Ran text = run_binary("--build-info");
  CHECK(text.code == 0);
  CHECK(has(text.out, "onednn         3."));
  const auto json = nlohmann::json::parse(run_binary("--build-info --json").out);
  for (const char* name : {"pipetrain", "compiler", "onednn", "toml++", "cli11", "spdlog", "fmt",
                           "nlohmann-json", "zlib", "libjpeg", "libpng", "sentencepiece"}) {
    CHECK(json.contains(name));
  }
}

TEST_CASE("a verb that needs an argument prints its options and their defaults without one") {
  const Ran train = run_binary("train");
  CHECK(train.code == 0);
  const bool default_said =  // as older versions of CLI11 write it, or newer ones
      has(train.out, "--resume TEXT=auto") || has(train.out, "--resume TEXT [auto]");
  CHECK(default_said);
  CHECK(has(train.out, "batch_size = 64 "));
  const Ran schedule = run_binary("schedule");
  CHECK(schedule.code == 0);
  CHECK(has(schedule.out, "--stages"));
  CHECK_FALSE(has(schedule.out, "batch_size"));
}

TEST_CASE("the help of a verb is its options, and says how the keys are printed") {
  const Ran keys = run_binary("train --help-keys");
  CHECK(keys.code == 0);
  CHECK(keys.out.starts_with("[model]\n"));
  CHECK(has(keys.out, "batch_size = 64 "));
  for (const std::string verb : {"train", "eval", "benchmark", "generate"}) {
    const Ran help = run_binary(verb + " --help");
    INFO(help.out);
    CHECK(help.code == 0);
    CHECK(has(help.out, "--set"));
    CHECK_FALSE(has(help.out, "batch_size"));
    CHECK(help.out.ends_with("with its default: pipetrain " + verb + " --help-keys\n"));
    CHECK(run_binary(verb + " --help-keys").out == keys.out);
  }
  const Ran nothing = run_binary("train");
  CHECK(has(nothing.out, "--set"));
  CHECK(nothing.out.ends_with("\n" + keys.out));
  CHECK_FALSE(has(run_binary("schedule --help").out, "--help-keys"));
}

TEST_CASE("the lists") {
  const Ran methods = run_binary("methods");
  CHECK(methods.code == 0);
  CHECK(has(methods.out, "gpipe"));
  CHECK(has(methods.out, "1f1b"));
  CHECK(nlohmann::json::parse(run_binary("methods --json").out).size() >= 2);
  CHECK(has(run_binary("layers").out, "relu"));
  CHECK(nlohmann::json::parse(run_binary("layers --json").out)[0].contains("keys"));
  CHECK(has(run_binary("devices").out, "backends  cpu (oneDNN)"));
  CHECK(nlohmann::json::parse(run_binary("devices --json").out)["cpu"]["cores"] >= 1);
}

TEST_CASE("a wrong command line exits with 2 and says what to write") {
  const struct {
    std::string arguments, words;
  } rows[] = {
      {"trian", "no verb trian; did you mean 'train'?"},
      {"--foo", "the verb comes first"},
      {"benchmark x.toml --seconds 0", "--seconds"},
      {"plan x.toml", "--profile is missing"},
      {"plan --devices 4 --bandwidth 1e9", "--profile is missing"},
      {"plan --profile p.graph.txt --bandwidth 1e9", "p.graph.txt: cannot be read"},
      {"plan --profile p --devices 4 --bandwidth 0", "--bandwidth: '0' is not valid"},
      {"plan --profile p --devices 4 --bandwidth 1 --objective bapip", "bapip"},
      {"plan --profile p --devices 4 --bandwidth 1 --cost-model papers", "papers"},
      {"profile x.toml --threads 0", "--threads"},
      {"checkpoint look x", "there is no verb look"},
      {"generate x.toml --tokens -1", "--tokens"},
      {"generate x.toml --temperature warm", "warm"},
      {"train x.toml --ouput y", "did you mean '--output'?"},
      {"train x.toml --output", "--output"},
      {"train x.toml --log-level loud", "loud"},
      {"train no-such.toml", "no-such.toml: cannot be read: No such file or directory"},
      {"train --set pipeline.stages=2", "no model is named"},
      {"train x.toml --dump-config=ful", "ful"},
      {"schedule --stages 2", "NAME"},
      {"schedule gpipe --stages 0", "--stages"},
      {"schedule gpipe --stages two", "two"},
      {"schedule gpipe --warmup triple", "triple"},
      {"schedule interleaved_1f1b --stages 4 --microbatches 6",
       "multiple of --stages 4; write --microbatches 4 or 8"},
      {"schedule pipedream_2bw --vertical-sync", "leave --vertical-sync out"},
      {"schedule v_timeprest --stages 4 --microbatches 2", "--microbatches 3, or --stages 3"},
      {"schedule 1f1b --stages 2 --replicas 2,1 --warmup full",
       "write --warmup 1f1b or double, or --replicas 2"},
      {"schedule gpipe --format png", "--format: 'png' is not valid; write one of: text, versions"},
      {"checkpoint prune x --keep-best maybe", "--keep-best: 'maybe' is not valid; write true or"},
      {"methods extra", "extra"},
  };
  for (const auto& row : rows) {
    const Ran ran = run_binary(row.arguments);
    INFO(row.arguments << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(has(ran.err, row.words));
  }
}

TEST_CASE("profile looks at where it will write before it measures") {
  const TestFolder folder;
  const std::string profile = "profile " + folder.config().string() + " --output ";
  const Ran nowhere = run_binary(profile + (folder.path / "none/p.json").string());
  CHECK(nowhere.code == 4);
  CHECK(has(nowhere.err, "none/p.json: cannot be created: there is no folder"));
  const Ran taken = run_binary(profile + folder.path.string());
  CHECK(taken.code == 2);
  CHECK(has(taken.err, "is a folder; name a file with --output"));
  for (const Ran& ran : {nowhere, taken}) CHECK_FALSE(has(ran.err, "measures"));
}

TEST_CASE("colours are for terminals, or if they are asked for") {
  const std::string drawn = "schedule zb_h1 --stages 2 --microbatches 2";
  const Ran plain = run_binary(drawn);
  CHECK_FALSE(has(plain.out, "\033"));
  CHECK(run_binary(drawn + " --color never").out == plain.out);
  const std::string coloured = run_binary(drawn + " --color always").out;
  CHECK(has(coloured, "\033[34mF0"));
  CHECK(has(coloured, "\033[32mW0"));
  CHECK(std::regex_replace(coloured, std::regex("\033\\[[0-9]+m"), "") == plain.out);

  CHECK(has(run_binary("schedule none --color always").err, "\033[31m"));
  const Ran wrong = run_binary(drawn + " --color blue");
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "always"));
}

TEST_CASE("the effective config is printed, and what is printed is read") {
  const std::string configs = (source_tree() / "configs/").string();
  const std::string train = "train '" + configs + "quickstart.toml' ";
  const Ran full =
      run_binary(train + "--set pipeline.stages=2 --dump-config --set 'optimizer.lr=0.5'");
  CHECK(full.code == 0);
  CHECK(has(full.out, "stages = 2\n"));
  CHECK(has(full.out, "lr = 0.5\n"));
  CHECK(has(full.out, "/models/lenet5.toml"));
  const Ran minimal = run_binary(train + "--dump-config=minimal");
  CHECK(minimal.out.size() < full.out.size());
  CHECK_FALSE(has(minimal.out, "seed"));
  CHECK(
      run_binary("train --dump-config=minimal /dev/stdin <<'END'\n" + minimal.out + "END\n").out ==
      minimal.out);
}

TEST_CASE("standard output may be closed, full, or read in part") {
  CHECK(run_binary("methods >&-").code == 0);
  CHECK(run_binary("methods 2>&- <&-").code == 0);
  const Ran full = run_binary("methods > /dev/full");
  CHECK(full.code == 4);
  CHECK(has(full.err, "standard output cannot be written"));
  // The reader is gone before anything is written; the status is that of the binary.
  const Ran gone = run_binary("train; echo \"status $?\" >&2; } | true", "{ sleep 0.2;");
  CHECK(has(gone.err, "status 0"));
}
