// What the command line says, as plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "schedules.hpp"

namespace pipetrain {

struct Options {
  // Verbs that take a config
  std::vector<std::filesystem::path> configs;
  std::vector<std::string> sets;           // "key.path=value"
  std::optional<std::string> dump_config;  // "full" | "minimal"; handled by main, not by verbs
  bool help_keys = false;                  // handled by main too

  // Every verb
  std::vector<std::string> given;  // the options on the command line: "--beam"
  bool json = false;               // one JSON document on stdout
  bool quiet = false;              // warnings only
  std::string log_level = "info";
  std::string color = "auto";  // always | never

  // train, eval
  std::filesystem::path output;  // empty: runs/<config name>
  std::string resume = "auto";   // auto | never | a checkpoint
  bool accept_changed_data = false;
  bool dry_run = false;
  bool overfit_one_batch = false;
  std::filesystem::path model;  // eval, generate: the model.safetensors to read; empty: the run's
  bool best = false;            // eval, generate: read the run's best checkpoint instead

  // generate
  std::optional<std::string> prompt;  // none: a new line; "-": standard input
  std::int64_t tokens = 500, top_k = 0;
  double temperature = 0.8;
  std::uint64_t seed = 1;
  int samples = 1;
  int beam = 1;
  double length_penalty = 0.6;
  std::int64_t batch = 64;  // in sentences

  // report, compare
  std::vector<std::filesystem::path> runs;
  std::optional<double> target;  // for the validation measure; none: what every run reached

  // profile; empty: chosen from the mini-batch and the machine
  std::vector<int> profile_samples, profile_threads;

  // benchmark
  double seconds = 0;  // how long each config is measured; 0: the default

  // plan
  std::filesystem::path profile;
  std::string cluster;  // a preset or a file
  bool allow_stale = false;
  std::vector<int> devices;           // per level, from the inside out
  std::vector<double> bandwidth;      // bytes per second, per level too
  std::optional<std::string> memory;  // per device: "8GiB", or bytes
  bool straight = false;
  std::string objective;
  std::string cost_model = "paper";  // | "code"

  // schedule
  std::vector<std::string> schedules;  // names, or csv files
  int stages = 4;
  int microbatches = 8;
  std::optional<int> steps;           // none: enough to show the schedule
  std::optional<int> virtual_stages;  // none: 2 if the schedule has any
  std::vector<int> tied;
  std::vector<int> replicas;  // per stage, or one for all; empty: no stage has a second one
  Warmup warmup = Warmup::OneFOneB;
  bool busy = false;
  bool vertical_sync = false;
  std::string times;  // "F=1,B=2"; empty: no times are given
  std::string format = "text";
  bool summary = false;

  // checkpoint
  std::string name;  // of its sub-verb; `stages` and `output` apply too
  std::filesystem::path checkpoint;
  std::int64_t keep_latest = 2;
  bool keep_best = true;
};

}  // namespace pipetrain
