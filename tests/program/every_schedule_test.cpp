// What holds for every row of the table of schedules, at random sizes: it is refused for a reason,
// or its program is well-formed and finishes with room for one packet in each channel; also if some
// stages share a parameter, but then with the room for activations that a pipeline has.
#include <map>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "program/check.hpp"
#include "program/liveness.hpp"
#include "program/simulate.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

struct Made {
  std::optional<Program> program;
  std::string refusal;
};

Made make(const ScheduleRequest& request) try {
  return {make_program(request), ""};
} catch (const UsageError& error) {
  return {std::nullopt, error.what()};
}

}  // namespace

TEST_CASE("every schedule: refused with a valid value, or well-formed in channels of one") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::map<std::string, int> made;
  for (int n = 0; n < 60; ++n)
    for (const auto& row : schedules()) {
      const Warmup warmups[] = {Warmup::OneFOneB, Warmup::Double, Warmup::Full};
      ScheduleRequest request{.schedule = std::string(row.name),
                              .stages = 1 + below(8),
                              .microbatches = 1 + below(24),
                              .minibatches = 1 + below(3),
                              .sync_gradients = below(2) == 0 && flushes(row),
                              .warmup = warmups[below(3)],
                              .vertical_sync = below(2) == 0,
                              .virtual_stages = 1 + below(3),
                              .early_sends = below(2) == 0,
                              .fused_updates = below(2) == 0};
      const int parts = model_parts(row, request.stages, request.virtual_stages);
      if (!request.sync_gradients && below(2) == 0)
        for (int tied = 2 + below(2); tied > 0; --tied) request.tied.insert({below(parts)});
      CAPTURE(row.name, request.tied.size(), request.stages, request.microbatches,
              request.minibatches, request.sync_gradients, request.warmup, request.vertical_sync,
              request.virtual_stages);
      const auto [program, refusal] = make(request);
      if (!program) {
        CHECK(refusal.find("write ") != refusal.npos);
        continue;
      }
      ++made[request.schedule];
      CheckOptions options =
          request.tied.empty() ? CheckOptions{} : with_room_for_activations(*program);
      options.weight_versions = peak_weight_versions(*program);
      options.rendezvous = row.charges == Charges::Workers;
      const auto found = check(*program, options);
      CAPTURE(show(*program, found));
      CHECK(found.empty());
      CHECK(static_cast<int>(program->workers.size()) == request.stages);
      CHECK(parse_program(to_text(*program)) == *program);
      CHECK(simulate(*program, charged(row, {})).makespan > 0);
      if (flushes(row))
        CHECK(peak_weight_versions(*program) ==
              std::vector(static_cast<std::size_t>(program->stages), 1));
    }
  for (const auto& row : schedules()) {
    CAPTURE(row.name);
    CHECK(made[std::string(row.name)] > 0);
  }
}

namespace {

// Does each worker end every mini-batch before it begins the next?
bool drains(const Program& program) {
  for (const auto& worker : program.workers) {
    int newest = 0;
    for (const Instruction& i : worker) {
      const int minibatch = program.minibatch_of(i.microbatch).value;
      if (minibatch < newest) return false;
      newest = minibatch;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("an order says correctly whether it drains at every update") {
  for (const Schedule& row : schedules()) {
    CAPTURE(row.name);
    const Program program = make_program({.schedule = std::string(row.name),
                                          .stages = 4,
                                          .microbatches = 4,
                                          .minibatches = 3,
                                          .virtual_stages = 2});
    CHECK(drains(program) == flushes(row));
  }
}
