// The real engine on the scalar trainer's tasks: a stage is one linear layer of one weight, the
// loss mse: twice the scalar trainer's, so that half its rate gives the same updates.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "semantics/scalar_trainer.hpp"

namespace pipetrain::test {

struct Choice {
  std::string backend, workers;
};

ScalarTask random_task(int stages, int microbatches);

// The engine's weights after the last update, of each stage.
std::vector<double> train_on_engine(const Program& program, const ScalarTask& task,
                                    const Choice& choice);

// The same for what the config's schedule makes, with what training does besides; the first
// config.pipeline.pipemare.sync_warmup_epochs mini-batches are the synchronous warm-up. Batch size,
// stages, rate, backend and workers are set here.
std::vector<double> train_on_engine(Config config, const ScalarTask& task, const Choice& choice);

}  // namespace pipetrain::test
