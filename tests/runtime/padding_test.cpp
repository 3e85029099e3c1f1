// Attention that leaves out padding reads the model's tokens: later stages receive them too.
#include "backends.hpp"
#include "catch.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// Token 0, one of five, is the padding. The second attention has keys of another value.
const char* const padded_model = R"(
name = "padded"
input = { tokens = 6, vocabulary = 5 }
layers = [
  { name = "wte", kind = "embedding", embedding_dim = 8 },
  { name = "qkv", kind = "linear", out_features = 24 },
  { name = "own", kind = "attention", heads = 2, padding = 0, inputs = ["qkv", "input"] },
  { name = "q", kind = "linear", out_features = 8 },
  { name = "kv", kind = "linear", out_features = 16, inputs = ["wte"] },
  { name = "cross", kind = "attention", heads = 2, padding = 0, inputs = ["q", "kv", "input"] },
  { name = "head", kind = "linear", out_features = 5 },
]
)";

}  // namespace

TEST_CASE("no cut between tokens and the attention that reads them changes a bit", "[backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string recompute = GENERATE("none", "stage");
  const auto run = [&](const ConfigChoice& choice) {
    Config config = make_config(choice);
    config.pipeline.recompute.rule = word_named<Recompute>(recompute).value();
    return train({.model = padded_model, .config = config});
  };
  const Trained one = run({.backend = backend});
  CHECK(one.losses.back() < one.losses.front());
  for (const int stages : {2, 4, 7})
    for (const std::string workers : {"threads", "inline"}) {
      INFO(backend << " " << recompute << " " << stages << " " << workers);
      const Trained many = run({.stages = stages, .workers = workers, .backend = backend});
      CHECK(many.losses == one.losses);
      CHECK(same_bits(many.parameters, one.parameters));
      for (std::size_t s = 0; s < many.predicted.size(); ++s)
        CHECK(many.predicted[s] == many.measured[s]);
    }
}
