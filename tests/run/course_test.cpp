// What the end of a training warns of, by the course of its loss.
#include "run/course.hpp"

#include <limits>
#include <vector>

#include "catch.hpp"

using namespace pipetrain;

namespace {

StepSummary step_of(double loss) {
  StepSummary step;
  step.loss = loss;
  return step;
}

std::string warning_of(int classes, double first, const std::vector<double>& tens) {
  Course course(classes);
  course.see(step_of(first));
  for (const double loss : tens)
    for (int i = 0; i < 10; ++i) course.see(step_of(loss));
  return course.warning().value_or("");
}

}  // namespace

TEST_CASE("a training that learns, or has no step, is not warned of", "[course]") {
  CHECK(warning_of(10, 2.3, {1.5, 0.4}).empty());
  CHECK(warning_of(10, 2.3, {2.3, 2.3}).empty());  // too short to have left chance
  CHECK_FALSE(Course(10).warning());
}

TEST_CASE("a loss that ends far above its first one is warned of", "[course]") {
  CHECK_THAT(warning_of(0, 2, {1, 100}),
             Contains("50 times that of the first step (2): this training did not converge;"));
  CHECK(warning_of(0, 2, {1, 99}).empty());
}

TEST_CASE("a loss that is back at chance is warned of", "[course]") {
  CHECK_THAT(warning_of(10, 2.3, {1.2, 2.3}),
             Contains("chance among 10 classes") && Contains("it had been 1.2"));
  CHECK(warning_of(0, 2.3, {1.2, 2.3}).empty());  // without classes there is no chance level
}

TEST_CASE("a loss that never left chance in 500 steps is warned of", "[course]") {
  const std::vector<double> at_chance(50, 2.3);  // tens of steps, after the first step
  CHECK_THAT(warning_of(10, 2.3, at_chance),
             Contains("after 501 steps") && Contains("nothing was learnt"));
  CHECK(warning_of(10, 2.3, std::vector<double>(49, 2.3)).empty());
  CHECK(warning_of(0, 2.3, at_chance).empty());
  CHECK(warning_of(10, 2.3, std::vector<double>(50, 2.2)).empty());  // below, if not clearly
}

TEST_CASE("a loss that is not finite does not count", "[course]") {
  Course course(10);
  course.see(step_of(std::numeric_limits<double>::quiet_NaN()));
  CHECK_FALSE(course.warning());
  course.see(step_of(2));
  course.see(step_of(std::numeric_limits<double>::infinity()));
  CHECK_FALSE(course.warning());
}

TEST_CASE("losses that are not finite until the end are warned of", "[course]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(warning_of(10, 2.3, {1.2, nan}),
             Contains("the losses of the last 10 steps") && !Contains("skipped"));
  CHECK(warning_of(10, 2.3, {nan, 1.2}).empty());
  CHECK_THAT(warning_of(10, nan, {nan}), Contains("the losses of the last 11 steps"));
}
