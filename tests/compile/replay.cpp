#include "replay.hpp"
#include "graph/graph.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace pipetrain::testing {
namespace {

// What a piece of memory holds: the name of a value or of saved data, or for a gradient the names
// of all its summands.
using Content = std::multiset<std::string>;

struct Extent {
  std::size_t bytes = 0;
  Content content;
};

class Replay {
 public:
  explicit Replay(const ReplayInput& in) : in_(in) {
    for (std::size_t l = 0; l < in.graph.layers.size(); ++l)
      all_kernels_.push_back(
          in.lowering.make_kernel({static_cast<int>(l)}, {.samples = in.samples, .mode = in.mode}));
    for (int l = in.first.value; l <= in.last.value; ++l)
      kernels_.push_back(in.lowering.make_kernel({l}, {.samples = in.samples, .mode = in.mode}));
    recipe_ = make_recipe({.graph = in.graph,
                           .lowering = in.lowering,
                           .first = in.first,
                           .last = in.last,
                           .kernels = kernels_,
                           .samples = in.samples,
                           .mode = in.mode,
                           .split_backward = in.split_backward,
                           .recomputed = in.recomputed});
    trained_ = trained_values();
  }

  std::vector<std::string> run() {
    forward();
    if (in_.mode == Mode::Train) backward();
    return problems_;
  }

 private:
  // ---- the graph, worked out here independently
  bool is_first() const { return in_.first.value == 0; }
  bool is_last() const { return in_.last.value + 1 == static_cast<int>(in_.graph.layers.size()); }
  const Layer& layer(int l) const { return in_.graph.layers[static_cast<std::size_t>(l)]; }
  const KernelTraits& traits(int l) const {
    return all_kernels_[static_cast<std::size_t>(l)]->traits();
  }
  int whole(const Step& step) const { return in_.first.value + step.layer; }
  std::vector<bool> trained_values() const {
    std::vector<bool> trained = {false};
    for (const Layer& l : in_.graph.layers)
      trained.push_back(!l.parameters.empty() ||
                        std::any_of(l.inputs.begin(), l.inputs.end(), [&](ValueId v) {
                          return trained[static_cast<std::size_t>(v.value)];
                        }));
    return trained;
  }
  bool trained(ValueId v) const { return trained_[static_cast<std::size_t>(v.value)]; }
  // Made before a layer and read at or after it.
  std::vector<ValueId> crossing(int next) const {
    std::vector<ValueId> values;
    for (int v = 0; v <= next; ++v) {
      bool read = false;
      for (int l = next; l < static_cast<int>(in_.graph.layers.size()); ++l)
        for (const ValueId input : layer(l).inputs) read = read || input.value == v;
      if (read) values.push_back({v});
    }
    return values;
  }
  // Names that share their bytes by definition have one content.
  ValueId root(ValueId v) const {
    while (v.value > 0 && traits(v.value - 1).aliases_input) v = layer(v.value - 1).inputs[0];
    return v;
  }
  Content value(ValueId v) const { return {fmt::format("v{}", root(v).value)}; }
  static Content saved(int l) { return {fmt::format("saved{}", l)}; }
  // What a backward_input() leaves there for the other half.
  static Content saved_for_weights(int l) { return {fmt::format("saved{} for weights", l)}; }
  // The gradient of a value: a summand for each reader in this stage, and what came from the next
  // stage.
  Content gradient(ValueId v) const {
    Content sum;
    if (is_last() && v.value == in_.last.value + 1) sum.insert("loss");
    if (!is_last())
      for (const ValueId c : crossing(in_.last.value + 1))
        if (c == v) sum.insert(fmt::format("after v{}", v.value));
    for (int l = in_.first.value; l <= in_.last.value; ++l)
      for (std::size_t i = 0; i < layer(l).inputs.size(); ++i)
        if (layer(l).inputs[i] == v)
          sum.merge(traits(l).aliases_gradient ? gradient({l + 1}) : Content{summand(l, i)});
    return sum;
  }
  static std::string summand(int l, std::size_t input) {
    return fmt::format("layer{}.{}", l, input);
  }
  std::size_t bytes(ValueId v) const { return in_.lowering.value_bytes(v, in_.samples); }

  // ---- memory
  std::map<std::size_t, Extent>& area(Area a) { return areas_[static_cast<std::size_t>(a)]; }
  std::size_t limit(Area a) const {
    if (a == Area::Slot) return recipe_.slot_bytes;
    if (a == Area::Workspace) return recipe_.workspace_bytes;
    const LayerId in = in_.first, out{in_.last.value + 1};
    const auto& [g, l] = std::tie(in_.graph, in_.lowering);
    if (a == Area::PacketIn) return activation_packet(g, l, in, in_.samples).bytes;
    if (a == Area::PacketOut) return activation_packet(g, l, out, in_.samples).bytes;
    if (a == Area::GradientOut) return gradient_packet(g, l, in, in_.samples).bytes;
    if (a == Area::GradientIn) return gradient_packet(g, l, out, in_.samples).bytes;
    return 0;
  }
  void write(const Place& place, std::size_t size, const Content& content) {
    if (place.area == Area::None) return problem("something is written nowhere");
    if (place.offset + size > limit(place.area))
      problem(fmt::format("{} bytes at {} of area {} do not fit", size, place.offset,
                          static_cast<int>(place.area)));
    auto& extents = area(place.area);
    for (auto e = extents.begin(); e != extents.end();) {
      const bool apart =
          e->first + e->second.bytes <= place.offset || place.offset + size <= e->first;
      e = apart ? std::next(e) : extents.erase(e);
    }
    extents[place.offset] = {size, content};
  }
  const Content* look(const Place& place, std::size_t size) {
    auto& extents = area(place.area);
    const auto found = extents.find(place.offset);
    return found != extents.end() && found->second.bytes >= size ? &found->second.content : nullptr;
  }
  void expect(const Place& place, std::size_t size, const Content& content, const char* what) {
    const Content* const found = look(place, size);
    if (found && *found == content) return;
    problem(fmt::format("{}: '{}' expected, '{}' found", what, text(content),
                        found ? text(*found) : "nothing whole"));
  }
  static std::string text(const Content& content) {
    std::string all;
    for (const std::string& name : content) all += (all.empty() ? "" : " + ") + name;
    return all;
  }
  void problem(const std::string& what) { problems_.push_back(where_ + what); }

  // ---- forward
  void forward() {
    if (is_first()) load_input();
    if (!is_first()) fill_packet(Area::PacketIn, in_.first);
    for (const Step& step : recipe_.forward) {
      where_ = fmt::format("forward of layer {}: ", whole(step));
      if (step.kind == Step::Kind::Copy)
        copy(step);
      else
        forward(step, whole(step));
    }
    where_ = "after forward: ";
    if (is_last())
      expect(recipe_.output, bytes({in_.last.value + 1}), value({in_.last.value + 1}), "output");
    if (!is_last()) check_leaving_values();
  }
  // An input that is read in place is never written: limit() leaves no room for that.
  void load_input() {
    if (in_.lowering.reads_plain_input())
      area(Area::Input)[0] = {bytes({0}), value({0})};
    else
      write(recipe_.input, bytes({0}), value({0}));
  }
  void fill_packet(Area a, LayerId next) {
    const PacketLayout packet = activation_packet(in_.graph, in_.lowering, next, in_.samples);
    for (std::size_t i = 0; i < packet.values.size(); ++i)
      write({a, packet.offsets[i]}, bytes(packet.values[i]), value(packet.values[i]));
  }
  void check_leaving_values() {
    const LayerId next{in_.last.value + 1};
    const PacketLayout packet = activation_packet(in_.graph, in_.lowering, next, in_.samples);
    if (packet.values != crossing(next.value)) problem("the packet is not what crosses the cut");
    for (std::size_t i = 0; i < packet.values.size(); ++i)
      expect({Area::PacketOut, packet.offsets[i]}, bytes(packet.values[i]), value(packet.values[i]),
             "packet");
  }
  void forward(const Step& step, int l) {
    const auto inputs = [&] {
      for (std::size_t i = 0; i < step.inputs.size(); ++i)
        expect(step.inputs[i], bytes(layer(l).inputs[i]), value(layer(l).inputs[i]), "input");
    };
    inputs();
    if (traits(l).saved_bytes > 0) write(step.saved, traits(l).saved_bytes, saved(l));
    write(step.output, bytes({l + 1}), value({l + 1}));
    inputs();  // neither overwrote what is being read
    if (traits(l).saved_bytes > 0) expect(step.saved, traits(l).saved_bytes, saved(l), "saved");
  }
  void copy(const Step& step) {
    const Content* const content = look(step.inputs[0], step.bytes);
    if (!content) return problem("a copy of nothing whole");
    write(step.output, step.bytes, Content(*content));
  }

  // ---- backward
  void backward() {
    area(Area::Workspace).clear();  // other micro-batches passed through
    if (is_last())
      write(recipe_.loss_gradient, bytes({in_.last.value + 1}), {"loss"});
    else
      fill_gradient_packet();
    const std::span<const Step> steps = recipe_.backward;
    for (const Step& step : steps.first(recipe_.head))
      if (!deferred(step)) backward(step);
    check_leaving_gradients();
    area(Area::GradientOut).clear();                        // it is sent
    if (in_.split_backward) area(Area::Workspace).clear();  // other micro-batches pass through
    for (const Step& step : steps)
      if (deferred(step)) backward(step);
    for (const Step& step : steps.subspan(recipe_.head))
      if (!deferred(step)) backward(step);
    check_every_parameter_once();
  }
  bool deferred(const Step& step) const {
    return in_.split_backward && step.kind == Step::Kind::BackwardWeight;
  }
  void fill_gradient_packet() {
    const LayerId next{in_.last.value + 1};
    const PacketLayout packet = gradient_packet(in_.graph, in_.lowering, next, in_.samples);
    std::vector<ValueId> expected;
    for (const ValueId v : crossing(next.value))
      if (trained(v)) expected.push_back(v);
    if (packet.values != expected) problem("the gradient packet is not what needs a gradient");
    for (std::size_t i = 0; i < packet.values.size(); ++i)
      write({Area::GradientIn, packet.offsets[i]}, bytes(packet.values[i]),
            {fmt::format("after v{}", packet.values[i].value)});
  }
  void check_leaving_gradients() {
    if (is_first()) return;
    where_ = "after backward: ";
    const PacketLayout packet = gradient_packet(in_.graph, in_.lowering, in_.first, in_.samples);
    for (std::size_t i = 0; i < packet.values.size(); ++i)
      expect({Area::GradientOut, packet.offsets[i]}, bytes(packet.values[i]),
             gradient(packet.values[i]), "gradient packet");
  }
  void check_every_parameter_once() {
    where_ = "backward: ";
    std::vector<int> computed, expected;
    for (const Step& step : recipe_.backward)
      if (step.kind == Step::Kind::BackwardWeight) computed.push_back(whole(step));
    for (int l = in_.last.value; l >= in_.first.value; --l)
      if (!layer(l).parameters.empty()) expected.push_back(l);
    if (computed != expected) problem("not every layer's weight gradient is computed once");
  }

  void backward(const Step& step) {
    where_ = fmt::format("backward of layer {}: ", whole(step));
    switch (step.kind) {
      case Step::Kind::Copy:
        return copy(step);
      case Step::Kind::Add:
        return add(step);
      case Step::Kind::BackwardWeight:
        return backward_weight(step, whole(step));
      case Step::Kind::BackwardInput:
        return backward_input(step, whole(step));
      case Step::Kind::Forward:
        return forward_again(step, whole(step));
    }
  }
  void forward_again(const Step& step, int l) {
    if (!in_.recomputed || !(*in_.recomputed)[LayerId{l}]) problem("a forward");
    if (!again_.insert(l).second) problem("a layer runs again twice");
    forward(step, l);
  }
  void add(const Step& step) {
    const Content *into = look(step.output, bytes(step.value)),
                  *from = look(step.inputs[0], bytes(step.value));
    if (!into || !from) return problem("a sum with nothing whole");
    Content sum = *into, addend = *from;
    sum.merge(addend);
    write(step.output, bytes(step.value), sum);
  }
  void backward_weight(const Step& step, int l) {
    const bool in_order = traits(l).backward_weight_needs_backward_input;
    backward_operands(step, traits(l).backward_weight_reads_inputs, false,
                      in_order ? saved_for_weights(l) : saved(l));
  }
  void backward_operands(const Step& step, bool reads_inputs, bool reads_output,
                         const Content& saved) {
    const int l = whole(step);
    expect(step.output_gradient, bytes({l + 1}), gradient({l + 1}), "output gradient");
    if (reads_inputs)
      for (std::size_t i = 0; i < step.inputs.size(); ++i)
        expect(step.inputs[i], bytes(layer(l).inputs[i]), value(layer(l).inputs[i]), "input");
    if (reads_output) expect(step.output, bytes({l + 1}), value({l + 1}), "output");
    if (traits(l).saved_bytes > 0) expect(step.saved, traits(l).saved_bytes, saved, "saved");
  }
  void backward_input(const Step& step, int l) {
    const bool for_weights = traits(l).backward_weight_needs_backward_input;
    const auto operands = [&] {
      backward_operands(step, traits(l).backward_input_reads_inputs,
                        traits(l).backward_input_reads_output, saved(l));
    };
    operands();
    if (traits(l).aliases_gradient) problem("a gradient that is the output's is computed");
    bool any = false;
    for (std::size_t i = 0; i < step.input_gradients.size(); ++i) {
      const ValueId v = layer(l).inputs[i];
      const bool wanted = step.input_gradients[i].area != Area::None;
      any = any || wanted;
      if (wanted != trained(v)) problem("a gradient is computed that nobody needs, or is not");
      if (wanted) write(step.input_gradients[i], bytes(v), {summand(l, i)});
    }
    if (!any && !for_weights) problem("a backward that gives nothing");
    operands();  // nothing that is read was overwritten
    if (for_weights) write(step.saved, traits(l).saved_bytes, saved_for_weights(l));
    for (std::size_t i = 0; i < step.input_gradients.size(); ++i)
      if (step.input_gradients[i].area != Area::None)
        expect(step.input_gradients[i], bytes(layer(l).inputs[i]), {summand(l, i)},
               "input gradient");
  }

  const ReplayInput& in_;
  std::vector<std::unique_ptr<Kernel>> all_kernels_, kernels_;
  Recipe recipe_;
  std::vector<bool> trained_;
  std::set<int> again_;  // layers that ran forward in the backward
  std::array<std::map<std::size_t, Extent>, area_count> areas_;
  std::string where_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> replay(const ReplayInput& input) { return Replay(input).run(); }

}  // namespace pipetrain::testing
