// A note's content as a sequence of fields: each is read by the counterpart of the function that
// wrote it, in the same order.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/notes.hpp"

namespace pipetrain {

class NoteWriter {
 public:
  void number(std::uint64_t value) { bytes(&value, sizeof value); }
  void text(const std::string& text) {
    number(text.size());
    bytes(text.data(), text.size());
  }
  template <class Value>  // plain data
  void values(const std::vector<Value>& values) {
    number(values.size());
    bytes(values.data(), values.size() * sizeof(Value));
  }
  Note note;

 private:
  void bytes(const void* data, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(data);
    note.insert(note.end(), first, first + count);
  }
};

// DeviceError if the note ends within a field: never takes memory for more than the note contains.
class NoteReader {
 public:
  explicit NoteReader(std::span<const std::byte> note) : rest_(note) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    bytes(&value, sizeof value);
    return value;
  }
  std::string text() {
    std::string text(size(1), '\0');
    bytes(text.data(), text.size());
    return text;
  }
  template <class Value>
  std::vector<Value> values() {
    std::vector<Value> values(size(sizeof(Value)));
    bytes(values.data(), values.size() * sizeof(Value));
    return values;
  }

 private:
  std::size_t size(std::size_t each) {
    const std::uint64_t count = number();
    if (count > rest_.size() / each) refuse();
    return count;
  }
  void bytes(void* data, std::size_t count) {
    if (count > rest_.size()) refuse();
    if (count > 0) std::memcpy(data, rest_.data(), count);
    rest_ = rest_.subspan(count);
  }
  [[noreturn]] static void refuse() {
    throw DeviceError("a rank sent an unknown message; start all ranks with one build");
  }

  std::span<const std::byte> rest_;
};

}  // namespace pipetrain
