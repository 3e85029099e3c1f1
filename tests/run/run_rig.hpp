// What `train` builds around a training, small and in a folder of its own: an mlp of two stages on
// drawn samples, one thread, mini-batches of 8 of 32 samples, validation samples.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/scratch.hpp"
#include "graph/graph.hpp"
#include "run/options.hpp"
#include "run/training.hpp"

namespace pipetrain::testing {

extern const char* const kSmallModel;  // linear, relu, linear; 6 inputs, 3 classes

Progress progress_at(std::int64_t step);

class RunRig {
 public:
  // `sets` change the config, as on the command line; it trains 4 steps.
  explicit RunRig(const std::vector<std::string>& sets = {},
                  const std::string& model = kSmallModel);

  const std::filesystem::path& folder() const { return folder_; }  // of the run
  const Config& config() const { return read_.config; }
  const Graph& graph() const { return graph_; }
  const Plan& plan() const { return plan_; }
  const Datasets& data() const { return data_; }
  const DataSums& sums() const { return sums_; }
  const TrainingLength& length() const { return length_; }
  Pipeline& pipeline() { return pipeline_; }
  RunMetrics& metrics() { return metrics_; }

  TrainingInput input(const Progress& begin = {});
  // Leaves config and weights in the folder, as another start of the same run would find them.
  void keep_config() const;
  void finish();
  // The events of one kind in metrics.jsonl.
  std::vector<nlohmann::ordered_json> events(const std::string& kind) const;
  std::vector<std::int64_t> steps_of(const std::string& kind) const;

 private:
  Scratch scratch_;
  ReadConfig read_;
  Graph graph_;
  std::unique_ptr<Backend> backend_;
  Datasets data_;
  Plan plan_;
  TrainingLength length_;
  Pipeline pipeline_;
  std::filesystem::path folder_;
  RunMetrics metrics_;
  Console console_{{.quiet = true}};
  DataSums sums_;
};

}  // namespace pipetrain::testing
