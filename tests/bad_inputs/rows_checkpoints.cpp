// Checkpoints that are damaged, of another model, or missing. They are those of a run of three
// steps on two stages whose end was removed, so that the same command resumes from its last
// checkpoint.
#include "row.hpp"

namespace {

const std::string run_options =
    " --output run --set checkpoint.every_steps=1 --set checkpoint.keep_latest=5"
    " --set pipeline.stages=2";
const std::string trained = "\"$PIPETRAIN_BINARY\" train base.toml --quiet" + run_options +
                            " && rm run/model.safetensors; cd run/checkpoints/step-00000003; ";

// `damage` is a shell command in the folder of the last checkpoint.
Row spoiled(const std::string& name, const std::string& damage, std::vector<std::string> words,
            const std::string& command = "train base.toml" + run_options) {
  return {name, {}, command, 3, std::move(words), false, trained + damage + "; cd ../../..; "};
}
Row other(const std::string& name, const std::string& options, int code,
          std::vector<std::string> words) {
  Row row = spoiled(name, ":", std::move(words), "train base.toml" + run_options + " " + options);
  row.code = code;
  return row;
}

const std::string flip = "printf X | dd of=stage-0000.safetensors bs=1 seek=9000 conv=notrunc 2>&-";

}  // namespace

std::vector<Row> checkpoint_rows() {
  return {
      spoiled("a manifest that is empty", ": > manifest.json",
              {"manifest.json", "not a valid manifest", "--resume"}),
      spoiled("a manifest cut short", "truncate -s 100 manifest.json",
              {"manifest.json", "not a valid manifest", "--resume"}),
      spoiled("a manifest of another format", "echo '{\"format\": \"zip\"}' > manifest.json",
              {"manifest.json", "it was not written by pipetrain"}),
      spoiled("a manifest that is an array", "echo '[1, 2]' > manifest.json",
              {"manifest.json", "not a valid manifest"}),
      spoiled("a manifest with another step", "sed -i 's/\"step\": 3/\"step\": 2/' manifest.json",
              {"manifest.json", "checksum"}),
      spoiled("a manifest nested deeply", "head -c 100000 /dev/zero | tr '\\0' '[' > manifest.json",
              {"manifest.json", "not a valid manifest"}),
      spoiled("a flipped bit in the weights", flip,
              {"step-00000003: this checkpoint is damaged", "stage-0000.safetensors: its checksum",
               "--resume run/checkpoints/step-00000002"}),
      spoiled("a flipped bit, found by verify", flip, {"stage-0000.safetensors: its checksum"},
              "checkpoint verify run"),
      spoiled("a stage's file that is gone", "rm stage-0001.safetensors",
              {"stage-0001.safetensors: No such file", "step-00000002"}),
      spoiled("a stage's file cut short", "truncate -s 300 stage-0001.safetensors",
              {"stage-0001.safetensors: it has 300 bytes instead of"}),
      spoiled("a stage's file that is a folder",
              "rm stage-0001.safetensors; mkdir stage-0001.safetensors",
              {"stage-0001.safetensors", "damaged"}),
      spoiled("a pipe in the place of a config",
              "rm config.resolved.toml; mkfifo config.resolved.toml",
              {"this checkpoint is damaged", "config.resolved.toml: it is not a regular file",
               "--resume run/checkpoints/step-00000002"}),
      spoiled("a device in the place of a config", "ln -sf /dev/zero config.resolved.toml",
              {"this checkpoint is damaged", "config.resolved.toml: it is not a regular file"}),
      spoiled("a changed byte of a config",
              "printf X | dd of=config.resolved.toml bs=1 seek=9 conv=notrunc 2>&-",
              {"this checkpoint is damaged", "config.resolved.toml: its checksum"}),
      spoiled("a manifest that is a pipe", "rm manifest.json; mkfifo manifest.json",
              {"manifest.json: it is not a regular file"}),
      spoiled("metrics that are a pipe", "rm ../../metrics.jsonl; mkfifo ../../metrics.jsonl",
              {"metrics.jsonl: cannot be read: it is not a regular file"}),
      spoiled("a checkpoint that is a link to itself", "rm ../best; ln -s best ../best",
              {"checkpoints/best: cannot be read: Too many levels"},
              "eval base.toml --model run/checkpoints/best"),
      spoiled("a damaged checkpoint to evaluate", flip, {"its checksum"},
              "eval base.toml --model run/checkpoints/step-00000003"),
      spoiled("a damaged checkpoint to export", flip, {"its checksum"},
              "checkpoint export run --output out.safetensors"),
      {"weights to export to a folder",
       {{"folder/", ""}},
       "checkpoint export run --output folder",
       2,
       {"folder is a folder; name a file with --output"}},
      other("a checkpoint that is not there", "--resume run/checkpoints/step-00000009", 3,
            {"step-00000009: there is no checkpoint"}),
      other("a file for a checkpoint", "--resume base.toml", 3,
            {"base.toml: it does not name a checkpoint"}),
      other("a run of another learning rate", "--set optimizer.lr=0.5", 2,
            {"these keys differ: optimizer.lr", "--output", "--resume never"}),
      {"a checkpoint of another model, every difference listed",
       {{"other.toml",
         "[model]\nfile = \"fc.toml\"\n[training]\nsteps = 4\n[data]\nkind = "
         "\"synthetic\"\ntrain_samples = 8\nbatch_size = 4\nvalidation_samples = 0\n"}},
       "eval other.toml --model run/checkpoints/step-00000003",
       3,
       {"fc.weight' [3, 2] is missing", "'fc.bias' [3] is missing",
        "'fc1.weight' is not in the model", "'fc2.bias' is not in the model"},
       false,
       trained + "cd ../../..; "},
      {"a verb of checkpoints that is not there",
       {},
       "checkpoint verfy run",
       2,
       {"no verb verfy", "did you mean 'verify'?"}},
      {"no folder for a verb of checkpoints", {}, "checkpoint info", 2, {"DIR is required"}},
      {"a folder without checkpoints",
       {{"folder/", ""}},
       "checkpoint info folder",
       3,
       {"folder", "checkpoint"}},
  };
}
