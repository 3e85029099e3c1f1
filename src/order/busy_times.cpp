// The times of a work-conserving order, with its defaults filled in.
#include "order/order.hpp"

namespace pipetrain {

BusyTimes settled(BusyTimes times, int stages, int microbatches) {
  if (times.backward == 0) times.backward = 2 * microbatches;
  if (times.in_flight == 0) times.in_flight = stages;
  return times;
}

}  // namespace pipetrain
