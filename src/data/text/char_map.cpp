#include "data/text/char_map.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace pipetrain {

namespace {

// Fields of sentencepiece_model.proto: ModelProto has two NormalizerSpecs, each with a table.
constexpr std::uint64_t normalizer_field = 3, denormalizer_field = 5, table_field = 2;

// The fields of a message, one after another.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  struct Field {
    std::uint64_t number = 0;
    std::string_view bytes;  // of a string or a message; otherwise empty
  };
  // Nothing at the end, and if the bytes make no sense: damaged() says which.
  std::optional<Field> next() {
    if (rest_.empty()) return {};
    const std::uint64_t key = number();
    Field field{key >> 3, {}};
    switch (key & 7) {
      case 0:
        number();
        break;
      case 1:
        take(8);
        break;
      case 2:
        field.bytes = take(number());
        break;
      case 5:
        take(4);
        break;
      default:
        damaged_ = true;
    }
    if (damaged_) return {};
    return field;
  }
  bool damaged() const { return damaged_; }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) damaged_ = true;
    if (damaged_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint64_t number() {  // seven bits per byte, the lowest first
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (damaged_) return 0;
      value |= static_cast<std::uint64_t>(byte[0] & 0x7f) << shift;
      if ((byte[0] & 0x80) == 0) return value;
    }
    damaged_ = true;
    return 0;
  }

  std::string_view rest_;
  bool damaged_ = false;
};

std::uint32_t word(std::string_view bytes, std::size_t index) {  // little-endian
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;)
    value = value << 8 | static_cast<std::uint8_t>(bytes[4 * index + i]);
  return value;
}

// A table is the length of a trie, the trie, and zero-terminated strings: text found in the trie is
// replaced by the string at the value found. The trie is a double array as Darts-clone writes it,
// of 32-bit units: from a node, `offset` leads to a block of 256 units, and from there each byte to
// its unit, which is the next node if its label is the byte.
constexpr std::uint32_t leaf_bit = 1u << 8, wide_bit = 1u << 9, value_bits = 0x7fffffff,
                        label_bits = 0x800000ff;

std::uint32_t offset(std::uint32_t unit) { return unit >> 10 << ((unit & wide_bit) >> 6); }

bool trie_holds(std::string_view trie, std::size_t string_bytes) {
  const std::size_t units = trie.size() / 4;
  if (units == 0) return false;
  std::vector<bool> seen(units);
  std::vector<std::uint32_t> open = {0};
  seen[0] = true;
  while (!open.empty()) {
    const std::uint32_t node = open.back(), unit = word(trie, node);
    open.pop_back();
    const std::uint32_t block = node ^ offset(unit);
    if ((block | 0xff) >= units) return false;
    if (node != 0 && (unit & leaf_bit) && (word(trie, block) & value_bits) >= string_bytes)
      return false;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t to = block ^ byte;
      if ((word(trie, to) & label_bits) != byte || seen[to]) continue;
      seen[to] = true;
      open.push_back(to);
    }
  }
  return true;
}

bool table_holds(std::string_view table) {
  if (table.empty()) return true;  // characters stay as they are
  if (table.size() <= 4) return false;
  const std::uint32_t trie_bytes = word(table, 0);
  table.remove_prefix(4);
  if (trie_bytes >= table.size() || table.back() != '\0') return false;
  return trie_holds(table.substr(0, trie_bytes), table.size() - trie_bytes);
}

bool normalizer_holds(std::string_view spec) {
  Message fields(spec);
  while (const auto field = fields.next())
    if (field->number == table_field && !table_holds(field->bytes)) return false;
  return !fields.damaged();
}

}  // namespace

bool char_maps_hold(std::string_view model) {
  Message fields(model);
  while (const auto field = fields.next()) {
    const bool normalizer =
        field->number == normalizer_field || field->number == denormalizer_field;
    if (normalizer && !normalizer_holds(field->bytes)) return false;
  }
  return !fields.damaged();
}

}  // namespace pipetrain
