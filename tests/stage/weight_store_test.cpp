// The ring of weight versions: how many a program needs, and that each read finds its own.
#include "stage/weight_store.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "program/liveness.hpp"
#include "program/text.hpp"
#include "program/versions_kept.hpp"
#include "runtime/training.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

int kept(const std::string& instructions) {
  return versions_kept(
      parse_program("program stages=1 microbatches=1 minibatches=4\n0: " + instructions), {0});
}

// A store of the small net's three linear layers, on the reference backend.
struct SmallStore {
  explicit SmallStore(int copies)
      : graph(read_model_text(testing::mlp_model, "test")),
        backend(make_backend("reference")),
        lowering(backend->lower(graph, {.samples = 1})),
        stream(backend->make_stream({})),
        memory(*stream),
        store({graph, *lowering, *stream, {0}, {5}, copies}, memory) {}
  // Writes `value` as the first weight of the next version of layer fc1, and makes it live.
  void update(float value) {
    store.next_parameter(0, 0)[0] = value;
    store.advance();
  }
  float first_weight(int version, Pass pass = Pass::Forward) const {
    return *static_cast<const float*>(store.read(0, pass, {{version}, AsStored{}}).parameters[0]);
  }
  Graph graph;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<const Lowering> lowering;
  std::unique_ptr<Stream> stream;
  StageMemory memory;
  WeightStore store;
};

}  // namespace

TEST_CASE("flushing schedules keep one version", "[weight store]") {
  for (const std::string schedule : {"gpipe", "1f1b"})
    for (const int stages : {1, 2, 4}) {
      const Program program = make_program(
          {.schedule = schedule, .stages = stages, .microbatches = 4, .minibatches = 3});
      for (int s = 0; s < stages; ++s) CHECK(versions_kept(program, {s}) == 1);
    }
}

TEST_CASE("a read of the version before the newest keeps two", "[weight store]") {
  CHECK(kept("0F0 0B0 0U0@1") == 1);
  CHECK(kept("0F0 0B0 0U0@1 0F1@1 0B1@1 0U1@2") == 1);
  // Two in flight: the second backward reads what its forward read, an update later.
  CHECK(kept("0F0 0F1 0B0 0U0@1 0B1 0U1@2") == 2);
  CHECK(kept("0F0 0F1 0B0 0U0@1 0B1@1 0U1@2") == 1);
}

TEST_CASE("reads further back keep more", "[weight store]") {
  CHECK(kept("0F0 0F1 0F2 0B0 0U0@1 0B1 0U1@2 0B2 0U2@3") == 3);
  // One more forward for each backward: always one update behind.
  CHECK(kept("0F0 0F1 0B0 0U0@1 0F2@1 0B1 0U1@2 0F3@2 0B2@1 0U2@3 0B3@2 0U3@4") == 2);
}

TEST_CASE("a version that is no longer read makes room", "[weight store]") {
  // Version 0 is gone when 2 is made; 1 is read after it.
  CHECK(kept("0F0 0B0 0U0@1 0F1@1 0U1@2 0B1@1 0U2@3") == 2);
}

TEST_CASE("a blend keeps its older part", "[weight store]") {
  CHECK(kept("0F0 0F1 0B0 0U0@1 0B1@1~0*0.25 0U1@2") == 2);
}

TEST_CASE("versions are counted per stage", "[weight store]") {
  const Program program = parse_program(
      "program stages=2 microbatches=1 minibatches=2\n"
      "0: 0F0 0F1 0B0 0U0@1 0B1 0U1@2\n"
      "1: 1F0 1B0 1U0@1 1F1@1 1B1@1 1U1@2\n");
  CHECK(versions_kept(program, {0}) == 2);
  CHECK(versions_kept(program, {1}) == 1);
}

TEST_CASE("with one copy an update happens in place", "[weight store]") {
  SmallStore rig(1);
  const float* const before = rig.store.parameter(0, 0);
  CHECK(rig.store.next_parameter(0, 0) == before);
  rig.update(1);
  CHECK(rig.store.parameter(0, 0) == before);
  CHECK(rig.store.live() == Version{1});
  CHECK(rig.first_weight(1) == 1);
}

TEST_CASE("every version that is kept reads what was written as that version", "[weight store]") {
  const int copies = GENERATE(2, 3, 4);
  SmallStore rig(copies);
  for (int version = 1; version <= 10; ++version) {
    rig.update(static_cast<float>(version));
    for (int v = std::max(0, version - copies + 1); v <= version; ++v) {
      CHECK(rig.first_weight(v) == static_cast<float>(v));
      CHECK(rig.first_weight(v, Pass::Backward) == static_cast<float>(v));
    }
  }
}

TEST_CASE("a read copies nothing", "[weight store]") {
  SmallStore rig(2);
  CHECK(rig.store.read(0, Pass::Forward, {{0}, AsStored{}}).parameters[0] ==
        rig.store.parameter(0, 0));
}

TEST_CASE("a version that is gone, or not made yet, is refused by number", "[weight store]") {
  SmallStore rig(2);
  for (int version = 1; version <= 5; ++version) rig.update(static_cast<float>(version));
  CHECK(rig.first_weight(4) == 4);
  CHECK_THROWS_AS(rig.first_weight(3), InternalError);
  CHECK_THROWS_AS(rig.first_weight(6), InternalError);
  CHECK_THROWS_AS(rig.first_weight(-1), InternalError);
  try {
    rig.first_weight(3);
  } catch (const InternalError& error) {
    CHECK(std::string(error.what()).find("version 3 is read while 5 is live") != std::string::npos);
  }
}

TEST_CASE("a program that is run again begins at version 0, with the newest weights",
          "[weight store]") {
  const int copies = GENERATE(1, 2, 3);
  SmallStore rig(copies);
  float newest = 0;
  for (int run = 0; run < 4; ++run) {
    rig.store.begin();
    CHECK(rig.store.live() == Version{0});
    CHECK(rig.first_weight(0) == newest);
    CHECK_THROWS_AS(rig.first_weight(1), InternalError);
    for (int update = 0; update < 5; ++update) rig.update(++newest);
  }
}

TEST_CASE("weights that are not stored as such are refused", "[weight store]") {
  SmallStore rig(2);
  rig.update(1);
  CHECK_THROWS_AS(rig.store.read(0, Pass::Backward, {{1}, Extrapolate{1}}), InternalError);
  CHECK_THROWS_AS(rig.store.read(0, Pass::Backward, {{1}, Blend{{0}, 0.5}}), InternalError);
}

TEST_CASE("weights are accounted once per copy", "[weight store]") {
  const SmallStore one(1), three(3);
  MemoryAccount a = one.memory.account(), b = three.memory.account();
  // fc1 [16, 12], fc2 [16, 16], fc3 [5, 16], and their biases
  CHECK(a[Use::Weights] == 4 * (16 * 12 + 16 + 16 * 16 + 16 + 5 * 16 + 5));
  CHECK(b[Use::Weights] == 3 * a[Use::Weights]);
  CHECK(one.store.elements(0, 0) == 16 * 12);
  CHECK(one.store.elements(5, 1) == 5);
  CHECK(one.store.parameters(0) == 2);
  CHECK(one.store.parameters(1) == 0);
}

TEST_CASE("the ring holds no more versions than liveness says, under every schedule",
          "[weight store]") {
  for (const Schedule& row : schedules())
    for (const auto& [p, n] : {std::pair{2, 2}, {4, 4}, {4, 8}, {6, 6}}) {
      const Program program = make_program({.schedule = std::string(row.name),
                                            .stages = p,
                                            .microbatches = n * p,
                                            .minibatches = 8});
      const std::vector<int> live = peak_weight_versions(program);
      for (StageId s{0}; s.value < program.stages; ++s.value) {
        CAPTURE(row.name, p, n, s.value);
        CHECK(versions_kept(program, s) == live[static_cast<std::size_t>(s.value)]);
      }
    }
  for (const char* name : {"pipedream", "timeprest", "i_timeprest"})
    for (const auto& [p, n] : {std::pair{4, 1}, {4, 2}, {7, 3}, {8, 2}}) {
      const Program program = make_program({name, p, n, 24});
      const std::vector<int> live = peak_weight_versions(program);
      for (StageId s{0}; s.value < program.stages; ++s.value) {
        CAPTURE(name, p, n, s.value);
        CHECK(versions_kept(program, s) == live[static_cast<std::size_t>(s.value)]);
      }
    }
}
