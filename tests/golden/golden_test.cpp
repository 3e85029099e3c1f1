// What `pipetrain schedule` prints, against files that were compared with the papers' figures by
// eye.
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "places.hpp"
#include "program/format.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

std::string golden(const std::string& name) {
  std::ifstream file(source_tree() / "tests/golden" / name);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

using Writer = std::string (*)(const ScheduleView&);

std::string figure(const ScheduleRequest& request, Writer write,
                   const StageCosts& times = {1, 2, 0, 0}) {
  const auto program = make_program(request);
  const auto line = simulate(program, charged(require_schedule(request.schedule), {.all = times}));
  return write({request.schedule, request.schedule, program, line});
}

}  // namespace

TEST_CASE("GPipe's figure: 4 stages, 4 micro-batches") {
  CHECK(figure({"gpipe", 4, 4}, format_text) == golden("gpipe.txt"));
}
TEST_CASE("PipeDream-Flush's figure: 4 stages, 8 micro-batches, two mini-batches") {
  CHECK(figure({"1f1b", 4, 8, 2}, format_text) == golden("1f1b.txt"));
}
TEST_CASE("the table of versions of 1f1b") {
  CHECK(figure({"1f1b", 3, 2, 3}, format_versions) == golden("1f1b-versions.txt"));
}
TEST_CASE(
    "the zero-bubble figures: 4 stages, 8 micro-batches, forward and both halves equally long") {
  CHECK(figure({"zb_h1", 4, 8}, format_text, {1, 1, 1, 0}) == golden("zb_h1.txt"));
  CHECK(figure({"zb_h2", 4, 8}, format_text, {1, 1, 1, 0}) == golden("zb_h2.txt"));
  CHECK(figure({"zb_v", 4, 8}, format_text, {1, 1, 1, 0}) == golden("zb_v.txt"));
}
TEST_CASE(
    "BaPipe's figures: 4 stages, 8 micro-batches; transfers on workers, passes side by side") {
  CHECK(figure({"1f1b_sno", 4, 8}, format_text, {2, 2, 2, 1}) == golden("1f1b_sno.txt"));
  CHECK(figure({"fbp_as", 4, 8}, format_text) == golden("fbp_as.txt"));
}
TEST_CASE("the interleaved figure: 4 workers, 2 virtual stages, 8 micro-batches") {
  CHECK(
      figure({.schedule = "interleaved_1f1b", .stages = 4, .microbatches = 8, .virtual_stages = 2},
             format_text) == golden("interleaved_1f1b.txt"));
}
TEST_CASE("Chimera's figure: 4 workers, one unit and two; backward as long as forward, and twice") {
  CHECK(figure({"chimera", 4, 4}, format_text, {1, 1, 0, 0}) == golden("chimera-unit.txt"));
  CHECK(figure({"chimera", 4, 8}, format_text) == golden("chimera.txt"));
}
TEST_CASE("data parallelism: 4 workers, 8 micro-batches, two mini-batches") {
  CHECK(figure({"data_parallel", 4, 8, 2}, format_text) == golden("data_parallel.txt"));
}
TEST_CASE("the whole program with copies of a stage: their gradients meet before the updates") {
  CHECK(to_text(make_program({"chimera", 2, 2})) == golden("chimera-program.txt"));
}
TEST_CASE("the whole programs of gpipe and 1f1b, with gradient norms") {
  CHECK(to_text(make_program({"gpipe", 3, 2, 2, true})) == golden("gpipe-program.txt"));
  CHECK(to_text(make_program({"1f1b", 3, 4, 1, true})) == golden("1f1b-program.txt"));
}
