#include "runtime/commands.hpp"

#include <cstring>

#include "base/check.hpp"
#include "transport/note_fields.hpp"

namespace pipetrain {
namespace {

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
