// `pipetrain generate` of a model of two sides: standard input's sentences, translated.
#pragma once

#include "config/read.hpp"
#include "run/options.hpp"

namespace pipetrain {

struct Graph;

int translate(const Options& options, const ReadConfig& read, const Graph& graph);

}  // namespace pipetrain
