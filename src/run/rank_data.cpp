#include "run/rank_data.hpp"

#include <algorithm>

#include "compile/pipeline_sizes.hpp"
#include "compile/segment_program.hpp"
#include "transport/note_fields.hpp"

namespace pipetrain {

bool reads_samples(const Config& config, const Ranks& ranks) {
  if (ranks.count == 1) return true;
  const Program program = training_program(config, config.pipeline.stages, 1).program;
  const int workers = static_cast<int>(program.workers.size());
  const auto has = [&](StageId stage) {
    return std::ranges::any_of(workers_of(program, stage),
                               [&](WorkerId worker) { return ranks.has(worker, workers); });
  };
  return has({0}) || has({program.stages - 1});
}

DataFacts data_facts(const Config& config, const Datasets& data) {
  DataFacts facts{training_length(config, *data.train), minibatch_sizes(config, data)};
  if (data.validation && asks_for_validation(config))
    facts.validation_steps = data.validation->order(evaluation_order(config))->steps_per_epoch();
  return facts;
}

void send_data_facts(Job& job, const DataFacts& facts) {
  NoteWriter out;
  out.number(static_cast<std::uint64_t>(facts.length.steps_per_epoch));
  out.number(static_cast<std::uint64_t>(facts.length.steps));
  out.values(facts.sizes.train);
  out.values(facts.sizes.validation);
  out.number(static_cast<std::uint64_t>(facts.validation_steps));
  job.notes().send_to_others(Topic::Data, out.note);
}

DataFacts take_data_facts(Job& job) {
  const Note note = job.notes().take(Topic::Data, 0);
  NoteReader in(note);
  DataFacts facts;
  facts.length.steps_per_epoch = static_cast<std::int64_t>(in.number());
  facts.length.steps = static_cast<std::int64_t>(in.number());
  facts.sizes.train = in.values<MinibatchSize>();
  facts.sizes.validation = in.values<MinibatchSize>();
  facts.validation_steps = static_cast<std::int64_t>(in.number());
  return facts;
}

}  // namespace pipetrain
