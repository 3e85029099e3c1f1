// What the user may not read, write or start.
#include "row.hpp"

namespace {

Row row(const std::string& name, const std::string& prepare, const std::string& command, int code,
        std::vector<std::string> words) {
  return {.name = name,
          .files = {{"locked/", ""}},
          .command = command,
          .code = code,
          .words = std::move(words),
          .prepare = prepare,
          .ordinary_user = true};
}
Row locked(const std::string& name, const std::string& command, int code,
           std::vector<std::string> words) {
  words.push_back("Permission denied");
  return row(name, "chmod 0 locked; ", command, code, std::move(words));
}
Row unread(const std::string& name, const std::string& file, const std::string& command, int code) {
  return row(name, "chmod 0 " + file + "; ", command, code,
             {file, "cannot be read: Permission denied"});
}

const std::string saved_run =
    "\"$PIPETRAIN_BINARY\" train base.toml --quiet --output run --set checkpoint.every_steps=2 "
    "&& rm run/model.safetensors; ";

}  // namespace

std::vector<Row> permission_rows() {
  return {
      unread("a config that may not be read", "base.toml", "train base.toml", 2),
      locked("a config in a folder that may not be entered", "train locked/base.toml", 2,
             {"locked/base.toml", "name a config"}),
      locked("a run in a folder that may not be entered", "eval locked", 2,
             {"locked/config.resolved.toml", "name a config"}),
      unread("a model file that may not be read", "fc.toml", "train weights.toml", 2),
      unread("weights that may not be read", "good.safetensors", "train weights.toml", 3),
      unread("data that may not be read", "images.idx", "train tiny.toml", 3),
      unread("a folder of images that may not be entered", "pictures/a", "train folder.toml", 3),
      unread("an order that may not be read", "fc.toml",
             "train base.toml --set pipeline.schedule_csv=fc.toml", 2),
      locked("an order in a folder that may not be entered", "schedule locked/order.csv", 2,
             {"locked/order.csv", "name a csv file"}),
      locked("a run directory that may not be entered", "train base.toml --output locked/run", 2,
             {"locked/run: the run directory cannot be made there", "--output"}),
      row("a run directory that may not be written", "chmod 555 locked; ",
          "train base.toml --output locked/run", 2,
          {"locked/run: the run directory cannot be made there", "locked: Permission denied",
           "--output"}),
      locked("weights to evaluate that may not be reached",
             "eval base.toml --model locked/model.safetensors", 3, {"locked/model.safetensors"}),
      locked("a checkpoint that may not be entered", "checkpoint info locked", 3,
             {"locked/manifest.json: cannot be read"}),
      locked("a checkpoint to resume from that may not be reached",
             "train base.toml --resume locked/step", 3, {"locked/step", "cannot be read"}),
      row("a checkpoint's file that may not be read",
          saved_run + "chmod 0 run/checkpoints/step-00000003/stage-0000.safetensors; ",
          "train base.toml --output run --set checkpoint.every_steps=2", 3,
          {"this checkpoint is damaged", "stage-0000.safetensors: Permission denied"}),
      {.name = "more threads than the user may have",
       .files = {},
       .command = "train base.toml --set pipeline.stages=4 --set pipeline.microbatches=2",
       .code = 4,
       .words = {"no more threads can be started",
                 "3 processes and threads of this user, ulimit -u"},
       .ordinary_user = true,
       .most_threads = 3},
  };
}
