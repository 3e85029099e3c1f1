#include "transport/link_clock.hpp"

#include <sys/prctl.h>

namespace pipetrain {

// By default the kernel may end a sleep 50 microseconds late, in order to wake for several timers
// at once: as much as the latency of a link.
void LinkClock::wake_on_time() {
  constexpr unsigned long slack_ns = 1000;
  thread_local const int asked = prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
  (void)asked;  // if it is refused, messages are slightly late
}

}  // namespace pipetrain
