// Configs, as TOML and as --set: each line `--set KEY=VALUE` of the input is such an option. What
// reads must come back equal from its dump, full or minimal.
#include <vector>

#include "config/read.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "target.hpp"

using namespace pipetrain;

namespace {

struct Input {
  std::string file;
  std::vector<std::string> sets;
};

Input split(std::string_view text) {
  constexpr std::string_view option = "--set ";
  Input input;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with(option))
      input.sets.emplace_back(line.substr(option.size()));
    else
      input.file.append(line).append("\n");
  }
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static fuzz::MemoryFile file, dumped;
  return fuzz::refused_or_read([&] {
    const Input input = split(fuzz::text_of(bytes, count));
    const ReadConfig read = read_config({file.holding(input.file)}, input.sets);
    const bool minimal = count % 2 == 0;  // one of the two, for speed
    ReadConfig again = read_config({dumped.holding(dump_config(read.config, minimal))}, {});
    again.config.name = read.config.name;  // the file's
    fuzz::require(again.config == read.config, "a config reads back equal from its dump");
    if (!read.inline_model_file.empty()) read_inline_model(read.inline_model_file);
  });
}
