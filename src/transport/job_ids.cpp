#include "transport/job_ids.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

#include "base/check.hpp"
#include "transport/channel.hpp"

// A note:   name | 0 | blob

namespace pipetrain {
namespace {

class JobIds final : public IdExchange {
 public:
  explicit JobIds(Job& job) : job_(job) {
    job_.notes().listen(Topic::Id, [this](int, std::span<const std::byte> note) { keep(note); });
  }
  ~JobIds() override { job_.notes().listen(Topic::Id, nullptr); }

  void give(const std::string& name, std::span<const std::byte> blob) override {
    Note note(name.size() + 1 + blob.size());
    std::memcpy(note.data(), name.data(), name.size());
    std::ranges::copy(blob, note.begin() + std::ssize(name) + 1);
    job_.notes().send_to_others(Topic::Id, note);
  }

  std::vector<std::byte> take(const std::string& name) override {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (const auto found = blobs_.find(name); found != blobs_.end()) {
        std::vector<std::byte> blob = std::move(found->second);
        blobs_.erase(found);
        return blob;
      }
      if (job_.failed()) throw ChannelClosed();
      came_.wait_for(lock, std::chrono::milliseconds(50));  // the job may fail meanwhile
    }
  }

  void withdraw(const std::string&) noexcept override {}  // what is given cannot be taken back

 private:
  void keep(std::span<const std::byte> note) {
    const auto end = std::ranges::find(note, std::byte{});
    PIPETRAIN_CHECK(end != note.end(), "an id came without its name");
    {
      const std::lock_guard lock(mutex_);
      const auto* const name = reinterpret_cast<const char*>(note.data());
      blobs_[std::string(name, static_cast<std::size_t>(end - note.begin()))].assign(end + 1,
                                                                                     note.end());
    }
    came_.notify_all();
  }

  Job& job_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::string, std::vector<std::byte>> blobs_;
};

}  // namespace

std::unique_ptr<IdExchange> make_job_ids(Job& job) { return std::make_unique<JobIds>(job); }

}  // namespace pipetrain
