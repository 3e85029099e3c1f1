// Requests to a running training from outside: signals, and time that has passed.
//
//   SIGINT, SIGTERM, SIGHUP   finish what has begun, save, end with 128 + n; a second ends at once
//   SIGUSR1                   save, and continue
#pragma once

#include <atomic>
#include <string>

namespace pipetrain {

// Handles the signals as long as it exists; at most one may exist. A signal that the process was
// started to ignore (nohup, a background job of a script) stays ignored.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int stop_signal() const;  // 0: none so far
  // While true, the pipeline begins no further mini-batch. Set by every signal, or by code that
  // wants to save at a step that is not configured; the code that has saved clears it.
  std::atomic<bool>& drain();
};

// Another rank of the job received this signal. It stops the training that runs, or else the next
// one; this process's own signals are counted without it, so the same one may follow at any time.
void ask_to_stop(int signal);

// Likewise: another rank received SIGUSR1.
void ask_to_save();
bool take_save_request();  // SIGUSR1 since the previous call

// Did a signal ask the latest training to stop? Also true after that training.
bool stop_was_asked();
int signal_that_asked();  // 0: none

std::string signal_name(int signal);  // "SIGTERM"

}  // namespace pipetrain
