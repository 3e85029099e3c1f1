// Words on the command line. Like CLI11's own IsMember, but says which words may be written.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pipetrain {

CLI::Validator one_of(std::vector<std::string> words);
CLI::Validator true_or_false();  // also yes, no, on, off, 1 and 0, which CLI11 reads into a bool

}  // namespace pipetrain
