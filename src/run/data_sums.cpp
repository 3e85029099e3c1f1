#include "run/data_sums.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/input_file.hpp"
#include "data/data_files.hpp"
#include "data/text/pieces.hpp"
#include "data/text/vocabulary.hpp"

namespace pipetrain {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kStretch = std::uint64_t{1} << 20;
constexpr std::uint64_t kStretches = 64;

struct Part {  // counted over all files, concatenated
  std::uint64_t first = 0, last = 0;
};

// The stretches to read out of this many bytes; ascending and separate.
std::vector<Part> parts_of(std::uint64_t bytes) {
  if (bytes <= kStretch * kStretches) return {{0, bytes}};
  std::vector<Part> parts;
  for (std::uint64_t s = 0; s < kStretches; ++s) {
    // The factor is below 2^6, so sizes up to 2^58 bytes do not overflow.
    const std::uint64_t first = (bytes - kStretch) * s / (kStretches - 1);
    parts.push_back({first, first + kStretch});
  }
  return parts;
}

void add_part(FileSum& sum, InputFile& in, const Part& part) {
  std::vector<std::byte> buffer(std::min(part.last - part.first, kStretch));
  in.skip_to(part.first);
  for (std::uint64_t left = part.last - part.first; left > 0;) {
    const std::size_t count = std::min<std::uint64_t>(left, buffer.size());
    in.read(buffer.data(), count);
    add_bytes(sum, buffer.data(), count);
    left -= count;
  }
}

// Adds what `parts` contain of the file, which is at `at` among all bytes.
void add_file(FileSum& sum, const fs::path& file, const std::vector<Part>& parts, Part at) {
  std::optional<InputFile> in;
  for (const Part& part : parts) {
    const Part both{std::max(part.first, at.first), std::min(part.last, at.last)};
    if (both.first >= both.last) continue;
    if (!in) in.emplace(file);
    add_part(sum, *in, {both.first - at.first, both.last - at.first});
  }
}

std::uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(file, error);
  if (error) throw CannotRead(file, error.message(), error.value());
  return bytes;
}

DataSum sum_of(const NamedData& named) {
  FileSum sum;
  std::vector<std::uint64_t> ends = {0};
  for (const fs::path& file : named.files) {
    const std::uint64_t bytes = size_of(named.folder / file);
    if (!named.folder.empty()) add_bytes(sum, file.c_str(), file.native().size() + 1);
    add_bytes(sum, &bytes, sizeof bytes);
    ends.push_back(ends.back() + bytes);
  }
  const std::vector<Part> parts = parts_of(ends.back());
  for (std::size_t f = 0; f < named.files.size(); ++f)
    add_file(sum, named.folder / named.files[f], parts, {ends[f], ends[f + 1]});
  return {named.key, named.files.size(), {ends.back(), sum.crc32}};
}

DataSum sum_of_text(std::string what, const std::string& text) {
  DataSum sum{std::move(what), 1, {}};
  add_bytes(sum.sum, text.data(), text.size());
  return sum;
}

}  // namespace

DataSums data_sums(const DataConfig& config, const Datasets& datasets) {
  DataSums sums;
  sums.train_samples = datasets.train->size();
  if (datasets.validation) sums.validation_samples = datasets.validation->size();
  for (const NamedData& named : data_files(config)) sums.files.push_back(sum_of(named));
  // Made from the training text at the first start, and kept.
  if (datasets.vocabulary)
    sums.files.push_back(sum_of_text("the vocabulary", datasets.vocabulary->json()));
  if (datasets.pieces) sums.files.push_back(sum_of_text("the pieces", datasets.pieces->model()));
  return sums;
}

}  // namespace pipetrain
