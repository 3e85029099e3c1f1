#include "report/trace_slices.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/bytes_text.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"

namespace pipetrain {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestTrace = std::uint64_t{24} << 20;
constexpr std::int64_t kMostStages = 4096;
constexpr std::size_t kMostSlices = 6000;  // per step: what a page can show

// A category of the trace, by its first words; all others are bookkeeping.
std::optional<SliceKind> kind_of(const std::string& category) {
  if (category.starts_with("waiting")) return SliceKind::Waiting;
  if (category.starts_with("forward")) return SliceKind::Forward;
  if (category.starts_with("backward") || category.starts_with("recompute"))
    return SliceKind::Backward;
  if (category.starts_with("update")) return SliceKind::Update;
  if (category.starts_with("send") || category.starts_with("receive")) return SliceKind::Transfer;
  return std::nullopt;
}

std::optional<TraceSlice> slice_of(const json& event) {
  if (!event.is_object() || event.value("ph", "") != "X") return std::nullopt;
  const auto kind = kind_of(event.value("cat", ""));
  const auto args = event.find("args");
  const auto stage = event.value("pid", std::int64_t{0});
  if (!kind || args == event.end() || !args->is_object()) return std::nullopt;
  if (stage < 0 || stage >= kMostStages) return std::nullopt;  // of another program's trace
  TraceSlice slice{.stage = static_cast<int>(stage),
                   .kind = *kind,
                   .name = printable(event.value("name", "")),
                   .step = args->value("step", std::int64_t{0}),
                   .begin = event.value("ts", 0.0),
                   .length = event.value("dur", 0.0)};
  if (args->contains("version")) slice.version = args->value("version", std::int64_t{0});
  return slice;
}

// The last step to show, counting from the first one.
std::int64_t last_shown(const std::map<std::int64_t, std::size_t>& slices_of_step,
                        std::size_t most) {
  std::size_t count = 0;
  std::int64_t last = slices_of_step.begin()->first;
  for (const auto& [step, slices] : slices_of_step) {
    count += slices;
    if (step != slices_of_step.begin()->first && count > most) break;
    last = step;
  }
  return last;
}

}  // namespace

TraceSlices read_trace(const std::filesystem::path& file, std::size_t most) try {
  TraceSlices trace;
  if (!is_there(file)) {
    trace.problem =
        "This run recorded no steps: metrics.trace_steps = [10, 12] in its config would show them "
        "here.";
    return trace;
  }
  if (const std::uint64_t bytes = InputFile(file).size(); bytes > kLargestTrace) {
    trace.problem = fmt::format(
        "trace.json takes {}, too much for this page: open it at ui.perfetto.dev, or record fewer "
        "steps (metrics.trace_steps).",
        bytes_text(bytes));
    return trace;
  }
  const json read = json::parse(read_whole_file(file), nullptr, false);
  const auto events = read.is_object() ? read.find("traceEvents") : read.end();
  std::map<std::int64_t, std::size_t> slices_of_step;
  if (read.is_object() && events != read.end() && events->is_array())
    for (const json& event : *events)
      if (auto slice = slice_of(event)) {
        ++slices_of_step[slice->step];
        trace.slices.push_back(std::move(*slice));
      }
  if (slices_of_step.empty()) {
    trace.problem =
        "trace.json has no steps: this run trained none of those that metrics.trace_steps names.";
    return trace;
  }
  trace.first_step = slices_of_step.begin()->first;
  trace.last_step = last_shown(slices_of_step, most);
  std::erase_if(trace.slices,
                [&](const TraceSlice& slice) { return slice.step > trace.last_step; });
  if (trace.slices.size() > kMostSlices) {
    trace.problem = fmt::format(
        "Step {} has {} parts, too many for this page: open trace.json at ui.perfetto.dev.",
        trace.first_step, trace.slices.size());
    trace.slices.clear();
  }
  return trace;
} catch (const json::exception&) {
  return {.slices = {}, .problem = "trace.json is damaged, or pipetrain did not write it."};
} catch (const CannotRead& error) {
  return {.slices = {}, .problem = "trace.json cannot be read: " + error.why() + "."};
}

}  // namespace pipetrain
