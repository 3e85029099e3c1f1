// A model as a backend computes it, at each length that its sequences are padded to. Parameters are
// stored and packed the same way at all lengths, so a stage has one copy for all.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/lengths.hpp"
#include "compile/pipeline_input.hpp"

namespace pipetrain {

struct Graph;

// Threading: once made, any thread may read it.
class LoweredModel {
 public:
  // At the graph's own lengths. The graph outlives the model.
  LoweredModel(const Graph& graph, std::unique_ptr<const Lowering> lowering);
  LoweredModel(LoweredModel&& other) noexcept;
  ~LoweredModel();

  // Adds other lengths, once each. Throws a UsageError if a layer cannot read sequences of them.
  void add(Backend& backend, const Lengths& lengths, const LowerOptions& options);

  // 0, 0: the graph's own.
  const Graph& graph(const Lengths& lengths = {}) const;
  const Lowering& lowering(const Lengths& lengths = {}) const;

 private:
  struct Form {
    Lengths lengths;
    std::unique_ptr<const Graph> graph;
    std::unique_ptr<const Lowering> lowering;
  };
  const Form* find(const Lengths& lengths) const;
  void check_parameters(const Form& form) const;

  const Graph& graph_;
  std::unique_ptr<const Lowering> lowering_;
  std::vector<Form> forms_;
};

// Lowers the whole graph, at all lengths that these micro-batches have. Sets this thread's number
// of kernel threads first, because kernels are compiled for that number. `recomputes`: the program
// does, whether the config asks for it or the order itself has it.
LoweredModel lower_for(const PipelineInput& input, std::span<const MicrobatchSize> sizes,
                       bool recomputes);

}  // namespace pipetrain
