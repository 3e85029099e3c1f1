// The cases of language models' layers; part of layer_cases() and chain_cases().
#include "cases.hpp"
#include "graph/graph.hpp"

namespace pipetrain::testing {
namespace {

using Dims = std::vector<std::int64_t>;

Case one_layer(std::string name, Shape input, LayerSpec spec, Dims output, int samples,
               Mode mode = Mode::Train) {
  return {std::move(name),
          make_graph(std::move(input), {{"layer", std::move(spec), std::move(output)}}), samples,
          mode};
}
Case one_layer(std::string name, Dims input, LayerSpec spec, Dims output, int samples,
               Mode mode = Mode::Train) {
  return one_layer(std::move(name), Shape{std::move(input)}, std::move(spec), std::move(output),
                   samples, mode);
}

void row_cases(std::vector<Case>& cases) {
  const auto linear = [](std::int64_t out, bool bias = true) {
    return Linear{.out_features = out, .bias = bias};
  };
  cases.push_back(one_layer("linear of rows", Dims{3, 16}, linear(32), {3, 32}, 2));
  cases.push_back(one_layer("linear of rows, odd sizes", Dims{5, 13}, linear(7), {5, 7}, 3));
  cases.push_back(one_layer("linear of one row", Dims{1, 8}, linear(8), {1, 8}, 1));
  cases.push_back(
      one_layer("linear of rows without bias", Dims{7, 40}, linear(70, false), {7, 70}, 3));
  cases.push_back(
      one_layer("linear of rows evaluated", Dims{5, 13}, linear(7), {5, 7}, 3, Mode::Evaluate));
  cases.push_back(one_layer("linear of many rows", Dims{40, 48}, linear(80), {40, 80}, 4));
  cases.push_back(one_layer("linear of very many rows", Dims{300, 16}, linear(24), {300, 24}, 2));

  cases.push_back(one_layer("layer_norm of rows", Dims{5, 16}, LayerNorm{}, {5, 16}, 2));
  cases.push_back(one_layer("layer_norm of vectors", Dims{13}, LayerNorm{}, {13}, 3));
  cases.push_back(
      one_layer("layer_norm without bias", Dims{4, 35}, LayerNorm{.bias = false}, {4, 35}, 2));
  cases.push_back(
      one_layer("layer_norm own eps, one row", Dims{1, 7}, LayerNorm{.eps = 1e-2}, {1, 7}, 1));
  cases.push_back(one_layer("layer_norm of wide rows", Dims{3, 200}, LayerNorm{}, {3, 200}, 33));
  cases.push_back(
      one_layer("layer_norm evaluated", Dims{5, 19}, LayerNorm{}, {5, 19}, 2, Mode::Evaluate));
  for (const bool tanh : {false, true}) {
    const std::string name = tanh ? "gelu by tanh" : "gelu";
    cases.push_back(one_layer(name + " of rows", Dims{3, 21}, Gelu{tanh}, {3, 21}, 2));
    cases.push_back(one_layer(name + " of images", Dims{3, 4, 5}, Gelu{tanh}, {3, 4, 5}, 2));
    cases.push_back(one_layer(name + " evaluated", Dims{37}, Gelu{tanh}, {37}, 1, Mode::Evaluate));
  }
}

void position_cases(std::vector<Case>& cases) {
  cases.push_back(
      one_layer("embedding", token_sequence(6, 11), Embedding{.embedding_dim = 5}, {6, 5}, 3));
  cases.push_back(one_layer("embedding of one token", token_sequence(1, 3),
                            Embedding{.embedding_dim = 16}, {1, 16}, 1));
  cases.push_back(one_layer("embedding, tokens often", token_sequence(40, 2),
                            Embedding{.embedding_dim = 33}, {40, 33}, 4));
  cases.push_back(one_layer("embedding, scaled", token_sequence(9, 4),
                            Embedding{.embedding_dim = 21, .scale = 4.5}, {9, 21}, 2));
  cases.push_back(one_layer("embedding evaluated", token_sequence(6, 11),
                            Embedding{.embedding_dim = 5}, {6, 5}, 3, Mode::Evaluate));
  cases.push_back(
      {"narrow, then embedding",
       make_graph(token_sequence(7, 11), {{"part", Narrow{.start = 2, .length = 4}, {4}},
                                          {"wte", Embedding{.embedding_dim = 5}, {4, 5}}}),
       3});
  cases.push_back(one_layer("learned_positions", Dims{5, 7}, LearnedPositions{}, {5, 7}, 3));
  cases.push_back(
      one_layer("learned_positions of one", Dims{1, 16}, LearnedPositions{}, {1, 16}, 1));
  cases.push_back(one_layer("learned_positions evaluated", Dims{5, 7}, LearnedPositions{}, {5, 7},
                            3, Mode::Evaluate));
  cases.push_back(
      one_layer("sinusoidal_positions", Dims{9, 10}, SinusoidalPositions{}, {9, 10}, 2));
  cases.push_back(
      one_layer("sinusoidal_positions, odd width", Dims{3, 7}, SinusoidalPositions{}, {3, 7}, 2));
}

void attention_cases(std::vector<Case>& cases) {
  for (const bool causal : {false, true}) {
    const std::string name = causal ? "causal attention" : "attention";
    const auto heads = [&](std::int64_t count) {
      return Attention{.heads = count, .causal = causal};
    };
    cases.push_back(one_layer(name, Dims{6, 48}, heads(2), {6, 16}, 2));
    cases.push_back(one_layer(name + " of one position", Dims{1, 12}, heads(2), {1, 4}, 2));
    cases.push_back(one_layer(name + ", one head, odd sizes", Dims{7, 15}, heads(1), {7, 5}, 3));
    cases.push_back(one_layer(name + ", heads of one", Dims{5, 9}, heads(3), {5, 3}, 2));
    cases.push_back(one_layer(name + " over several tiles", Dims{37, 60}, heads(1), {37, 20}, 2));
    cases.push_back(one_layer(name + ", wide heads", Dims{70, 192}, heads(1), {70, 64}, 1));
    cases.push_back(
        one_layer(name + " evaluated", Dims{19, 48}, heads(2), {19, 16}, 2, Mode::Evaluate));
  }
}

// Tokens to [T, 3C]; the padding is token 0, which is frequent if the vocabulary is small.
Graph padded(std::int64_t length, std::int64_t vocabulary, std::int64_t width, Attention spec) {
  spec.padding = 0;
  return make_graph(token_sequence(length, vocabulary),
                    {{"wte", Embedding{.embedding_dim = 3 * width}, {length, 3 * width}},
                     {"wpe", LearnedPositions{}, {length, 3 * width}},
                     {"layer", spec, {length, width}, {"wpe", "input"}}});
}

// Rows of another length come from a linear layer whose output is taken as rows.
Graph cross(std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t heads) {
  constexpr std::int64_t columns = 4;
  return make_graph({queries, columns},
                    {{"q", Linear{.out_features = width}, {queries, width}},
                     {"flat", Flatten{}, {queries * columns}, {"input"}},
                     {"mixed", Linear{.out_features = keys * 2 * width}, {keys * 2 * width}},
                     {"kv", Flatten{}, {keys, 2 * width}},
                     {"layer", Attention{.heads = heads}, {queries, width}, {"q", "kv"}}});
}
Graph padded_cross(std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t heads,
                   std::int64_t vocabulary) {
  return make_graph(
      token_sequence(keys, vocabulary),
      {{"wte", Embedding{.embedding_dim = width}, {keys, width}},
       {"wpe", LearnedPositions{}, {keys, width}},
       {"kv", Linear{.out_features = 2 * width}, {keys, 2 * width}},
       {"flat", Flatten{}, {keys * width}, {"wpe"}},
       {"mixed", Linear{.out_features = queries * width}, {queries * width}},
       {"q", Flatten{}, {queries, width}},
       {"layer", Attention{.heads = heads, .padding = 0}, {queries, width}, {"q", "kv", "input"}}});
}

void masked_attention_cases(std::vector<Case>& cases) {
  for (const bool causal : {false, true}) {
    const std::string name = causal ? "causal attention" : "attention";
    const auto add = [&](const std::string& more, const Graph& graph, int samples,
                         Mode mode = Mode::Train) {
      cases.push_back({name + " with padding" + more, graph, samples, mode});
    };
    const auto heads = [&](std::int64_t count) {
      return Attention{.heads = count, .causal = causal};
    };
    add("", padded(6, 3, 16, heads(2)), 3);
    add(", odd sizes", padded(7, 4, 5, heads(1)), 4);
    add(" alone", padded(5, 1, 6, heads(3)), 2);
    add(" over several tiles", padded(70, 2, 8, heads(1)), 2);
    add(", a little", padded(19, 40, 16, heads(2)), 1);
    add(" evaluated", padded(19, 3, 16, heads(2)), 2, Mode::Evaluate);
  }
  cases.push_back({"cross attention", cross(6, 9, 16, 2), 2});
  cases.push_back({"cross attention to two keys", cross(3, 2, 4, 2), 2});
  cases.push_back({"cross attention, one query", cross(1, 5, 3, 3), 1});
  cases.push_back({"cross attention over several tiles", cross(7, 37, 4, 1), 2});
  cases.push_back({"cross attention, many queries", cross(70, 3, 8, 2), 1});
  cases.push_back({"cross attention evaluated", cross(5, 7, 6, 2), 3, Mode::Evaluate});
  cases.push_back({"cross attention with padding", padded_cross(6, 9, 16, 2, 3), 3});
  cases.push_back({"cross attention with padding, odd sizes", padded_cross(5, 21, 7, 1, 2), 3});
  cases.push_back({"cross attention to padding alone", padded_cross(3, 4, 6, 2, 1), 2});
  cases.push_back(
      {"cross attention with padding evaluated", padded_cross(3, 18, 6, 2, 4), 2, Mode::Evaluate});
}

void concat_cases(std::vector<Case>& cases) {
  const auto both = [](std::string name, Dims input, Dims output) {
    return Case{std::move(name),
                make_graph(input, {{"gelu", Gelu{}, input},
                                   {"both", Concat{}, std::move(output), {"gelu", "input"}}}),
                2};
  };
  cases.push_back(both("concat of vectors", {5}, {10}));
  cases.push_back(both("concat of rows", {3, 5}, {3, 10}));
  cases.push_back(both("concat of images", {3, 4, 5}, {6, 4, 5}));
  cases.push_back(both("concat of images of whole blocks", {16, 3, 3}, {32, 3, 3}));
}

// The layers of GPT-2's block, by their names there.
std::vector<Node> block(std::int64_t length, std::int64_t width, std::int64_t heads,
                        const std::string& input) {
  const auto rows = [&](std::int64_t columns) { return Dims{length, columns}; };
  const auto linear = [](std::int64_t out) { return Linear{.out_features = out}; };
  return {{"ln_1", LayerNorm{}, rows(width), {input}},
          {"c_attn", linear(3 * width), rows(3 * width)},
          {"attn", Attention{.heads = heads, .causal = true}, rows(width)},
          {"c_proj", linear(width), rows(width)},
          {"sum_1", Add{}, rows(width), {"c_proj", input}},
          {"ln_2", LayerNorm{}, rows(width)},
          {"c_fc", linear(4 * width), rows(4 * width)},
          {"gelu", Gelu{.tanh = true}, rows(4 * width)},
          {"mlp", linear(width), rows(width)},
          {"sum_2", Add{}, rows(width), {"mlp", "sum_1"}}};
}

Graph gpt(std::int64_t length, std::int64_t vocabulary, std::int64_t width, std::int64_t heads) {
  std::vector<Node> nodes = {{"wte", Embedding{.embedding_dim = width}, {length, width}},
                             {"wpe", LearnedPositions{}, {length, width}}};
  for (Node& node : block(length, width, heads, "wpe")) nodes.push_back(std::move(node));
  nodes.push_back({"ln_f", LayerNorm{.bias = false}, {length, width}});
  nodes.push_back({"lm_head", Linear{.out_features = vocabulary}, {length, vocabulary}});
  return make_graph(token_sequence(length, vocabulary), nodes, Loss::CrossEntropy);
}

}  // namespace

std::vector<Case> sequence_layer_cases() {
  std::vector<Case> cases;
  row_cases(cases);
  position_cases(cases);
  attention_cases(cases);
  masked_attention_cases(cases);
  concat_cases(cases);
  return cases;
}

std::vector<Case> sequence_chain_cases() {
  const Graph small = gpt(5, 7, 12, 3), aligned = gpt(8, 32, 32, 2);
  return {
      {"gpt, odd sizes", small, 3},
      {"gpt, whole vectors", aligned, 2},
      {"gpt evaluated", small, 2, Mode::Evaluate},
      {"sequence with sinusoidal positions",
       make_graph(token_sequence(6, 9),
                  {{"wte", Embedding{.embedding_dim = 10}, {6, 10}},
                   {"positions", SinusoidalPositions{}, {6, 10}},
                   {"fc", Linear{.out_features = 30}, {6, 30}},
                   {"attn", Attention{.heads = 5}, {6, 10}},
                   {"drop", Dropout{.p = 0.2}, {6, 10}},
                   {"head", Linear{.out_features = 9}, {6, 9}}},
                  Loss::CrossEntropy),
       2},
      {"two sides, both embedded",
       make_graph(token_sequence(9, 13),
                  {{"source", Narrow{.start = 0, .length = 4}, {4}, {"input"}},
                   {"target", Narrow{.start = 4, .length = 5}, {5}, {"input"}},
                   {"s", Embedding{.embedding_dim = 6}, {4, 6}, {"source"}},
                   {"flat_s", Flatten{}, {24}},
                   {"t", Embedding{.embedding_dim = 6}, {5, 6}, {"target"}},
                   {"flat_t", Flatten{}, {30}},
                   {"both", Concat{}, {54}, {"flat_s", "flat_t"}},
                   {"head", Linear{.out_features = 4}, {4}}},
                  Loss::CrossEntropy),
       3},
      {"gelu read before and after",
       make_graph({4, 9}, {{"fc", Linear{.out_features = 9}, {4, 9}},
                           {"gelu", Gelu{}, {4, 9}},
                           {"sum", Add{}, {4, 9}, {"fc", "gelu"}}}),
       2},
      {"rows to a vector",
       make_graph({4, 6}, {{"fc1", Linear{.out_features = 5}, {4, 5}},
                           {"relu", Relu{}, {4, 5}},
                           {"flat", Flatten{}, {20}},
                           {"fc2", Linear{.out_features = 3}, {3}}}),
       3},
      {"linear layers of rows",
       make_graph({6, 12}, {{"fc1", Linear{.out_features = 20}, {6, 20}},
                            {"gelu", Gelu{.tanh = true}, {6, 20}},
                            {"fc2", Linear{.out_features = 5}, {6, 5}}}),
       4},
      {"concat between",
       make_graph({3, 4, 4},
                  {{"left", Conv2d{.out_channels = 5, .kernel = {1, 1}}, {5, 4, 4}},
                   {"right", Conv2d{.out_channels = 17, .kernel = {1, 1}}, {17, 4, 4}, {"input"}},
                   {"both", Concat{}, {22, 4, 4}, {"left", "right"}},
                   {"gelu", Gelu{}, {22, 4, 4}},
                   {"conv", Conv2d{.out_channels = 3, .kernel = {3, 3}}, {3, 2, 2}}}),
       2},
  };
}

}  // namespace pipetrain::testing
