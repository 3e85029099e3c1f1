// A config's keys and values: each at its place. bad.toml follows base.toml, which is good.
#include "row.hpp"

namespace {

Row config(const std::string& name, const std::string& toml, const std::string& place,
           std::vector<std::string> words) {
  words.insert(words.begin(), "bad.toml:" + place);
  return {name, {{"bad.toml", toml}}, "train base.toml bad.toml --dry-run", 2, std::move(words)};
}

}  // namespace

std::vector<Row> config_rows() {
  return {
      // ---- TOML itself
      config("a table that is not closed", "[pipeline\nstages = 2", "1:10",
             {"write valid TOML here"}),
      config("a value that is missing", "[pipeline]\nstages =\n", "2:", {"write valid TOML here"}),
      config("a string that is not closed", "[data]\nkind = \"glyphs",
             "2:", {"write valid TOML here"}),
      config("a word without quotes", "[data]\nkind = glyphs", "2:8", {"write valid TOML here"}),
      config("a key given twice", "[data]\nbatch_size = 8\nbatch_size = 4", "3:1",
             {"batch_size", "write"}),
      config("a table given twice", "[data]\nbatch_size = 8\n[data]\nshuffle = true", "3:1",
             {"data", "write"}),
      config("bytes that are no UTF-8", "[data]\nkind = \"\xff\xfe\"",
             "2:", {"write valid TOML here"}),
      config("a zero byte", std::string("[data]\nkind = \"a\0b\"", 19),
             "2:", {"write valid TOML here"}),
      // ---- keys and tables
      config("an unknown key", "[pipeline]\nstags = 2", "2:1",
             {"unknown key pipeline.stags", "did you mean pipeline.stages?"}),
      config("an unknown table", "[pipelin]\nstages = 2", "1:2",
             {"unknown table pipelin", "did you mean pipeline?"}),
      config("a key of another table", "[pipeline]\nlr = 2", "2:1", {"did you mean optimizer.lr?"}),
      config("a key far from any", "[data]\nqqqqqq = 2", "2:1",
             {"unknown key data.qqqqqq", "pipetrain train lists the keys"}),
      config("a value where a table belongs", "pipeline = 3", "1:12",
             {"pipeline is a value", "[pipeline]"}),
      config("a key that is not built yet", "[pipeline]\nvirtual_stages = 2", "2:18",
             {"not built yet", "virtual_stages = 1"}),
      config("a schedule that is not built yet", "[pipeline]\nschedule = \"zb_v\"", "2:12",
             {"\"zb_v\" is not built yet", "1f1b"}),
      config("a kind of data that is not built yet", "[data]\nkind = \"text\"", "2:8",
             {"\"text\" is not built yet", "idx"}),
      config("a device that is not built yet", "[hardware]\nbackend = \"cuda\"", "2:11",
             {"\"cuda\" is not built yet", "cpu"}),
      // ---- types
      config("a string for a number", "[pipeline]\nstages = \"two\"", "2:10",
             {"a string (\"two\")", "a whole number from 1"}),
      config("a float for a whole number", "[data]\nbatch_size = 8.0", "2:14",
             {"a number (8.0)", "a whole number"}),
      config("a number for true or false", "[data]\nshuffle = 1", "2:11", {"write true or false"}),
      config("a number for a path",
             "[data]\nkind = \"idx\"\ntrain_images = 3\ntrain_labels = \"l\"", "3:16",
             {"a path in quotes"}),
      config("an array for a number", "[optimizer]\nlr = [0.1]", "2:6", {"an array ([0.1])"}),
      config("a date for a number", "[training]\nseed = 2020-01-01", "2:8", {"a date"}),
      config("a table for a number", "[training]\nsteps = { n = 3 }", "2:9", {"a table"}),
      config("a range of three", "[data]\nkind = \"idx\"\ntrain_range = [1, 2, 3]", "3:15",
             {"two whole numbers"}),
      // ---- numbers
      config("2^63", "[training]\nsteps = 9223372036854775808", "2:", {"64"}),
      config("-2^63 - 1", "[training]\nseed = -9223372036854775809", "2:", {"64"}),
      config("2^63 - 1 where 2^31 is the end", "[training]\nsteps = 9223372036854775807", "2:9",
             {"out of range", "2147483647"}),
      config("2^31 steps", "[training]\nsteps = 2147483648", "2:9", {"from 1 to 2147483647"}),
      config("2^32 + 1 stages, which is 1 in 32 bits", "[pipeline]\nstages = 4294967297", "2:10",
             {"from 1 to 1024"}),
      config("a negative number", "[data]\nbatch_size = -8", "2:14",
             {"data.batch_size = -8 is out of range"}),
      config("zero of something", "[pipeline]\nmicrobatches = 0", "2:16", {"from 1 to 65536"}),
      config("NaN", "[optimizer]\nlr = nan", "2:6", {"not finite", "a number at least 0"}),
      config("infinity", "[optimizer]\nlr = inf", "2:6", {"not finite"}),
      config("minus infinity", "[optimizer]\nmax_norm = -inf", "2:12", {"not finite"}),
      config("a number that overflows", "[optimizer]\nlr = 1e999", "2:11", {"1e999"}),
      config("a momentum of 1", "[optimizer]\nmomentum = 1.0", "2:12", {"from 0 to below 1"}),
      config("a fraction of 1",
             "[data]\nkind = \"idx\"\ntrain_images = \"i\"\ntrain_labels = "
             "\"l\"\nvalidation_fraction = 1.0",
             "5:23", {"from 0 to below 1"}),
      config("a range that is empty", "[data]\nkind = \"idx\"\ntrain_range = [5, 5]", "3:15",
             {"holds no samples"}),
      config("a memory limit that is no size", "[hardware]\nmemory_limit = \"8 gigs\"", "2:16",
             {"is not a size", "\"8GiB\""}),
      config("a memory limit that overflows", "[hardware]\nmemory_limit = \"99999999999TiB\"",
             "2:16", {"is not a size"}),
      // ---- words
      config("an unknown word", "[optimizer]\nkind = \"adma\"", "2:8",
             {"\"adma\" is not known", "did you mean 'adam'?"}),
      config("an empty word", "[training]\non_nonfinite = \"\"", "2:16", {"one of: stop, skip"}),
      // ---- rules of several keys
      config(
          "micro-batches that do not divide the mini-batch", "[pipeline]\nmicrobatches = 3", "2:16",
          {"batch_size = 8", "microbatches = 3", "batch_size = 6 or 9, or microbatches = 2 or 4"}),
      config("more micro-batches than samples", "[pipeline]\nmicrobatches = 16", "2:16",
             {"more than data.batch_size = 8", "microbatches = 8 or less", "batch_size = 16"}),
      config("epochs and steps", "[training]\nsteps = 3\nepochs = 2", "3:10",
             {"training.epochs and training.steps are both given"}),
      config("nesterov without momentum", "[optimizer]\nnesterov = true", "2:12",
             {"without momentum", "momentum = 0.9"}),
      config("steps without milestones", "[lr_schedule]\nkind = \"step\"", "2:8",
             {"no milestones", "milestones = ["}),
      config("a share and a range for validation",
             "[data]\nkind = \"idx\"\ntrain_images = \"i\"\ntrain_labels = "
             "\"l\"\nvalidation_fraction = 0.5\nvalidation_range = [0, 2]",
             "5:23", {"validation_range too", "remove one"}),
      config("a validation without samples",
             "[data]\nvalidation_samples = 0\n[validation]\nevery_epochs = 1", "4:16",
             {"no validation samples", "validation_samples above 0"}),
      config("data without files", "[data]\nkind = \"cifar100\"", "2:8",
             {"data.train_files is missing", "train_files = \"FILE\""}),
      // ---- several at once
      config("five mistakes, five lines",
             "[pipeline]\nstags = 2\nmicrobatches = 0\n[optimizer]\nlr = \"x\"\nkind = "
             "\"sdg\"\n[data]\nshuffle = 3",
             "2:1",
             {"bad.toml:3:16", "bad.toml:5:6", "bad.toml:6:8", "did you mean 'sgd'?",
              "bad.toml:8:11"}),
      {"an empty config",
       {{"bad.toml", ""}},
       "train bad.toml",
       2,
       {"bad.toml:1:1", "no model is named", "[model]"}},
      {"no model in it",
       {{"bad.toml", "[data]\nkind = \"glyphs\"\n"}},
       "train bad.toml",
       2,
       {"bad.toml:1:1", "no model is named"}},
      {"a key for another kind is noted, a mistake beside it refused",
       {{"bad.toml", "[data]\ntrain_images = \"x\"\n[pipeline]\nstages = 9\n"}},
       "train base.toml bad.toml --dry-run",
       2,
       {"bad.toml:2:16: data.train_images has no effect with data.kind = \"glyphs\"",
        "stages is 9"}},
  };
}
