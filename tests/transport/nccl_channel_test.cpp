#include "transport/nccl_channel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/check.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "fake_nccl.hpp"

using namespace pipetrain;

namespace {

constexpr std::size_t packet_bytes = 100;

struct TwoProcessesOptions {
  unsigned seed = 1;
  int packets = 1;  // at each end
  double seconds_max = 20;
  std::size_t receiver_packet_bytes = packet_bytes;
  int receiver_samples = 4;
};

// Two processes, a stage in each, and the channel between them.
struct TwoProcesses {
  explicit TwoProcesses(const TwoProcessesOptions& options = {})
      : options(options), device(options.seed) {
    std::exception_ptr refused;
    std::thread other([&] {
      try {
        receiver = make_nccl_receiver(
            end(reading, arriving, options.receiver_packet_bytes, options.receiver_samples));
      } catch (const std::exception&) {
        refused = std::current_exception();
      }
    });
    sender = make_nccl_sender(end(writing, leaving, packet_bytes, 4));
    other.join();
    if (refused) std::rethrow_exception(refused);
  }

  NcclChannelOptions end(std::unique_ptr<fake::FakeStream>& compute,
                         std::unique_ptr<fake::FakeStream>& transfer, std::size_t bytes,
                         int samples) {
    NcclChannelOptions o{.packets = {.packets = {}, .samples = samples},
                         .packet_bytes = bytes,
                         .calls = &nccl,
                         .ids = &ids,
                         .compute = compute.get(),
                         .transfer = transfer.get(),
                         .transfer_handle = transfer.get(),
                         .boundary = 2,
                         .lane = 1,
                         .from_rank = 5,
                         .to_rank = 6,
                         .seconds_max = options.seconds_max};
    auto& memory = &compute == &writing ? sender_memory : receiver_memory;
    memory.assign(static_cast<std::size_t>(options.packets),
                  std::vector<std::byte>(nccl_packet_memory(bytes, samples)));
    for (auto& block : memory) o.packets.packets.push_back(block.data());
    return o;
  }

  void send(int m) {
    Packet* const packet = sender->acquire();
    packet->microbatch = {m};
    packet->samples = 1 + m % 4;
    packet->ids.assign(static_cast<std::size_t>(packet->samples), m * 10L);
    writing->run([data = packet->data, m] {
      for (std::size_t i = 0; i < packet_bytes; ++i)
        data[i] = static_cast<std::byte>((m + static_cast<int>(i)) % 251);
    });
    sender->send(packet);
  }
  void receive(int m) {
    Packet* const packet = receiver->receive();
    const std::vector<SampleId> expected(static_cast<std::size_t>(1 + m % 4), m * 10L);
    wrong +=
        packet->microbatch.value != m || packet->samples != 1 + m % 4 || packet->ids != expected;
    reading->run([this, data = packet->data, m] {
      for (std::size_t i = 0; i < packet_bytes; ++i)
        wrong += data[i] != static_cast<std::byte>((m + static_cast<int>(i)) % 251);
    });
    receiver->release(packet);
  }

  const TwoProcessesOptions options;
  fake::Device device;
  fake::Nccl nccl{device};
  fake::MemoryExchange ids;
  std::unique_ptr<fake::FakeStream> writing = device.make_stream(), leaving = device.make_stream(),
                                    reading = device.make_stream(), arriving = device.make_stream();
  std::vector<std::vector<std::byte>> sender_memory, receiver_memory;
  std::unique_ptr<NcclChannel> sender, receiver;
  std::atomic<int> wrong = 0;
};

template <class Call>
std::string failure(const Call& call) {
  try {
    call();
  } catch (const DeviceError& error) {
    CHECK(error.code() == ExitCode::Device);
    return error.what();
  } catch (const ChannelClosed&) {
    return "closed";
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("packets arrive whole and in order, however late the devices are", "[transport][nccl]") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    TwoProcesses rig({.seed = seed, .packets = 1 + static_cast<int>(seed % 3)});
    std::thread sending([&] {
      for (int m = 0; m < 40; ++m) rig.send(m);
    });
    for (int m = 0; m < 40; ++m) rig.receive(m);
    sending.join();
    rig.device.run_dry();
    CHECK(rig.wrong == 0);
  }
}

TEST_CASE("an orderly end destroys what a failure would abort", "[transport][nccl]") {
  TwoProcesses rig({.packets = 2});
  rig.send(0);
  rig.receive(0);
  rig.send(1);
  std::thread receiving([&] { rig.receive(1); });
  rig.sender.reset();  // waits until it has gone out
  receiving.join();
  rig.receiver.reset();
  CHECK(rig.nccl.alive() == 0);
  CHECK(rig.nccl.aborted() == 0);
  rig.device.run_dry();
  CHECK(rig.wrong == 0);
}

TEST_CASE("a channel's communicator is made on the device of its stream", "[transport][nccl]") {
  const TwoProcesses rig;
  CHECK(rig.nccl.joined_on.size() == 2);
  for (const auto* stream : {rig.leaving.get(), rig.arriving.get()})
    CHECK(std::ranges::count(rig.nccl.joined_on, stream) == 1);
}

TEST_CASE("a channel on a device that is gone ends silently", "[transport][nccl]") {
  TwoProcesses rig;
  rig.send(0);
  rig.device.gone = true;
  CHECK_NOTHROW(rig.sender.reset());
  CHECK_NOTHROW(rig.receiver.reset());
  CHECK(rig.nccl.alive() == 0);
}

TEST_CASE("send does not wait, acquire does once every packet is in flight", "[transport][nccl]") {
  TwoProcesses rig({.packets = 2});
  rig.send(0);
  rig.send(1);
  rig.device.run_dry();
  CHECK_FALSE(rig.sender->can_acquire());  // nothing has been received yet
  rig.receive(0);
  rig.device.run_dry();
  CHECK(rig.sender->can_acquire());
  rig.send(2);
  rig.receive(1);
  rig.receive(2);
  rig.device.run_dry();
  CHECK(rig.wrong == 0);
}

TEST_CASE("can_receive begins the transfer and says when it is over", "[transport][nccl]") {
  TwoProcesses rig;
  CHECK_FALSE(rig.receiver->can_receive());
  rig.send(0);
  for (int i = 0; i < 1000 && !rig.receiver->can_receive(); ++i) rig.device.advance();
  CHECK(rig.receiver->can_receive());
  rig.receive(0);
  CHECK_FALSE(rig.receiver->can_receive());
}

TEST_CASE("an expected packet moves before it is received", "[transport][nccl]") {
  TwoProcesses rig;
  rig.send(0);
  rig.device.run_dry();
  CHECK_FALSE(rig.sender->can_acquire());
  rig.receiver->expect();
  rig.receiver->expect();  // there is one packet: the second transfer begins when it is free
  rig.device.run_dry();
  CHECK(rig.sender->can_acquire());
  rig.send(1);
  rig.device.run_dry();
  CHECK_FALSE(rig.sender->can_acquire());
  rig.receive(0);
  rig.device.run_dry();
  CHECK(rig.sender->can_acquire());
  rig.receive(1);
}

TEST_CASE("a packet that its sender keeps is free when both are done", "[transport][nccl]") {
  TwoProcesses rig;
  Packet* const kept = rig.sender->acquire();
  rig.sender->retain(kept);
  rig.sender->send(kept);
  rig.receiver->expect();
  rig.device.run_dry();
  CHECK_FALSE(rig.sender->can_acquire());
  rig.sender->forget(kept);
  CHECK(rig.sender->can_acquire());
  Packet* const again = rig.sender->acquire();
  CHECK_THROWS_AS(rig.sender->acquire(), InternalError);  // no other thread could free one
  rig.sender->forget(again);
  CHECK_THROWS_AS(rig.sender->forget(again), InternalError);
}

TEST_CASE("each end refuses the other end's calls", "[transport][nccl]") {
  TwoProcesses rig;
  CHECK_THROWS_AS(rig.sender->receive(), InternalError);
  CHECK_THROWS_AS(rig.receiver->acquire(), InternalError);
  CHECK_THROWS_AS(rig.receiver->send(nullptr), InternalError);
  CHECK_FALSE(rig.sender->can_receive());
  CHECK_FALSE(rig.receiver->can_acquire());
}

TEST_CASE("a peer that does nothing is given up on", "[transport][nccl]") {
  TwoProcesses rig({.seconds_max = 0.5});
  const std::string waited = failure([&] { rig.receiver->receive(); });
  INFO(waited);
  CHECK(has(waited, "(the limit is 0.5 s)"));
  CHECK(has(waited, "activations of boundary 2, lane 1, that rank 6 has from rank 5"));
  CHECK(has(waited, "check that the process"));
  CHECK(rig.nccl.aborted() == 1);
  CHECK(failure([&] { rig.receiver->receive(); }) == waited);  // and the failure stays
  CHECK(rig.receiver->can_receive());                          // it would not wait

  rig.send(0);
  const std::string sent = failure([&] { rig.sender->acquire(); });
  CHECK(has(sent, "that rank 5 sends to rank 6"));
}

TEST_CASE("polling gives up on a peer too", "[transport][nccl]") {
  TwoProcesses rig({.seconds_max = 0.5});
  while (!rig.receiver->can_receive()) std::this_thread::yield();
  CHECK(has(failure([&] { rig.receiver->receive(); }), "nothing has moved"));
  rig.send(0);
  while (!rig.sender->can_acquire()) std::this_thread::yield();
  CHECK(has(failure([&] { rig.sender->acquire(); }), "nothing has moved"));
}

TEST_CASE("a peer's abort is reported if NCCL knows of it, else by the time limit",
          "[transport][nccl]") {
  const bool noticed = GENERATE(true, false);
  TwoProcesses rig({.seconds_max = 0.5});
  rig.nccl.abort_is_noticed = noticed;
  rig.sender->close();
  rig.sender.reset();
  const std::string said = failure([&] { rig.receiver->receive(); });
  CHECK(has(said, noticed ? "a remote process has gone" : "(the limit is 0.5 s)"));
}

TEST_CASE("the first failure is what is reported", "[transport][nccl]") {
  TwoProcesses rig({.seconds_max = 0.5});
  rig.nccl.break_all("an unhandled system error");
  const std::string first = failure([&] { rig.receiver->receive(); });
  CHECK(has(first, "an unhandled system error"));
  CHECK(has(first, "NCCL_DEBUG"));
  rig.nccl.break_all("something that follows from it");
  CHECK(failure([&] { rig.receiver->receive(); }) == first);
  rig.receiver->close();
  CHECK(failure([&] { rig.receiver->receive(); }) == "closed");
}

TEST_CASE("close wakes both ends, from another thread", "[transport][nccl]") {
  TwoProcesses rig;
  rig.send(0);
  std::string sender_said, receiver_said;
  TwoProcesses idle;
  std::thread sending([&] { sender_said = failure([&] { rig.sender->acquire(); }); });
  std::thread receiving([&] { receiver_said = failure([&] { idle.receiver->receive(); }); });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  rig.sender->close();
  idle.receiver->close();
  sending.join();
  receiving.join();
  CHECK(sender_said == "closed");
  CHECK(receiver_said == "closed");
  CHECK(rig.sender->can_acquire());
  CHECK(failure([&] { rig.sender->acquire(); }) == "closed");
  rig.sender->close();
  rig.sender.reset();
  CHECK(rig.nccl.aborted() == 1);
}

TEST_CASE("ends that expect different packets do not connect", "[transport][nccl]") {
  CHECK(has(failure([] { TwoProcesses({.receiver_packet_bytes = 104}); }), "same configuration"));
  CHECK(has(failure([] { TwoProcesses({.receiver_samples = 5}); }), "100 bytes and 4 samples"));
}

TEST_CASE("an end gives up if its other end never comes", "[transport][nccl]") {
  fake::Device device;
  fake::Nccl nccl(device);
  fake::MemoryExchange ids;
  const auto stream = device.make_stream();
  std::vector<std::byte> memory(nccl_packet_memory(8, 1));
  const NcclChannelOptions options{.packets = {.packets = {memory.data()}},
                                   .packet_bytes = 8,
                                   .calls = &nccl,
                                   .ids = &ids,
                                   .compute = stream.get(),
                                   .transfer = stream.get(),
                                   .transfer_handle = stream.get(),
                                   .gradients = true,
                                   .seconds_max = 0.1};
  CHECK(has(failure([&] { make_nccl_sender(options); }), "gradients of boundary 0"));
  CHECK(nccl.alive() == 0);
}

TEST_CASE("a build without NCCL says so", "[transport][nccl]") {
  if (nccl_version() == "none")
    CHECK(has(failure([] { make_nccl_calls(); }), "built without NCCL"));
  else
    CHECK(make_nccl_calls() != nullptr);
}
