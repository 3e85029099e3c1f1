// The real engine on the scalar trainer's tasks: a stage is one linear layer of one weight, the
// loss mse: twice the scalar trainer's, so that half its rate gives the same updates.
#pragma once

#include <string>
#include <vector>

#include "semantics/scalar_trainer.hpp"

namespace pipetrain::test {

struct Choice {
  std::string backend, workers;
};

ScalarTask random_task(int stages, int microbatches);

// The engine's weights after the last update, of each stage.
std::vector<double> train_on_engine(const Program& program, const ScalarTask& task,
                                    const Choice& choice);

}  // namespace pipetrain::test
