// Ids by the notes of a job: for processes that can already talk to each other.
#pragma once

#include <memory>

#include "transport/id_exchange.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// The job outlives it, and has one of them at a time. What is given goes to all other ranks. take()
// waits for as long as its job has not failed: a rank that is never heard of fails the job.
// ChannelClosed once it has.
std::unique_ptr<IdExchange> make_job_ids(Job& job);

}  // namespace pipetrain
