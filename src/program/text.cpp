// See text.hpp for the grammar.
#include "program/text.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"

namespace pipetrain {
namespace {

struct OpText {
  Op op;
  std::string_view letters, name;
};
constexpr std::array<OpText, 19> op_texts{{
    {Op::LoadInput, "L", "load input"},
    {Op::Forward, "F", "forward"},
    {Op::Backward, "B", "backward"},
    {Op::BackwardInput, "I", "backward (input half)"},
    {Op::BackwardWeight, "W", "backward (weight half)"},
    {Op::Recompute, "R", "recompute"},
    {Op::SendActivation, "SA", "send activation"},
    {Op::ReceiveActivation, "RA", "receive activation"},
    {Op::SendRecomputed, "SR", "send recomputed activation"},
    {Op::ReceiveRecomputed, "RR", "receive recomputed activation"},
    {Op::SendGradient, "SG", "send gradient"},
    {Op::ReceiveGradient, "RG", "receive gradient"},
    {Op::SyncGradients, "Y", "synchronise gradients"},
    {Op::Update, "U", "update"},
    {Op::BackwardHead, "BH", "backward, up to its send"},
    {Op::BackwardTail, "BT", "backward, after its send"},
    {Op::BackwardUpdate, "BU", "backward and update"},
    {Op::BackwardTailUpdate, "TU", "backward after its send, and update"},
    {Op::BackwardWeightUpdate, "WU", "backward (weight half) and update"},
}};

const OpText& text_of(Op op) {
  for (const auto& row : op_texts)
    if (row.op == op) return row;
  PIPETRAIN_CHECK(false, "an instruction without letters: {}", static_cast<int>(op));
  return op_texts[0];
}

// The shortest text that reads back as the same double.
std::string exact(double value) {
  std::array<char, 32> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

struct WeightText {
  Version version;
  std::string operator()(const AsStored&) const {
    return version.value == 0 ? "" : fmt::format("@{}", version.value);
  }
  std::string operator()(const Extrapolate& e) const {
    return fmt::format("@{}-{}d", version.value, exact(e.updates));
  }
  std::string operator()(const Blend& b) const {
    return fmt::format("@{}~{}*{}", version.value, b.other.value, exact(b.other_share));
  }
};

// Consumes a text from the left; each member returns whether it found what it was looking for.
struct Reader {
  std::string_view left;

  bool take(std::string_view expected) {
    if (!left.starts_with(expected)) return false;
    left.remove_prefix(expected.size());
    return true;
  }
  bool count(int& value) {
    if (left.empty() || left[0] < '0' || left[0] > '9') return false;
    return number(value);
  }
  bool real(double& value) { return number(value) && std::isfinite(value); }
  bool op(Op& value) {
    for (std::size_t length : {2, 1})
      for (const auto& row : op_texts)
        if (row.letters.size() == length && take(row.letters)) return value = row.op, true;
    return false;
  }
  bool weights(WeightRead& value) {
    if (left.empty()) return true;
    if (!take("@") || !count(value.version.value)) return false;
    if (take("-")) {
      Extrapolate how;
      bool read = real(how.updates) && take("d");
      value.how = how;
      return read;
    }
    if (take("~")) {
      Blend how;
      bool read = count(how.other.value) && take("*") && real(how.other_share);
      value.how = how;
      return read;
    }
    return true;
  }

 private:
  template <class Number>
  bool number(Number& value) {
    auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
    if (error != std::errc{}) return false;
    left.remove_prefix(end - left.data());
    return true;
  }
};

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  auto word = line.substr(0, line.find_first_of(" \t\r"));
  line.remove_prefix(word.size());
  return word;
}

bool read_placement(Reader& in, std::vector<std::vector<WorkerId>>& placement) {
  do {
    auto& copies = placement.emplace_back();
    do {
      if (!in.count(copies.emplace_back().value)) return false;
    } while (in.take("+"));
  } while (in.take(","));
  return true;
}

bool read_sync_groups(Reader& in, Indexed<int, StageId>& groups) {
  do {
    int& group = groups.emplace_back(-1);
    if (!in.take("-") && !in.count(group)) return false;
  } while (in.take(","));
  return true;
}

bool read_header_word(std::string_view word, Program& program) {
  Reader in{word};
  bool read = in.take("stages=")              ? in.count(program.stages)
              : in.take("microbatches=")      ? in.count(program.microbatches)
              : in.take("minibatches=")       ? in.count(program.minibatches)
              : in.take("placement=")         ? read_placement(in, program.placement)
              : in.take("sync=")              ? read_sync_groups(in, program.sync_groups)
              : in.take("copies=in-turn")     ? (program.whole_minibatches = true)
              : in.take("gradients=together") ? (program.gradients_together = true)
              : in.take("period=")            ? in.count(program.period) && program.period > 0
                                              : false;
  return read && in.left.empty();
}

[[noreturn]] void fail_line(int line, std::string_view token, std::string_view instead) {
  throw UsageError(fmt::format("program text, line {}: `{}` is not understood; {}", line,
                               printable(token), instead));
}

void read_header(std::string_view line, int number, Program& program) {
  if (auto word = next_word(line); word != "program")
    fail_line(number, word,
              "a program begins with `program stages=2 microbatches=4 minibatches=1`");
  for (auto word = next_word(line); !word.empty(); word = next_word(line))
    if (!read_header_word(word, program))
      fail_line(
          number, word,
          "known are stages=, microbatches=, minibatches=, placement=0,1+2,.., copies=in-turn, "
          "sync=0,-,.., gradients=together, period=2");
  if (program.stages < 1 || program.microbatches < 1 || program.minibatches < 1)
    fail_line(number, "0", "stages, microbatches and minibatches are at least 1");
}

void read_worker(std::string_view line, int number, Program& program) {
  auto expected = fmt::format("{}:", program.workers.size());
  if (auto word = next_word(line); word != expected)
    fail_line(number, word, fmt::format("the next line of a worker begins with `{}`", expected));
  auto& list = program.workers.emplace_back();
  for (auto word = next_word(line); !word.empty(); word = next_word(line)) try {
      list.push_back(parse_instruction(word));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("program text, line {}: {}", number, error.what()));
    }
}

std::string placement_text(const Program& program) {
  if (program.placement.empty()) return "";
  std::string text = " placement=";
  for (const auto& copies : program.placement) {
    if (&copies != &program.placement.front()) text += ',';
    for (const auto& worker : copies)
      text += fmt::format("{}{}", &worker == &copies.front() ? "" : "+", worker.value);
  }
  return text;
}

std::string sync_text(const Program& program) {
  if (program.sync_groups.empty()) return "";
  std::string text = " sync=";
  for (const int& group : program.sync_groups) {
    if (&group != &program.sync_groups.front()) text += ',';
    text += group < 0 ? "-" : std::to_string(group);
  }
  return text;
}

}  // namespace

std::string_view letters(Op op) { return text_of(op).letters; }
std::string_view op_name(Op op) { return text_of(op).name; }

std::string short_text(const Instruction& i) {
  return fmt::format("{}{}{}", i.stage.value, letters(i.op), i.microbatch.value);
}

std::string to_text(const Instruction& i) {
  std::string text;
  append_text(text, i);
  return text;
}

void append_text(std::string& text, const Instruction& i) {
  const auto number = [&](int value) {
    std::array<char, 12> digits;
    text.append(digits.data(),
                std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  };
  number(i.stage.value);
  text += letters(i.op);
  number(i.microbatch.value);
  if (i.weights != WeightRead{}) text += std::visit(WeightText{i.weights.version}, i.weights.how);
}

std::string to_text(const Program& program) {
  auto text =
      fmt::format("program stages={} microbatches={} minibatches={}{}{}{}{}{}\n", program.stages,
                  program.microbatches, program.minibatches, placement_text(program),
                  program.whole_minibatches ? " copies=in-turn" : "", sync_text(program),
                  program.gradients_together ? " gradients=together" : "",
                  program.period == 1 ? "" : fmt::format(" period={}", program.period));
  for (std::size_t worker = 0; worker < program.workers.size(); ++worker) {
    text += fmt::format("{}:", worker);
    for (const auto& instruction : program.workers[worker])
      text += fmt::format(" {}", to_text(instruction));
    text += '\n';
  }
  return text;
}

Instruction parse_instruction(std::string_view text) {
  Instruction i;
  Reader in{text};
  if (in.count(i.stage.value) && in.op(i.op) && in.count(i.microbatch.value) &&
      in.weights(i.weights) && in.left.empty())
    return i;
  std::string known;
  for (const auto& row : op_texts) known += (known.empty() ? "" : " ") + std::string(row.letters);
  throw UsageError(
      fmt::format("`{}` is not an instruction; write stage, letters ({}), micro-batch, such as 2F0 "
                  "or 2B3@1",
                  printable(text), known));
}

Program parse_program(std::string_view text) {
  Program program;
  bool header = false;
  for (int number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    auto rest = line;
    if (auto first = next_word(rest); first.empty() || first.starts_with("#")) continue;
    if (!header)
      read_header(line, number, program);
    else
      read_worker(line, number, program);
    header = true;
  }
  if (!header) throw UsageError("program text: it is empty; the first line is `program stages=..`");
  return program;
}

}  // namespace pipetrain
