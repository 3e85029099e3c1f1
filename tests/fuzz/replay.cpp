// Runs a fuzz target without libFuzzer over kept inputs: seeds, and what once was a finding.
//   fuzz_NAME FOLDER-OR-FILE...        a missing folder counts as empty
#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <vector>

#include "target.hpp"

namespace {

using Paths = std::vector<std::filesystem::path>;

Paths files_in(const std::filesystem::path& path) {
  Paths files;
  if (std::filesystem::is_regular_file(path)) files.push_back(path);
  if (std::filesystem::is_directory(path))
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry);
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::printf("%s: %zu bytes\n", file.c_str(), bytes.size());
  std::fflush(stdout);  // the last name that is seen is the input that ended the program
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t inputs = 0;
  for (int i = 1; i < count; ++i) {
    for (const auto& file : files_in(arguments[i])) {
      replay(file);
      ++inputs;
    }
  }
  std::printf("%zu inputs read or refused\n", inputs);
  return inputs == 0;  // a test without inputs tests nothing
}
