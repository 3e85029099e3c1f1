#include "transport/link_clock.hpp"

#include <sys/prctl.h>

namespace pipetrain {

// The kernel may end a sleep 50 microseconds late, to wake for several timers at once: as long as a
// link's latency.
void LinkClock::wake_on_time() {
  constexpr unsigned long slack_ns = 1000;
  thread_local const int asked = prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
  (void)asked;  // where that is refused, messages are a little late
}

}  // namespace pipetrain
