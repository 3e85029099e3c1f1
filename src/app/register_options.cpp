// The command line of each verb: names, defaults and allowed values. One function per verb.
#include "app/register_options.hpp"

#include <CLI/CLI.hpp>

#include <limits>

#include "app/option_numbers.hpp"
#include "app/option_words.hpp"
#include "config/words.hpp"

namespace pipetrain {
namespace {

void common_options(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--log-level", options.log_level, "what is logged to standard error")
      ->check(one_of({"trace", "debug", "info", "warn", "error", "off"}));
  app.add_flag("--quiet", options.quiet, "log warnings and errors only");
  app.add_option("--color", options.color, "colours; auto: on a terminal, unless NO_COLOR is set")
      ->check(one_of({"auto", "always", "never"}));
}

void json_option(CLI::App& app, Options& options) {
  app.add_flag("--json", options.json, "one JSON document on standard output");
}

void config_options(CLI::App& app, Options& options,
                    const char* what = "TOML files; later ones override earlier ones") {
  common_options(app, options);
  json_option(app, options);
  app.add_option("CONFIG", options.configs, what)->default_str("");
  app.add_option("--set", options.sets, "key.path=value: overrides the files; repeatable")
      ->allow_extra_args(false)
      ->default_str("");
  app.add_flag("--help-keys", options.help_keys,
               "print every key of a config with its default and stop");
  app.add_flag("--dump-config{full}", options.dump_config,
               "print the effective config (--dump-config=minimal: what differs from the "
               "defaults) and stop")
      ->check(one_of({"full", "minimal"}));
}

constexpr const char* kConfigOrRun =
    "a run directory (runs/NAME), or TOML files; later ones override earlier ones";

void output_option(CLI::App& app, Options& options) {
  app.add_option("--output", options.output, "run directory; default: runs/<config name>");
}

void model_option(CLI::App& app, Options& options) {
  app.add_option("--model", options.model,
                 "a safetensors file or a checkpoint; default: the run's model.safetensors, else "
                 "its newest checkpoint, else the config's model.init");
  app.add_flag("--best", options.best,
               "the checkpoint of the run's best validation, by validation.metric");
}

}  // namespace

void train_options(CLI::App& app, Options& options) {
  config_options(app, options);
  output_option(app, options);
  app.add_option("--resume", options.resume,
                 "auto (from the newest checkpoint), never (start over), or a checkpoint");
  app.add_flag("--accept-changed-data", options.accept_changed_data,
               "resume although the data differ from those that the checkpoint was trained on");
  app.add_flag("--dry-run", options.dry_run, "do everything up to the first step, then stop");
  app.add_flag(
      "--overfit-one-batch", options.overfit_one_batch,
      "train on the first samples alone, as many as a mini-batch has, for training.steps or 500 "
      "steps: the loss should go towards 0");
}

void eval_options(CLI::App& app, Options& options) {
  config_options(app, options, kConfigOrRun);
  output_option(app, options);
  model_option(app, options);
}

void generate_options(CLI::App& app, Options& options) {
  config_options(app, options, kConfigOrRun);
  output_option(app, options);
  model_option(app, options);
  app.add_option("--prompt", options.prompt,
                 "language models: the text to continue, or \"-\" for standard input; token "
                 "numbers if the model has no vocabulary")
      ->default_str("a new line");
  app.add_option("--tokens", options.tokens, "how many tokens to write after the prompt")
      ->check(whole_number(0, std::uint64_t{1} << 40));
  app.add_option(
         "--temperature", options.temperature,
         "below 1: likely tokens come more often; above 1: less often; 0: always the likeliest")
      ->check(number(0, 1000));
  app.add_option("--top-k", options.top_k,
                 "draw from this many of the likeliest tokens; 0: from all")
      ->check(whole_number(0, std::uint64_t{1} << 40));
  app.add_option("--seed", options.seed, "the same seed draws the same text")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  app.add_option("--samples", options.samples, "number of texts, drawn independently")
      ->check(whole_number(1, 1 << 20));
  app.add_option("--beam", options.beam,
                 "when translating standard input line by line: hypotheses per sentence; 1: greedy")
      ->check(whole_number(1, 1024));
  app.add_option("--length-penalty", options.length_penalty,
                 "a translation's log-probability is divided by ((5 + pieces) / 6) to this power")
      ->check(number(0, 10));
  app.add_option("--batch", options.batch, "sentences to translate at once")
      ->check(whole_number(1, std::uint64_t{1} << 16));
}

void benchmark_options(CLI::App& app, Options& options) {
  config_options(app, options);
  app.add_option("--profile", options.profile,
                 "a profile.json of the model on this machine: prints the predicted step time and "
                 "bubble next to the measured ones")
      ->default_str("");
  app.add_option(
         "--seconds", options.seconds,
         "how long each config is measured, after 2 steps (where the schedule never drains, "
         "after those that fill the pipeline): at least this long and 3 steps; default: 3 "
         "seconds and 20 steps, after 5")
      ->default_str("")
      ->check(number(0.001, 60));
}

void profile_options(CLI::App& app, Options& options) {
  config_options(app, options);
  app.add_option("--output", options.output, "the file to write; default: profile.json");
  app.add_option("--microbatch-sizes", options.profile_samples,
                 "samples in a micro-batch, several with commas; default: the mini-batch, its "
                 "half, and so on, six at most")
      ->delimiter(',')
      ->check(whole_number(1, 1 << 20))
      ->default_str("");
  app.add_option("--threads", options.profile_threads,
                 "threads per stage, several with commas; default: hardware.threads_per_stage, or "
                 "if that is 0 every share of the cores")
      ->delimiter(',')
      ->check(whole_number(1, 1024))
      ->default_str("");
}

void plan_options(CLI::App& app, Options& options) {
  config_options(app, options,
                 "TOML files; if given, the profile must be of their model, and `simulate` keeps "
                 "what their [pipeline] names");
  app.add_option(
         "--profile", options.profile,
         "times and sizes of the layers: profile.json, or a graph.txt of PipeDream's profiler")
      ->default_str("");
  app.add_option("--cluster", options.cluster,
                 "one of pipedream-a, -b, -c, bapipe-gpu-4, -gpu-8, -fpga-4, -fpga-mixed, or a "
                 "TOML file; default: this machine, or --devices")
      ->default_str("");
  app.add_option(
         "--devices", options.devices,
         "devices in a group, groups in a larger group, and so on: 4,2 is two servers of four")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("")
      ->check(whole_number(1, 1024));
  app.add_option("--bandwidth", options.bandwidth,
                 "bytes per second between the members of a group, for each number of --devices")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("")
      ->check(number(1, 1e18));
  app.add_option("--memory", options.memory,
                 "memory of a device, such as 8GiB or in bytes; default: no limit")
      ->default_str("");
  app.add_flag("--straight", options.straight,
               "pipedream, simulate: a stage for every device, no replicas");
  options.objective = "simulate";
  app.add_option("--objective", options.objective,
                 "which planner: PipeDream's optimizer, BaPipe's exploration, or our own, which "
                 "simulates the program of every schedule")
      ->check(one_of({"pipedream", "bapipe", "simulate"}));
  app.add_flag("--allow-stale", options.allow_stale,
               "simulate: also schedules that never drain, whose weights are stale");
  app.add_option("--cost-model", options.cost_model,
                 "pipedream: its cost model as in its paper, or as in its released code")
      ->check(one_of({"paper", "code"}));
  app.add_option("--format", options.format,
                 "svg: the map of stages as a picture; json: same as --json")
      ->check(one_of({"text", "json", "svg"}));
  app.add_option("--output", options.output, "the file to write; default: standard output")
      ->default_str("");
}

void schedule_options(CLI::App& app, Options& options) {
  common_options(app, options);
  app.add_option("NAME", options.schedules,
                 "of a schedule (pipetrain methods lists them), or a csv file with your own order; "
                 "several are compared")
      ->required()
      ->default_str("");
  app.add_option("--stages", options.stages,
                 "pipeline workers P; more than 1,024 only if no picture is drawn: with --summary "
                 "or --format json")
      ->check(whole_number(1, 16384));
  app.add_option("--microbatches", options.microbatches, "micro-batches per mini-batch, N")
      ->check(whole_number(1, 65536));
  app.add_option(
         "--steps", options.steps,
         "mini-batches; default: 1, or for a schedule that never drains the number that shows two "
         "rounds between warm-up and drain; several schedules take the largest of their defaults")
      ->check(whole_number(1, 65536))
      ->default_str("");
  app.add_option("--virtual-stages", options.virtual_stages,
                 "parts of the model per worker, under interleaved_1f1b")
      ->check(whole_number(1, 1024))
      ->default_str("2");
  app.add_option_function<std::string>(
         "--warmup",
         [&](const std::string& word) { options.warmup = word_named<Warmup>(word).value(); },
         "forwards before the first backward, under 1f1b and the schedules that never drain except "
         "the timeprest schedules")
      ->check(one_of(std::vector<std::string>(words_of<Warmup>.begin(), words_of<Warmup>.end())))
      ->default_str(std::string(word_of(options.warmup)));
  app.add_option("--replicas", options.replicas,
                 "workers of each stage, such as 3,1, or one number for all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("1")
      ->check(whole_number(1, 1024));
  app.add_flag("--busy", options.busy,
               "the work-conserving order for the F and B of --times, under the timeprest "
               "schedules");
  app.add_flag("--vertical-sync", options.vertical_sync,
               "all stages read the version of stage 0, under pipedream");
  app.add_option(
         "--tied", options.tied,
         "stages whose layers share a parameter, such as 0,3: their updates wait for each other")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("")
      ->check(whole_number(0, 1 << 20));
  app.add_option(
         "--times", options.times,
         "times of a forward (F), a backward (B), the part of a backward after the send of its "
         "gradients (tail) and a transfer, per micro-batch and model stage; what is not named "
         "keeps its default. F=1/2/3: one for each model stage; transfer: one for each boundary "
         "between them. Half of B is the input half, half the weight half; with W=..., W is the "
         "weight half and B the input half (default 1). Under the timeprest schedules B and W are "
         "those of a whole mini-batch, by default N times those of a micro-batch. slowdown=1/2: "
         "the factor by which each worker's times are multiplied; jitter=0.1,seed=1: forwards and "
         "backwards vary at random, by a factor whose logarithm has this standard deviation")
      ->default_str("F=1,B=2,transfer=0");
  app.add_option("--format", options.format, "format of the output")
      ->check(one_of({"text", "versions", "csv", "svg", "trace", "json"}));
  app.add_flag_callback(
      "--json", [&options] { options.format = "json"; }, "same as --format json");
  app.add_flag("--summary", options.summary,
               "text: the table of numbers alone; json: without the instructions");
}

void checkpoint_options(CLI::App& app, Options& options) {
  common_options(app, options);
  json_option(app, options);
  app.add_option("VERB", options.name, "info | verify | reshard | export | prune")->required();
  app.add_option("DIR", options.checkpoint,
                 "a checkpoint, or the folder of a run (its newest; verify, info: all)")
      ->required();
  app.add_option("--output", options.output,
                 "export: the safetensors file; reshard: the folder to write to");
  options.stages = 1;
  app.add_option("--stages", options.stages, "reshard: into this many files")
      ->check(whole_number(1, 1024));
  app.add_option("--keep-latest", options.keep_latest, "prune: how many of the newest to keep")
      ->check(whole_number(1, 1 << 30));
  app.add_option("--keep-best", options.keep_best,
                 "prune: also keep the one of the best validation")
      ->check(true_or_false())
      ->default_str("true");
}

namespace {

void runs_options(CLI::App& app, Options& options) {
  common_options(app, options);
  json_option(app, options);
  app.add_option("RUN", options.runs, "folders of runs, such as runs/quickstart")
      ->required()
      ->default_str("");
  app.add_option("--target", options.target,
                 "what a run has to reach for \"time to\", in the measure of the table: a BLEU, a "
                 "perplexity, an accuracy from 0 to 1 or a loss; default: the best that every "
                 "validated run reached")
      ->default_str("")
      ->check(number(0, 1e9));
}

}  // namespace

void report_options(CLI::App& app, Options& options) {
  runs_options(app, options);
  app.add_option("--output", options.output,
                 "the file to write; default: report.html in the run's folder, or for several runs "
                 "in this folder")
      ->default_str("");
}

void compare_options(CLI::App& app, Options& options) { runs_options(app, options); }

void list_options(CLI::App& app, Options& options) {
  common_options(app, options);
  json_option(app, options);
}

}  // namespace pipetrain
