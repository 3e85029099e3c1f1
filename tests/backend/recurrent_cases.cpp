// The cases of the layers of recurrent translation; part of layer_cases() and chain_cases().
#include "cases.hpp"
#include "graph/graph.hpp"

namespace pipetrain::testing {
namespace {

std::string direction(const Lstm& spec) {
  return spec.bidirectional ? "bidirectional lstm" : spec.reverse ? "reverse lstm" : "lstm";
}

Case plain_lstm(const std::string& more, std::int64_t length, std::int64_t width, const Lstm& spec,
                int samples, Mode mode = Mode::Train) {
  const std::int64_t out = (spec.bidirectional ? 2 : 1) * spec.hidden_size;
  return {direction(spec) + more, make_graph({length, width}, {{"layer", spec, {length, out}}}),
          samples, mode};
}

// The padding is token 0, which is frequent if the vocabulary is small; most samples then end with
// padding, and some begin with it or consist of it.
Case padded_lstm(const std::string& more, std::int64_t length, std::int64_t vocabulary,
                 std::int64_t width, Lstm spec, int samples, Mode mode = Mode::Train) {
  spec.padding = 0;
  const std::int64_t out = (spec.bidirectional ? 2 : 1) * spec.hidden_size;
  return {direction(spec) + " with padding" + more,
          make_graph(token_sequence(length, vocabulary),
                     {{"wte", Embedding{.embedding_dim = width}, {length, width}},
                      {"wpe", LearnedPositions{}, {length, width}},
                      {"layer", spec, {length, out}, {"wpe", "input"}}}),
          samples, mode};
}

void lstm_cases(std::vector<Case>& cases) {
  for (const auto& way : {std::pair(false, false), {true, false}, {false, true}}) {
    const bool reverse = way.first, both = way.second;
    const auto of = [&](std::int64_t hidden, bool bias = true) {
      return Lstm{.hidden_size = hidden, .reverse = reverse, .bidirectional = both, .bias = bias};
    };
    cases.push_back(plain_lstm("", 5, 16, of(16), 3));
    cases.push_back(plain_lstm(", odd sizes", 7, 5, of(3), 2));
    cases.push_back(plain_lstm(" of one position", 1, 4, of(6), 2));
    cases.push_back(plain_lstm(" of one sample without bias", 4, 9, of(21, false), 1));
    cases.push_back(plain_lstm(" of many samples", 3, 6, of(10), 19));
    cases.push_back(plain_lstm(" evaluated", 6, 7, of(9), 3, Mode::Evaluate));
    cases.push_back(padded_lstm("", 6, 3, 8, of(8), 5));
    cases.push_back(padded_lstm(", odd sizes", 9, 2, 5, of(3), 7));
    cases.push_back(padded_lstm(" alone", 3, 1, 4, of(5), 2));
    cases.push_back(padded_lstm(" evaluated", 7, 2, 6, of(18), 4, Mode::Evaluate));
  }
}

// Queries, keys and values of tokens: as many queries as a linear layer over all of them makes.
Graph additive(std::int64_t queries, std::int64_t keys, std::int64_t units, std::int64_t width,
               std::int64_t vocabulary, AdditiveAttention spec) {
  std::vector<std::string> inputs = {"q", "k", "values"};
  if (spec.padding >= 0) inputs.emplace_back("input");
  return make_graph(token_sequence(keys, vocabulary),
                    {{"wte", Embedding{.embedding_dim = width}, {keys, width}},
                     {"wpe", LearnedPositions{}, {keys, width}},
                     {"ln", LayerNorm{}, {keys, width}},  // so that weights are not all about equal
                     {"k", Linear{.out_features = units}, {keys, units}},
                     {"values", Gelu{}, {keys, width}, {"ln"}},
                     {"flat", Flatten{}, {keys * width}, {"ln"}},
                     {"mixed", Linear{.out_features = queries * units}, {queries * units}},
                     {"q", Flatten{}, {queries, units}},
                     {"layer", spec, {queries, width}, std::move(inputs)}});
}

void additive_cases(std::vector<Case>& cases) {
  for (const bool normalize : {true, false}) {
    const std::string name =
        normalize ? "additive_attention" : "additive_attention, not normalised";
    const AdditiveAttention plain{.normalize = normalize},
        padded{.normalize = normalize, .padding = 0};
    cases.push_back({name, additive(5, 7, 16, 16, 9, plain), 2});
    cases.push_back({name + ", odd sizes", additive(3, 19, 5, 7, 9, plain), 3});
    cases.push_back({name + " to one key", additive(4, 1, 6, 3, 9, plain), 1});
    cases.push_back({name + " evaluated", additive(4, 5, 33, 6, 9, plain), 2, Mode::Evaluate});
    cases.push_back({name + " with padding", additive(5, 8, 16, 16, 3, padded), 4});
    cases.push_back({name + " with padding, odd sizes", additive(6, 21, 7, 5, 4, padded), 3});
    cases.push_back({name + " to padding alone", additive(3, 4, 6, 6, 1, padded), 2});
    cases.push_back(
        {name + " with padding evaluated", additive(3, 6, 9, 9, 3, padded), 3, Mode::Evaluate});
  }
}

}  // namespace

std::vector<Case> recurrent_layer_cases() {
  std::vector<Case> cases;
  lstm_cases(cases);
  additive_cases(cases);
  return cases;
}

// A small translation: four tokens of a source, five of a target. The relu excludes it from
// comparisons with finite differences, which are too coarse for gradients as small as the first
// layers' here.
std::vector<Case> recurrent_chain_cases() {
  const Lstm both{.hidden_size = 6, .bidirectional = true, .padding = 0},
      one{.hidden_size = 10, .padding = 0};
  const Graph translation = make_graph(
      token_sequence(9, 5),
      {{"source", Narrow{.start = 0, .length = 4}, {4}, {"input"}},
       {"target", Narrow{.start = 4, .length = 5}, {5}, {"input"}},
       {"s", Embedding{.embedding_dim = 7}, {4, 7}, {"source"}},
       {"encoder.0", both, {4, 12}, {"s", "source"}},
       {"drop", Dropout{.p = 0.2}, {4, 12}},
       {"encoder.1", one, {4, 10}, {"drop", "source"}},
       {"k", Linear{.out_features = 8, .bias = false}, {4, 8}},
       {"t", Embedding{.embedding_dim = 7}, {5, 7}, {"target"}},
       {"decoder.0", Lstm{.hidden_size = 10}, {5, 10}},
       {"q", Linear{.out_features = 8, .bias = false}, {5, 8}},
       {"context", AdditiveAttention{.padding = 0}, {5, 10}, {"q", "k", "encoder.1", "source"}},
       {"joined", Concat{}, {5, 20}, {"decoder.0", "context"}},
       {"decoder.1", Lstm{.hidden_size = 10}, {5, 10}},
       {"sum", Add{}, {5, 10}, {"decoder.1", "decoder.0"}},
       {"relu", Relu{}, {5, 10}},
       {"head", Linear{.out_features = 5}, {5, 5}}},
      Loss::CrossEntropy);
  return {{"recurrent translation", translation, 4},
          {"recurrent translation evaluated", translation, 3, Mode::Evaluate}};
}

}  // namespace pipetrain::testing
