// Tables of a page, and of a terminal: the same rows.
#pragma once

#include <string>
#include <vector>

namespace pipetrain {

struct CellText {
  std::string text;
  bool best = false;     // of its column
  std::string bar = {};  // html that is drawn beside it
};
using TableRows = std::vector<std::vector<CellText>>;

// The first row is the head; every column but the first is set to the right.
std::string html_table(const TableRows& rows);

// A bar for a share, 0..1, in one of the page's classes.
std::string bar_of(double share, const std::string& style);

}  // namespace pipetrain
