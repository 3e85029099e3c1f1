// What `pipetrain schedule` prints, against files that were compared with the papers' figures by
// eye.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "program/format.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

std::string golden(const std::string& name) {
  const char* root = std::getenv("PIPETRAIN_SOURCE");
  REQUIRE(root != nullptr);
  std::ifstream file(root + ("/tests/golden/" + name));
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

using Writer = std::string (*)(const ScheduleView&);

std::string figure(const ScheduleRequest& request, Writer write) {
  const auto program = make_program(request);
  const auto line = simulate(program, {.all = {1, 2, 0, 0}});
  return write({request.schedule, program, line});
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
TEST_CASE("the whole program of both, with gradient norms") {
  CHECK(to_text(make_program({"gpipe", 3, 2, 2, true})) == golden("gpipe-program.txt"));
  CHECK(to_text(make_program({"1f1b", 3, 4, 1, true})) == golden("1f1b-program.txt"));
}
