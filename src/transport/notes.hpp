// Messages of any size between ranks, each with a topic: everything that ranks tell each other
// except the tensors of micro-batches, which have channels of their own (rank_channel.hpp).
//
// Messages from one sender arrive in the order in which they were sent. They cross in pieces, so
// that no rank needs to know their size beforehand.
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
  Failure,   // a rank has failed: the job ends
  Over,      // a rank has nothing more to do; from rank 0: none has
  Signal,    // a signal that a rank received
  Identity,  // what a rank is, to compare it with the others
  Command,   // from rank 0 to the others; an empty one ends the job
  Board,     // of a segment's step board
  Tied,      // gradients of tied parameters
  Copies,    // gradients of a stage's copies
  Tensors,   // of a rank's stages
  Sum,       // from an evaluation
  Trace,     // of a rank's stages, for rank 0's trace
  Save,      // where to write a checkpoint
  Saved,     // what a rank has written of it
  Data,      // results that follow from the samples
  Id,        // of a communicator, for the ranks that meet by it
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

  // Notes on this topic go to `handler`, on the wire's thread; it must not wait. It first gets
  // those that have already arrived. Null: notes are kept for the next handler or for take(), and
  // once this returns the previous handler is not called any more.
  void listen(Topic topic, Handler handler);
  // Waits for the next note on this topic from this rank. ChannelClosed once close() was called.
  Note take(Topic topic, int from);
  void close() noexcept;
  void drop_waiting() noexcept;  // sends nothing of which nothing has been sent yet

  bool all_sent(int except) const;        // to all ranks but `except`
  std::int64_t heard_ns(int from) const;  // steady clock: the last sign of life
  void hear_all() noexcept;               // as if all ranks had just given one

  Activity poll(RankWire& wire) override;
  void withdraw(RankWire& wire) noexcept override;

 private:
  struct Outgoing {
    Topic topic = Topic::Beat;
    Note note;
    std::size_t sent = 0;
  };
  struct Piece {
    std::vector<std::byte> bytes;
    RankWire::Request request = -1;  // -1: not in flight
  };
  struct Peer {
    std::deque<Outgoing> outgoing;
    std::vector<Piece> sending, receiving;
    std::size_t next = 0;  // index in `receiving` of the piece that arrives next
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
  std::vector<Peer> peers_;  // one per rank; this rank's own is unused
  std::deque<Come> come_;    // arrived, but not handed to a handler or take() yet
  std::map<Topic, Handler> handlers_;
  std::optional<Topic> handling_;  // on the wire's thread, now
  bool closed_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace pipetrain
