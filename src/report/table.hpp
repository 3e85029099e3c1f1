// Tables for a page and for a terminal, from the same rows.
#pragma once

#include <string>
#include <vector>

namespace pipetrain {

struct CellText {
  std::string text;
  bool best = false;     // in its column
  std::string bar = {};  // HTML drawn next to it
};
using TableRows = std::vector<std::vector<CellText>>;

// The first row is the head; every column except the first is aligned to the right.
std::string html_table(const TableRows& rows);

// A bar for a share, 0..1, in one of the page's classes.
std::string bar_of(double share, const std::string& style);

}  // namespace pipetrain
