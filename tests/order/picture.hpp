// The picture in an order's source file is its test: what the order makes is drawn and compared
// with the comment, line by line.
#pragma once

#include <fstream>
#include <string>

#include "catch.hpp"
#include "order/order.hpp"
#include "places.hpp"
#include "program/format.hpp"
#include "program/passes.hpp"

namespace pipetrain::test {

// The lines of the comment that begin with "stage" or "worker".
inline std::string picture_in(const std::string& file) {
  std::ifstream in(source_tree() / file);
  REQUIRE(in.good());
  std::string picture;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("//   stage ") || line.starts_with("//   worker "))
      picture += line.substr(5) + "\n";
  return picture;
}

// The order with its updates and transfers.
inline Program without_versions(const Order& order, const OrderInput& input) {
  return add_transfers(add_updates(order.make(input)));
}

// That, drawn with forwards and backwards of one unit; halves of a backward take one each.
inline std::string drawn(const Order& order, const OrderInput& input) {
  const auto program = without_versions(order, input);
  bool halves = false;
  for (const auto& list : program.workers)
    for (const auto& i : list) halves = halves || i.op == Op::BackwardInput;
  const double backward = program.gradients_together ? 1.0 / input.microbatches : 1;
  return draw(program, simulate(program, {.all = {1, backward, halves ? 1.0 : 0.0, 0}}));
}

// "F0 F1 B1 B0" of one worker.
inline std::string list_text(const Order& order, const OrderInput& input, int worker) {
  std::string text;
  const auto program = order.make(input);
  for (const auto& i : program.workers[worker])
    text += cell_text(program, {.instruction = &i,
                                .op = i.op,
                                .span = {},
                                .number = std::to_string(i.microbatch.value)}) +
            " ";
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace pipetrain::test
