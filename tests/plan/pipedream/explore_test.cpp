// The proposal that PipeDream's optimizer becomes: its numbers, what it was compared with, and what
// it says if nothing fits.
#include "plan/pipedream/explore.hpp"

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

// Convolutions, then a layer with most of the parameters, as VGG-16 has them.
LayerChain small_vgg() {
  LayerChain chain;
  for (int i = 0; i < 4; ++i)
    chain.layers.push_back({.name = "conv" + std::to_string(i),
                            .forward_ms = 10,
                            .backward_input_ms = 20,
                            .sent_bytes = 1000,
                            .saved_bytes = 4000,
                            .parameter_bytes = 100});
  chain.layers.push_back({.name = "fc",
                          .forward_ms = 10,
                          .backward_input_ms = 20,
                          .saved_bytes = 1000,
                          .parameter_bytes = 100000});
  return chain;
}

PartitionRequest five_devices() { return {.levels = {{5, 1e6}}}; }

Proposal explored(const PartitionRequest& request) {
  return explore_pipedream(cut_states(small_vgg(), "p.txt"), request, "p.txt");
}

std::string refusal(const PartitionRequest& request, const LayerChain& chain = small_vgg()) {
  try {
    explore_pipedream(cut_states(chain, "p.txt"), request, "p.txt");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "there is a plan";
}

}  // namespace

TEST_CASE("convolutions are replicated, and the layer of many parameters is not") {
  const Proposal p = explored(five_devices());
  CHECK(replicas_text(p) == "4-1");
  CHECK(p.objective == "pipedream");
  CHECK(p.schedule == "pipedream");
  CHECK(p.microbatches == 1);
  REQUIRE(p.stages.size() == 2);
  CHECK(p.stages[0].first_layer == 0);
  CHECK(p.stages[0].last_layer == 3);
  CHECK(p.stages[1].first_layer == 4);
  CHECK(p.stages[1].last_layer == 4);
  CHECK(p.stages[0].devices == std::vector<int>{0, 1, 2, 3});
  CHECK(p.stages[1].devices == std::vector<int>{4});
  CHECK(p.stages[1].layer_names == std::vector<std::string>{"fc"});
  CHECK(p.stages[0].time_ms == Approx(30));
  CHECK(p.stages[1].time_ms == Approx(30));
  CHECK(p.stages[0].transfer_ms.value() == Approx(2));
  CHECK_FALSE(p.stages[1].transfer_ms);
  CHECK(p.bottleneck_ms == Approx(30));
  CHECK(p.step_ms == Approx(30));
  CHECK(p.speedup.value() == Approx(5));
  // One mini-batch in flight at stage 0 for each replica, and a fifth device after them.
  CHECK(p.stages[0].memory_bytes == 2 * (16000 + 400));
  CHECK(p.stages[1].memory_bytes == 101000);
}

TEST_CASE("a proposal says what it was compared with") {
  const Proposal p = explored(five_devices());
  // All-reduce of 100,400 bytes among five: 2 * 4 * 100.4 ms, a fifth of it a mini-batch.
  CHECK(p.data_parallel_speedup.value() == Approx(150 / (803.2 / 5)));
  REQUIRE(p.compared.size() == 4);
  CHECK(p.compared[0].what == "pipedream, 4-1");
  CHECK(p.compared[0].reason.empty());
  CHECK(p.compared[1].what == "data parallel on 5 devices");
  CHECK(p.compared[1].step_ms.value() == Approx(803.2 / 5));
  CHECK(p.compared[1].reason == "takes 5.355 times as long");
  CHECK(p.compared[2].what == "straight, 5 stages");
  CHECK(p.compared[2].reason == "takes equal time");
  CHECK(p.compared[3].what == "one device");
  CHECK(p.compared[3].step_ms.value() == Approx(150));
}

TEST_CASE("a plan that does not fit is named among those that were compared") {
  PartitionRequest request = five_devices();
  request.memory_bytes = 101000;
  const Proposal p = explored(request);
  CHECK_FALSE(p.compared[1].step_ms);
  CHECK(p.compared[1].reason == "each device is short of 16.0 KiB (16400 bytes)");
  request = {.levels = {{6, 1e6}}};
  CHECK_THAT(explored(request).compared[2].reason, Contains("at most 5 stages"));
}

TEST_CASE("if nothing fits, the message says which stage is short of what, and what helps") {
  PartitionRequest request = five_devices();
  request.memory_bytes = 100000;
  const std::string message = refusal(request);
  INFO(message);
  CHECK_THAT(message, Contains("p.txt: no plan fits 97.7 KiB"));
  CHECK_THAT(message, Contains("(fc to fc) needs 98.6 KiB (101000 bytes) on each device"));
  CHECK_THAT(message, Contains("which is short of 1000 B (1000 bytes)"));
  CHECK_THAT(message, Contains("--memory 101000 or more"));
  CHECK_THAT(message, Contains("smaller mini-batches"));
  request.memory_bytes = 101000;
  CHECK(refusal(request) == "there is a plan");
}

TEST_CASE("if replicas would make room, the message says so") {
  LayerChain chain = small_vgg();
  chain.layers.back().parameter_bytes = 100;
  PartitionRequest request = five_devices();
  request.memory_bytes = 20000;
  request.straight = true;
  CHECK_THAT(refusal(request, chain), Contains("stage 0 of 5 (conv0 to conv0) needs"));
  CHECK_THAT(refusal(request, chain), Contains("leave out --straight"));
}

TEST_CASE("requests for which no plan can be made are refused") {
  CHECK_THAT(refusal({.levels = {{6, 1e6}}, .straight = true}),
             Contains("--straight: 6 devices need 6 stages, but p.txt can be cut into at most 5"));
  LayerChain idle = small_vgg();
  for (ChainLayer& layer : idle.layers) layer.forward_ms = layer.backward_input_ms = 0;
  CHECK_THAT(refusal(five_devices(), idle), Contains("p.txt: all times are 0"));
  LayerChain long_chain;
  long_chain.layers.assign(2000, small_vgg().layers[0]);
  CHECK_THAT(refusal({.levels = {{64, 1e9}, {64, 1e9}}}, long_chain),
             Contains("p.txt: 2000 cuts on these devices are about"));
}
