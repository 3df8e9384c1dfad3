#include "report/page.hpp"

#include <fmt/format.h>

#include "report/svg.hpp"

namespace tessera::report {
namespace {

std::string legend_of(const std::vector<LegendEntry>& legend) {
  if (legend.empty()) return "";
  std::string html = "<ul class=\"legend\">";
  for (const LegendEntry& entry : legend) {
    html += fmt::format(
        "<li><svg class=\"swatch\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">"
        "<rect x=\"1\" y=\"1\" width=\"12\" height=\"12\" rx=\"2\" class=\"{}\"/></svg>{}</li>",
        entry.style, escape(entry.text));
  }
  return html + "</ul>\n";
}

std::string table_of(const std::vector<TableColumn>& columns,
                     const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const TableColumn& column : columns) {
    html +=
        fmt::format("<th{}>{}</th>", column.is_number ? " class=\"n\"" : "", escape(column.name));
  }
  html += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_number = i < columns.size() && columns[i].is_number;
      html += fmt::format("<td{}>{}</td>", is_number ? " class=\"n\"" : "", escape(row[i]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

Page::Page(std::string_view title, std::string_view subtitle)
    : title_(title), subtitle_(subtitle) {}

void Page::facts(const std::vector<Fact>& facts) {
  body_ += "<dl class=\"facts\">\n";
  for (const Fact& fact : facts) {
    body_ +=
        fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", escape(fact.name), escape(fact.value),
                    fact.note.empty() ? "" : "<small>" + escape(fact.note) + "</small>");
  }
  body_ += "</dl>\n";
}

void Page::section(std::string_view heading) {
  body_ += fmt::format("<h2>{}</h2>\n", escape(heading));
}

void Page::paragraph(std::string_view text) {
  body_ += fmt::format("<p>{}</p>\n", escape(text));
}

void Page::note(std::string_view text) {
  body_ += fmt::format("<p class=\"note\">{}</p>\n", escape(text));
}

void Page::figure(std::string_view svg, std::string_view caption,
                  const std::vector<LegendEntry>& legend) {
  figures({std::string(svg)}, caption, legend);
}

void Page::figures(const std::vector<std::string>& svgs, std::string_view caption,
                   const std::vector<LegendEntry>& legend) {
  body_ += "<figure>\n";
  if (svgs.size() > 1) {
    body_ += svgs.size() > 3 ? "<div class=\"side-by-side narrow\">\n"
                             : "<div class=\"side-by-side\">\n";
  }
  for (const std::string& svg : svgs) body_ += "<div class=\"scroll\">" + svg + "</div>\n";
  if (svgs.size() > 1) body_ += "</div>\n";
  body_ += legend_of(legend);
  if (!caption.empty()) body_ += fmt::format("<figcaption>{}</figcaption>\n", escape(caption));
  body_ += "</figure>\n";
}

void Page::table(const std::vector<TableColumn>& columns,
                 const std::vector<std::vector<std::string>>& rows) {
  body_ += table_of(columns, rows);
}

void Page::folded_table(std::string_view summary, const std::vector<TableColumn>& columns,
                        const std::vector<std::vector<std::string>>& rows) {
  body_ += fmt::format("<details><summary>{}</summary>\n{}</details>\n", escape(summary),
                       table_of(columns, rows));
}

void Page::command(std::string_view text) {
  body_ += fmt::format("<pre><code>{}</code></pre>\n", escape(text));
}

std::string Page::str() const {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{}</h1>\n"
      "<p class=\"subtitle\">{}</p>\n</header>\n{}</main>\n"
      "<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>\n{}</script>\n</body>\n</html>\n",
      escape(title_), page_style(), content_style(), escape(title_), escape(subtitle_), body_,
      page_script());
}

}  // namespace tessera::report
