#include "checkpoint/safetensors_header.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "checkpoint/json_limits.hpp"

namespace pipetrain {
namespace {

using HeaderJson = nlohmann::json;
constexpr std::string_view kMetadata = "__metadata__";
// Two million values are 200,000 tensors of four dimensions: about 240 MB while being read.
constexpr JsonLimits kHeaderLimits = {.depth = 8, .values = 2'000'000, .members = 2'000'000};

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw DataError(fmt::format("{}: not a valid safetensors file: {}; write or download it again",
                              file, printable(why)));
}

HeaderJson parse_header(const std::string& text, const std::string& file) {
  const std::string problem = json_problem(text, kHeaderLimits);
  if (!problem.empty()) refuse(file, "its header " + problem);
  return HeaderJson::parse(text);
}

// A list of non-negative whole numbers; false if it is something else.
bool read_counts(const HeaderJson& entry, const char* key, std::vector<std::uint64_t>& out) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return false;
  for (const HeaderJson& number : *found) {
    if (!number.is_number_unsigned()) return false;
    out.push_back(number.get<std::uint64_t>());
    if (out.back() > std::numeric_limits<std::int64_t>::max()) return false;
  }
  return true;
}

// Bytes of a shape; without overflow, a number above `limit` if they do not fit.
std::uint64_t bytes_of(const std::vector<std::uint64_t>& shape, std::size_t width,
                       std::uint64_t limit) {
  if (std::count(shape.begin(), shape.end(), 0u) > 0) return 0;
  std::uint64_t bytes = width;
  for (const std::uint64_t dim : shape) {
    if (dim > limit / bytes) return limit + 1;
    bytes *= dim;
  }
  return bytes;
}

TensorPlace read_place(const std::string& name, const HeaderJson& entry, std::uint64_t data_bytes,
                       const std::string& file) {
  const auto fail = [&](const std::string& why) {
    refuse(file, fmt::format("tensor '{}' {}", name, why));
  };
  if (!entry.is_object()) fail("is not an object");
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) fail("has no dtype");
  const std::size_t width = dtype_bytes(dtype->get<std::string>());
  if (width == 0) fail(fmt::format("has the unknown dtype '{}'", dtype->get<std::string>()));
  std::vector<std::uint64_t> shape, offsets;
  if (!read_counts(entry, "shape", shape)) fail("has no shape of whole numbers");
  if (!read_counts(entry, "data_offsets", offsets) || offsets.size() != 2)
    fail("has no pair of data_offsets");
  if (offsets[0] > offsets[1] || offsets[1] > data_bytes)
    fail(fmt::format("is at bytes {} to {} of {}", offsets[0], offsets[1], data_bytes));
  const std::uint64_t stored = offsets[1] - offsets[0], wanted = bytes_of(shape, width, data_bytes);
  if (stored != wanted)
    fail(fmt::format("stores {} bytes, but {} [{}] does not have that size", stored,
                     dtype->get<std::string>(), fmt::join(shape, ", ")));
  return {name, *dtype, {shape.begin(), shape.end()}, offsets[0], offsets[1]};
}

void check_no_gaps(const std::vector<TensorPlace>& places, std::uint64_t data_bytes,
                   const std::string& file) {
  std::uint64_t end = 0;
  for (const TensorPlace& place : places) {
    if (place.begin != end)
      refuse(file, fmt::format("tensor '{}' {} at byte {}", place.name,
                               place.begin < end ? "overlaps another" : "leaves a gap before it",
                               place.begin));
    end = place.end;
  }
  const auto after = static_cast<std::int64_t>(data_bytes - end);
  if (after != 0)
    refuse(file, fmt::format("{} follow{} the last tensor", counted(after, "byte"),
                             after == 1 ? "s" : ""));
}

}  // namespace

std::size_t dtype_bytes(const std::string& dtype) {
  static const std::map<std::string_view, std::size_t> widths = {
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4},     {"I32", 4},
      {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2},     {"U16", 2},
      {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  const auto found = widths.find(dtype);
  return found == widths.end() ? 0 : found->second;
}

std::vector<TensorPlace> parse_safetensors_header(const std::string& json, std::uint64_t data_bytes,
                                                  const std::string& file) {
  const HeaderJson header = parse_header(json, file);
  std::vector<TensorPlace> places;
  for (const auto& [name, entry] : header.items())
    if (name != kMetadata) places.push_back(read_place(name, entry, data_bytes, file));
  std::stable_sort(places.begin(), places.end(), [](const TensorPlace& a, const TensorPlace& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_no_gaps(places, data_bytes, file);
  return places;
}

std::string make_safetensors_header(const std::vector<TensorView>& tensors) {
  HeaderJson header = {{kMetadata, {{"format", "pt"}}}};
  std::uint64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    const std::uint64_t end = begin + tensor.data.size();
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace pipetrain
