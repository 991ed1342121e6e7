// A page, see html_page.h; and a report as one, see report.h.
#include "lib/report/html_page.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "lib/io/tables/tsv.h"
#include "lib/report/report.h"
#include "lib/report/shown_numbers.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

// System colours are light or dark as the reader's system is; those of curves are seen on both.
constexpr std::string_view page_style =
    ":root{color-scheme:light dark}\n"
    "p,caption,summary,.keys dt,.keys .beside,.facts th{color:color-mix(in srgb,CanvasText 65%,Canvas)}"
    ".keys dl,.warnings,pre,figure,.rows tbody tr:nth-child(even){background:color-mix(in srgb,CanvasText 5%,Canvas)}\n"
    "body{font:16px/1.5 system-ui,Helvetica,Arial,sans-serif;color:CanvasText;background:Canvas;max-width:86rem;"
    "margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.5rem;line-height:1.25;margin:0 0 .2rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:1.8rem 0 "
    ".4rem;border-bottom:1px solid;overflow-wrap:anywhere}\n"
    "p{overflow-wrap:anywhere}\n"
    ".keys{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}.keys dl{flex:1 1 13rem;max-width:24rem;margin:0;"
    "padding:.6rem .9rem;border-radius:.4rem}.keys dd{margin:0}"
    ".keys .value{font-size:1.7rem;line-height:1.3;font-variant-numeric:tabular-nums}"
    ".keys .beside{font-size:.9rem}\n"
    ".warnings{border-left:.3rem solid #e0681a;padding:.1rem .9rem;margin:1rem 0}"
    ".warnings ul,nav ul{margin:.3rem 0;padding-left:1.2rem}nav li,.warnings li{overflow-wrap:anywhere}\n"
    "table{border-collapse:collapse;margin:.6rem 0}caption,summary{text-align:left;padding:.2rem 0}"
    "th,td{padding:.18rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
    "th{font-weight:600;white-space:nowrap}.facts th{font-weight:normal;padding-left:0}"
    "thead th{border-bottom:2px solid}"
    ".rows td{overflow-wrap:break-word;max-width:22rem}.wide{overflow-x:auto}.n{text-align:right}"
    "td.n,.v{white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "pre,figure{border-radius:.4rem}pre{padding:.6rem .8rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}\n"
    "h2,thead th{border-bottom-color:color-mix(in srgb,CanvasText 25%,Canvas)}\n"
    // Columns of one width, so that a chart alone in the last row is as large as the others.
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1rem;margin:.8rem "
    "0}figure{max-width:42rem;min-width:0;margin:0}\n"
    "svg.chart{display:block;width:100%;font-family:inherit}svg text{fill:CanvasText}svg .title{font-size:14px}"
    "svg .tick{font-size:11px;fill-opacity:.7}svg .grid{stroke:CanvasText;stroke-opacity:.15;fill:none;"
    "stroke-width:.6}svg .line{fill:none;stroke-width:1.6;stroke-linejoin:round}svg .faint{stroke-width:1;"
    "stroke-opacity:.35}\n"
    "svg .line-0{stroke:#1f83c4;color:#1f83c4}svg .line-1{stroke:#e0681a;color:#e0681a}"
    "svg .line-2{stroke:#12a176;color:#12a176}svg .line-3{stroke:#c065a5;color:#c065a5}"
    "svg .line-4{stroke:#b98a12;color:#b98a12}svg .line-5{stroke:#8a7fd6;color:#8a7fd6}"
    "svg .dot{fill:Canvas}svg .lone,svg .bin{fill:currentColor}svg .bin{stroke:none}\n"
    "svg.square{max-width:26rem;margin:0 auto}svg .guess{stroke:CanvasText;stroke-opacity:.4;stroke-dasharray:4 4;"
    "fill:none}svg .bar{fill:#1f83c4}svg .over{fill:#e0681a}svg .cell{fill:#1f83c4}"
    "svg .range{stroke:CanvasText;stroke-width:1.4;fill:none}\n"
    "img{display:block;max-width:100%;height:auto;margin:0 auto;background:#fff;border-radius:.4rem}"
    "figcaption{padding:.2rem .6rem}\n"
    "@media(max-width:40rem){body{margin:1rem auto}th,td{padding:.18rem .4rem}.facts th{white-space:normal;min-width:"
    "7rem}.keys dl{max-width:none}}\n"
    "@media print{:root{color-scheme:light}body{max-width:none;margin:0;font-size:11pt}figure,tr,.keys dl{break-inside:"
    "avoid}h2,caption{break-after:avoid}.wide{overflow:visible}.figures{grid-template-columns:1fr 1fr}"
    ".rows{font-size:8.5pt}.rows td{max-width:12rem}a{color:inherit}}\n";

// With three digits; what that hides is the title of the cell.
std::string cell(const std::string& text, const char* number_class, const std::string& link = {}) {
  const std::string shown = shown_cell(text);
  std::string opening = "<td";
  if (*number_class != '\0') opening += std::string(" class=\"") + number_class + "\"";
  if (shown != text) opening += " title=\"" + svg_escaped(text) + "\"";
  if (link.empty()) return opening + ">" + svg_escaped(shown) + "</td>";
  return opening + "><a href=\"" + svg_escaped(link) + "\">" + svg_escaped(shown) + "</a></td>";
}

// Empty cells and missing values stand at the right of columns of numbers too.
bool is_column_of_numbers(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  bool any = false;
  for (const std::vector<std::string>& row : rows) {
    if (column >= row.size() || row[column].empty() || is_missing(row[column]) || row[column] == "no value")
      continue;
    if (!is_number_text(row[column])) return false;
    any = true;
  }
  return any;
}

std::string chart_html(const ReportChart& chart) {
  struct Draw {
    std::string operator()(const LineChart& lines) const { return line_chart_svg(lines); }
    std::string operator()(const BarChart& bars) const { return bar_chart_svg(bars); }
    std::string operator()(const MatrixChart& matrix) const { return matrix_chart_svg(matrix); }
    std::string operator()(const ReportPicture& picture) const {
      return image_of(picture.title, picture.svg);
    }
  };
  return std::visit(Draw{}, chart);
}

// What stands among the key figures is not told again.
ReportFacts without_figures(const ReportFacts& facts, const std::vector<KeyFigure>& figures) {
  ReportFacts rest;
  for (const auto& fact : facts) {  // by name: lambdas of clang 14 do not see what is bound from a pair
    const std::string &name = fact.first, &value = fact.second;
    const std::string shown = shown_cell(value);
    const bool told = std::any_of(figures.begin(), figures.end(), [&](const KeyFigure& figure) {
      return figure.label == name && (shown == figure.value || shown.rfind(figure.value + " ", 0) == 0);
    });
    if (!told) rest.emplace_back(name, value);
  }
  return rest;
}

struct Write {
  HtmlPage& page;
  const std::vector<KeyFigure>& told;
  void operator()(const ReportFacts& facts) const { page.facts(without_figures(facts, told)); }
  void operator()(const ReportTable& table) const { page.table(table); }
  void operator()(const ReportListing& listing) const { page.listing(listing.caption, listing.text); }
  void operator()(const ReportText& text) const { page.paragraph(text.text); }
  void operator()(const ReportCharts& charts) const {
    std::vector<std::string> figures;
    for (const ReportChart& chart : charts) figures.push_back(chart_html(chart));
    page.figures(figures);
  }
};

}  // namespace

HtmlPage::HtmlPage(std::string title) : title_(std::move(title)) {}

void HtmlPage::heading(const std::string& text, const std::string& id) {
  body_ += (id.empty() ? std::string("<h2>") : "<h2 id=\"" + svg_escaped(id) + "\">") + svg_escaped(text) +
           "</h2>\n";
}

void HtmlPage::key_figures(const std::vector<KeyFigure>& figures) {
  if (figures.empty()) return;
  body_ += "<div class=\"keys\">\n";
  for (const auto& [label, value, beside] : figures) {
    body_ += "<dl><dt>" + svg_escaped(label) + "</dt><dd class=\"value\">" + svg_escaped(value) + "</dd>";
    if (!beside.empty()) body_ += "<dd class=\"beside\">" + svg_escaped(beside) + "</dd>";
    body_ += "</dl>\n";
  }
  body_ += "</div>\n";
}

void HtmlPage::warnings(const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  body_ += "<div class=\"warnings\" role=\"note\"><p>Look at this first</p>\n<ul>\n";
  for (const std::string& line : lines) body_ += "<li class=\"warning\">" + svg_escaped(line) + "</li>\n";
  body_ += "</ul></div>\n";
}

void HtmlPage::contents(const std::vector<Part>& parts) {
  body_ += "<nav aria-label=\"contents\"><ul>\n";
  for (const auto& [id, name, outcome] : parts) {
    body_ += "<li><a href=\"#" + svg_escaped(id) + "\">" + svg_escaped(name) + "</a>" +
             svg_escaped(outcome.empty() ? "" : ": " + outcome) + "</li>\n";
  }
  body_ += "</ul></nav>\n";
}

void HtmlPage::paragraph(const std::string& text) {
  body_ += "<p>" + svg_escaped(text) + "</p>\n";
}

void HtmlPage::facts(const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return;
  const bool numbers =
      std::all_of(rows.begin(), rows.end(), [](const auto& row) { return is_number_text(row.second); });
  body_ += "<table class=\"facts\">\n";
  for (const auto& [name, value] : rows) {
    const char* kind = numbers ? "n" : begins_with_number(value) && value.size() < 40 ? "v" : "";
    body_ += "<tr><th>" + svg_escaped(name) + "</th>" + cell(value, kind) + "</tr>\n";
  }
  body_ += "</table>\n";
}

void HtmlPage::table(const ReportTable& table) {
  const auto& [caption, columns, rows, folded, linked_column, links] = table;
  if (folded) body_ += "<details><summary>" + svg_escaped(caption) + "</summary>\n";
  body_ += "<div class=\"wide\">\n<table class=\"rows\">\n";
  if (!folded && !caption.empty()) body_ += "<caption>" + svg_escaped(caption) + "</caption>\n";
  std::vector<bool> numbers;
  body_ += "<thead><tr>";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    numbers.push_back(is_column_of_numbers(rows, i));
    body_ += (numbers.back() ? "<th class=\"n\">" : "<th>") + svg_escaped(columns[i]) + "</th>";
  }
  body_ += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<std::string>& row = rows[r];
    body_ += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool right = is_number_text(row[i]) || (i < numbers.size() && numbers[i]);
      body_ += cell(row[i], right ? "n" : "", i == linked_column && r < links.size() ? links[r] : "");
    }
    body_ += "</tr>\n";
  }
  body_ += folded ? "</tbody></table>\n</div>\n</details>\n" : "</tbody></table>\n</div>\n";
}

void HtmlPage::listing(const std::string& caption, const std::string& text) {
  body_ += "<details><summary>" + svg_escaped(caption) + "</summary>\n<pre>" + svg_escaped(text) +
           "</pre></details>\n";
}

void HtmlPage::figures(const std::vector<std::string>& elements) {
  if (elements.empty()) return;
  body_ += "<div class=\"figures\">\n";
  for (const std::string& element : elements) body_ += "<figure>\n" + element + "</figure>\n";
  body_ += "</div>\n";
}

std::string HtmlPage::text() const {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
         "<meta name=\"generator\" content=\"bigbird report\"/>\n<title>" +
         svg_escaped(title_) + "</title>\n<style>\n" + std::string(page_style) +
         "</style>\n</head>\n<body>\n<h1>" + svg_escaped(title_) + "</h1>\n" + body_ + "</body>\n</html>\n";
}

std::string image_of(const std::string& title, const std::string& svg) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string url;
  for (const char letter : svg) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain =
        std::isalnum(byte) != 0 || std::string_view(" /:;.,=()-_+").find(letter) != std::string_view::npos;
    if (plain && byte < 0x80) {
      url += letter;
    } else {
      url += {'%', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return "<img alt=\"" + svg_escaped(title) + "\" src=\"data:image/svg+xml," + url + "\"/>\n<figcaption>" +
         svg_escaped(title) + "</figcaption>\n";
}

// Not in the header: g++ 12 sees errors in what it inlines of a growing vector of variants.
void ReportSection::add(ReportElement element) {
  elements.push_back(std::move(element));
}

std::string report_html(const Report& report) {
  HtmlPage page(report.title);
  std::vector<HtmlPage::Part> parts;
  std::vector<std::string> warnings;
  std::set<std::string> seen;
  std::size_t named = 0;
  for (const ReportSection& section : report.sections) named += section.name.empty() ? 0U : 1U;
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    const auto& [name, kind, elements, first] = report.sections[i];
    if (!name.empty()) parts.push_back({"part-" + std::to_string(i + 1), name, first.outcome});
    for (const std::string& warning : first.warnings) {
      // Two files of one evaluation warn of the same.
      if (!seen.insert(warning).second && i != report.lead && kind != "run") continue;
      warnings.push_back(named > 1 && !name.empty() ? name + ": " + warning : warning);
    }
  }
  if (!report.written.empty()) page.paragraph(report.written);
  if (report.lead < report.sections.size()) page.key_figures(report.sections[report.lead].first.figures);
  page.warnings(warnings);
  if (named > 1) page.contents(parts);
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    const ReportSection& section = report.sections[i];
    if (!section.name.empty() && named > 1) {
      page.heading(section.name, "part-" + std::to_string(i + 1));
      if (i != report.lead) {
        if (!section.first.asked.empty()) page.paragraph(headline_of(section.first));
        page.key_figures(section.first.figures);
      }
    }
    for (const ReportElement& element : section.elements)
      std::visit(Write{page, section.first.figures}, element);
  }
  for (const std::string& line : report.provenance) page.paragraph(line);
  return page.text();
}

}  // namespace bigbird
