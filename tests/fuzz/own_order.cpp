// An order of a user's own, a csv file. What is accepted must be well-formed with all that is
// added.
#include "own_order.hpp"

#include "program/check.hpp"
#include "target.hpp"

using namespace pipetrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  return fuzz::refused_or_read([&] {
    const OwnOrder order = parse_own_order(fuzz::text_of(bytes, count), 2, 2);
    fuzz::require(check(complete(order, {})).empty(), "an accepted order is well-formed");
    ScheduleRequest request;
    request.sync_gradients = request.recompute = true;
    fuzz::require(check(complete(order, request)).empty(), "also where it syncs and recomputes");
  });
}
