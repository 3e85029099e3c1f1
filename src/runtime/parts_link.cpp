#include "runtime/parts_link.hpp"

#include <cstring>
#include <utility>

#include "base/check.hpp"

// A note:   sum (8) | update (8) | for each part: its four numbers | elements (8) | values

namespace pipetrain {
namespace {

struct PartHead {
  std::int32_t kind = 0, index = 0;
  std::int64_t step = 0, microbatch = 0;
  std::uint64_t elements = 0;
};

template <class Value>
void append(Note& note, const Value* values, std::size_t count) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(values);
  note.insert(note.end(), bytes, bytes + count * sizeof(Value));
}

PartsLink::Parts parts_in(std::span<const std::byte> rest) {
  PartsLink::Parts parts;
  while (!rest.empty()) {
    PartHead head;
    PIPETRAIN_CHECK(rest.size() >= sizeof head, "a gradient came without its head");
    std::memcpy(&head, rest.data(), sizeof head);
    rest = rest.subspan(sizeof head);
    PIPETRAIN_CHECK(head.elements <= rest.size() / sizeof(float), "a gradient came in part");
    parts.push_back({head.kind, head.index, head.step, head.microbatch, {}});
    std::vector<float>& values = parts.back().values;
    values.resize(head.elements);
    if (!values.empty()) std::memcpy(values.data(), rest.data(), values.size() * sizeof(float));
    rest = rest.subspan(values.size() * sizeof(float));
  }
  return parts;
}

}  // namespace

PartsLink::PartsLink(Job& job, Topic topic, int kernel_threads,
                     std::function<void(const Sum& sum, Parts parts)> on_parts)
    : job_(job),
      topic_(topic),
      late_(kernel_threads, [&job](const std::exception& error) { job.report(error); }) {
  job_.notes().listen(topic_,
                      [on_parts = std::move(on_parts)](int, std::span<const std::byte> note) {
                        Sum sum;
                        PIPETRAIN_CHECK(note.size() >= sizeof sum, "an empty gradient came");
                        std::memcpy(&sum, note.data(), sizeof sum);
                        on_parts(sum, parts_in(note.subspan(sizeof sum)));
                      });
}

PartsLink::~PartsLink() { job_.notes().listen(topic_, nullptr); }

void PartsLink::hand_in(const Sum& sum, std::span<const Part> parts, std::span<const int> ranks) {
  Note note;
  std::size_t bytes = sizeof sum;
  for (const Part& part : parts) bytes += sizeof(PartHead) + part.values.size() * sizeof(float);
  note.reserve(bytes);
  append(note, &sum, 1);
  for (const Part& part : parts) {
    const PartHead head{part.kind, part.index, part.step, part.microbatch, part.values.size()};
    append(note, &head, 1);
    append(note, part.values.data(), part.values.size());
  }
  for (const int rank : ranks) job_.notes().send(rank, topic_, note);
}

}  // namespace pipetrain
