// The command line: verbs, options, --set, files that are none, folders that cannot be.
#include "row.hpp"

// clang-format off: a row a line
std::vector<Row> command_rows() {
  return {
      {"a verb that is not there", {}, "trian base.toml", 2, {"no verb trian", "did you mean 'train'?"}},
      {"a verb far from any", {}, "xyzzy", 2, {"no verb xyzzy", "pipetrain --help"}},
      {"a verb of a later version", {}, "generate base.toml", 2, {"generate is not built yet"}},
      {"an option before the verb", {}, "--quiet train base.toml", 2, {"the verb comes first", "--quiet"}},
      {"an option that is not there", {}, "train base.toml --ouput x", 2, {"--ouput", "did you mean --output?"}},
      {"an option without its value", {}, "train base.toml --output", 2, {"--output", "pipetrain train --help"}},
      {"an option with a word that is none of its", {}, "train base.toml --log-level loud", 2, {"--log-level", "loud", "debug"}},
      {"an option's number that is none", {}, "schedule gpipe --stages four", 2, {"--stages", "four"}},
      {"an option's number out of range", {}, "schedule gpipe --stages 0", 2, {"--stages", "1", "1024"}},
      {"an option's number too large for 32 bits", {}, "schedule gpipe --stages 4294967297", 2, {"--stages", "4294967297"}},
      {"a schedule that is not there", {}, "schedule gpip", 2, {"gpip", "did you mean 'gpipe'?"}},
      {"a schedule without a name", {}, "schedule --stages 2", 2, {"NAME", "--help"}},
      {"times that are no numbers", {}, "schedule gpipe --times F=fast", 2, {"--times", "fast", "F="}},
      {"no config", {}, "train --dry-run", 2, {"no model is named"}},
      {"a config that is not there", {}, "train none.toml", 2, {"none.toml", "No such file"}},
      {"two configs that are not there, both named", {}, "train a.toml b.toml", 2, {"a.toml: cannot be read", "b.toml: cannot be read"}},
      {"a folder for a config", {{"folder/", ""}}, "train folder", 2, {"folder", "directory", "name a config file"}},
      {"a setting without =", {}, "train base.toml --set pipeline.stages", 2, {"--set pipeline.stages", "no setting", "--set key.path=value"}},
      {"a setting without a key", {}, "train base.toml --set =4", 2, {"--set =4", "--set key.path=value"}},
      {"a setting of an unknown key", {}, "train base.toml --set pipeline.stags=2", 2, {"--set pipeline.stags", "did you mean pipeline.stages?"}},
      {"a setting whose value is no TOML", {}, "train base.toml --set 'pipeline.split=[\"fc1\"'", 2, {"--set pipeline.split", "--set key.path=value"}},
      {"a setting out of range", {}, "train base.toml --set pipeline.stages=0", 2, {"--set pipeline.stages", "from 1 to 1024"}},
      {"a setting of a whole table", {}, "train base.toml --set pipeline=3", 2, {"--set pipeline", "pipeline is a value"}},
      {"an output that is a file", {{"out", "x"}}, "train base.toml --output out", 4, {"out", "--output"}},
      {"an output below a file", {{"out", "x"}}, "train base.toml --output out/run", 4, {"out/run", "Not a directory", "--output"}},
      {"a run to resume that is not there", {}, "train base.toml --resume nowhere", 2, {"--resume"}},
      {"a finished run of another config", {{"run/config.resolved.toml", "[model]\nfile = \"m.toml\"\n[optimizer]\nlr = 7.0\n"}}, "train base.toml --output run", 2, {"run", "optimizer.lr", "--resume never"}},
      {"a run whose stored config is damaged", {{"run/config.resolved.toml", "[model\n"}}, "train base.toml --output run", 2, {"config.resolved.toml:1:", "--resume never"}},
      {"nothing trained to evaluate", {}, "eval base.toml", 3, {"no trained weights", "--model"}},
      {"weights to evaluate that are not there", {}, "eval base.toml --model w.safetensors", 3, {"w.safetensors", "No such file"}},
  };
}
// clang-format on
