#include "data/npy_array.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "base/bytes_of.hpp"
#include "base/check.hpp"
#include "data/byte_file.hpp"

namespace pipetrain {

namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are used as they are in the file");

constexpr std::uint64_t header_bytes_max = 1 << 20;

struct TypeRow {
  std::string_view descr, name;
  NpyType type;
  std::uint64_t bytes;
};
constexpr std::array<TypeRow, 4> types = {{{"<f4", "float32", NpyType::Float32, 4},
                                           {"<f8", "float64", NpyType::Float64, 8},
                                           {"<i4", "int32", NpyType::Int32, 4},
                                           {"<i8", "int64", NpyType::Int64, 8}}};

const TypeRow& row_of(NpyType type) { return types[static_cast<std::size_t>(type)]; }

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;
};

// The header is a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const ByteFile& file) : text_(text), file_(file) {}

  Header read() {
    Header header;
    expect('{');
    while (!accept('}')) {
      entry(header);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("nothing after the closing brace");
    if (!header.descr || !header.fortran_order || !header.shape)
      fail("all of 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    file_.fail(fmt::format("its NPY header is damaged at byte {} of {:?}: expected {}", at_,
                           text_.substr(0, 200), expected));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string(1, c));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"')
      fail("a quoted string (arrays of records are not supported)");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a closing quote");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::uint64_t number() {
    skip_space();
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a size below 2^64");
    at_ = static_cast<std::size_t>(end - text_.data());
    accept('L');  // Python 2 wrote (3L, 4L)
    return value;
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) fail("True or False");
    return false;
  }
  void entry(Header& header) {
    const std::string key = string();
    expect(':');
    if (key == "descr")
      header.descr = string();
    else if (key == "fortran_order")
      header.fortran_order = boolean();
    else if (key == "shape")
      header.shape = tuple();
    else
      fail(fmt::format("no key {:?}", key));
  }

  std::string_view text_;
  const ByteFile& file_;
  std::size_t at_ = 0;
};

std::uint64_t little_endian(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | bytes[i - 1];
  return value;
}

Header read_header(ByteFile& file) {
  const auto magic = file.read(8, "the magic string and version of an NPY file");
  if (std::memcmp(magic.data(), "\x93NUMPY", 6) != 0)
    file.fail(
        fmt::format("begins with the bytes {:02x}; an NPY file begins with 93 4e 55 4d 50 59 "
                    "(\\x93NUMPY); write it with numpy.save",
                    fmt::join(magic.begin(), magic.begin() + 6, " ")));
  if (magic[6] < 1 || magic[6] > 3)
    file.fail(fmt::format("its NPY format version is {}.{}; 1.0 to 3.0 are supported", magic[6],
                          magic[7]));
  const auto length =
      little_endian(file.read(magic[6] == 1 ? 2 : 4, "the length of the NPY header"));
  if (length > header_bytes_max)
    file.fail(
        fmt::format("its NPY header claims {} bytes; {} is the limit", length, header_bytes_max));
  const auto text = file.read(length, "the NPY header");
  return HeaderReader({reinterpret_cast<const char*>(text.data()), text.size()}, file).read();
}

NpyType type_of(const std::string& descr, const ByteFile& file) {
  for (const TypeRow& row : types)
    if (descr == row.descr) return row.type;
  file.fail(
      fmt::format("its elements are of type '{}'; little-endian '<f4', '<f8', '<i4' and '<i8' are "
                  "supported: save array.astype('<f4'), or '<i8' for labels",
                  descr));
}

}  // namespace

Shape NpyArray::sample_shape() const {
  Shape shape;
  if (!dims.empty()) shape.dims.assign(dims.begin() + 1, dims.end());
  return shape;
}

std::int64_t NpyArray::integer(std::int64_t index) const {
  PIPETRAIN_CHECK(!is_float(), "an array of {}", npy_type_name(type));
  const std::uint8_t* at = bytes.data() + static_cast<std::uint64_t>(index) * row_of(type).bytes;
  if (type == NpyType::Int64) {
    std::int64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::int32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void NpyArray::floats(std::int64_t first, std::int64_t count, float* to) const {
  PIPETRAIN_CHECK(is_float(), "an array of {}", npy_type_name(type));
  const std::uint8_t* at = bytes.data() + static_cast<std::uint64_t>(first) * row_of(type).bytes;
  if (type == NpyType::Float32) {
    std::memcpy(to, at, bytes_of<float>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, at += sizeof(double)) {
    double value;
    std::memcpy(&value, at, sizeof value);
    to[i] = static_cast<float>(value);
  }
}

std::string_view npy_type_name(NpyType type) { return row_of(type).name; }

NpyArray read_npy(const std::filesystem::path& path) {
  ByteFile file(path);
  const Header header = read_header(file);
  NpyArray array;
  array.type = type_of(*header.descr, file);
  if (*header.fortran_order)
    file.fail("is in Fortran order; save numpy.ascontiguousarray(array) instead");
  std::vector<std::uint64_t> factors = *header.shape;
  if (factors.empty()) file.fail("holds a single number; samples are along the first dimension");
  if (std::find(factors.begin(), factors.end(), 0u) != factors.end())
    file.fail(
        fmt::format("its shape is ({}): there are no samples in it", fmt::join(factors, ", ")));
  const std::string what =
      fmt::format("the {} elements ({})", row_of(array.type).name, fmt::join(factors, ", "));
  factors.push_back(row_of(array.type).bytes);
  array.bytes = file.read_rest(product_or_max(factors), what);
  array.dims.assign(header.shape->begin(), header.shape->end());
  return array;
}

}  // namespace pipetrain
