#include "random_model.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <vector>

#include "base/rng.hpp"

namespace pipetrain::testing {
namespace {

// All values but the input have the shape [3, 5, 5].
class Sketch {
 public:
  Sketch(std::uint64_t seed, const RandomModelOptions& options)
      : random_(seed, "random model"), options_(options) {}

  std::string text() {
    convolution("input");
    for (int i = 1; i < options_.layers; ++i) any_layer();
    gather();
    add("mean", R"(kind = "global_avg_pool")", {names_.back()});
    add("flat", R"(kind = "flatten")", {"mean"});
    add("fc", R"(kind = "linear", out_features = 4)", {"flat"});
    if (random_.below(4) == 0) add("end", R"(kind = "identity")", {"fc"});
    return fmt::format("input = {{ shape = [2, 5, 5] }}\nlayers = [\n{}]\n", lines_);
  }

 private:
  void add(const std::string& name, const std::string& what,
           const std::vector<std::string>& inputs) {
    lines_ += fmt::format("  {{ name = \"{}\", {}, inputs = [\"{}\"] }},\n", name, what,
                          fmt::join(inputs, "\", \""));
    for (const std::string& input : inputs) std::erase(unread_, input);
    names_.push_back(name);
    unread_.push_back(name);
  }
  std::string next_name() const { return fmt::format("l{}", names_.size()); }
  std::string pick() {
    // Often the newest, else any: chains, and skips over them.
    return random_.below(2) == 0 ? names_.back() : names_[random_.below(names_.size())];
  }
  void convolution(const std::string& input) {
    add(next_name(),
        fmt::format(R"(kind = "conv2d", out_channels = 3, kernel = 3, padding = 1, bias = {})",
                    random_.below(2) == 0),
        {input});
  }
  void any_layer() {
    switch (random_.below(options_.batch_norm ? 9 : 8)) {
      case 0:
        return convolution(pick());
      case 1:
        return convolution("input");
      case 2:
        return add(next_name(), R"(kind = "relu")", {pick()});
      case 3:
        return add(next_name(), R"(kind = "identity")", {pick()});
      case 4:
        return add(next_name(), R"(kind = "dropout", p = 0.3)", {pick()});
      case 5:
        return add(next_name(), R"(kind = "max_pool", kernel = 3, stride = 1, padding = 1)",
                   {pick()});
      case 8:
        return add(next_name(), R"(kind = "batch_norm")", {pick()});
      default: {
        const std::string a = pick(), b = pick();
        if (a != b) return add(next_name(), R"(kind = "add")", {a, b});
        return add(next_name(), R"(kind = "relu")", {a});
      }
    }
  }
  // Whatever nothing reads is summed.
  void gather() {
    if (unread_.size() > 1) add("sum", R"(kind = "add")", std::vector(unread_));
  }

  Random random_;
  RandomModelOptions options_;
  std::string lines_;
  std::vector<std::string> names_, unread_;
};

}  // namespace

std::string random_model(std::uint64_t seed, const RandomModelOptions& options) {
  return Sketch(seed, options).text();
}

}  // namespace pipetrain::testing
