#include "app/effective_config.hpp"

#include <iostream>

#include "app/run_argument.hpp"
#include "config/read.hpp"

namespace pipetrain {

void print_config(const Options& given) {
  const Options options = with_run_directory(given);
  const Config config = read_config(options.configs, options.sets).config;
  std::cout << dump_config(config, options.dump_config == "minimal");
}

void print_keys() { std::cout << describe_keys(); }

}  // namespace pipetrain
