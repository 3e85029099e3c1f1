// Profiles that plan reads, and devices that it plans for.
#include "row.hpp"

namespace {

std::string node(const std::string& name, const std::string& forward = "1.0",
                 const std::string& parameters = "1000") {
  return name + " -- Linear -- forward_compute_time=" + forward +
         ", backward_compute_time=2.0, activation_size=1000.0, parameter_size=" + parameters + "\n";
}

Row profile(const std::string& name, const std::string& text, std::vector<std::string> words) {
  return {name,
          {{"p.txt", text}},
          "plan --objective pipedream --profile p.txt --devices 2 --bandwidth 1e9",
          2,
          std::move(words)};
}

Row plan(const std::string& name, const std::string& options, std::vector<std::string> words) {
  return {name,
          {{"p.txt", node("a") + node("b") + "\ta -- b\n"}},
          "plan --objective pipedream --profile p.txt " + options,
          2,
          std::move(words)};
}

}  // namespace

std::vector<Row> profile_rows() {
  return {
      profile("a profile with a cycle", node("a") + node("b") + "\ta -- b\n\tb -- a\n",
              {"p.txt:4: this edge closes a cycle: a -- b -- a"}),
      profile("a profile with an edge to nowhere", node("node1") + "\tnode1 -- node2\n",
              {"p.txt:2: no line describes a node node2", "did you mean 'node1'?"}),
      profile("a profile with a node twice", node("a") + node("b") + node("a"),
              {"p.txt:3: a is named twice, first in line 1"}),
      profile("a profile with a time below 0", node("a", "-1"),
              {"p.txt:1: forward_compute_time = -1 is not valid", "milliseconds"}),
      profile("a profile with a time that is no number", node("a", "nan"),
              {"p.txt:1: forward_compute_time = nan is not valid"}),
      profile("a profile without a time", "a -- b -- forward_compute_time=1, parameter_size=1\n",
              {"p.txt:1: backward_compute_time of a is missing"}),
      profile("a profile of inputs only",
              "a -- Input -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
              "parameter_size=1\n",
              {"p.txt: it has inputs only"}),
      profile("a profile of bytes", std::string("\0\x01\xff\xfe\n", 5),
              {"p.txt:1: `\\u0000\\u0001\\xff\\xfe` is not a node"}),
      profile("an empty profile", "", {"p.txt: there is no node"}),
      profile("a profile that takes no time",
              "a -- b -- forward_compute_time=0, backward_compute_time=0, activation_size=1, "
              "parameter_size=1\n",
              {"p.txt: all times are 0"}),
      {"a profile that is not there",
       {},
       "plan --profile none.txt --devices 2 --bandwidth 1e9",
       2,
       {"none.txt: cannot be read: No such file"}},
      {"a folder for a profile",
       {{"p.txt/", ""}},
       "plan --profile p.txt --devices 2 --bandwidth 1e9",
       2,
       {"p.txt: cannot be read: it is a folder"}},
      plan("a plan for too little memory", "--devices 2 --bandwidth 1e9 --memory 1KiB",
           {"p.txt: no plan fits 1.0 KiB", "stage ", "bytes) on each device, which is short of",
            "--memory ", "smaller mini-batches"}),
      plan("a plan for a memory that is no size", "--devices 2 --bandwidth 1e9 --memory lots",
           {"--memory lots: not a size", "8GiB"}),
      plan("a straight plan of more stages than layers", "--devices 3 --bandwidth 1e9 --straight",
           {"--straight: 3 devices need 3 stages", "at most 2"}),
      plan("a plan for levels without a bandwidth", "--devices 2,2 --bandwidth 1e9",
           {"--bandwidth has 1 number, but --devices 2,2 has 2", "--bandwidth 1.25e9,1.25e9"}),
      plan("a plan for a bandwidth of 0", "--devices 2 --bandwidth 0", {"--bandwidth: '0'"}),
      plan("a plan for more devices than there are", "--devices 1024,1024 --bandwidth 1e9,1e9",
           {"--devices 1024,1024: that is more than 65536 devices"}),
      {"a simulated plan for too little memory",
       {{"p.txt", node("a") + node("b") + "\ta -- b\n"}},
       "plan --profile p.txt --devices 2 --bandwidth 1e9 --memory 1",
       2,
       {"no plan fits the memory", "is short of", "use more devices"}},
      plan("a plan with another planner's option", "--devices 2 --bandwidth 1e9 --allow-stale",
           {"--allow-stale has no effect under --objective pipedream", "--objective simulate"}),
      {"a simulated plan with PipeDream's cost model",
       {{"p.txt", node("a")}},
       "plan --profile p.txt --devices 2 --bandwidth 1e9 --cost-model code",
       2,
       {"--cost-model has no effect under --objective simulate", "--objective pipedream"}},
      {"a config with a profile that is not of its model",
       {{"p.txt", node("a")}},
       "plan base.toml --profile p.txt --devices 2 --bandwidth 1e9",
       2,
       {"the config base.toml has no effect with p.txt", "leave it out",
        "pipetrain profile base.toml"}},
      plan("a --set with a profile of no config", "--devices 2 --bandwidth 1e9 --set foo=1",
           {"--set has no effect with p.txt", "leave it out"}),
      {"a --set without a config",
       {{"p.json", "{}"}},
       "plan --profile p.json --set pipeline.stages=4",
       2,
       {"--set changes a config, but none is given", "pipetrain plan CONFIG --profile p.json"}},
      plan("a plan without devices", "", {"--devices is missing", "--cluster"}),
      plan("a plan for two clusters", "--devices 2 --bandwidth 1e9 --cluster pipedream-a",
           {"--cluster and --devices name two clusters"}),
      plan("a plan for a cluster that is not there", "--cluster pipedream-z", {"pipedream-z"}),
      {"a profile.json that is torn",
       {{"p.json", "{\"pipetrain_profile\": 6, "}},
       "plan --profile p.json",
       2,
       {"p.json: not a profile", "pipetrain profile CONFIG"}},
      {"a profile.json of another format",
       {{"p.json", "{\"pipetrain_profile\": 1}"}},
       "plan --profile p.json",
       2,
       {"pipetrain_profile is not 6", "pipetrain profile CONFIG"}},
      {"a profile.json without its key",
       {{"p.json", "{\"pipetrain_profile\": 6}"}},
       "plan --profile p.json",
       2,
       {"p.json: key is missing"}},
  };
}
