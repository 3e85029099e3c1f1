#include "report/table.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/xml_text.hpp"

namespace pipetrain {

std::string html_table(const TableRows& rows) {
  std::string text = "<div class=\"scroll\"><table>";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += "<tr>";
    for (const CellText& cell : rows[r])
      text += fmt::format("<{0}{1}>{2}{3}</{0}>", r == 0 ? "th" : "td",
                          cell.best ? " class=\"best\"" : "", xml_text(cell.text), cell.bar);
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string bar_of(double share, const std::string& style) {
  return fmt::format("<div class=\"bar\"><i class=\"{}\" style=\"width:{:.1f}%\"></i></div>", style,
                     100 * std::clamp(share, 0., 1.));
}

}  // namespace pipetrain
