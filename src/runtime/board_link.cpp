#include "runtime/board_link.hpp"

#include <cstring>
#include <type_traits>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace pipetrain {

namespace {

// A host counts its clock from its start. A time far from now comes from another host; then the
// arrival of the message replaces it.
std::int64_t here(std::int64_t ns) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t now = now_ns();
  return ns > now - second && ns <= now ? ns : now;
}

}  // namespace

static_assert(std::is_trivially_copyable_v<BoardMessage>);

BoardLink::BoardLink(Job& job) : job_(job) {
  job_.notes().listen(Topic::Board, [this](int, std::span<const std::byte> note) { hear(note); });
}

BoardLink::~BoardLink() { job_.notes().listen(Topic::Board, nullptr); }

void BoardLink::begin(StepBoard& board) {
  const std::lock_guard lock(mutex_);
  board_ = &board;
  ++segment_;
  for (const Heard& heard : early_)
    if (heard.message.segment == segment_) board.hear(heard.message, heard.sums);
  std::erase_if(early_, [&](const Heard& h) { return h.message.segment <= segment_; });
}

void BoardLink::end() {
  const std::lock_guard lock(mutex_);
  board_ = nullptr;
}

void BoardLink::hear(std::span<const std::byte> note) {
  Heard heard;
  PIPETRAIN_CHECK(note.size() >= sizeof heard.message, "a message of {} bytes to a step board",
                  note.size());
  std::memcpy(&heard.message, note.data(), sizeof heard.message);
  heard.sums.resize((note.size() - sizeof heard.message) / sizeof(double));
  if (!heard.sums.empty())
    std::memcpy(heard.sums.data(), note.data() + sizeof heard.message,
                heard.sums.size() * sizeof(double));
  if (heard.message.kind == BoardMessage::Kind::Finish)
    heard.message.part.end_ns = here(heard.message.part.end_ns);
  const std::lock_guard lock(mutex_);
  if (heard.message.segment > segment_)
    early_.push_back(std::move(heard));
  else if (heard.message.segment == segment_ && board_)
    board_->hear(heard.message, heard.sums);
}

Note BoardLink::note_of(BoardMessage message, std::span<const double> sums) const {
  message.segment = segment_;
  Note note(sizeof message + sums.size_bytes());
  std::memcpy(note.data(), &message, sizeof message);
  if (!sums.empty()) std::memcpy(note.data() + sizeof message, sums.data(), sums.size_bytes());
  return note;
}

void BoardLink::to_leader(BoardMessage message, std::span<const double> sums) const {
  job_.notes().send(0, Topic::Board, note_of(message, sums));
}

void BoardLink::to_others(BoardMessage message, std::span<const double> sums) const {
  job_.notes().send_to_others(Topic::Board, note_of(message, sums));
}

}  // namespace pipetrain
