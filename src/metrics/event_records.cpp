#include "metrics/event_records.hpp"

#include <bit>
#include <cstring>

#include "metrics/crc32c.hpp"

namespace pipetrain {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are written as they are in memory");

enum Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
constexpr std::size_t frame_front = 12, frame_back = 4;

// ---- writing

template <class T>
void add(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void add_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

void add_key(std::string& out, unsigned field, Wire wire) { add_varint(out, field << 3 | wire); }

void add_bytes(std::string& out, unsigned field, std::string_view bytes) {
  add_key(out, field, Bytes);
  add_varint(out, bytes.size());
  out += bytes;
}

std::string event(double wall_time, std::int64_t step) {
  std::string out;
  add_key(out, 1, Fixed64);
  add(out, wall_time);
  add_key(out, 2, Varint);
  add_varint(out, static_cast<std::uint64_t>(step));
  return out;
}

std::string record(std::string_view message) {
  std::string out;
  add<std::uint64_t>(out, message.size());
  add(out, masked_crc32c(out));
  out += message;
  add(out, masked_crc32c(message));
  return out;
}

// ---- reading

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

// The bytes that an unknown field takes.
std::optional<std::size_t> size_of(unsigned wire, std::string_view& bytes) {
  if (wire == Fixed64) return 8;
  if (wire == Fixed32) return 4;
  if (wire == Bytes) return take_varint(bytes);
  if (wire == Varint) return take_varint(bytes) ? std::optional<std::size_t>(0) : std::nullopt;
  return std::nullopt;
}

bool read_event(std::string_view message, Record& out) {
  while (!message.empty()) {
    const auto key = take_varint(message);
    if (!key) return false;
    out.has_scalars |= *key == (5 << 3 | Bytes);
    if (*key == (2 << 3 | Varint)) {
      const auto step = take_varint(message);
      if (!step) return false;
      out.step = static_cast<std::int64_t>(*step);
      continue;
    }
    const auto size = size_of(*key & 7, message);
    if (!size || *size > message.size()) return false;
    message.remove_prefix(*size);
  }
  return true;
}

}  // namespace

std::string version_record(double wall_time) {
  std::string out = event(wall_time, 0);
  add_bytes(out, 3, "brain.Event:2");
  return record(out);
}

std::string restart_record(double wall_time, std::int64_t step) {
  std::string start;
  add_key(start, 1, Varint);
  add_varint(start, 1);
  std::string out = event(wall_time, step);
  add_bytes(out, 7, start);
  return record(out);
}

std::string scalar_record(const ScalarEvent& e) {
  std::string summary, value;
  for (const Scalar& scalar : e.scalars) {
    value.clear();
    add_bytes(value, 1, scalar.tag);
    add_key(value, 2, Fixed32);
    add(value, static_cast<float>(scalar.value));
    add_bytes(summary, 1, value);
  }
  std::string out = event(e.wall_time, e.step);
  add_bytes(out, 5, summary);
  return record(out);
}

std::optional<Record> first_record(std::string_view bytes) {
  if (bytes.size() < frame_front + frame_back) return std::nullopt;
  const auto size = number_at<std::uint64_t>(bytes, 0);
  if (number_at<std::uint32_t>(bytes, 8) != masked_crc32c(bytes.substr(0, 8))) return std::nullopt;
  if (size > bytes.size() - frame_front - frame_back) return std::nullopt;
  const std::string_view message = bytes.substr(frame_front, size);
  if (number_at<std::uint32_t>(bytes, frame_front + size) != masked_crc32c(message))
    return std::nullopt;
  Record out{.whole = bytes.substr(0, frame_front + size + frame_back)};
  if (!read_event(message, out)) return std::nullopt;
  return out;
}

}  // namespace pipetrain
