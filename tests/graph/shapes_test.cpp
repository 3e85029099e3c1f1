// The shape rules by values worked out by hand, most of them PyTorch's.
#include "graph/shapes.hpp"

#include "catch.hpp"
#include "graph/graph.hpp"
#include "graphs.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::string output(const LayerSpec& spec, std::vector<Shape> inputs) {
  const auto result = shape_rule(spec, inputs);
  if (const auto* misfit = std::get_if<Misfit>(&result)) return misfit->why;
  return std::get<LayerFacts>(result).output.text();
}

const Shape kImage{{3, 7, 10}};

}  // namespace

TEST_CASE("convolution and pooling round down") {
  CHECK(output(Conv2d{.out_channels = 5, .kernel = {3, 3}, .stride = {2, 2}}, {kImage}) ==
        "[5, 3, 4]");
  CHECK(output(Conv2d{.out_channels = 5, .kernel = {3, 4}, .stride = {2, 2}, .padding = {1, 1}},
               {kImage}) == "[5, 4, 5]");
  CHECK(output(MaxPool{.kernel = {2, 2}, .stride = {2, 2}}, {kImage}) == "[3, 3, 5]");
  CHECK(output(AvgPool{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, {kImage}) ==
        "[3, 4, 5]");
  CHECK(output(MaxPool{.kernel = {7, 10}, .stride = {1, 1}}, {kImage}) == "[3, 1, 1]");
}

TEST_CASE("a kernel may fill the padded input and no more") {
  CHECK(output(Conv2d{.out_channels = 1, .kernel = {9, 12}, .padding = {1, 1}}, {kImage}) ==
        "[1, 1, 1]");
  CHECK(output(Conv2d{.out_channels = 1, .kernel = {10, 12}, .padding = {1, 1}}, {kImage})
            .starts_with("its kernel of 10 is larger than the padded height of 9"));
  CHECK(output(MaxPool{.kernel = {1, 11}, .stride = {1, 1}}, {kImage})
            .starts_with("its kernel of 11 is larger than the padded width of 10"));
  CHECK(output(MaxPool{.kernel = {2, 2}, .stride = {2, 2}, .padding = {2, 2}}, {kImage})
            .starts_with("its padding of 2 is more than half its kernel of 2"));
}

TEST_CASE("groups divide both channel counts") {
  const auto grouped = [](std::int64_t out, std::int64_t groups) {
    return Conv2d{.out_channels = out, .kernel = {1, 1}, .groups = groups};
  };
  CHECK(output(grouped(6, 3), {kImage}) == "[6, 7, 10]");
  CHECK(facts(grouped(6, 3), {kImage}).parameters[0].shape.text() == "[6, 1, 1, 1]");
  CHECK(output(grouped(6, 2), {kImage}).starts_with("its 3 input and 6 output channels"));
  CHECK(output(grouped(4, 3), {kImage}).starts_with("its 3 input and 4 output channels"));
}

TEST_CASE("shapes of the other layers") {
  CHECK(output(Flatten{}, {kImage}) == "[210]");
  CHECK(output(Flatten{}, {Shape{{5}}}) == "[5]");
  CHECK(output(GlobalAvgPool{}, {kImage}) == "[3, 1, 1]");
  CHECK(output(BatchNorm{}, {kImage}) == "[3, 7, 10]");
  CHECK(output(BatchNorm{}, {Shape{{5}}}) == "[5]");
  CHECK(facts(BatchNorm{}, {kImage}).parameters[1].shape.text() == "[3]");
  CHECK(output(Linear{.out_features = 2}, {Shape{{5}}}) == "[2]");
  CHECK(facts(Linear{.out_features = 2, .bias = false}, {Shape{{5}}}).flops == 20);
  CHECK(output(Dropout{}, {kImage}) == "[3, 7, 10]");
  CHECK(output(Add{}, {kImage, kImage, kImage}) == "[3, 7, 10]");
  CHECK(facts(Add{}, {kImage, kImage, kImage}).flops == 420);
}

TEST_CASE("sequences: the layers of a language model") {
  const Shape tokens{{64}, 256}, vectors{{64, 12}};
  CHECK(tokens.text() == "[64] tokens of 256");
  CHECK(output(Embedding{.embedding_dim = 12}, {tokens}) == "[64, 12]");
  CHECK(facts(Embedding{.embedding_dim = 12}, {tokens}).parameters[0].shape.text() == "[256, 12]");
  CHECK(facts(Embedding{.embedding_dim = 12}, {tokens}).flops == 0);
  CHECK(facts(Embedding{.embedding_dim = 12, .scale = 2}, {tokens}).flops == 64 * 12);
  CHECK(output(Identity{}, {tokens}) == "[64] tokens of 256");
  CHECK(output(Narrow{.start = 24, .length = 40}, {tokens}) == "[40] tokens of 256");
  CHECK(facts(Narrow{.start = 24, .length = 40}, {tokens}).flops == 0);
  CHECK(output(Linear{.out_features = 36}, {vectors}) == "[64, 36]");
  CHECK(facts(Linear{.out_features = 36}, {vectors}).flops == 64 * 36 * (2 * 12 + 1));
  CHECK(facts(Linear{.out_features = 36}, {vectors}).parameters[0].shape.text() == "[36, 12]");
  CHECK(output(LayerNorm{}, {vectors}) == "[64, 12]");
  CHECK(facts(LayerNorm{}, {vectors}).parameters[1].shape.text() == "[12]");
  CHECK(facts(LayerNorm{.bias = false}, {vectors}).parameters.size() == 1);
  CHECK(output(Gelu{}, {vectors}) == "[64, 12]");
  CHECK(facts(LearnedPositions{}, {vectors}).parameters[0].shape.text() == "[64, 12]");
  CHECK(output(SinusoidalPositions{}, {vectors}) == "[64, 12]");
  CHECK(output(Attention{.heads = 2}, {vectors}) == "[64, 4]");
  CHECK(facts(Attention{.heads = 2}, {vectors}).flops == 64 * 64 * (4 * 4 + 5 * 2));
  CHECK(facts(Attention{.heads = 2, .causal = true}, {vectors}).flops == 32 * 64 * (4 * 4 + 5 * 2));
  CHECK(output(Concat{}, {vectors, Shape{{64, 3}}}) == "[64, 15]");
  CHECK(output(Concat{}, {kImage, Shape{{2, 7, 10}}, kImage}) == "[8, 7, 10]");
  CHECK(output(Concat{}, {Shape{{3}}, Shape{{4}}}) == "[7]");
}

TEST_CASE("attention of one value or of two, and padding") {
  const Shape qkv{{64, 12}}, q{{64, 4}}, kv{{5, 8}}, tokens{{64}, 256}, few{{5}, 9};
  const Attention heads{.heads = 2}, padded{.heads = 2, .padding = 0};
  CHECK(output(heads, {q, kv}) == "[64, 4]");
  CHECK(facts(heads, {q, kv}).flops == 64 * 5 * (4 * 4 + 5 * 2));
  CHECK(output(padded, {qkv, tokens}) == "[64, 4]");
  CHECK(facts(padded, {qkv, tokens}).flops == 64 * 64 * (4 * 4 + 5 * 2));
  CHECK(output(padded, {q, kv, few}) == "[64, 4]");
  CHECK(output(Attention{.causal = true, .padding = 255}, {qkv, tokens}) == "[64, 4]");
  CHECK(output(heads, {Shape{{3, 6}}}) == "[3, 2]");
}

TEST_CASE("attention says what its inputs should be") {
  const Shape qkv{{64, 12}}, q{{64, 4}}, kv{{5, 8}}, tokens{{64}, 256}, few{{5}, 9};
  const Attention plain, padded{.padding = 0};
  const auto says = [](const Attention& spec, std::vector<Shape> inputs, const char* words) {
    const std::string why = output(spec, std::move(inputs));
    INFO(why);
    CHECK(why.find(words) != std::string::npos);
  };
  says(plain, {qkv, tokens}, "it has tokens but no padding; write padding = TOKEN");
  says(padded, {qkv}, "with padding = 0 it needs the keys' tokens too; name them last");
  says(padded, {q, kv}, "name them last in inputs");
  says(padded, {tokens}, "put an embedding layer before it");
  says(padded, {tokens, tokens}, "put an embedding layer before it");
  says(padded, {tokens, qkv}, "once, as its last input");
  says(padded, {qkv, tokens, tokens}, "once, as its last input");
  says(padded, {qkv, few}, "there are keys of 64 positions, but 5 tokens");
  says(padded, {q, kv, tokens}, "there are keys of 5 positions, but 64 tokens");
  says(padded, {qkv, Shape{{8, 8}, 9}}, "but 64 tokens");
  says(Attention{.padding = 9}, {q, kv, few}, "padding = 9 is not one of the 9 tokens (0 to 8)");
  says(Attention{.causal = true}, {q, kv}, "causal = true is for the positions of one sequence");
  says(plain, {q, qkv}, "queries [T, C] and [S, 2C]");
  says(plain, {q, Shape{{8}}}, "queries [T, C] and [S, 2C]");
  says(plain, {kImage, kv}, "queries [T, C] and [S, 2C]");
  says(plain, {q, kv, kv}, "or two (queries; keys and values), not 3");
  says(Attention{.heads = 3}, {q, kv}, "its width of 4 is not divisible by heads = 3");
  says(plain, {Shape{{2000000, 4}}, Shape{{1000000000, 8}}}, "too large for any machine");
}

TEST_CASE("a layer that does not fit a sequence says what would") {
  const Shape tokens{{64}, 256}, vectors{{64, 12}};
  const auto says = [](const std::string& why, const char* words) {
    return why.find(words) != std::string::npos;
  };
  CHECK(says(output(Linear{.out_features = 2}, {tokens}), "put an embedding layer"));
  CHECK(says(output(Add{}, {tokens, tokens}), "put an embedding layer"));
  CHECK(says(output(Embedding{.embedding_dim = 2}, {vectors}), "it needs tokens"));
  CHECK(says(output(Narrow{.start = 0, .length = 2}, {vectors}), "it needs tokens"));
  CHECK(says(output(Narrow{.start = 25, .length = 40}, {tokens}), "there are no tokens 25 to 64"));
  CHECK(says(output(Attention{.heads = 3}, {vectors}), "not divisible by heads = 3"));
  CHECK(says(output(Attention{}, {Shape{{64, 13}}}), "side by side"));
  CHECK(says(output(LearnedPositions{}, {kImage}), "[T, C]"));
  CHECK(says(output(BatchNorm{}, {vectors}), "use a layer_norm"));
  CHECK(says(output(LayerNorm{}, {kImage}), "use a batch_norm"));
  CHECK(says(output(Concat{}, {vectors, Shape{{63, 12}}}), "all but the last dimension"));
  CHECK(says(output(Concat{}, {kImage, Shape{{3, 7, 9}}}), "all but the channels"));
  CHECK(says(output(Concat{}, {kImage, vectors}), "all but the channels"));
}

TEST_CASE("a layer that does not fit its input says what would") {
  CHECK(output(Linear{.out_features = 2}, {kImage}).find("add a flatten") != std::string::npos);
  CHECK(output(Conv2d{.out_channels = 1, .kernel = {1, 1}}, {Shape{{5}}}).find("[C, H, W]") !=
        std::string::npos);
  CHECK(output(GlobalAvgPool{}, {Shape{{5}}}).find("[C, H, W]") != std::string::npos);
  CHECK(output(Add{}, {kImage}).find("two inputs") != std::string::npos);
  CHECK(output(Add{}, {kImage, Shape{{210}}}).find("must be equal") != std::string::npos);
  CHECK(output(Relu{}, {kImage, kImage}).find("one input, not 2") != std::string::npos);
}

TEST_CASE("sizes beyond any machine are refused before they overflow") {
  const std::int64_t huge = 2147483647;
  CHECK(output(Linear{.out_features = huge}, {Shape{{huge}}}).find("too large") !=
        std::string::npos);
  CHECK(output(Conv2d{.out_channels = huge, .kernel = {1, 1}, .padding = {huge, huge}}, {kImage})
            .find("too large") != std::string::npos);
}

TEST_CASE("initial bounds are Kaiming's, by fan-in") {
  const auto conv = facts(Conv2d{.out_channels = 6, .kernel = {2, 2}, .groups = 3}, {kImage});
  CHECK(std::get<Uniform>(conv.parameters[0].initial).bound == Approx(0.5));
  CHECK(std::get<Uniform>(conv.parameters[1].initial).bound == Approx(0.5));
}
