#include "program/csv.hpp"

#include <algorithm>
#include <charconv>

#include <spdlog/fmt/fmt.h>
#include "base/error.hpp"
#include "base/printable.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

std::string_view trimmed(std::string_view field) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
  while (!field.empty() && blank(field.front())) field.remove_prefix(1);
  while (!field.empty() && blank(field.back())) field.remove_suffix(1);
  return field;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const auto comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

void require_text(std::string_view line, int number) {
  for (const char c : line)
    if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r')
      throw UsageError(
          fmt::format("line {}: it is not text; a csv file of lines like `0,0F0` is "
                      "expected",
                      number));
}

struct Columns {
  std::size_t worker = 0, instruction = 0;
};

Columns columns_of(const std::vector<std::string_view>& names, int line) {
  const auto find = [&](std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw UsageError(
          fmt::format("line {}: there is no column `{}`; begin with the line `worker,instruction`",
                      line, name));
    return static_cast<std::size_t>(found - names.begin());
  };
  return {find("worker"), find("instruction")};
}

WorkerId worker_in(std::string_view field, int line) {
  WorkerId worker{-1};
  const auto [end, error] =
      std::from_chars(field.data(), field.data() + field.size(), worker.value);
  constexpr int most = 1024;
  if (error != std::errc{} || end != field.data() + field.size() || worker.value < 0 ||
      worker.value >= most)
    throw UsageError(fmt::format("line {}: `{}` is not a worker; they are numbered from 0 to {}",
                                 line, printable(field), most - 1));
  return worker;
}

CsvInstruction read_line(const std::vector<std::string_view>& fields, const Columns& columns,
                         int line) {
  if (fields.size() <= std::max(columns.worker, columns.instruction))
    throw UsageError(fmt::format("line {}: it has {} fields, too few for worker and instruction",
                                 line, fields.size()));
  try {
    return {worker_in(fields[columns.worker], line), parse_instruction(fields[columns.instruction]),
            line};
  } catch (const UsageError& error) {
    if (std::string_view(error.what()).starts_with("line")) throw;
    throw UsageError(fmt::format("line {}: {}", line, error.what()));
  }
}

}  // namespace

std::vector<CsvInstruction> parse_csv(std::string_view text) {
  std::vector<CsvInstruction> rows;
  bool named = false;
  Columns columns;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // spreadsheets begin UTF-8 with it
  for (int number = 1; !text.empty(); ++number) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
    require_text(line, number);
    const auto fields = fields_of(line);
    if (named)
      rows.push_back(read_line(fields, columns, number));
    else
      columns = columns_of(fields, number);
    named = true;
  }
  if (rows.empty())
    throw UsageError("line 1: it holds no instruction; write a line `0,0F0` for each");
  return rows;
}

}  // namespace pipetrain
