#include "run/run_metrics.hpp"

#include <exception>
#include <nlohmann/json.hpp>

#include "checkpoint/atomic_file.hpp"
#include "run/run_directory.hpp"

namespace pipetrain {

RunMetrics::RunMetrics(const RunMetricsInput& in)
    : folder_(in.folder), jsonl_(in.folder / "metrics.jsonl", in.keep_steps) {
  const auto& steps = in.config.trace_steps;
  if (in.config.tensorboard)
    tensorboard_.emplace(in.folder, in.keep_steps);
  else if (in.keep_steps == 0)
    remove_event_files(in.folder);
  if (in.keep_steps == 0) remove_file(in.folder / "trace.json");
  if (steps && steps->last > in.keep_steps) trace_.emplace(*steps, in.program);
}

RunMetrics::~RunMetrics() {
  try {
    write_trace();
  } catch (const std::exception&) {  // already failing: the first failure is reported
  }
}

void RunMetrics::write(const nlohmann::ordered_json& event) {
  jsonl_.write(event);
  if (tensorboard_) tensorboard_->write(event);
  // The last traced step may itself be reported before every worker has recorded the end of its
  // update.
  if (trace_ && trace_->whole() && event.value("event", "") == "step" &&
      event.at("step").get<std::int64_t>() > trace_->steps().last)
    write_trace();
}

void RunMetrics::write_trace() {
  if (!trace_ || trace_is_written_ || trace_->empty()) return;
  trace_is_written_ = true;
  write_file(folder_ / "trace.json", trace_->text());
}

void RunMetrics::flush() const {
  jsonl_.flush();
  if (tensorboard_) tensorboard_->flush();
}

void RunMetrics::close() {
  write_trace();
  jsonl_.close();
  if (tensorboard_) tensorboard_->close();
}

}  // namespace pipetrain
