#include "graph/traits.hpp"

#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;

namespace {

Layer made_layer(LayerSpec spec, int inputs = 1) {
  Layer made{.name = "it",
             .spec = std::move(spec),
             .inputs = {},
             .output = {},
             .parameters = {},
             .buffers = {}};
  made.inputs.resize(static_cast<std::size_t>(inputs));
  return made;
}

std::vector<Reach> reaches(const LayerSpec& spec, int inputs) {
  std::vector<Reach> all;
  for (int i = 0; i < inputs; ++i) all.push_back(reach_of(made_layer(spec, inputs), i));
  return all;
}

using Reaches = std::vector<Reach>;

}  // namespace

TEST_CASE("layers over the last dimension and elementwise ones take each position on its own") {
  for (const LayerSpec& spec :
       {LayerSpec{Linear{}}, LayerSpec{Relu{}}, LayerSpec{Gelu{}}, LayerSpec{Dropout{}},
        LayerSpec{LayerNorm{}}, LayerSpec{Identity{}}, LayerSpec{Embedding{}}, LayerSpec{Narrow{}}})
    CHECK(reaches(spec, 1) == Reaches{Reach::Own});
  CHECK(reaches(Add{}, 2) == Reaches{Reach::Own, Reach::Own});
  CHECK(reaches(Concat{}, 2) == Reaches{Reach::Own, Reach::Own});
  CHECK(reaches(LearnedPositions{}, 1) == Reaches{Reach::Numbered});
  CHECK(reaches(SinusoidalPositions{}, 1) == Reaches{Reach::Numbered});
}

TEST_CASE("a layer that makes one value of many reads ahead") {
  for (const LayerSpec& spec :
       {LayerSpec{Conv2d{}}, LayerSpec{BatchNorm{}}, LayerSpec{MaxPool{}}, LayerSpec{AvgPool{}},
        LayerSpec{GlobalAvgPool{}}, LayerSpec{Flatten{}}})
    CHECK(reads_ahead(made_layer(spec)));
}

TEST_CASE(
    "attention reads ahead unless it is causal, and reads its queries at their own position") {
  CHECK(reaches(Attention{}, 1) == Reaches{Reach::All});
  CHECK(reaches(Attention{.causal = true}, 1) == Reaches{Reach::Before});
  CHECK(reaches(Attention{.causal = true, .padding = 0}, 2) ==
        Reaches{Reach::Before, Reach::Before});
  CHECK(reaches(Attention{.padding = 0}, 2) == Reaches{Reach::All, Reach::All});
  CHECK(reaches(Attention{}, 2) == Reaches{Reach::Own, Reach::All});
  CHECK(reaches(Attention{.padding = 0}, 3) == Reaches{Reach::Own, Reach::All, Reach::All});
  CHECK(reaches(AdditiveAttention{}, 3) == Reaches{Reach::Own, Reach::All, Reach::All});
}

TEST_CASE("an lstm reads ahead if it runs backwards, and carries a state if it has no padding") {
  CHECK_FALSE(reads_ahead(made_layer(Lstm{})));
  CHECK(reads_ahead(made_layer(Lstm{.reverse = true})));
  CHECK(reads_ahead(made_layer(Lstm{.bidirectional = true})));
  CHECK(reaches(Lstm{.padding = 0}, 2) == Reaches{Reach::Before, Reach::Before});
  CHECK(traits_of(Lstm{}).carries_state);
  CHECK_FALSE(traits_of(Lstm{.padding = 0}).carries_state);
  CHECK(traits_of(Lstm{.padding = 7}).padding == 7);
}
