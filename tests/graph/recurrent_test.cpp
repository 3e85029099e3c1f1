// The layers of recurrent translation: what their keys read into, their shapes and parameters by
// values worked out by hand, and what they say about inputs that do not fit.
#include <cmath>

#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "graph/shapes.hpp"
#include "graphs.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

void says(const LayerSpec& spec, std::vector<Shape> inputs, const char* words) {
  const auto result = shape_rule(spec, inputs);
  const auto* misfit = std::get_if<Misfit>(&result);
  const std::string why = misfit ? misfit->why : "it fits";
  INFO(why);
  CHECK(why.find(words) != std::string::npos);
}

std::string names(const LayerFacts& facts) {
  std::string all;
  for (const Parameter& p : facts.parameters) all += p.name + p.shape.text() + " ";
  return all;
}

const Shape kRows{{7, 5}}, kTokens{{7}, 9};

}  // namespace

TEST_CASE("lstm: PyTorch's shapes, parameters and bounds") {
  const LayerFacts one = facts(Lstm{.hidden_size = 4}, {kRows});
  CHECK(one.output.text() == "[7, 4]");
  CHECK(names(one) == "weight_ih_l0[16, 5] weight_hh_l0[16, 4] bias_ih_l0[16] bias_hh_l0[16] ");
  for (const Parameter& p : one.parameters) CHECK(std::get<Uniform>(p.initial).bound == 0.5);
  CHECK(one.flops == 7 * 4 * (8 * (5 + 4) + 25));
  CHECK(names(facts(Lstm{.hidden_size = 4, .reverse = true}, {kRows})) == names(one));

  const LayerFacts both = facts(
      Lstm{.hidden_size = 4, .bidirectional = true, .bias = false, .padding = 8}, {kRows, kTokens});
  CHECK(both.output.text() == "[7, 8]");
  CHECK(names(both) ==
        "weight_ih_l0[16, 5] weight_hh_l0[16, 4] weight_ih_l0_reverse[16, 5] "
        "weight_hh_l0_reverse[16, 4] ");
  CHECK(both.flops == 2 * one.flops);
}

TEST_CASE("lstm says what its inputs should be") {
  const Lstm plain{.hidden_size = 4}, padded{.hidden_size = 4, .padding = 0};
  says(Lstm{.hidden_size = 4, .reverse = true, .bidirectional = true}, {kRows},
       "leave one of them out");
  says(plain, {Shape{{5}}}, "it needs a [T, C] input");
  says(plain, {Shape{{3, 7, 5}}}, "it needs a [T, C] input");
  says(plain, {kTokens}, "put an embedding layer before it");
  says(plain, {kRows, kTokens}, "it has tokens but no padding");
  says(plain, {kRows, kRows}, "it takes one sequence");
  says(
      padded, {kRows},
      R"(it needs the sequence's tokens too; name them last in inputs, as in inputs = ["x", "tokens"])");
  says(padded, {kTokens, kRows}, "tokens once, as its last input");
  says(padded, {kRows, Shape{{6}, 9}}, "there are vectors of 7 positions, but 6 tokens");
  says(Lstm{.hidden_size = 4, .padding = 9}, {kRows, kTokens}, "not one of the 9 tokens (0 to 8)");
  says(Lstm{.hidden_size = 2147483647}, {kRows}, "too large for any machine");
}

TEST_CASE("additive_attention: shapes and parameters") {
  const Shape q{{3, 16}}, k{{7, 16}}, values{{7, 5}};
  const LayerFacts of = facts(AdditiveAttention{}, {q, k, values});
  CHECK(of.output.text() == "[3, 5]");
  CHECK(names(of) == "linear_att[16] normalize_scalar[1] normalize_bias[16] ");
  CHECK(std::get<Uniform>(of.parameters[0].initial).bound == 0.25);
  CHECK(std::get<Constant>(of.parameters[1].initial).value == 0.25);
  CHECK(std::get<Constant>(of.parameters[2].initial).value == 0);
  CHECK(of.flops == 3 * 7 * (10 * 16 + 2 * 5 + 5));
  CHECK(names(facts(AdditiveAttention{.normalize = false, .padding = 0},
                    {q, k, values, kTokens})) == "linear_att[16] ");
}

TEST_CASE("additive_attention says what its inputs should be") {
  const Shape q{{3, 16}}, k{{7, 16}}, values{{7, 5}};
  const AdditiveAttention plain, padded{.padding = 0};
  says(plain, {q, k}, "it needs queries [T, N], keys [S, N] and values [S, C]");
  says(plain, {q, k, Shape{{7}}}, "it needs queries [T, N]");
  says(plain, {q, kRows, values}, "its queries are 16 wide and its keys 5");
  says(plain, {q, k, Shape{{6, 5}}}, "there are keys of 7 positions, but values of 6");
  says(plain, {q, k, values, kTokens}, "it has tokens but no padding");
  says(padded, {q, k, values}, "with padding = 0 it needs the keys' tokens too");
  says(padded, {q, k, values, Shape{{3}, 9}}, "there are keys of 7 positions, but 3 tokens");
  says(AdditiveAttention{.padding = 9}, {q, k, values, kTokens}, "not one of the 9 tokens");
  says(plain, {kTokens}, "put an embedding layer before it");
}

TEST_CASE("lstm and additive_attention read their keys") {
  const auto read = [](const std::string& layer) {
    return read_model_text(
               "input = { tokens = 4, vocabulary = 9 }\n"
               "layers = [{ name = 'e', kind = 'embedding', embedding_dim = 6 }, { name = 'g', "
               "kind = 'gelu' }, { name = 'r', kind = 'relu', inputs = ['e'] }, { name = 'a', " +
                   layer + " }, { name = 'all', kind = 'concat', inputs = ['a', 'g', 'r'] }]",
               "m.toml")
        .layers[3]
        .spec;
  };
  CHECK(read("kind = 'lstm', hidden_size = 3") == LayerSpec(Lstm{.hidden_size = 3}));
  CHECK(read("kind = 'lstm', hidden_size = 3, reverse = true, bias = false") ==
        LayerSpec(Lstm{.hidden_size = 3, .reverse = true, .bias = false}));
  CHECK(read("kind = 'lstm', hidden_size = 3, bidirectional = true, padding = 8, inputs = ['e', "
             "'input']") == LayerSpec(Lstm{.hidden_size = 3, .bidirectional = true, .padding = 8}));
  CHECK(read("kind = 'additive_attention', inputs = ['e', 'g', 'r']") ==
        LayerSpec(AdditiveAttention{}));
  CHECK(read("kind = 'additive_attention', padding = 0, normalize = false, inputs = ['e', 'g', "
             "'r', 'input']") == LayerSpec(AdditiveAttention{.normalize = false, .padding = 0}));
}
