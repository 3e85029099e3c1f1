// glyphs and synthetic: what is drawn, not read.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/rng.hpp"
#include "catch.hpp"
#include "data/image/glyph_draw.hpp"
#include "data/image/glyph_strokes.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

const Graph lenet = model({{1, 28, 28}}, {{10}});

DataConfig drawn(const std::string& kind, std::int64_t train, std::int64_t validation) {
  DataConfig config;
  config.kind = word_named<DataKind>(kind).value();
  config.batch_size = 1;
  config.train_samples = train;
  config.validation_samples = validation;
  return config;
}

}  // namespace

TEST_CASE("glyphs: a sample is a function of seed, part and index", "[glyphs]") {
  const Datasets a = open_datasets(drawn("glyphs", 40, 40), lenet, 7);
  const Datasets longer = open_datasets(drawn("glyphs", 60, 50), lenet, 7);
  const Datasets other = open_datasets(drawn("glyphs", 40, 40), lenet, 8);
  CHECK(a.train->size() == 40);
  CHECK(a.train->classes() == 10);
  CHECK(a.train->input_shape() == Shape{{1, 28, 28}});
  for (std::int64_t i = 0; i < 40; ++i) {
    CHECK(sample(*a.train, i) == sample(*longer.train, i));
    CHECK(sample(*a.validation, i) == sample(*longer.validation, i));
    CHECK(sample(*a.train, i).input != sample(*other.train, i).input);
    CHECK(sample(*a.train, i).target_class == i % 10);
  }
}

TEST_CASE("glyphs: no image comes twice, within or between the parts", "[glyphs]") {
  const Datasets data = open_datasets(drawn("glyphs", 1000, 500), lenet, 1);
  std::set<std::vector<float>> seen;
  for (std::int64_t i = 0; i < 1000; ++i) seen.insert(sample(*data.train, i).input);
  for (std::int64_t i = 0; i < 500; ++i) seen.insert(sample(*data.validation, i).input);
  CHECK(seen.size() == 1500);
}

TEST_CASE("glyphs: pixels are in [0, 1], with ink in the middle and little at the rim",
          "[glyphs]") {
  const Datasets data = open_datasets(drawn("glyphs", 500, 0), lenet, 1);
  CHECK(data.validation == nullptr);
  double middle = 0, rim = 0;
  for (std::int64_t i = 0; i < 500; ++i) {
    const ReadSample s = sample(*data.train, i);
    CHECK(std::all_of(s.input.begin(), s.input.end(), [](float x) { return x >= 0 && x <= 1; }));
    CHECK(*std::max_element(s.input.begin(), s.input.end()) > 0.5f);
    for (std::size_t k = 0; k < 28; ++k) {
      rim += s.input[k] / (500 * 28);
      middle += s.input[14 * 28 + k] / (500 * 28);
    }
  }
  CHECK(middle > 2.5 * rim);
}

TEST_CASE("glyphs: every way to write a digit stays within its box and has a stroke", "[glyphs]") {
  for (int digit = 0; digit < 10; ++digit) {
    REQUIRE(!glyph_shapes(digit).empty());
    for (const auto& strokes : glyph_shapes(digit)) {
      REQUIRE(!strokes.empty());
      for (const Stroke& stroke : strokes) {
        CHECK(stroke.size() >= 2);
        for (const Point p : stroke) {
          CHECK(std::abs(p.x) <= 0.7);
          CHECK(std::abs(p.y) <= 1.01);
        }
      }
    }
  }
}

TEST_CASE("glyphs: the same digit looks more like itself than like the others", "[glyphs]") {
  // Means over many drawings: each fresh mean must be nearest to its own digit's.
  const auto mean = [](int digit, std::uint64_t stream) {
    std::vector<double> sum(glyph_side * glyph_side);
    for (std::uint64_t i = 0; i < 200; ++i) {
      Random random(stream, i);
      const GlyphImage image = draw_glyph(digit, random);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += image[k] / (255.0 * 200);
    }
    return sum;
  };
  std::vector<std::vector<double>> means;
  for (int digit = 0; digit < 10; ++digit) means.push_back(mean(digit, 1));
  for (int digit = 0; digit < 10; ++digit) {
    const auto fresh = mean(digit, 2);
    std::vector<double> distance;
    for (const auto& m : means) {
      double square = 0;
      for (std::size_t k = 0; k < m.size(); ++k) square += (m[k] - fresh[k]) * (m[k] - fresh[k]);
      distance.push_back(square);
    }
    CHECK(std::min_element(distance.begin(), distance.end()) - distance.begin() == digit);
  }
}

TEST_CASE("glyphs: what does not fit the model is refused with both sides", "[glyphs]") {
  const auto refusal = [](const DataConfig& config, const Graph& graph) {
    return message_of<UsageError>([&] { open_datasets(config, graph, 1); });
  };
  const DataConfig config = drawn("glyphs", 10, 10);
  CHECK(contains(refusal(config, model({{3, 32, 32}}, {{10}})), "[1, 28, 28]"));
  CHECK(contains(refusal(config, model({{3, 32, 32}}, {{10}})), "[3, 32, 32]"));
  CHECK(contains(refusal(config, model({{1, 28, 28}}, {{7}})), "10 classes, but the model has 7"));
  CHECK(contains(refusal(config, model({{1, 28, 28}}, {{10}}, Loss::Mse)), "mse"));
  CHECK(contains(refusal(drawn("glyphs", 0, 10), lenet), "data.train_samples = 0"));
  CHECK(contains(refusal(drawn("glyphs", 10, -1), lenet), "data.validation_samples = -1"));
}

TEST_CASE("synthetic: shapes and classes are the model's, numbers the seed's", "[synthetic]") {
  const Graph graph = model({{2, 3}}, {{5}});
  const Datasets a = open_datasets(drawn("synthetic", 400, 100), graph, 3);
  const Datasets same = open_datasets(drawn("synthetic", 400, 100), graph, 3);
  const Datasets other = open_datasets(drawn("synthetic", 400, 100), graph, 4);
  CHECK(a.train->classes() == 5);
  CHECK(a.train->input_shape() == Shape{{2, 3}});
  std::set<std::int32_t> classes;
  for (std::int64_t i = 0; i < 400; ++i) {
    const ReadSample s = sample(*a.train, i);
    CHECK(s == sample(*same.train, i));
    CHECK(s.input != sample(*other.train, i).input);
    classes.insert(s.target_class);
  }
  CHECK(classes == std::set<std::int32_t>{0, 1, 2, 3, 4});
  CHECK(sample(*a.train, 0).input != sample(*a.train, 1).input);
  CHECK(sample(*a.train, 0).input != sample(*a.validation, 0).input);
}

TEST_CASE("synthetic: float targets under mse, and more samples than memory would hold",
          "[synthetic]") {
  const Graph graph = model({{4}}, {{3, 2}}, Loss::Mse);
  const Datasets data = open_datasets(drawn("synthetic", std::int64_t{1} << 40, 1), graph, 3);
  CHECK(data.train->size() == std::int64_t{1} << 40);
  CHECK(data.train->classes() == 0);
  CHECK(data.train->target_shape() == Shape{{3, 2}});
  const ReadSample s = sample(*data.train, (std::int64_t{1} << 40) - 1);
  CHECK(s.values.size() == 6);
  CHECK(std::all_of(s.values.begin(), s.values.end(), [](float v) { return std::abs(v) < 7; }));
  CHECK(s.values != sample(*data.train, 5).values);
}

TEST_CASE("mini-batches that are too large", "[open]") {
  const auto refusal = [](const DataConfig& config) {
    return message_of<UsageError>([&] { open_datasets(config, lenet, 1); });
  };
  DataConfig config = drawn("glyphs", 10, 0);
  config.batch_size = 11;
  CHECK(contains(refusal(config), "data.batch_size = 11 is more than the 10 training samples"));
  config.train_range = SampleRange{0, 4};
  config.batch_size = 5;
  CHECK(contains(refusal(config), "4 training samples"));
  config.drop_last = false;
  CHECK(open_datasets(config, lenet, 1).train->size() == 4);
  config.batch_size = 0;
  CHECK(contains(refusal(config), "data.batch_size = 0"));
}
