#include "plan/read_profile.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "plan/pipedream/graph_txt.hpp"

using namespace pipetrain;

namespace {

const char* const kDiamond =
    "n1 -- Input -- forward_compute_time=9, backward_compute_time=9, activation_size=9, "
    "parameter_size=9\n"
    "n2 -- Conv2d(3) -- forward_compute_time=1, backward_compute_time=2, activation_size=100, "
    "parameter_size=7\n"
    "n3 -- ReLU -- forward_compute_time=1, backward_compute_time=2, activation_size=[10; 10], "
    "parameter_size=0\n"
    "n4 -- ReLU -- forward_compute_time=1, backward_compute_time=2, activation_size=3, "
    "parameter_size=0\n"
    "n5 -- Add -- forward_compute_time=1, backward_compute_time=2, activation_size=4, "
    "parameter_size=0\n"
    "\tn1 -- n2\n\tn2 -- n3\n\tn2 -- n4\n\tn3 -- n5\n\tn4 -- n5\n";

}  // namespace

TEST_CASE("a graph becomes layers in a row, and all that is read after a cut crosses it") {
  const LayerChain chain = chain_of(computed_part(parse_graph_txt(kDiamond, "p")));
  REQUIRE(chain.layers.size() == 4);
  CHECK(chain.layers[0].name == "n2 Conv2d");
  CHECK(chain.layers[0].compute_ms() == 3);
  CHECK(chain.layers[0].parameter_bytes == 7);
  CHECK(chain.layers[0].saved_bytes == 100);
  CHECK(chain.layers[3].name == "n5 Add");
  const bool n3_first = chain.layers[1].name == "n3 ReLU";
  CHECK(chain.layers[0].sent_bytes == 100);  // once, though two read it
  CHECK(chain.layers[1].sent_bytes == (n3_first ? 100 + 20 : 100 + 3));
  CHECK(chain.layers[2].sent_bytes == 23);
  CHECK(chain.layers[3].sent_bytes == 0);
}

TEST_CASE("a profile that cannot be read is refused as the command line's mistake") {
  CHECK_THROWS_AS(read_graph_profile("there-is-none.graph.txt"), UsageError);
  CHECK_THROWS_WITH(read_graph_profile("there-is-none.graph.txt"),
                    Contains("there-is-none.graph.txt: cannot be read: No such file"));
}
