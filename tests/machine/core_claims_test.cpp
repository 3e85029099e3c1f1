// Which cores a run has to itself.
#include "machine/core_claims.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "machine/cpu_quota.hpp"

using namespace pipetrain;

namespace {

// A name of its own, so that what other processes claim meanwhile does not count.
std::string own_name() { return fmt::format("claims of test {}", getpid()); }

}  // namespace

TEST_CASE("cores are claimed once, in their order, and free again afterwards", "[threads]") {
  const std::vector<int> allowed = allowed_cores();
  const int count = static_cast<int>(allowed.size());
  if (cpu_quota() < count) {
    WARN("skipped: this process is granted less time than its cores have");
    return;
  }
  const std::string name = own_name();
  {
    const CoreClaims first(1, name);
    CHECK(first.cores() == std::vector<int>{allowed[0]});
    const CoreClaims others(count - 1, name);
    CHECK(others.cores() == std::vector<int>(allowed.begin() + 1, allowed.end()));
    const CoreClaims late(1, name);
    CHECK(late.cores().empty());
    CHECK(late.others_hold_them());
    CHECK_FALSE(others.others_hold_them());
  }
  {
    const CoreClaims one(1, name);
    CHECK(CoreClaims(count, name).cores().empty());  // it keeps none of those that were free
    CHECK(CoreClaims(count - 1, name).cores().size() == static_cast<std::size_t>(count - 1));
  }
  CHECK(CoreClaims(count, name).cores() == allowed);
  const CoreClaims more(count + 1, name);
  CHECK(more.cores().empty());
  CHECK_FALSE(more.others_hold_them());
  CHECK(CoreClaims(0, name).cores().empty());
}
