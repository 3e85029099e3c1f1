#include "runtime/commands.hpp"

#include <cstring>

#include "base/check.hpp"

namespace pipetrain {
namespace {

class NoteWriter {
 public:
  void number(std::uint64_t value) { bytes(&value, sizeof value); }
  void text(const std::string& text) {
    number(text.size());
    bytes(text.data(), text.size());
  }
  template <class Value>
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
    PIPETRAIN_CHECK(count <= rest_.size() / each, "tensors came in part");
    return count;
  }
  void bytes(void* data, std::size_t count) {
    PIPETRAIN_CHECK(count <= rest_.size(), "tensors came in part");
    if (count > 0) std::memcpy(data, rest_.data(), count);
    rest_ = rest_.subspan(count);
  }
  std::span<const std::byte> rest_;
};

void write(NoteWriter& out, const NamedTensor& tensor) {
  out.values(tensor.shape.dims);
  out.number(static_cast<std::uint64_t>(tensor.shape.vocabulary));
  out.number(tensor.values.index());
  std::visit([&](const auto& values) { out.values(values); }, tensor.values);
}

NamedTensor read_tensor(NoteReader& in) {
  NamedTensor tensor;
  tensor.shape.dims = in.values<std::int64_t>();
  tensor.shape.vocabulary = static_cast<std::int64_t>(in.number());
  if (in.number() == 0)
    tensor.values = in.values<float>();
  else
    tensor.values = in.values<std::int64_t>();
  return tensor;
}

}  // namespace

void send_command(Job& job, const Command& command) {
  Note note(sizeof command);
  std::memcpy(note.data(), &command, sizeof command);
  job.notes().send_to_others(Topic::Command, note);
}

std::optional<Command> next_command(Job& job) {
  const Note note = job.notes().take(Topic::Command, 0);
  if (note.empty()) return std::nullopt;
  Command command;
  PIPETRAIN_CHECK(note.size() == sizeof command, "a command of {} bytes", note.size());
  std::memcpy(&command, note.data(), sizeof command);
  return command;
}

Note note_of(const std::vector<StageTensors>& stages) {
  NoteWriter out;
  out.number(stages.size());
  for (const StageTensors& stage : stages) {
    out.number(stage.layers.size());
    for (const std::string& layer : stage.layers) out.text(layer);
    out.number(stage.tensors.size());
    for (const auto& [name, tensor] : stage.tensors) {
      out.text(name);
      write(out, tensor);
    }
  }
  return std::move(out.note);
}

std::vector<StageTensors> stages_in(std::span<const std::byte> note) {
  NoteReader in(note);
  std::vector<StageTensors> stages;
  for (std::uint64_t s = in.number(); s > 0; --s) {
    StageTensors& stage = stages.emplace_back();
    for (std::uint64_t layers = in.number(); layers > 0; --layers)
      stage.layers.push_back(in.text());
    for (std::uint64_t tensors = in.number(); tensors > 0; --tensors) {
      std::string name = in.text();
      stage.tensors.emplace(std::move(name), read_tensor(in));
    }
  }
  return stages;
}

}  // namespace pipetrain
