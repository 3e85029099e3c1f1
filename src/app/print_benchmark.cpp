#include "app/print_benchmark.hpp"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/bytes_text.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

// Nothing is validated here: this is what a training with the same config would hold in validation.
std::string validation_text(std::size_t bytes) {
  return bytes > 0 ? fmt::format("; validation {}", bytes_text(bytes)) : "";
}

// Per step, as counted; also as predicted, should that ever differ.
void print_communication(const ordered_json& c) {
  const auto steps = c["steps"].get<double>();
  const auto of = [&](const char* which, const char* what) {
    return c[which][what].get<double>() / steps;
  };
  const auto sent = [&](const char* which) {
    const double messages = of(which, "messages");
    return fmt::format("{} in {:.4g} {}", bytes_text(static_cast<std::size_t>(of(which, "bytes"))),
                       messages, messages == 1 ? "message" : "messages");
  };
  const std::string counted = sent("counted"), predicted = sent("predicted");
  fmt::print("  sends {} a step{}{}\n", counted,
             counted == predicted ? "" : fmt::format(" (predicted {})", predicted),
             c["counted"].contains("link_seconds")
                 ? fmt::format("; {:.3f} ms on links", 1e3 * of("counted", "link_seconds"))
                 : "");
}

}  // namespace

void print_benchmark_header() {
  fmt::print("\n{:28} {:>10} {:>10} {:>10} {:>9} {:>7} {:>8}\n", "", "samples/s", "ms median",
             "ms min", "GFLOP/s", "peak", "bubble");
}

void print_benchmark(const nlohmann::ordered_json& r) {
  fmt::print("{:28} {:>10.0f} {:>10.3f} {:>10.3f} {:>9.1f} {:>6.1f}% {:>7.1f}%\n",
             r["config"].get<std::string>(), r["samples_per_second"].get<double>(),
             r["step_ms_median"].get<double>(), r["step_ms_min"].get<double>(),
             r["gflops"].get<double>(), 100 * r["share_of_peak"].get<double>(),
             100 * r["bubble"].get<double>());
  if (r.contains("step_ms_predicted"))
    fmt::print("  predicted {:>.3f} ms a step, bubble {:.1f}%\n",
               r["step_ms_predicted"].get<double>(), 100 * r["bubble_predicted"].get<double>());
  if (r.contains("communication")) print_communication(r["communication"]);
  int stage = 0;
  for (const ordered_json& s : r["stages"])
    fmt::print("  stage {:<3} busy {:>4.0f}%  waiting {:>4.0f}%  memory {} (predicted {}){}\n",
               stage++, 100 * s["busy"].get<double>(), 100 * s["waiting"].get<double>(),
               bytes_text(s["memory_bytes_measured"].get<std::size_t>()),
               bytes_text(s["memory_bytes_predicted"].get<std::size_t>()),
               validation_text(s["validation_memory_bytes"].get<std::size_t>()));
}

}  // namespace pipetrain
