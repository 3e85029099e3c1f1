// The verbs: each is a function from options to an exit code, in the file of its name. They throw
// the errors of base/error.hpp, which main.cpp prints.
#pragma once

#include "run/options.hpp"

namespace pipetrain {

int train(const Options& options);
int eval(const Options& options);
int benchmark(const Options& options);
int generate(const Options& options);
int checkpoint(const Options& options);
int profile(const Options& options);
int plan(const Options& options);
int schedule(const Options& options);
int report(const Options& options);
int compare(const Options& options);
int methods(const Options& options);
int layers(const Options& options);
int devices(const Options& options);

}  // namespace pipetrain
