// Keys that the chosen kind or schedule does not read, or that make it another one.
#include "catch.hpp"
#include "config/rules.hpp"
#include "read_support.hpp"

using namespace pipetrain;

TEST_CASE("keys without effect have their defaults") {
  const Config given =
      read_text(kModel +
                "[optimizer]\nkind = \"adam\"\nmomentum = 0.9\n"
                "[lr_schedule]\nmin_lr = 0.001\ngamma = 0.5\n"
                "[pipeline]\nschedule = \"pipedream\"\ngradient_rule = \"recompute\"\n"
                "virtual_stages = 2\npipemare.decay = 0.5\n"
                "timeprest = { times = \"busy\", forward = 3 }\n"
                "[hardware]\ndevices = [\"cuda:0\"]\n")
          .config;
  const Config defaults;
  CHECK(given.optimizer.momentum == defaults.optimizer.momentum);
  CHECK(given.lr_schedule == defaults.lr_schedule);
  CHECK(given.pipeline.gradient_rule == defaults.pipeline.gradient_rule);
  CHECK(given.pipeline.virtual_stages == defaults.pipeline.virtual_stages);
  CHECK(given.pipeline.pipemare == defaults.pipeline.pipemare);
  CHECK(given.pipeline.timeprest == defaults.pipeline.timeprest);
  CHECK(given.hardware.devices.empty());
  CHECK(given.pipeline.schedule == "pipedream");
}

TEST_CASE("early stopping has an effect only if the training validates") {
  const auto read = [](const std::string& keys) {
    return read_text(kModel + "[data]\nkind = \"glyphs\"\nvalidation_samples = 8\n" +
                     "[validation]\n" + keys);
  };
  for (const std::string never : {"", "every_epochs = 0\n", "before_first_step = true\n"}) {
    INFO(never);
    const ReadConfig without = read("early_stopping = 3\n" + never);
    REQUIRE(without.notes.size() == 1);
    CHECK_THAT(without.notes[0],
               Contains("run.toml:7:18: validation.early_stopping has no effect with "
                        "validation.every_epochs = 0 and every_steps = 0"));
    CHECK(without.config.validation.early_stopping == 0);
  }
  for (const std::string often : {"every_epochs = 2\n", "every_steps = 5\n"}) {
    INFO(often);
    const ReadConfig with = read("early_stopping = 3\n" + often);
    CHECK(with.notes.empty());
    CHECK(with.config.validation.early_stopping == 3);
  }
  CHECK(read("early_stopping = 0\n").notes.empty());
}

TEST_CASE("sentences are not counted beside tokens, and no mini-batch of them is dropped") {
  const std::string pairs = kModel +
                            "[data]\nkind = \"parallel_text\"\ntrain_source = \"a\"\n"
                            "train_target = \"b\"\nbatch_size = 30\n";
  CHECK(read_text(pairs).notes.empty());
  const ReadConfig read = read_text(pairs + "batch_tokens = 900\ndrop_last = false\n");
  REQUIRE(read.notes.size() == 2);
  CHECK_THAT(read.notes[0], Contains("run.toml:9:13: data.drop_last has no effect with data.kind = "
                                     "\"parallel_text\""));
  CHECK_THAT(read.notes[1],
             Contains("run.toml:7:14: data.batch_size has no effect with data.batch_tokens = 900"));
  CHECK(read.config.data.drop_last);
  CHECK(read.config.data.batch_size == 30);
}

TEST_CASE("what the program wrote itself is not noted, but its mistakes are reported") {
  const Folder folder;
  const auto read = [&](const std::string& text, const std::vector<std::string>& sets = {}) {
    return read_config({folder.write("run/config.resolved.toml", kModel + text)}, sets);
  };
  const std::string pairs =
      "[data]\nkind = \"parallel_text\"\ntrain_source = \"a\"\ntrain_target = \"b\"\n"
      "batch_tokens = 900\nbatch_size = 64\n";
  CHECK(read(pairs).notes.empty());
  const auto notes = read(pairs, {"data.batch_size=7"}).notes;  // that, the user wrote
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Contains("--set data.batch_size: data.batch_size has no effect with "
                                "data.batch_tokens = 900"));
  CHECK(read("[optimizer]\nkind = \"adam\"\nmomentum = 0.9\n").notes.empty());
  CHECK(read("[validation]\nevery_epochs = 0\nearly_stopping = 3\n").notes.empty());
  const std::string stages = "[pipeline]\nschedule = \"interleaved_1f1b\"\nstages = 2\n";
  CHECK(read(stages).notes.empty());
  CHECK(read(stages, {"pipeline.virtual_stages=1"}).notes.size() == 1);
  CHECK_THROWS_WITH(read("[pipeline]\nstages = \"many\"\n"),
                    Contains("config.resolved.toml:4:10: pipeline.stages is a string"));
}

TEST_CASE("beside auto the keys of a schedule are kept, without a note, until there is one") {
  ReadConfig read = read_text(kModel +
                              "[pipeline]\nschedule = \"auto\"\nvirtual_stages = 2\n"
                              "gradient_rule = \"recompute\"\n");
  CHECK(read.notes.empty());
  CHECK(read.config.pipeline.virtual_stages == 2);
  PipelineConfig& pipeline = read.config.pipeline;
  pipeline.automatic = false;
  pipeline.schedule = "interleaved_1f1b";
  config::reset_unused(read.config);
  CHECK(pipeline.virtual_stages == 2);
  CHECK(pipeline.gradient_rule == PipelineConfig().gradient_rule);
}

TEST_CASE("an interleaved schedule without virtual stages is noted: it is another schedule") {
  const std::string keys = "[pipeline]\nschedule = \"interleaved_1f1b\"\nstages = 2\n";
  const auto notes = read_text(kModel + keys).notes;
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Contains("run.toml:4:12: pipeline.schedule = \"interleaved_1f1b\" with "
                                "virtual_stages = 1 is 1f1b with warmup = \"double\"; write "
                                "virtual_stages = 2 or more"));
  CHECK(read_text(kModel + keys + "virtual_stages = 2\n").notes.empty());
}

TEST_CASE("min_lr is for every rate that falls") {
  for (const std::string kind : {"step", "linear", "cosine", "inverse_sqrt"}) {
    INFO(kind);
    const auto read = [&](const std::string& least) {
      return read_text(kModel + "[lr_schedule]\nkind = \"" + kind +
                       "\"\nwarmup_steps = 1\nmin_lr = " + least + "\n" +
                       (kind == "step" ? "milestones = [5]\n" : ""));
    };
    CHECK(read("0.001").notes.empty());
    CHECK(read("0.001").config.lr_schedule.min_lr == 0.001);
    CHECK_THROWS_WITH(read("0.5"), Contains("lr_schedule.min_lr = 0.5 is above optimizer.lr"));
  }
}

TEST_CASE("allow_stale is for auto, and is noted beside a schedule by name") {
  const std::string stale = "allow_stale = true\n", keys = "[pipeline]\nschedule = ";
  CHECK(read_text(kModel + keys + "\"auto\"\n" + stale).notes.empty());
  CHECK(read_text(kModel + keys + "\"auto\"\n" + stale).config.pipeline.allow_stale);
  const auto notes = read_text(kModel + keys + "\"pipedream\"\n" + stale).notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("allow_stale has no effect") != std::string::npos);
  CHECK(notes[0].find("(it is for auto)") != std::string::npos);
}
