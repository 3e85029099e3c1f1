#include "transport/job_ids.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/check.hpp"
#include "transport/channel.hpp"
#include "transport/note_fields.hpp"

// A note:   name | blob

namespace pipetrain {
namespace {

class JobIds final : public IdExchange {
 public:
  explicit JobIds(Job& job) : job_(job) {
    job_.notes().listen(Topic::Id, [this](int, std::span<const std::byte> note) { keep(note); });
  }
  ~JobIds() override { job_.notes().listen(Topic::Id, nullptr); }

  void give(const std::string& name, std::span<const std::byte> blob) override {
    NoteWriter out;
    out.text(name);
    out.values(std::vector(blob.begin(), blob.end()));
    job_.notes().send_to_others(Topic::Id, out.note);
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
    NoteReader in(note);
    std::string name = in.text();
    std::vector<std::byte> blob = in.values<std::byte>();
    {
      const std::lock_guard lock(mutex_);
      blobs_.insert_or_assign(std::move(name), std::move(blob));
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
