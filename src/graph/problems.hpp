// Everything that is wrong with a model file, reported together.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "graph/model_text.hpp"

namespace pipetrain::model_file {

class Problems {
 public:
  explicit Problems(std::string origin) : origin_(std::move(origin)) {}

  // "what is wrong; what to write instead". A finding that repeats (a repeated block) counts once.
  void add(Position at, std::string what) { found_.emplace(at, std::move(what)); }
  bool any() const { return !found_.empty(); }
  // Throws one UsageError: a line `origin:line:column: what` per finding, in the order of the file.
  void throw_if_any() const;

 private:
  std::string origin_;
  std::set<std::pair<Position, std::string>> found_;
};

}  // namespace pipetrain::model_file
