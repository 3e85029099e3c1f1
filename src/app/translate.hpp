// `pipetrain generate` with a model of two sides: translates the sentences on standard input.
#pragma once

#include "config/read.hpp"
#include "run/options.hpp"

namespace pipetrain {

struct Graph;

int translate(const Options& options, const ReadConfig& read, const Graph& graph);

}  // namespace pipetrain
