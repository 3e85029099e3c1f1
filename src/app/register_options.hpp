// Defines the options of each verb on the command line; they fill Options.
#pragma once

#include "run/options.hpp"

namespace CLI {
class App;
}

namespace pipetrain {

void train_options(CLI::App& app, Options& options);
void eval_options(CLI::App& app, Options& options);
void generate_options(CLI::App& app, Options& options);
void benchmark_options(CLI::App& app, Options& options);
void profile_options(CLI::App& app, Options& options);
void plan_options(CLI::App& app, Options& options);
void schedule_options(CLI::App& app, Options& options);
void checkpoint_options(CLI::App& app, Options& options);
void report_options(CLI::App& app, Options& options);
void compare_options(CLI::App& app, Options& options);
void list_options(CLI::App& app, Options& options);  // methods, layers, devices

}  // namespace pipetrain
