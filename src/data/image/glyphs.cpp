// `glyphs`, the data set that needs no download: the ten digits as drawn by glyph_draw.cpp, 28x28.
// Sample i is of class i % 10 and a pure function of (seed, part, i); all are drawn at the start.
#include <spdlog/fmt/fmt.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "data/formats.hpp"
#include "data/image/glyph_draw.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

constexpr int digits = 10;

class Glyphs final : public Dataset {
 public:
  Glyphs(const DrawOptions& options, const Graph& graph)
      : shape_(graph.input), classes_(model_classes(graph)) {
    const std::uint64_t stream = hash_name("glyphs " + std::string(options.part));
    images_.reserve(options.samples);
    for (std::int64_t i = 0; i < options.samples; ++i) {
      Random random(options.seed, stream + static_cast<std::uint64_t>(i));
      images_.push_back(draw_glyph(static_cast<int>(i % digits), random));
    }
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(images_.size()); }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  const Shape& target_shape() const override { return no_target_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    if (float* input = to.input)
      for (const std::uint8_t byte : images_[which.index]) *input++ = byte / 255.0f;
    *to.classes = static_cast<std::int32_t>(which.index % digits);
  }

 private:
  Shape shape_, no_target_;
  int classes_;
  std::vector<GlyphImage> images_;
};

// Begins with the key, from which messages take the place to name.
constexpr std::string_view glyph_source = "data.kind = \"glyphs\"";

}  // namespace

std::unique_ptr<const Dataset> draw_glyphs(const DrawOptions& options, const Graph& graph) {
  require_class_loss(glyph_source, graph);
  const Shape shape = {{1, glyph_side, glyph_side}};
  if (graph.input != shape) refuse_input_shape(glyph_source, shape, graph);
  require_one_label(glyph_source, graph);
  if (model_classes(graph) < digits)
    throw UsageError(
        fmt::format("{}: there are {} classes, but the model has {} outputs; give its last layer "
                    "out_features = {}",
                    glyph_source, digits, model_classes(graph), digits));
  return std::make_unique<Glyphs>(options, graph);
}

}  // namespace pipetrain
