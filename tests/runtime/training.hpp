// Small trainings for tests: a model as TOML text, a config by its fields, everything in memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/session.hpp"

namespace pipetrain::testing {

struct Trained {
  std::vector<double> losses, norms;  // per step
  NamedTensors parameters;
  std::vector<HeldMemory> predicted, measured;
  Evaluation before, after;  // on the training samples
};

struct TrainingSetup {
  std::string model;
  Config config;
  std::int64_t steps = 4;
  const Program* program = nullptr;  // in place of what the config's schedule makes
  std::int64_t samples = 64;
  bool evaluate = false;
  const Dataset* data = nullptr;             // null: synthetic
  std::optional<NamedTensors> parameters{};  // to begin with; none: drawn from the seed
  std::function<void()> on_built = [] {};    // the pipeline is built, nothing has run
  std::optional<StepRange> trace_steps{};
  std::function<void(Trace&)> on_traced = [](Trace&) {};  // when training is over
  std::function<std::unique_ptr<Channel>(const ChannelOptions&)> make_channel =
      make_in_process_channel;
  std::function<std::unique_ptr<Backend>(std::string_view)> make_backend =
      [](std::string_view name) { return pipetrain::make_backend(name); };
  std::function<void(const StepRecord&)> on_step = [](const StepRecord&) {};
};

Trained train(const TrainingSetup& setup);

// A config of stages, micro-batches, schedule, kind of worker, backend; mini-batches of 16,
// sgd with momentum.
struct ConfigChoice {
  int stages = 1;
  int microbatches = 4;
  std::string schedule = "1f1b";
  std::string workers = "threads";
  std::string backend = "reference";
};
Config make_config(const ConfigChoice& choice);

extern const char* const mlp_model;       // 6 layers, 12 inputs, 5 classes
extern const char* const tied_model;      // 6 layers, three of them with one weight, 12 inputs
extern const char* const residual_model;  // convolutions, batch norm, dropout, a skip connection

// The schedules whose pipelines are always full.
inline const std::vector<std::string> never_drained = {"pipedream", "pipedream_2bw", "pipemare",
                                                       "timeprest", "v_timeprest",   "i_timeprest"};

bool same_bits(const NamedTensors& a, const NamedTensors& b);

}  // namespace pipetrain::testing
