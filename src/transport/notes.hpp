// Messages of any size between ranks, each of a topic: whatever ranks say to each other but the
// tensors of micro-batches, which have channels of their own (remote_channel.hpp).
//
// Those of one sender arrive in the order in which they were sent. They cross in pieces, so that
// nobody needs to know their size beforehand.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "transport/wire_thread.hpp"

namespace pipetrain {

enum class Topic : std::uint32_t {
  Beat,      // "alive"
  Failure,   // of a rank: the job ends
  Signal,    // that a rank was sent
  Identity,  // what a rank is, to be compared
  Command,   // of rank 0 to the others; an empty one is the job's end
  Board,     // of a segment's step board
  Tied,      // gradients of tied parameters
  Copies,    // gradients of a stage's copies
  Tensors,   // of a rank's stages
  Sum,       // of an evaluation
  Trace,     // of a rank's stages, for rank 0's
  Save,      // where a checkpoint is written
  Saved,     // what a rank has written of it
  Data,      // what follows from the samples
};

using Note = std::vector<std::byte>;

// Threading: any thread.
class RankNotes final : public Polled {
 public:
  using Handler = std::function<void(int from, std::span<const std::byte> note)>;

  explicit RankNotes(WireThread& wire_thread);
  ~RankNotes() override;

  void send(int to, Topic topic, Note note);  // does not wait
  void send_to_others(Topic topic, const Note& note);

  // What comes is given to the handler, on the wire's thread: it must not wait. What has come
  // before is given to it first. No handler: notes are kept, for the next one or for take(), and
  // the one before is not called any more once this returns.
  void listen(Topic topic, Handler handler);
  // The next note of that topic and rank. ChannelClosed once close() was called.
  Note take(Topic topic, int from);
  void close() noexcept;

  bool all_sent(int except) const;        // to all ranks but that one
  std::int64_t heard_ns(int from) const;  // steady clock: the last sign of life
  void hear_all() noexcept;               // as if all had given one now

  bool poll(RankWire& wire) override;
  void withdraw(RankWire& wire) noexcept override;

 private:
  struct Outgoing {
    Topic topic = Topic::Beat;
    Note note;
    std::size_t sent = 0;
  };
  struct Piece {
    std::vector<std::byte> bytes;
    RankWire::Request request = -1;  // in flight
  };
  struct Peer {
    std::deque<Outgoing> outgoing;
    std::vector<Piece> sending, receiving;
    std::size_t next = 0;  // of `receiving`: the one that comes first
    Note incoming;
    std::size_t received = 0;
    std::int64_t heard_ns = 0;
  };
  struct Come {
    Topic topic;
    int from = 0;
    Note note;
  };

  void begin_receives(RankWire& wire, int rank);
  bool send_pieces(RankWire& wire, int to);
  bool receive_pieces(RankWire& wire, int from);
  void add_piece(int from, std::span<const std::byte> piece);
  void hand_over();

  WireThread& wire_thread_;
  std::vector<Peer> peers_;  // of every rank; this one's is not used
  std::deque<Come> come_;    // and not given to anybody yet
  std::map<Topic, Handler> handlers_;
  std::optional<Topic> handling_;  // by the wire's thread, now
  bool closed_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace pipetrain
