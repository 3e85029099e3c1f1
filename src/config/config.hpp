// What the user asked for: plain structs with their defaults. config/read.cpp fills them from TOML;
// everything below reads them. Keys have the names and meanings that they have in the config file.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/link_rate.hpp"
#include "config/words.hpp"

namespace pipetrain {

struct OwnOrder;  // own_order.hpp

// Names of parameters, as a shell matches them: "fc.*".
struct NamePatterns {
  std::vector<std::string> patterns = {};
  bool operator==(const NamePatterns&) const = default;
};

struct ModelConfig {
  std::filesystem::path file;     // empty if the layers are inline
  std::filesystem::path init;     // optional safetensors with every parameter
  NamePatterns init_ignore = {};  // except these, which begin as they would without `init`
  NamePatterns trainable = {};    // none: all; the others keep their values
  bool operator==(const ModelConfig&) const = default;
};

struct SampleRange {  // [first, last) of the files
  std::int64_t first = 0, last = 0;
  bool operator==(const SampleRange&) const = default;
};

struct ImageSides {  // one number in `height` and width 0: its key says what that means; 0, 0: none
  int height = 0, width = 0;
  bool operator==(const ImageSides&) const = default;
};

struct DataConfig {
  DataKind kind = DataKind::Glyphs;
  std::filesystem::path train_images, train_labels, train_inputs;
  std::filesystem::path validation_images, validation_labels, validation_inputs;
  std::vector<std::filesystem::path> train_files, validation_files;    // cifar10, cifar100
  CifarLabels labels = CifarLabels::Fine;                              // cifar100
  std::filesystem::path train_text, validation_text;                   // text
  Tokenizer tokenizer = Tokenizer::Characters;                         // text
  std::vector<std::filesystem::path> train_tokens, validation_tokens;  // tokens
  std::filesystem::path vocabulary;  // text, tokens: vocabulary.json of an earlier run
  std::int64_t stride = 0;           // from one training window to the next; 0: the model's tokens
  std::filesystem::path train_folder, validation_folder;  // image_folder
  ImageSides resize;                                      // one number: the shorter side
  ImageSides crop;                                        // one number: a square
  bool random_resized_crop = false;
  int padding = 0;  // zeros around training images, before they are cropped
  bool flip = false;
  std::vector<double> mean, std;  // one number, or one per channel; none: 0 and 1
  int decode_threads = 1;         // image_folder
  OnBadImage on_bad_image = OnBadImage::Stop;
  std::filesystem::path train_source, train_target;  // parallel_text
  std::filesystem::path validation_source, validation_target;
  std::filesystem::path pieces;        // a SentencePiece model; empty: trained on the training text
  std::string piece_kind = "unigram";  // unigram | bpe
  std::int64_t batch_tokens = 0;       // counting both sides, with padding; 0: batch_size sentences
  std::int64_t bucket_multiple = 8;    // lengths are padded to a multiple of it
  std::optional<SampleRange> train_range, validation_range;
  double validation_fraction = 0;  // of the training samples, picked by the seed; 0: none
  std::uint64_t validation_seed = 1;
  std::int64_t train_samples = 10000,
               validation_samples = 2000;  // glyphs, synthetic: how many to draw
  std::int64_t batch_size = 64;
  bool shuffle = true;
  bool drop_last = true;
  bool operator==(const DataConfig&) const = default;
};

struct PipeMareConfig {
  std::optional<std::int64_t> anneal_steps;  // not given: by the length (stage/rate_annealing.hpp)
  double decay = 0.135;
  std::int64_t sync_warmup_epochs = 0;
  bool operator==(const PipeMareConfig&) const = default;
};

struct TimePrestConfig {  // of all three timeprests
  TimePrestTimes times = TimePrestTimes::Slots;
  int forward = 1, backward = 0, in_flight = 0;  // BusyTimes
  bool operator==(const TimePrestConfig&) const = default;
};

struct ITimePrestConfig {
  double lambda = 1.0;
  MixRule::Share sigma = MixRule::Share::Exp;
  bool stash = true;
  double decay = 0.135;
  bool operator==(const ITimePrestConfig&) const = default;
};

struct SplitConfig {
  SplitRule rule = SplitRule::Auto;
  std::vector<std::string> first_layers;  // of stages 1 and up; only for SplitRule::FirstLayers
  bool operator==(const SplitConfig&) const = default;
};

struct RecomputeConfig {
  Recompute rule = Recompute::None;
  std::vector<std::string> kinds = {};  // of layers; only for Recompute::Kinds
  bool operator==(const RecomputeConfig&) const = default;
};

// pipeline.schedule = "auto": planned for the machine (app/follow_plan.hpp).
inline constexpr std::string_view automatic_schedule = "auto";

struct PipelineConfig {
  std::string schedule = "1f1b";
  bool automatic = false;    // schedule = "auto": a plan sets it, and whatever else is not given;
                             // until then `schedule` is the default
  bool allow_stale = false;  // auto: may pick a schedule that never drains
  std::filesystem::path schedule_csv;  // in place of `schedule`, which is then empty
  std::string order_csv;               // the text of that file; read_config checks it
  int stages = 1;
  int microbatches = 1;
  SplitConfig split;
  Rebalance rebalance = Rebalance::Off;
  std::vector<int> replicas = {1};  // of each of `stages`, or one number for all of them
  int virtual_stages = 1;
  Warmup warmup = Warmup::OneFOneB;
  bool vertical_sync = false;
  GradientRule gradient_rule = GradientRule::Saved;
  RecomputeConfig recompute;
  int segment_stages = 0;  // Recompute::Segments; 0: the square root of `stages`, rounded
  PipeMareConfig pipemare;
  TimePrestConfig timeprest;
  ITimePrestConfig i_timeprest;
  bool operator==(const PipelineConfig&) const = default;
};

// Does the user give an order of their own instead of a schedule?
bool has_own_order(const PipelineConfig& pipeline);
// That order. Throws a UsageError that says what is wrong with it.
OwnOrder own_order(const PipelineConfig& pipeline);
// What training does besides its program, by the schedule's row; nothing under an order of the
// user's own.
TrainingRules training_rules(const PipelineConfig& pipeline);
// The part of delta (mean motion of the weights) that is left after one delay; 0: none is kept.
double motion_decay(const PipelineConfig& pipeline);
// Does each worker have the whole model?
bool is_uncut(const PipelineConfig& pipeline);
// How many stages recompute together; 0: each by itself, or none.
int stages_of_segment(const PipelineConfig& pipeline);
// In how many parts the model is cut; the schedule says how many a worker holds.
int model_parts(const PipelineConfig& pipeline);
// Of all stages, with their replicas. Throws a UsageError if `replicas` does not fit `stages`.
int worker_count(const PipelineConfig& pipeline);
// The name that users know: the schedule's, or that of their own file.
std::string schedule_name(const PipelineConfig& pipeline);

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::Sgd;
  double lr = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  Decayed decay = Decayed::All;  // what weight_decay is for
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double max_norm = 0;         // 0: no clipping
  NamePatterns lr_names = {};  // the first pattern that matches has the factor at its index
  std::vector<double> lr_factors = {};
  bool operator==(const OptimizerConfig&) const = default;
};
// How many values per weight the update rule keeps from one step to the next: 0 for sgd, 1 for sgd
// with momentum, 2 for adam and adamw.
int moments(const OptimizerConfig& optimizer);

struct LrScheduleConfig {
  LrKind kind = LrKind::Constant;
  std::int64_t warmup_steps = 0;
  std::vector<std::int64_t> milestones;  // step: mini-batches at which lr is multiplied by gamma
  double gamma = 0.1;
  double min_lr = 0;
  bool operator==(const LrScheduleConfig&) const = default;
};

struct TrainingConfig {
  std::int64_t epochs = 0;  // epochs or steps is given; steps wins over the default of 1 epoch
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
  Precision precision = Precision::F32;
  OnNonfinite on_nonfinite = OnNonfinite::Stop;
  bool operator==(const TrainingConfig&) const = default;
};

struct ValidationConfig {
  std::int64_t every_steps = 0, every_epochs = 0;  // both 0: no validation
  std::int64_t batch_size = 0;  // samples at once; 0: as many as in a training micro-batch
  bool before_first_step = false;
  std::int64_t early_stopping = 0;
  Metric metric = Metric::Loss;  // which the best checkpoint is chosen by
  bool operator==(const ValidationConfig&) const = default;
};

struct CheckpointConfig {
  std::int64_t every_steps = 0, every_epochs = 0;
  double every_minutes = 0;  // all 0: only when a run ends or is stopped
  std::int64_t keep_latest = 2;
  bool keep_best = true;
  bool operator==(const CheckpointConfig&) const = default;
};

struct StabilityConfig {         // run/stability/stability.hpp
  std::int64_t every_steps = 0;  // 0: never measured
  std::int64_t iterations = 10;  // at most
  bool operator==(const StabilityConfig&) const = default;
};

struct StepRange {  // both ends included, from 1
  std::int64_t first = 1, last = 1;
  bool operator==(const StepRange&) const = default;
};

struct MetricsConfig {
  std::int64_t log_every_steps = 10;
  bool tensorboard = false;
  std::optional<StepRange> trace_steps;
  bool operator==(const MetricsConfig&) const = default;
};

struct LinkConfig {         // 0: not given; without both there is no link
  double gbits = 0;         // 1e9 bits per second
  double microseconds = 0;  // latency added to each message
  bool operator==(const LinkConfig&) const = default;
};

struct HardwareConfig {
  std::string backend = "cpu";       // cpu | cuda | reference
  std::vector<std::string> devices;  // for cuda: "cuda:0", ..; none: the first there is
  Workers workers = Workers::Threads;
  int threads_per_stage = 1;      // 0: an equal share of the machine
  std::int64_t memory_limit = 0;  // bytes per stage; 0: none
  LinkConfig link;
  double peer_timeout = 30;  // mpi: seconds without a sign of life from a rank
  bool operator==(const HardwareConfig&) const = default;
};

// The link that workers send over; none if the config asks for none.
std::optional<LinkRate> link_of(const HardwareConfig& hardware);

struct Config {
  std::string name;  // of the (last) config file, without folder and extension: "quickstart"
  ModelConfig model;
  std::string inline_model;  // inline layers of [model] as TOML; empty if model.file names them
  DataConfig data;
  PipelineConfig pipeline;
  OptimizerConfig optimizer;
  LrScheduleConfig lr_schedule;
  TrainingConfig training;
  ValidationConfig validation;
  CheckpointConfig checkpoint;
  StabilityConfig stability;
  MetricsConfig metrics;
  HardwareConfig hardware;
  bool operator==(const Config&) const = default;
};

}  // namespace pipetrain
