// Splits, memory and the sizes of mini-batches: what shows once model, data and pipeline meet.
#include "row.hpp"

namespace {

Row pipeline(const std::string& name, const std::string& keys, std::vector<std::string> words) {
  return {name, {{"bad.toml", "[pipeline]\n" + keys}}, "train base.toml bad.toml --dry-run", 2,
          std::move(words)};
}

}  // namespace

// clang-format off: a row a line
std::vector<Row> plan_rows() {
  return {
      pipeline("more stages than layers", "stages = 9\n", {"bad.toml:2:10", "stages is 9", "4 layers", "at most 4"}),
      pipeline("a split at no layer", "stages = 2\nsplit = [\"fc3\"]\n", {"bad.toml:3:9", "no layer 'fc3'", "did you mean 'fc1'?"}),
      pipeline("a split that names a layer twice", "stages = 3\nsplit = [\"fc1\", \"fc1\"]\n", {"bad.toml:3:17", "names \"fc1\" twice"}),
      pipeline("a split in the wrong order", "stages = 3\nsplit = [\"fc2\", \"fc1\"]\n", {"bad.toml:3:9", "'fc1' does not come after 'fc2'", "in the order of the model"}),
      pipeline("a split that leaves the first stage empty", "stages = 2\nsplit = [\"flatten\"]\n", {"bad.toml:3:9", "'flatten' is the model's first layer"}),
      pipeline("a split for fewer stages", "stages = 4\nsplit = [\"fc1\"]\n", {"bad.toml:3:9", "names 1 layers", "stages = 4 makes 3 cuts", "stages = 2"}),
      pipeline("a split for more stages", "stages = 2\nsplit = [\"fc1\", \"fc2\"]\n", {"bad.toml:3:9", "names 2 layers", "stages = 3"}),
      pipeline("a split by no rule", "stages = 2\nsplit = \"even\"\n", {"bad.toml:3:9", "one of: auto, uniform, parameters"}),
      {"a memory limit too small for the plan", {{"bad.toml", "[hardware]\nmemory_limit = \"4KiB\"\n"}}, "train base.toml bad.toml", 2, {"bad.toml:2:16", "stage 0 needs", "4.0 KiB", "more stages", "microbatches"}},
      {"a memory limit too small, in a dry run", {{"bad.toml", "[hardware]\nmemory_limit = 1000\n[pipeline]\nstages = 2\n"}}, "train base.toml bad.toml --dry-run", 2, {"bad.toml:2:16", "stage 0 needs", "1000 B"}},
      {"mini-batches larger than the data", {{"bad.toml", "[data]\nbatch_size = 64\n"}}, "train base.toml bad.toml --dry-run", 2, {"bad.toml:2:14", "data.batch_size = 64 is more than the 32 training samples", "drop_last", "batch_size = 32 or less"}},
      {"a range past the end", {{"bad.toml", "[data]\ntrain_range = [0, 7]\n"}}, "train tiny.toml bad.toml --dry-run", 2, {"bad.toml:2:15", "data.train_range = [0, 7]", "6 samples"}},
      {"a validation range past the end", {{"bad.toml", "[data]\nvalidation_range = [6, 9]\n"}}, "train tiny.toml bad.toml --dry-run", 2, {"bad.toml:2:20", "data.validation_range = [6, 9]", "<= 6"}},
      {"mini-batches larger than what the fraction leaves", {{"bad.toml", "[data]\nvalidation_fraction = 0.5\nbatch_size = 4\n"}}, "train tiny.toml bad.toml --dry-run", 2, {"bad.toml:3:14", "more than the 3 training samples"}},
      {"a model for other data", {}, "train tiny.toml --set 'data.kind=\"glyphs\"' --dry-run", 2, {"glyphs", "[1, 28, 28]", "[1, 2, 2]"}},
      {"a model with too few classes", {{"m.toml", "input = { shape = [1, 28, 28] }\n[[layers]]\nname = 'f'\nkind = 'flatten'\n[[layers]]\nname = 'fc'\nkind = 'linear'\nout_features = 9\n"}, {"bad.toml", "[model]\nfile = \"m.toml\"\n"}}, "train bad.toml --dry-run", 2, {"glyphs", "10 classes", "9 outputs", "out_features = 10"}},
      {"more samples to draw than memory", {{"bad.toml", "[data]\ntrain_samples = 1000000000000\n"}}, "train base.toml bad.toml --dry-run", 2, {"bad.toml:2:17", "data.train_samples = 1000000000000", "bytes"}, true},
  };
}
// clang-format on
