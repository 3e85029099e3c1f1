// NCCL on the fake CUDA, in place of the library: communicators of threads that play processes. A
// send and its receive begin when they are at the heads of their streams, and end once both have
// begun (rendezvous); a sum ends once all ranks have begun theirs, added up in the order of the
// ranks. What an operation reads is what was there when it began.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "fake_cuda/runtime.hpp"
#include "transport/nccl_calls.hpp"

namespace {

using pipetrain::NcclCalls;
using pipetrain::NcclId;
using pipetrain::NcclJoin;
using pipetrain::NcclState;

struct Part {  // one rank's side of one operation
  bool begun = false;
  std::vector<std::byte> bytes;  // what it read
};

using Parts = std::vector<std::shared_ptr<Part>>;

// All ranks that meet by one id. The i-th call of a kind on one rank belongs to the i-th on others.
struct Clique {
  int ranks = 0, come = 0;
  std::mutex mutex;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Part>>> sends, receives;  // from, to
  std::map<std::pair<int, int>, std::pair<int, int>> exchanged;  // how many of either so far
  std::deque<Parts> sums;
  std::vector<int> summed;  // by rank

  // Of the i-th message from one rank to another.
  static std::shared_ptr<Part> part(std::deque<std::shared_ptr<Part>>& parts, int i) {
    while (std::cmp_less_equal(parts.size(), i)) parts.push_back(std::make_shared<Part>());
    return parts[static_cast<std::size_t>(i)];
  }
};

struct Member {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
};

struct Everything {
  std::mutex mutex;
  std::map<NcclId, std::shared_ptr<Clique>> cliques;
  int ids = 0;
};
Everything& everything() {
  static Everything all;
  return all;
}

Member& member(NcclCalls::Communicator communicator) { return *static_cast<Member*>(communicator); }

void begin(Part& part, const void* data, std::size_t bytes) {
  if (part.begun) return;
  part.begun = true;
  const auto* const first = static_cast<const std::byte*>(data);
  part.bytes.assign(first, first + bytes);
}

class OnFakeCuda final : public NcclCalls {
 public:
  NcclId make_id() override {
    const std::lock_guard lock(everything().mutex);
    NcclId id = {};
    ++everything().ids;
    std::memcpy(id.data(), &everything().ids, sizeof everything().ids);
    return id;
  }

  NcclState join(Communicator& communicator, const NcclJoin& join) override {
    const std::lock_guard lock(everything().mutex);
    auto& clique = everything().cliques[join.id];
    if (!clique) {
      clique = std::make_shared<Clique>();
      clique->ranks = join.ranks;
      clique->summed.resize(static_cast<std::size_t>(join.ranks));
    }
    ++clique->come;
    communicator = new Member{clique, join.rank};
    return NcclState::Working;
  }
  NcclState state(Communicator c) override {
    const std::lock_guard lock(everything().mutex);
    return member(c).clique->come == member(c).clique->ranks ? NcclState::Done : NcclState::Working;
  }

  NcclState send(Communicator c, const void* data, std::size_t bytes, int to,
                 void* stream) override {
    const Member& mine = member(c);
    const Ends ends = parts_of(*mine.clique, mine.rank, to, true);
    return enqueue(
        mine, stream, "ncclSend",
        [ends, data, bytes] {
          begin(*ends.sent, data, bytes);
          return ends.received->begun;
        },
        [data, bytes] { fake_cuda::reads(data, bytes); });
  }
  NcclState receive(Communicator c, void* data, std::size_t bytes, int from,
                    void* stream) override {
    const Member& mine = member(c);
    const Ends ends = parts_of(*mine.clique, from, mine.rank, false);
    return enqueue(
        mine, stream, "ncclRecv",
        [ends] {
          ends.received->begun = true;
          return ends.sent->begun;
        },
        [ends, data, bytes] {
          fake_cuda::writes(data, bytes);
          std::memcpy(data, ends.sent->bytes.data(), std::min(bytes, ends.sent->bytes.size()));
        });
  }
  NcclState sum(Communicator c, float* values, std::int64_t elements, void* stream) override {
    const Member& mine = member(c);
    const Parts parts = next_sum(*mine.clique, mine.rank);
    const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(float);
    const auto rank = static_cast<std::size_t>(mine.rank);
    return enqueue(
        mine, stream, "ncclAllReduce",
        [parts, rank, values, bytes] {
          begin(*parts[rank], values, bytes);
          return std::ranges::all_of(parts, [](const auto& part) { return part->begun; });
        },
        [parts, values, elements, bytes] {
          fake_cuda::reads(values, bytes);
          fake_cuda::writes(values, bytes);
          for (std::int64_t i = 0; i < elements; ++i) {
            float total = 0;
            for (const auto& part : parts) {
              float value = 0;
              std::memcpy(&value, part->bytes.data() + static_cast<std::size_t>(i) * sizeof value,
                          sizeof value);
              total += value;
            }
            values[i] = total;
          }
        });
  }

  // Nothing here waits for the host, so calls need not begin together.
  NcclState begin_group() override { return NcclState::Done; }
  NcclState end_group() override { return NcclState::Done; }
  NcclState finalize(Communicator) override { return NcclState::Done; }
  void destroy(Communicator c) noexcept override { delete &member(c); }
  void abort(Communicator c) noexcept override {
    *member(c).aborted = true;
    delete &member(c);
  }
  std::string reason(Communicator) override { return "the fake has no reasons"; }

 private:
  struct Ends {
    std::shared_ptr<Part> sent, received;
  };
  static Ends parts_of(Clique& clique, int from, int to, bool sends) {
    const std::lock_guard lock(clique.mutex);
    auto& [sent, received] = clique.exchanged[{from, to}];
    const int i = sends ? sent++ : received++;
    return {Clique::part(clique.sends[{from, to}], i),
            Clique::part(clique.receives[{from, to}], i)};
  }
  static Parts next_sum(Clique& clique, int rank) {
    const std::lock_guard lock(clique.mutex);
    const auto i = static_cast<std::size_t>(clique.summed[static_cast<std::size_t>(rank)]++);
    while (clique.sums.size() <= i) {
      Parts& parts = clique.sums.emplace_back();
      for (int r = 0; r < clique.ranks; ++r) parts.push_back(std::make_shared<Part>());
    }
    return clique.sums[i];
  }
  static NcclState enqueue(const Member& mine, void* stream, const char* what,
                           std::function<bool()> ready, std::function<void()> work) {
    const bool begun = fake_cuda::enqueue_when(
        static_cast<cudaStream_t>(stream), what,
        [aborted = mine.aborted, ready = std::move(ready)] { return *aborted || ready(); },
        [aborted = mine.aborted, work = std::move(work)] {
          if (!*aborted) work();
        });
    return begun ? NcclState::Done : NcclState::Failed;
  }
};

}  // namespace

namespace pipetrain {

std::unique_ptr<NcclCalls> make_nccl_calls() { return std::make_unique<OnFakeCuda>(); }
std::string nccl_version() { return "of the fake CUDA"; }

}  // namespace pipetrain
