#include "run/run_end.hpp"

#include <spdlog/fmt/fmt.h>

#include "checkpoint/folder.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

// "validation loss 0.0205, accuracy 99.30%"
std::string validation_text(const ordered_json& v) {
  std::string text = fmt::format("validation loss {:.4f}", v["loss"].get<double>());
  if (v.contains("perplexity") && v["perplexity"].is_number())
    text += fmt::format(", perplexity {:.4g}", v["perplexity"].get<double>());
  if (v.contains("accuracy"))
    text += fmt::format(", accuracy {:.2f}%", 100 * v["accuracy"].get<double>());
  if (v.contains("bleu")) text += fmt::format(", BLEU {:.2f}", v["bleu"].get<double>());
  return text;
}

std::string model_line(std::string_view which, std::int64_t step, const ordered_json* validation,
                       const std::string& path) {
  return fmt::format("{:8} step {}{}  {}\n", which, step,
                     validation ? ": " + validation_text(*validation) : "", path);
}

}  // namespace

std::string end_text(const ordered_json& end, const std::filesystem::path& run) {
  const auto step = end["step"].get<std::int64_t>();
  std::string text =
      fmt::format("trained {} steps in {:.1f} s", step, end["seconds"].get<double>());
  if (end.value("stopped_by", "") == "early_stopping") text += "; stopped early";
  if (const auto skipped = end.value("skipped", std::int64_t{0}); skipped > 0)
    text += fmt::format("; {} updates skipped: gradients not finite", skipped);
  if (end.contains("step_ms_predicted") && end.contains("step_ms_median"))
    text += fmt::format("; {:.3g} ms a step, {:.3g} predicted", end["step_ms_median"].get<double>(),
                        end["step_ms_predicted"].get<double>());
  text += "\n";
  const auto find = [&](const char* key) { return end.contains(key) ? &end[key] : nullptr; };
  const ordered_json* const best = find("best_validation");
  const bool last_is_best = best && (*best)["step"] == step;
  text += model_line("last", step, find("validation"),
                     (run / "model.safetensors").string() + (last_is_best ? "  (the best)" : ""));
  if (best && !last_is_best)
    text += model_line("best", (*best)["step"], best,
                       end.value("best_checkpoint", "(this run's folder has no checkpoint of it)"));
  return text + fmt::format("{:8} {}\n{:8} {}", "metrics", (run / "metrics.jsonl").string(),
                            "report", (run / "report.html").string());
}

std::string interrupted_text(const ordered_json& end, const std::filesystem::path& run) {
  const auto step = end["step"].get<std::int64_t>();
  return fmt::format("stopped by {} after step {}\ncheckpoint  {}\nRun the same command to resume.",
                     end["stopped_by"].get<std::string>(), step,
                     (run / "checkpoints" / checkpoint_name(step)).string());
}

}  // namespace pipetrain
