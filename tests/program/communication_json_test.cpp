#include "program/communication_json.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "metrics/step_summary.hpp"

using namespace pipetrain;

namespace {

using Numbers = std::vector<std::int64_t>;

Communication three_stages() {
  Communication c;
  c.stages.resize(3);
  c.stages[1].activations = {100, 2};
  c.stages[2].activations = {40, 2};
  c.stages[0].gradients = {90, 2};
  c.stages[1].gradients = {30, 2};
  return c;
}

}  // namespace

TEST_CASE("what is sent, by boundary and kind", "[metrics][communication]") {
  const auto json = communication_json(three_stages());
  CHECK(json["bytes"] == 260);
  CHECK(json["messages"] == 8);
  CHECK(json["activation_bytes"] == Numbers{100, 40});
  CHECK(json["activation_messages"] == Numbers{2, 2});
  CHECK(json["gradient_bytes"] == Numbers{90, 30});
  CHECK(json["gradient_messages"] == Numbers{2, 2});
  CHECK(json.size() == 6);
  CHECK(communication_text(three_stages()) ==
        "260 B in 8 messages: activations 140 B, gradients 120 B");
}

TEST_CASE("sums and a link's seconds, if there are any", "[metrics][communication]") {
  Communication c = three_stages();
  c.stages[0].all_reduce = ring_all_reduce(1000, 3);
  c.stages[0].tied = ring_all_reduce(8, 2);
  c.stages[2].link_seconds = 0.5;
  const auto json = communication_json(c);
  CHECK(json["all_reduce_bytes"] == Numbers{4000, 0, 0});
  CHECK(json["all_reduce_messages"] == Numbers{12, 0, 0});
  CHECK(json["tied_bytes"] == 16);
  CHECK(json["tied_messages"] == 4);
  CHECK(json["link_seconds"] == 0.5);
  CHECK(json["bytes"] == 260 + 4000 + 16);
}

TEST_CASE("adding to nothing gives what was added, stage by stage", "[metrics][communication]") {
  Communication sum;
  sum.add(three_stages());
  CHECK(sum == three_stages());
  sum.add(three_stages());
  CHECK(sum.stages[1].activations == Volume{200, 4});
  CHECK(sum.total() == Volume{520, 16});
}

TEST_CASE("a step reports its messages if it had some", "[metrics][communication]") {
  StepSummary summary;
  CHECK_FALSE(step_event(summary).contains("communication"));
  summary.communication = three_stages();
  CHECK(step_event(summary)["communication"] == communication_json(three_stages()));
  CHECK(communication_text({}) == "nothing");
}
