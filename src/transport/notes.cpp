#include "transport/notes.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/channel.hpp"

// A piece:   topic (4) | 0 (4) | bytes of the whole note (8) | its next bytes

namespace pipetrain {
namespace {

constexpr int note_tag = 1;
constexpr std::size_t head_bytes = 16, piece_bytes = 64 << 10, pieces_at_once = 2;

}  // namespace

RankNotes::RankNotes(WireThread& wire_thread)
    : wire_thread_(wire_thread), peers_(wire_thread.size()) {
  for (Peer& peer : peers_) {
    peer.sending.resize(pieces_at_once);
    peer.receiving.resize(pieces_at_once);
    peer.heard_ns = now_ns();
  }
  wire_thread_.add(*this);
}

RankNotes::~RankNotes() { wire_thread_.remove(*this); }

void RankNotes::send(int to, Topic topic, Note note) {
  {
    const std::lock_guard lock(mutex_);
    PIPETRAIN_CHECK(to != wire_thread_.rank(), "a rank writes to itself");
    peers_.at(to).outgoing.push_back({topic, std::move(note)});
  }
  wire_thread_.wake();
}

void RankNotes::send_to_others(Topic topic, const Note& note) {
  for (int rank = 0; rank < wire_thread_.size(); ++rank)
    if (rank != wire_thread_.rank()) send(rank, topic, note);
}

void RankNotes::listen(Topic topic, Handler handler) {
  {
    std::unique_lock lock(mutex_);
    if (handler) {
      handlers_[topic] = std::move(handler);
    } else {
      handlers_.erase(topic);
      changed_.wait(lock, [&] { return handling_ != topic; });
    }
  }
  wire_thread_.wake();
}

Note RankNotes::take(Topic topic, int from) {
  const WireThread::Waiting waiting(wire_thread_);
  std::unique_lock lock(mutex_);
  const auto wanted = [&](const Come& note) { return note.topic == topic && note.from == from; };
  auto found = come_.end();
  changed_.wait(lock, [&] {
    found = std::ranges::find_if(come_, wanted);
    return closed_ || found != come_.end();
  });
  if (found == come_.end()) throw ChannelClosed();
  Note note = std::move(found->note);
  come_.erase(found);
  return note;
}

void RankNotes::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void RankNotes::drop_waiting() noexcept {
  const std::lock_guard lock(mutex_);
  for (Peer& peer : peers_)
    std::erase_if(peer.outgoing, [](const Outgoing& out) { return out.sent == 0; });
}

bool RankNotes::all_sent(int except) const {
  const std::lock_guard lock(mutex_);
  const auto sent = [](const Peer& peer) {
    return peer.outgoing.empty() &&
           std::ranges::all_of(peer.sending, [](const Piece& p) { return p.request < 0; });
  };
  for (int rank = 0; rank < wire_thread_.size(); ++rank)
    if (rank != except && !sent(peers_[rank])) return false;
  return true;
}

std::int64_t RankNotes::heard_ns(int from) const {
  const std::lock_guard lock(mutex_);
  return peers_.at(from).heard_ns;
}

void RankNotes::hear_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (Peer& peer : peers_) peer.heard_ns = now_ns();
}

Activity RankNotes::poll(RankWire& wire) {
  bool moved = false, sending = false;
  std::exception_ptr met;  // with one rank; the others are not to wait for it
  {
    const std::lock_guard lock(mutex_);
    for (int rank = 0; rank < wire.size(); ++rank) {
      if (rank == wire.rank()) continue;
      try {
        begin_receives(wire, rank);
        moved = send_pieces(wire, rank) || moved;
        moved = receive_pieces(wire, rank) || moved;
      } catch (const std::exception&) {
        if (!met) met = std::current_exception();
      }
      for (const Piece& piece : peers_[rank].sending) sending = sending || piece.request >= 0;
    }
  }
  hand_over();
  if (met) std::rethrow_exception(met);
  return moved ? Activity::Moved : sending ? Activity::Sending : Activity::None;
}

void RankNotes::begin_receives(RankWire& wire, int rank) {
  Peer& peer = peers_[rank];
  for (std::size_t i = 0; i < peer.receiving.size(); ++i) {
    Piece& piece = peer.receiving[(peer.next + i) % peer.receiving.size()];
    if (piece.request >= 0) continue;
    piece.bytes.resize(piece_bytes);
    piece.request = wire.receive(rank, note_tag, piece.bytes.data(), piece_bytes);
  }
}

bool RankNotes::send_pieces(RankWire& wire, int to) {
  Peer& peer = peers_[to];
  bool moved = false;
  for (Piece& piece : peer.sending)
    if (piece.request >= 0 && wire.done(piece.request)) {
      piece.request = -1;
      moved = true;
    }
  for (Piece& piece : peer.sending) {
    if (piece.request >= 0 || peer.outgoing.empty()) continue;
    Outgoing& out = peer.outgoing.front();
    const std::size_t part = std::min(out.note.size() - out.sent, piece_bytes - head_bytes);
    piece.bytes.assign(head_bytes + part, std::byte{});
    const std::uint64_t total = out.note.size();
    std::memcpy(piece.bytes.data(), &out.topic, sizeof out.topic);
    std::memcpy(piece.bytes.data() + 8, &total, sizeof total);
    if (part > 0) std::memcpy(piece.bytes.data() + head_bytes, out.note.data() + out.sent, part);
    piece.request = wire.send(to, note_tag, piece.bytes.data(), piece.bytes.size());
    out.sent += part;
    if (out.sent == out.note.size()) peer.outgoing.pop_front();
    moved = true;
  }
  return moved;
}

bool RankNotes::receive_pieces(RankWire& wire, int from) {
  Peer& peer = peers_[from];
  bool moved = false;
  for (;;) {
    Piece& piece = peer.receiving[peer.next];
    const auto bytes = piece.request >= 0 ? wire.done(piece.request) : std::nullopt;
    if (!bytes) break;
    peer.heard_ns = now_ns();
    piece.request = -1;  // it has ended, also if the piece is refused
    add_piece(from, {piece.bytes.data(), *bytes});
    piece.request = wire.receive(from, note_tag, piece.bytes.data(), piece_bytes);
    peer.next = (peer.next + 1) % peer.receiving.size();
    moved = true;
  }
  return moved;
}

void RankNotes::add_piece(int from, std::span<const std::byte> piece) {
  Peer& peer = peers_[from];
  Topic topic{};
  std::uint64_t total = 0;
  if (piece.size() >= head_bytes) {
    std::memcpy(&topic, piece.data(), sizeof topic);
    std::memcpy(&total, piece.data() + 8, sizeof total);
  }
  const std::span<const std::byte> part = piece.subspan(std::min(piece.size(), head_bytes));
  if (piece.size() < head_bytes || part.size() > total - peer.received)
    throw DeviceError("rank " + std::to_string(from) +
                      " sent an unknown message; start all ranks with one build");
  if (peer.received == 0) peer.incoming.reserve(total);
  peer.incoming.insert(peer.incoming.end(), part.begin(), part.end());
  peer.received += part.size();
  if (peer.received < total) return;
  peer.received = 0;
  if (topic != Topic::Beat) come_.push_back({topic, from, std::exchange(peer.incoming, {})});
  peer.incoming.clear();
  changed_.notify_all();
}

// Runs handlers without the lock, in the order in which the notes of their topic came.
void RankNotes::hand_over() {
  for (;;) {
    Handler handler;
    Come note;
    {
      const std::lock_guard lock(mutex_);
      const auto found =
          std::ranges::find_if(come_, [&](const Come& c) { return handlers_.contains(c.topic); });
      if (found == come_.end()) return;
      handler = handlers_[found->topic];
      note = std::move(*found);
      come_.erase(found);
      handling_ = note.topic;
    }
    const struct Handled {
      RankNotes& notes;
      ~Handled() {
        {
          const std::lock_guard lock(notes.mutex_);
          notes.handling_.reset();
        }
        notes.changed_.notify_all();
      }
    } handled{*this};
    handler(note.from, note.note);
  }
}

void RankNotes::withdraw(RankWire& wire) noexcept {
  const std::lock_guard lock(mutex_);
  for (Peer& peer : peers_)
    for (Piece& piece : peer.receiving)
      if (piece.request >= 0) {
        wire.withdraw(piece.request);
        piece.request = -1;
      }
}

}  // namespace pipetrain
