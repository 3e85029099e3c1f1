// Reads and writes the weights and the state of a pipeline's stages, on one rank or over several;
// and what the ranks other than 0 do for rank 0's pipeline.
#include <algorithm>
#include <set>
#include <utility>

#include "graph/graph.hpp"
#include "graph/traits.hpp"
#include "runtime/pipeline_impl.hpp"
#include "stage/stage_tensors.hpp"

namespace pipetrain {

void Pipeline::set_parameters(const NamedTensors& tensors) {
  impl_->put(Command::Kind::PutParameters, tensors);
}

void Pipeline::set_state(const NamedTensors& tensors) {
  impl_->put(Command::Kind::PutState, tensors);
}

NamedTensors Pipeline::parameters() const {
  NamedTensors tensors;
  for (StageTensors& stage : impl_->all(Command::Kind::TakeParameters))
    tensors.merge(stage.tensors);
  return tensors;
}

std::vector<StageTensors> Pipeline::state() const { return impl_->all(Command::Kind::TakeState); }

StageTensors Pipeline::Impl::parameters_of(int s) const {
  StageTensors part;
  take_parameters(stages[s]->first(), part.tensors, Tied::EachUse);
  return part;
}

StageTensors Pipeline::Impl::state_of(int s) const {
  Stage& stage = stages[s]->first();
  StageTensors part;
  for (int l = 0; l < stage.layers(); ++l) part.layers.push_back(stage.layer(l).name);
  take_parameters(stage, part.tensors, Tied::Owner);
  take_moments(stage, config.optimizer, part.tensors);
  if (keeps_delta(config.pipeline)) take_delta(stage, part.tensors);
  return part;
}

void Pipeline::Impl::put_parameters_here(const NamedTensors& tensors) {
  for (const auto& stage : stages)
    for (int c = 0; c < stage->count(); ++c)
      if (stage->has(c)) pipetrain::put_parameters(stage->copy(c), tensors);
}

void Pipeline::Impl::put_state_here(const NamedTensors& tensors) {
  put_parameters_here(tensors);
  for (const auto& copies : stages)
    for (int c = 0; c < copies->count(); ++c) {
      if (!copies->has(c)) continue;
      Stage& stage = copies->copy(c);
      put_moments(stage, config.optimizer, tensors);
      if (keeps_delta(config.pipeline)) put_delta(stage, tensors);
    }
}

// ---- over ranks

std::vector<StageTensors> Pipeline::Impl::all(Command::Kind kind) const {
  command({.kind = kind});
  std::vector<StageTensors> parts(stages.size());
  std::map<int, std::vector<StageTensors>> came;
  for (int s = 0; s < stage_count(); ++s) {
    if (has_stage(s)) {
      parts[s] = kind == Command::Kind::TakeState ? state_of(s) : parameters_of(s);
      continue;
    }
    auto& theirs = came[ranks[s][0]];
    if (theirs.empty())
      theirs = stages_in(of_job([&] { return job->notes().take(Topic::Tensors, ranks[s][0]); }));
    parts[s] = std::move(theirs.at(0));
    theirs.erase(theirs.begin());
  }
  return parts;
}

std::vector<StageTensors> Pipeline::state_to_save() const {
  impl_->command({.kind = Command::Kind::SaveState});
  return impl_->state_here();
}

std::vector<StageTensors> Pipeline::Impl::state_here() const {
  std::vector<StageTensors> parts(stages.size());
  for (int s = 0; s < stage_count(); ++s)
    if (has_stage(s)) parts[s] = state_of(s);
  return parts;
}

std::vector<int> Pipeline::ranks_that_save() const {
  std::set<int> savers;
  for (const std::vector<int>& copies : impl_->ranks) savers.insert(copies[0]);
  if (impl_->job) savers.erase(impl_->job->rank());
  return impl_->job ? std::vector(savers.begin(), savers.end()) : std::vector<int>{};
}

void Pipeline::Impl::reply(Command::Kind kind) const {
  std::vector<StageTensors> parts;
  for (int s = 0; s < stage_count(); ++s)
    if (has_stage(s))
      parts.push_back(kind == Command::Kind::TakeState ? state_of(s) : parameters_of(s));
  if (!parts.empty()) job->notes().send(0, Topic::Tensors, note_of(parts));
}

NamedTensors Pipeline::Impl::needed_by(int rank, const NamedTensors& tensors) const {
  std::set<std::string> names;  // of parameters and buffers
  for (int s = 0; s < stage_count(); ++s) {
    if (std::ranges::count(ranks[s], rank) == 0) continue;
    for (LayerId l = plan.stages[s].first; l <= plan.stages[s].last; ++l.value) {
      const Layer& layer = graph.layers[l];
      for (const Parameter& parameter : layer.parameters) {
        names.insert(parameter.name);
        names.insert(graph.owner(parameter).name);
      }
      for (const Buffer& buffer : layer.buffers) names.insert(buffer.name);
      if (traits_of(layer.spec).counts_minibatches) names.insert(batches_tracked_name(layer));
    }
  }
  NamedTensors needed;
  for (const auto& [name, tensor] : tensors)
    if (names.contains(name.substr(0, name.find('/')))) needed.emplace(name, tensor);
  return needed;
}

void Pipeline::Impl::put(Command::Kind kind, const NamedTensors& tensors) {
  command({.kind = kind});
  for (int rank = 1; leads() && rank < job->size(); ++rank)
    job->notes().send(rank, Topic::Tensors,
                      note_of({{.layers = {}, .tensors = needed_by(rank, tensors)}}));
  if (kind == Command::Kind::PutState)
    put_state_here(tensors);
  else
    put_parameters_here(tensors);
}

void Pipeline::serve(const Serving& serving) {
  using Kind = Command::Kind;
  Impl& p = *impl_;
  std::unique_ptr<Loader> training;
  bool begun = false;
  const auto reads = [&](Mode mode) { return loader_readers(mode) > 0; };
  const auto next = [&] { return p.of_job([&] { return next_command(*p.job); }); };
  const auto obey = [&](const Command& command) {
    switch (command.kind) {
      case Kind::Train:
        if (!begun) serving.on_training();
        if (!begun && reads(Mode::Train))
          training = serving.make_loader(Mode::Train, command.first);
        begun = true;
        p.train(
            training.get(), command.first, command.count, [](const StepRecord&) {}, nullptr);
        break;
      case Kind::Evaluate: {
        const auto loader =
            reads(Mode::Evaluate) ? serving.make_loader(Mode::Evaluate, 0) : nullptr;
        p.evaluate(loader.get(), command.count);
        break;
      }
      case Kind::PutParameters:
      case Kind::PutState: {
        const Note note = p.job->notes().take(Topic::Tensors, 0);
        p.put(command.kind, stages_in(note).at(0).tensors);
        break;
      }
      case Kind::TakeParameters:
      case Kind::TakeState:
        p.reply(command.kind);
        break;
      case Kind::SaveState:
        if (std::ranges::any_of(p.stages, [](const auto& stage) { return stage->has(0); }))
          serving.save(p.state_here());
        break;
    }
  };
  // A failure is told before anything here waits for a save that will not end.
  while (const auto command = next()) p.of_job([&] { obey(*command); });
}

}  // namespace pipetrain
