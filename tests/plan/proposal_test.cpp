// How a plan is printed, for people and for tools.
#include "plan/proposal.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "plan/proposal_svg.hpp"

using namespace pipetrain;

namespace {

Proposal two_stages() {
  Proposal p;
  p.objective = "pipedream";
  p.schedule = "pipedream";
  p.stages = {{.first_layer = 0,
               .last_layer = 2,
               .replicas = 3,
               .devices = {0, 1, 3},
               .time_ms = 12.345678,
               .memory_bytes = 3 << 20,
               .layer_names = {"conv1", "relu\x1b", "conv2"},
               .transfer_ms = 20},
              {.first_layer = 3,
               .last_layer = 3,
               .replicas = 1,
               .devices = {2},
               .time_ms = 8,
               .layer_names = {"fc \"1\""}}};
  p.step_ms = p.bottleneck_ms = 20;
  p.speedup = 2.5;
  p.data_parallel_speedup = 1.25;
  p.compared = {{.what = "pipedream, 3-1", .step_ms = 20, .reason = ""},
                {.what = "data parallel", .step_ms = 40, .reason = "takes 2.000 times as long"},
                {.what = "straight", .reason = "does not fit the memory"}};
  return p;
}

}  // namespace

TEST_CASE("the JSON of a plan has the documented keys") {
  const auto json = nlohmann::json::parse(proposal_json(two_stages()));
  CHECK(json["objective"] == "pipedream");
  CHECK(json["schedule"] == "pipedream");
  CHECK(json["microbatches"] == 1);
  CHECK(json["step_ms"] == 20);
  CHECK(json["bottleneck_ms"] == 20);
  CHECK(json["speedup"] == 2.5);
  CHECK(json["data_parallel_speedup"] == 1.25);
  REQUIRE(json["stages"].size() == 2);
  const auto& stage = json["stages"][0];
  CHECK(stage["layers"] == std::vector<int>{0, 2});
  CHECK(stage["replicas"] == 3);
  CHECK(stage["devices"] == std::vector<int>{0, 1, 3});
  CHECK(stage["time_ms"] == 12.345678);
  CHECK(stage["transfer_ms"] == 20);
  CHECK(stage["memory_bytes"] == 3 << 20);
  CHECK(stage["layer_names"].size() == 3);
  CHECK(json["stages"][1]["layers"] == std::vector<int>{3, 3});
  CHECK(json["stages"][1]["devices"] == std::vector<int>{2});
  CHECK(json["stages"][1]["memory_bytes"].is_null());
  CHECK(json["communication"].is_null());
  Proposal sending = two_stages();
  sending.sends = {3, {}};
  auto& volumes = sending.sends->communication.stages;
  volumes.resize(2);
  volumes[0].gradients = {10, 1};
  volumes[1].activations = {20, 1};
  const auto sends = nlohmann::json::parse(proposal_json(sending))["communication"];
  CHECK(sends["minibatches"] == 3);
  CHECK(sends["bytes"] == 30);
  CHECK(sends["gradient_bytes"] == std::vector<int>{10});
  CHECK(proposal_text(sending).find("sends") != std::string::npos);
  REQUIRE(json["compared"].size() == 3);
  CHECK(json["compared"][1]["what"] == "data parallel");
  CHECK(json["compared"][1]["step_ms"] == 40);
  CHECK(json["compared"][2]["step_ms"].is_null());
  CHECK(json["compared"][2]["reason"] == "does not fit the memory");
}

TEST_CASE("names that are not UTF-8 do not break the JSON") {
  Proposal p = two_stages();
  p.stages[0].layer_names[0] = "\xff";
  CHECK(nlohmann::json::parse(proposal_json(p))["stages"].size() == 2);
}

TEST_CASE("the text of a plan is the map, the bottleneck, what was compared, and a config") {
  CHECK(proposal_text(two_stages()) ==
        R"(pipedream: 2 stages on 4 devices (3-1)

stage  layers                     replicas  devices  time      transfer  memory
0      conv1 .. conv2 (3 layers)  3         0-1 3    12.35 ms  20 ms     3.0 MiB
1      fc "1"                     1         2        8 ms      -         -

schedule    pipedream, 1 micro-batch per mini-batch
bottleneck  20 ms per micro-batch: the transfer between stages 0 and 1
step        20 ms per mini-batch
speedup     2.50 over one device; data parallel has 1.25

compared        step
pipedream, 3-1  20 ms  chosen
data parallel   40 ms  takes 2.000 times as long
straight        -      does not fit the memory

[pipeline]
schedule = "pipedream"
stages = 2
microbatches = 1
replicas = [3, 1]
split = ["fc \"1\""]
)");
}

TEST_CASE("a layer that two stages share is in the JSON, the map and the keys") {
  Proposal p = two_stages();
  p.stages[0].last_layer = 3;
  p.stages[0].layer_names.push_back("fc \"1\"");
  p.stages[0].last_share = 0.25;
  p.stages[1].first_share = p.stages[1].last_share = 0.75;
  const auto json = nlohmann::json::parse(proposal_json(p));
  REQUIRE(json["shared_layers"].size() == 1);
  const auto& shared = json["shared_layers"][0];
  CHECK(shared["layer"] == 3);
  CHECK(shared["name"] == "fc \"1\"");
  CHECK(shared["stages"] == std::vector<int>{0, 1});
  CHECK(shared["shares"] == std::vector<double>{0.25, 0.75});
  const std::string text = proposal_text(p);
  CHECK_THAT(text, Contains("conv1 .. 25% of fc \"1\" (4 layers)"));
  CHECK_THAT(text, Contains("75% of fc \"1\""));
  CHECK_THAT(text, Contains("split = [\"fc \\\"1\\\"\"]\nshared_layers = [\"fc \\\"1\\\"\"]\n"));
  CHECK(nlohmann::json::parse(proposal_json(two_stages()))["shared_layers"].empty());
}

TEST_CASE("the picture of a plan has a bar for each time, and marks the one that bounds the step") {
  Proposal p = two_stages();
  const auto count = [&](const std::string& what) {
    const std::string svg = proposal_svg(p);
    int found = 0;
    for (auto at = svg.find(what); at != svg.npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(proposal_svg(p).starts_with("<svg "));
  CHECK(proposal_svg(p).ends_with("</svg>\n"));
  CHECK(count("<rect class=\"time\"") == 2);
  CHECK(count("<rect class=\"transfer\"") == 0);
  CHECK(count("<rect class=\"bound\"") == 1);
  CHECK(count("20 ms (bottleneck)") == 1);
  CHECK(count("<rect class=\"memory\"") == 1);  // the second stage's is unknown
  CHECK(count("fc &quot;1&quot;") == 1);
  CHECK(count("3 replicas, devices 0-1 3") == 1);
  p.bottleneck_ms = 12.345678;
  p.stages[0].transfer_ms = 1;
  CHECK(count("12.35 ms (bottleneck)") == 1);
  CHECK(count("<rect class=\"transfer\"") == 1);
  p.stages[1].layer_names = {std::string(200, 'a') + "<b>"};
  CHECK(count("<b>") == 0);
  CHECK(count("aaa...<") == 1);
}

TEST_CASE("a plan is named by its replicas") {
  Proposal p = two_stages();
  CHECK(replicas_text(p) == "3-1");
  p.stages[0].replicas = 1;
  CHECK(replicas_text(p) == "straight");
  CHECK(slower_text(20, 10) == "takes 2.000 times as long");
  CHECK(slower_text(10.0001, 10) == "takes equal time");
  CHECK(slower_text(5, 10) == "takes only 0.500 of the time");
}

TEST_CASE("a plan says of how many samples its mini-batch is") {
  Proposal p = two_stages();
  CHECK(nlohmann::json::parse(proposal_json(p))["minibatch_samples"].is_null());
  p.minibatch_samples = 16;
  CHECK_THAT(proposal_text(p),
             Contains("pipedream, 1 micro-batch in a mini-batch of 16 samples\n"));
  CHECK_THAT(proposal_svg(p), Contains("1 micro-batch in a mini-batch of 16 samples, a step of"));
  CHECK(nlohmann::json::parse(proposal_json(p))["minibatch_samples"] == 16);
  p.samples_assumed = true;
  CHECK_THAT(proposal_text(p), Contains("in a mini-batch of 16 samples (assumed)\n"));
}

TEST_CASE("a plan says what a speed-up is relative to, and if it is unknown") {
  Proposal p = two_stages();
  p.data_parallel_devices = 4;
  CHECK_THAT(proposal_text(p),
             Contains("2.50 over one device; data parallel on 4 devices has 1.25\n"));
  CHECK(nlohmann::json::parse(proposal_json(p))["data_parallel_devices"] == 4);
  p.data_parallel_speedup.reset();
  CHECK_THAT(proposal_text(p), Contains("2.50 over one device\n"));
  p.speedup.reset();
  CHECK_THAT(proposal_text(p), Contains("unknown: the model does not fit one device\n"));
  CHECK_THAT(proposal_svg(p), Contains("speedup unknown: the model does not fit one device<"));
  const auto json = nlohmann::json::parse(proposal_json(p));
  CHECK(json["speedup"].is_null());
  CHECK(json["data_parallel_speedup"].is_null());
}

TEST_CASE("stages of one device are one bottleneck, and have one memory") {
  Proposal p = two_stages();
  p.stages[0].replicas = 1;
  p.stages[0].devices = p.stages[1].devices = {0};
  p.stages[0].time_ms = 12;
  p.stages[0].transfer_ms = 0;
  p.stages[1].memory_bytes = p.stages[0].memory_bytes;
  const std::string text = proposal_text(p), svg = proposal_svg(p);
  CHECK_THAT(text, Contains("pipedream: 1 worker with 2 stages, on 1 device\n"));
  CHECK_THAT(text, Contains("20 ms per micro-batch: device 0 (stages 0, 1)\n"));
  CHECK_THAT(text, Contains("with stage 0\n"));
  CHECK_THAT(svg, Contains("12 ms (of the bottleneck)"));
  CHECK_THAT(svg, Contains("8 ms (of the bottleneck)"));
  CHECK_THAT(svg, Contains("with stage 0"));
  CHECK(svg.find("<rect class=\"memory\"") == svg.rfind("<rect class=\"memory\""));
}
