#include "config/keys.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/suggest.hpp"
#include "config/value.hpp"
#include "schedules.hpp"  // for the names of the schedules, so that a new one is a row there alone

namespace pipetrain::config {
namespace {

using Words = std::vector<std::string_view>;

constexpr Range at_least(double low) { return {.low = low}; }
constexpr Range above(double low) { return {.low = low, .above_low = true}; }
constexpr Range from_to(double low, double high) { return {.low = low, .high = high}; }
constexpr Range from_to_below(double low, double high) {
  return {.low = low, .high = high, .below_high = true};
}
constexpr double kMostSteps = 2147483647;  // a Version counts updates in 31 bits
constexpr double kMostSamples = 1e12;

// The schedules of the table for which the predicate holds.
Words schedules_that(bool (*holds)(const Schedule&)) {
  Words names;
  for (const Schedule& schedule : schedules())
    if (holds(schedule)) names.push_back(schedule.name);
  return names;
}

template <class Word>
Words listed() {
  return {words_of<Word>.begin(), words_of<Word>.end()};
}

// A key's path is that of its field.
#define KEY(member) \
  .path = #member, .field = [](Config & config) -> auto& { return config.member; }

// The same for a field that is an enum; its words are what may be written.
#define WORD(member)                                                                       \
  .path = #member, .field = WordField {                                                    \
    words_of<std::remove_cvref_t<decltype(std::declval<Config&>().member)>>,               \
        [](const Config& config) { return static_cast<int>(config.member); },              \
        [](Config& config, int word) {                                                     \
          config.member = static_cast<std::remove_cvref_t<decltype(config.member)>>(word); \
        }                                                                                  \
  }

std::vector<Key> make_keys() {
  const Words idx = {"idx"}, npy = {"npy"}, pairs = {"idx", "npy"}, drawn = {"glyphs", "synthetic"};
  const Words cifar = {"cifar10", "cifar100"};
  const Words folder = {"image_folder"}, images = {"cifar10", "cifar100", "image_folder"};
  const Range image_side = from_to(1, 65536);
  const Words parallel = {"parallel_text"};
  const Words text = {"text"}, tokens = {"tokens"}, sequences = {"text", "tokens"};
  const Words cut_short = {"glyphs",   "synthetic",    "idx",  "npy",   "cifar10",
                           "cifar100", "image_folder", "text", "tokens"};
  const Words ranged = {"idx", "npy", "cifar10", "cifar100", "text", "tokens", "parallel_text"};
  const Words parted = {"idx",          "npy",  "cifar10", "cifar100",
                        "image_folder", "text", "tokens",  "parallel_text"};
  const Words picked = {"idx", "npy", "cifar10", "cifar100", "image_folder", "parallel_text"};
  const Words all = schedules_that([](const Schedule&) { return true; });
  Words all_and_auto = all;
  all_and_auto.push_back(automatic_schedule);
  const Words interleaved =
      schedules_that([](const Schedule& s) { return s.parts == Parts::VirtualStages; });
  const Words vertical = schedules_that([](const Schedule& s) { return s.vertical != nullptr; });
  using Rate = TrainingRules::Rate;
  using Motion = TrainingRules::Motion;
  const Words annealed =
      schedules_that([](const Schedule& s) { return s.training.rate == Rate::ByDelay; });
  const Words corrected = schedules_that(
      [](const Schedule& s) { return s.training.motion == Motion::CorrectsBackward; });
  const Words estimated = schedules_that(
      [](const Schedule& s) { return s.training.motion == Motion::EstimatesForward; });
  const Words warmed =
      schedules_that([](const Schedule& s) { return !s.training.sync_warmup.empty(); });
  const Words mixed = schedules_that([](const Schedule& s) { return s.training.mixes; });
  const Words adam = {"adam", "adamw"}, hosts = {"cpu", "reference"};
  const Range link_number = {.low = 0, .high = 1e9, .above_low = true};
  const Range count = from_to(1, kMostSteps), count_or_none = from_to(0, kMostSteps);
  // clang-format off
  return {
    {KEY(model.file), .help = "a model file; or the layers inline as [[model.layers]]"},
    {KEY(model.init), .help = "initial weights by parameter name: a .safetensors file, a checkpoint, or a run's folder"},
    {KEY(model.init_ignore), .help = "parameters that are not taken from init: [\"fc.*\"]; they start as they would without it"},
    {KEY(model.trainable), .help = "parameters to train ([\"fc.*\"]), the others keep their values; []: all"},

    {WORD(data.kind), .help = "what the samples are"},
    {KEY(data.train_images), .help = "idx: images, .gz or plain", .of = "data.kind", .only = idx, .samples = SampleFiles::Train},
    {KEY(data.train_inputs), .help = "npy: inputs, float32 or float64", .of = "data.kind", .only = npy, .samples = SampleFiles::Train},
    {KEY(data.train_labels), .help = "idx, npy: labels", .of = "data.kind", .only = pairs, .samples = SampleFiles::Train},
    {KEY(data.validation_images), .help = "like train_images", .of = "data.kind", .only = idx, .samples = SampleFiles::Validation},
    {KEY(data.validation_inputs), .help = "like train_inputs", .of = "data.kind", .only = npy, .samples = SampleFiles::Validation},
    {KEY(data.validation_labels), .help = "like train_labels", .of = "data.kind", .only = pairs, .samples = SampleFiles::Validation},
    {KEY(data.train_files), .help = "cifar10, cifar100: a .bin file or a list, .gz or plain", .of = "data.kind", .only = cifar, .samples = SampleFiles::Train},
    {KEY(data.validation_files), .help = "like train_files", .of = "data.kind", .only = cifar, .samples = SampleFiles::Validation},
    {WORD(data.labels), .help = "cifar100: which of its two kinds of label", .of = "data.kind", .only = {"cifar100"}},
    {KEY(data.train_folder), .help = "image_folder: one folder of .jpg, .jpeg and .png files per class", .of = "data.kind", .only = folder, .samples = SampleFiles::Train},
    {KEY(data.validation_folder), .help = "like train_folder", .of = "data.kind", .only = folder, .samples = SampleFiles::Validation},
    {KEY(data.resize), .help = "image_folder: length of the shorter side, or [height, width]", .range = image_side, .of = "data.kind", .only = folder},
    {KEY(data.crop), .help = "cifar, image_folder: the model's [height, width], or one number; at random in training, otherwise the centre", .range = image_side, .of = "data.kind", .only = images},
    {KEY(data.random_resized_crop), .help = "image_folder, training: a random part of 8% to 100%, stretched; instead of resize", .of = "data.kind", .only = folder},
    {KEY(data.padding), .help = "cifar, image_folder, training: zeros on each side, before the crop", .range = from_to(0, 4096), .of = "data.kind", .only = images},
    {KEY(data.flip), .help = "cifar, image_folder, training: mirrored left to right, half of the time", .of = "data.kind", .only = images},
    {KEY(data.mean), .help = "cifar, image_folder: subtracted from values of 0..1; one number per channel, or one for all", .of = "data.kind", .only = images},
    {KEY(data.std), .help = "values are then divided by it; one number per channel, or one for all", .range = above(0), .of = "data.kind", .only = images},
    {KEY(data.decode_threads), .help = "image_folder: threads that read images", .range = from_to(1, 256), .of = "data.kind", .only = folder, .on_resume = OnResume::MayDiffer},
    {WORD(data.on_bad_image), .help = "image_folder: with skip, the next good image takes its place", .of = "data.kind", .only = folder},
    {KEY(data.train_text), .help = "text: a UTF-8 file, .gz or plain", .of = "data.kind", .only = text, .samples = SampleFiles::Train},
    {KEY(data.validation_text), .help = "like train_text", .of = "data.kind", .only = text, .samples = SampleFiles::Validation},
    {WORD(data.tokenizer), .help = "text: what a token is", .of = "data.kind", .only = text},
    {KEY(data.train_tokens), .help = "tokens: a .bin file of llm.c or nanoGPT, or a list", .of = "data.kind", .only = tokens, .samples = SampleFiles::Train},
    {KEY(data.validation_tokens), .help = "like train_tokens", .of = "data.kind", .only = tokens, .samples = SampleFiles::Validation},
    {KEY(data.vocabulary), .help = "vocabulary.json of an earlier run; text: by default made from the training text", .of = "data.kind", .only = sequences},
    {KEY(data.stride), .help = "tokens from one training window to the next: 1 makes a window at every offset; default: the model's tokens", .range = from_to(1, 1 << 30), .of = "data.kind", .only = sequences},
    {KEY(data.train_source), .help = "parallel_text: one sentence a line, UTF-8, .gz or plain", .of = "data.kind", .only = parallel, .samples = SampleFiles::Train},
    {KEY(data.train_target), .help = "parallel_text: their translations, line by line", .of = "data.kind", .only = parallel, .samples = SampleFiles::Train},
    {KEY(data.validation_source), .help = "like train_source", .of = "data.kind", .only = parallel, .samples = SampleFiles::Validation},
    {KEY(data.validation_target), .help = "like train_target", .of = "data.kind", .only = parallel, .samples = SampleFiles::Validation},
    {KEY(data.pieces), .help = "parallel_text: a SentencePiece model for both sides; by default trained on the training text", .of = "data.kind", .only = parallel},
    {KEY(data.piece_kind), .help = "parallel_text: how pieces are trained", .values = {"unigram", "bpe"}, .of = "data.kind", .only = parallel},
    {KEY(data.batch_tokens), .help = "parallel_text: the mini-batch in tokens, both sides with padding; 0: batch_size sentences", .range = count_or_none, .of = "data.kind", .only = parallel},
    {KEY(data.bucket_multiple), .help = "parallel_text: lengths are padded to a multiple of it", .range = from_to(1, 1024), .of = "data.kind", .only = parallel},
    {KEY(data.train_range), .help = "[first, last], last not included: part of the samples", .of = "data.kind", .only = ranged},
    {KEY(data.validation_range), .help = "[first, last], last not included: part of the samples", .of = "data.kind", .only = ranged},
    {KEY(data.validation_fraction), .help = "of the training samples, picked by validation_seed; for text and tokens, the last part; 0: none", .range = from_to_below(0, 1), .of = "data.kind", .only = parted},
    {KEY(data.validation_seed), .help = "which samples validation_fraction keeps", .range = at_least(0), .of = "data.kind", .only = picked},
    {KEY(data.train_samples), .help = "how many samples to draw", .range = from_to(1, kMostSamples), .of = "data.kind", .only = drawn},
    {KEY(data.validation_samples), .help = "how many samples to draw", .range = from_to(0, kMostSamples), .of = "data.kind", .only = drawn},
    {KEY(data.batch_size), .help = "samples per update: the mini-batch", .range = from_to(1, 1 << 24)},
    {KEY(data.shuffle), .help = "false: file order, wrapping round"},
    {KEY(data.drop_last), .help = "false: an epoch ends with a smaller mini-batch", .of = "data.kind", .only = cut_short},

    {KEY(pipeline.schedule), .help = "pipetrain methods lists them", .values = all_and_auto},
    {KEY(pipeline.allow_stale), .help = "auto may choose a schedule that never drains, whose gradients are stale", .of = "pipeline.schedule", .only = {automatic_schedule}, .on_resume = OnResume::MayDiffer},
    {KEY(pipeline.schedule_csv), .help = "instead of schedule: an order of your own; docs/own-order.md"},
    {KEY(pipeline.stages), .help = "pipeline workers P; the model is cut in P parts, or P times virtual_stages (zb_v: 2)", .range = from_to(1, 1024), .on_resume = OnResume::MayDiffer},
    {KEY(pipeline.microbatches), .help = "per mini-batch", .range = from_to(1, 65536)},
    {KEY(pipeline.split), .help = "or names of the first layer of stages 1.. ([\"conv3\", \"fc1\"])", .values = listed<SplitRule>(), .on_resume = OnResume::MayDiffer},
    {WORD(pipeline.rebalance), .help = "auto: moves the cuts between two steps when the measured stages are uneven; for schedules that drain at every update", .on_resume = OnResume::MayDiffer},
    {KEY(pipeline.replicas), .help = "workers that share each stage: one number for all, or one per stage ([3, 1])", .range = from_to(1, 1024), .on_resume = OnResume::MayDiffer},
    {.path = "pipeline.shared_layers", .help = "from a BaPipe plan, each shared by two stages", .built = false, .off = "[]"},
    {KEY(pipeline.virtual_stages), .help = "parts of the model per worker", .range = from_to(1, 1024), .of = "pipeline.schedule", .only = interleaved},
    {WORD(pipeline.warmup), .help = "forwards before the first backward", .of = "pipeline.schedule", .only = schedules_that(takes_warmup)},
    {KEY(pipeline.vertical_sync), .help = "all stages read the version of stage 0", .of = "pipeline.schedule", .only = vertical},
    {WORD(pipeline.gradient_rule), .help = "for a backward that reads other weights than its forward", .of = "pipeline.schedule", .only = schedules_that(takes_gradient_rule)},
    {KEY(pipeline.recompute), .help = "stage: keep stage inputs only; segments: those of every segment_stages-th stage; or kinds of layers whose outputs are not kept ([\"gelu\"])", .values = listed<Recompute>()},
    {KEY(pipeline.segment_stages), .help = "stages that recompute together; 0: the square root of stages, rounded", .range = from_to(0, 1024), .of = "pipeline.recompute", .only = {"segments"}},
    {KEY(pipeline.pipemare.anneal_steps), .help = "T1: updates until all stages have one rate; 0: off; default: a quarter of those after T3", .range = count_or_none, .of = "pipeline.schedule", .only = annealed},
    {KEY(pipeline.pipemare.decay), .help = "T2; 0: off", .range = from_to_below(0, 1), .of = "pipeline.schedule", .only = corrected},
    {KEY(pipeline.pipemare.sync_warmup_epochs), .help = "T3", .range = count_or_none, .of = "pipeline.schedule", .only = warmed},
    {WORD(pipeline.timeprest.times), .help = "busy: an order without waits for the times below, made before the run", .of = "pipeline.schedule", .only = schedules_that(takes_busy)},
    {KEY(pipeline.timeprest.forward), .help = "busy: time of a micro-batch's forward, in any unit", .range = from_to(1, 1000000), .of = "pipeline.timeprest.times", .only = {"busy"}},
    {KEY(pipeline.timeprest.backward), .help = "busy: of a mini-batch's backward; 0: 2 * microbatches", .range = from_to(0, 1000000), .of = "pipeline.timeprest.times", .only = {"busy"}},
    {KEY(pipeline.timeprest.in_flight), .help = "busy: mini-batches that stage 0 has begun and not ended, at most; 0: stages", .range = from_to(0, 65536), .of = "pipeline.timeprest.times", .only = {"busy"}},
    {KEY(pipeline.i_timeprest.lambda), .help = "sigma = exp(-lambda d)", .range = at_least(0), .of = "pipeline.schedule", .only = mixed},
    {WORD(pipeline.i_timeprest.sigma), .help = "the share of stale weights", .of = "pipeline.schedule", .only = mixed},
    {KEY(pipeline.i_timeprest.stash), .help = "false: estimated by delta", .of = "pipeline.schedule", .only = mixed},
    {KEY(pipeline.i_timeprest.decay), .help = "of delta", .range = from_to_below(0, 1), .of = "pipeline.schedule", .only = estimated},

    {WORD(optimizer.kind), .help = "the update rule"},
    {KEY(optimizer.lr), .help = "learning rate", .range = at_least(0)},
    {KEY(optimizer.momentum), .help = "sgd", .range = from_to_below(0, 1), .of = "optimizer.kind", .only = {"sgd"}},
    {KEY(optimizer.nesterov), .help = "sgd", .of = "optimizer.kind", .only = {"sgd"}},
    {KEY(optimizer.weight_decay), .help = "adamw: decoupled", .range = at_least(0)},
    {WORD(optimizer.decay), .help = "what weight_decay applies to; matrices: parameters of two dimensions or more"},
    {KEY(optimizer.beta1), .help = "adam, adamw", .range = from_to_below(0, 1), .of = "optimizer.kind", .only = adam},
    {KEY(optimizer.beta2), .help = "adam, adamw", .range = from_to_below(0, 1), .of = "optimizer.kind", .only = adam},
    {KEY(optimizer.eps), .help = "adam, adamw", .range = above(0), .of = "optimizer.kind", .only = adam},
    {KEY(optimizer.max_norm), .help = "gradients are clipped to this norm; 0: never", .range = at_least(0)},
    {KEY(optimizer.lr_names), .help = "parameters with a learning rate of their own: [\"fc.*\", \"layer4.*\"]; the first match counts"},
    {KEY(optimizer.lr_factors), .help = "factor of lr for each of lr_names: [10.0, 3.0]", .range = at_least(0)},

    {WORD(lr_schedule.kind), .help = "how the learning rate moves"},
    {KEY(lr_schedule.warmup_steps), .help = "linear rise from 0", .range = count_or_none},
    {KEY(lr_schedule.milestones), .help = "step: where lr is multiplied by gamma", .range = count, .of = "lr_schedule.kind", .only = {"step"}},
    {KEY(lr_schedule.gamma), .help = "step", .range = above(0), .of = "lr_schedule.kind", .only = {"step"}},
    {KEY(lr_schedule.min_lr), .help = "linear, cosine: where lr ends; step, inverse_sqrt: lr falls no lower", .range = at_least(0), .of = "lr_schedule.kind", .only = {"step", "linear", "cosine", "inverse_sqrt"}},

    {KEY(training.epochs), .help = "1 if steps is not given either", .range = count, .on_resume = OnResume::NewLength},
    {KEY(training.steps), .help = "updates; instead of epochs", .range = count, .on_resume = OnResume::NewLength},
    {KEY(training.seed), .help = "of weights, shuffling, dropout, drawn data", .range = at_least(0)},
    {WORD(training.precision), .help = "of activations; bf16: on the cpu, docs/precision.md"},
    {WORD(training.on_nonfinite), .help = "when the loss or a gradient is not finite"},

    {KEY(validation.every_steps), .help = "0: never", .range = count_or_none},
    {KEY(validation.every_epochs), .help = "0: never", .range = count_or_none},
    {KEY(validation.batch_size), .help = "samples at once; 0: training's micro-batches", .range = from_to(0, 1 << 24)},
    {KEY(validation.before_first_step), .help = "validate the initial weights too"},
    {WORD(validation.metric), .help = "parallel_text: what the best checkpoint and early stopping go by; with bleu the validation sources are translated too", .of = "data.kind", .only = parallel},
    {KEY(validation.early_stopping), .help = "validations without progress; 0: never", .range = count_or_none},

    {KEY(checkpoint.every_steps), .help = "0: never", .range = count_or_none},
    {KEY(checkpoint.every_epochs), .help = "0: never", .range = count_or_none},
    {KEY(checkpoint.every_minutes), .help = "0: never", .range = at_least(0), .on_resume = OnResume::MayDiffer},
    {KEY(checkpoint.keep_latest), .help = "how many of the newest to keep", .range = count, .on_resume = OnResume::MayDiffer},
    {KEY(checkpoint.keep_best), .help = "also keep the one of the best validation", .on_resume = OnResume::MayDiffer},

    {KEY(stability.every_steps), .help = "sgd: steps between measurements of how far training is from diverging, the first before step 1; 0: never; docs/stability.md", .range = count_or_none},
    {KEY(stability.iterations), .help = "the most in one measurement; each takes two gradients of a mini-batch", .range = from_to(1, 1000), .on_resume = OnResume::MayDiffer},

    {KEY(metrics.log_every_steps), .help = "steps between console lines; metrics.jsonl has every step", .range = count, .on_resume = OnResume::MayDiffer},
    {KEY(metrics.tensorboard), .help = "write events.out.tfevents.* for TensorBoard", .on_resume = OnResume::MayDiffer},
    {KEY(metrics.trace_steps), .help = "[first, last], both included: trace.json shows these steps; []: none", .range = count, .on_resume = OnResume::MayDiffer},

    {KEY(hardware.backend), .help = "cpu is oneDNN, cuda an NVIDIA GPU, reference plain loops", .values = {"cpu", "cuda", "reference"}, .on_resume = OnResume::MayDiffer},
    {KEY(hardware.devices), .help = "cuda: [\"cuda:0\", \"cuda:1\"], one per worker, or fewer to share; default: the first, over ranks one for each rank of a host", .of = "hardware.backend", .only = {"cuda"}, .on_resume = OnResume::MayDiffer},
    {WORD(hardware.workers), .help = "inline: one thread runs all stages; mpi: the processes that mpirun or srun starts share the workers", .on_resume = OnResume::MayDiffer},
    {KEY(hardware.threads_per_stage), .help = "cores that a stage's kernels use; 0: an equal share of the machine", .range = from_to(0, 1024), .on_resume = OnResume::MayDiffer},
    {KEY(hardware.memory_limit), .help = "per stage, such as \"8GiB\"; 0: none", .range = at_least(0), .bytes = true, .on_resume = OnResume::MayDiffer},
    {KEY(hardware.peer_timeout), .help = "seconds without news of a rank until the run ends", .range = from_to(1, 86400), .of = "hardware.workers", .only = {"mpi"}, .on_resume = OnResume::MayDiffer},
    {KEY(hardware.link.gbits), .help = "rate of a link between workers, per boundary and direction, in 1e9 bits a second; link = {}: none, docs/links.md", .range = link_number, .of = "hardware.backend", .only = hosts, .on_resume = OnResume::MayDiffer},
    {KEY(hardware.link.microseconds), .help = "latency of a link", .range = link_number, .of = "hardware.backend", .only = hosts, .on_resume = OnResume::MayDiffer},
  };
  // clang-format on
}

#undef KEY
#undef WORD

std::string bound(double value) { return fmt::format("{:.12g}", value); }

}  // namespace

bool Range::holds(double value) const {
  return (above_low ? value > low : value >= low) && (below_high ? value < high : value <= high);
}

std::string Range::text() const {
  const Range all;
  const std::string from = above_low ? "above " + bound(low) : "from " + bound(low);
  if (low == all.low) return "";
  if (high == all.high) return above_low ? from : "at least " + bound(low);
  return from + (below_high ? " to below " : " to ") + bound(high);
}

std::span<const Key> keys() {
  static const std::vector<Key> table = [] {
    std::vector<Key> rows = make_keys();
    for (Key& key : rows)
      if (const auto* word = std::get_if<WordField>(&key.field))
        key.values.assign(word->words.begin(), word->words.end());
    return rows;
  }();
  return table;
}

const Key* find_key(std::string_view path) {
  const auto found = std::ranges::find(keys(), path, &Key::path);
  return found == keys().end() ? nullptr : &*found;
}

bool is_table(std::string_view path) {
  return std::ranges::any_of(keys(), [&](const Key& key) {
    return key.path.starts_with(path) && key.path.substr(path.size()).starts_with('.');
  });
}

std::span<const std::string_view> model_file_keys() {
  static constexpr std::array<std::string_view, 6> names = {"name",  "loss",   "label_smoothing",
                                                            "input", "blocks", "layers"};
  return names;
}

std::string nearest_key(std::string_view path) {
  // Strings that views can point to for the whole life of the program.
  static const std::vector<std::string> model_paths = [] {
    std::vector<std::string> paths;
    for (const std::string_view name : model_file_keys())
      paths.push_back(fmt::format("model.{}", name));
    return paths;
  }();
  std::vector<std::string_view> paths(model_paths.begin(), model_paths.end());
  for (const Key& key : keys()) paths.push_back(key.path);

  const auto last = [](std::string_view p) { return p.substr(p.rfind('.') + 1); };
  const auto parent = [](std::string_view p) {
    return p.substr(0, p.rfind('.') == p.npos ? 0 : p.rfind('.'));
  };
  // First among its neighbours (keys and tables of the same table), then by name in other tables.
  std::vector<std::string_view> near;
  for (std::string_view known : paths) {
    for (; !known.empty(); known = parent(known)) {
      if (parent(known) == parent(path)) near.push_back(known);
    }
  }
  std::vector<std::string_view> names;
  for (const std::string_view known : near) names.push_back(last(known));
  if (const auto best = nearest(last(path), names)) {
    const auto at = std::ranges::find(names, *best) - names.begin();
    return std::string(near[at]);
  }
  for (const std::string_view known : paths) {
    if (last(known) == last(path)) return std::string(known);
  }
  return "";
}

}  // namespace pipetrain::config
