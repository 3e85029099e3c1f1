// One weight that several stages use, under every schedule: g_k is the sum over its uses of the
// gradients at the versions that the program names, and each mini-batch makes one update of it.
#include <map>

#include "backends.hpp"
#include "catch.hpp"
#include "schedules.hpp"
#include "semantics/engine.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

struct Reads {  // versions, by stage and micro-batch
  std::map<std::pair<int, int>, int> forward, backward;
};

Reads reads_of(const Program& program) {
  Reads reads;
  for (const auto& list : program.workers)
    for (const Instruction& i : list) {
      const std::pair key{i.stage.value, i.microbatch.value};
      if (i.op == Op::Forward) reads.forward[key] = i.weights.version.value;
      if (gives_input_gradient(i.op)) reads.backward[key] = i.weights.version.value;
    }
  return reads;
}

// The weight of each stage after the last update.
std::vector<double> by_hand(const Program& program, const ScalarTask& task) {
  const Reads reads = reads_of(program);
  const int stages = program.stages, n = program.microbatches;
  History w;
  for (const double weight : task.weights) w.push_back({weight});
  for (int k = 0; k < program.minibatches; ++k) {
    std::vector<double> gradient(static_cast<std::size_t>(stages), 0);
    for (int m = k * n; m < (k + 1) * n; ++m) {
      std::vector<double> f, b;
      for (int s = 0; s < stages; ++s) {
        f.push_back(w[s][static_cast<std::size_t>(reads.forward.at({s, m}))]);
        b.push_back(w[s][static_cast<std::size_t>(reads.backward.at({s, m}))]);
      }
      for (int s = 0; s < stages; ++s)
        for (int use = 0; use < stages; ++use)
          if (task.same_weight(s, use))
            gradient[s] += scalar_gradient(f, b, use, task.inputs[m], task.targets[m]) / n;
    }
    for (int s = 0; s < stages; ++s) w[s].push_back(w[s].back() - task.lr * gradient[s]);
  }
  std::vector<double> last;
  for (const auto& versions : w) last.push_back(versions.back());
  return last;
}

struct Case {
  std::string schedule;
  int stages, microbatches;
  std::vector<int> tied;  // see ScalarTask
};

const std::vector<Case> cases = {
    {"gpipe", 2, 2, {0, 0}},
    {"1f1b", 3, 4, {0, 1, 0}},
    {"zb_h1", 3, 4, {0, 0, 0}},
    {"zb_h2", 4, 8, {0, 1, 1, 0}},
    {"pipedream", 2, 1, {0, 0}},
    {"pipedream", 3, 1, {0, 1, 0}},
    {"pipedream", 4, 2, {0, 1, 1, 0}},
    {"pipedream", 3, 2, {0, 0, 2}},  // the last stage waits for no other
    {"pipedream_2bw", 3, 4, {0, 1, 0}},
    {"timeprest", 2, 2, {0, 0}},
    {"timeprest", 3, 4, {0, 1, 0}},
    {"v_timeprest", 3, 4, {0, 1, 0}},
    {"v_timeprest", 3, 3, {0, 0, 0}},
};

Program program_of(const Case& c, int minibatches) {
  std::set<StageId> tied;
  for (int s = 0; s < c.stages; ++s)
    for (int t = 0; t < c.stages; ++t)
      if (s != t && c.tied[static_cast<std::size_t>(s)] == c.tied[static_cast<std::size_t>(t)])
        tied.insert({s});
  return make_program({.schedule = c.schedule,
                       .stages = c.stages,
                       .microbatches = c.microbatches,
                       .minibatches = minibatches,
                       .tied = tied});
}

ScalarTask task_of(const Case& c, int minibatches) {
  ScalarTask task = random_task(c.stages, c.microbatches * minibatches);
  task.tied = c.tied;
  for (std::size_t s = 0; s < task.weights.size(); ++s)
    task.weights[s] = task.weights[static_cast<std::size_t>(c.tied[s])];
  return task;
}

}  // namespace

TEST_CASE("a tied weight makes one update by the sum of its uses' gradients") {
  const int k = 10;
  for (const Case& c : cases) {
    const Program program = program_of(c, k);
    if (program.gradients_together)
      continue;  // only the engine runs it: this trainer sends each gradient separately
    const ScalarTask task = task_of(c, k);
    const History got = ScalarTrainer(program, task).run();
    const std::vector<double> expected = by_hand(program, task);
    for (int s = 0; s < c.stages; ++s) {
      CAPTURE(c.schedule, c.stages, c.microbatches, s);
      CHECK(got[s].back() == Approx(expected[s]).epsilon(1e-12));
      CHECK(got[s] == got[c.tied[s]]);  // every version, on every stage
    }
  }
}

TEST_CASE("the engine updates a tied weight once", "[backends]") {
  const Choice choice{GENERATE(from_range(testing::backend_names())),
                      GENERATE("threads", "inline")};
  const int k = 10;
  for (const Case& c : cases) {
    const Program program = program_of(c, k);
    const ScalarTask task = task_of(c, k);
    const std::vector<double> got = train_on_engine(program, task, choice),
                              expected = by_hand(program, task);
    for (int s = 0; s < c.stages; ++s) {
      CAPTURE(c.schedule, c.stages, c.microbatches, s, choice.backend, choice.workers);
      CHECK(got[s] == Approx(expected[s]).epsilon(1e-5));
      CHECK(got[s] == got[c.tied[s]]);
    }
  }
}
