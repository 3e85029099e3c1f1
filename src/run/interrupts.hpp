// Requests to a running training from outside: signals, and time that has passed.
//
//   SIGINT, SIGTERM, SIGHUP   finish what has begun, save, end with 128 + n; a second ends at once
//
//   SIGUSR1                   save, and continue
#pragma once

#include <atomic>
#include <string>

namespace pipetrain {

// Handles the signals while it lives; one at a time. A signal that the process was started to
// ignore (nohup, a background job of a script) stays ignored.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int stop_signal() const;   // 0: none so far
  bool take_save_request();  // SIGUSR1 since this was asked last
  // True: the pipeline begins no further mini-batch. Set by every signal, or by code that wants to
  // save at a step that nobody configured; the code that has done so clears it.
  std::atomic<bool>& drain();
};

// As if this signal had come, where none has: another rank of the job was sent it.
void ask_to_stop(int signal);

// Did a signal ask the latest training to stop? True after that training too.
bool stop_was_asked();
int signal_that_asked();  // 0: none

std::string signal_name(int signal);  // "SIGTERM"

}  // namespace pipetrain
