// An order says what each worker computes and when, and nothing else: lists of F and B (or I and W)
// per worker. Updates, versions and transfers are added by passes. One published order, one file.
#pragma once

#include <string_view>

#include "program/program.hpp"

namespace pipetrain {

struct OrderInput {
  int stages = 1;        // pipeline workers P
  int microbatches = 1;  // per mini-batch, N
  int minibatches = 1;   // K
};

struct Order {
  std::string_view name, summary;
  Program (*make)(const OrderInput&);
};

}  // namespace pipetrain
