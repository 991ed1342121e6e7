// A page, see html_page.h; and a report as one, see report.h.
#include "lib/report/html_page.h"

#include <cctype>
#include <string_view>

#include "lib/report/report.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

// System colours are light or dark as the reader's system is; those of curves are seen on both.
constexpr std::string_view page_style =
    ":root{color-scheme:light dark}\n"
    "@media print{:root{color-scheme:light}figure,tr{break-inside:avoid}.wide{overflow:visible}}\n"
    "body{font:16px/1.5 system-ui,Helvetica,Arial,sans-serif;color:CanvasText;background:Canvas;max-width:86rem;"
    "margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:1.8rem 0 .4rem;border-bottom:1px solid "
    "color-mix(in srgb,CanvasText 25%,Canvas)}p,caption,summary,th{color:color-mix(in srgb,CanvasText 65%,"
    "Canvas)}\n"
    "p{overflow-wrap:anywhere}table{border-collapse:collapse;margin:.6rem 0}caption,summary{text-align:left;"
    "padding:.2rem 0}th{white-space:nowrap}td,th{padding:.12rem 1.2rem .12rem 0;text-align:left;font-weight:normal;vertical-align:top;"
    "overflow-wrap:anywhere}.wide{overflow-x:auto}td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "pre,figure{background:color-mix(in srgb,CanvasText 5%,Canvas);border-radius:.4rem}pre{padding:.6rem .8rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}\n"
    ".figures{display:flex;flex-wrap:wrap;gap:1rem;margin:.8rem 0}figure{flex:1 1 30rem;max-width:42rem;margin:0}\n"
    "svg.chart{display:block;width:100%;font-family:inherit}svg text{fill:CanvasText}svg .title{font-size:14px}"
    "svg .tick{font-size:11px;fill-opacity:.7}svg .grid{stroke:CanvasText;stroke-opacity:.15;fill:none;"
    "stroke-width:.6}svg .line{fill:none;stroke-width:1.6;stroke-linejoin:round}\n"
    "svg .line-0{stroke:#1f83c4}svg .line-1{stroke:#e0681a}svg .line-2{stroke:#12a176}svg .line-3{stroke:#c065a5}"
    "svg .line-4{stroke:#b98a12}svg .line-5{stroke:#8a7fd6}svg .dot{fill:Canvas}\n"
    "svg.square{max-width:26rem;margin:0 auto}svg .guess{stroke:CanvasText;stroke-opacity:.4;stroke-dasharray:4 4;"
    "fill:none}svg .bar{fill:#1f83c4}svg .cell{fill:#1f83c4}svg .range{stroke:CanvasText;stroke-width:1.4;fill:none}\n"
    "img{display:block;max-width:100%;margin:0 auto;background:#fff;border-radius:.4rem}"
    "figcaption{padding:.2rem .6rem}\n";

std::string cell(const std::string& text) {
  return (is_number_text(text) ? "<td class=\"n\">" : "<td>") + svg_escaped(text) + "</td>";
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

struct Write {
  HtmlPage& page;
  void operator()(const ReportFacts& facts) const { page.facts(facts); }
  void operator()(const ReportTable& table) const {
    page.table(table.caption, table.columns, table.rows, table.folded);
  }
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

void HtmlPage::heading(const std::string& text) {
  body_ += "<h2>" + svg_escaped(text) + "</h2>\n";
}

void HtmlPage::paragraph(const std::string& text) {
  body_ += "<p>" + svg_escaped(text) + "</p>\n";
}

void HtmlPage::facts(const std::vector<std::pair<std::string, std::string>>& rows) {
  body_ += "<table>\n";
  for (const auto& [name, value] : rows)
    body_ += "<tr><th>" + svg_escaped(name) + "</th><td>" + svg_escaped(value) + "</td></tr>\n";
  body_ += "</table>\n";
}

void HtmlPage::table(const std::string& caption, const std::vector<std::string>& columns,
                     const std::vector<std::vector<std::string>>& rows, bool folded) {
  if (folded) body_ += "<details><summary>" + svg_escaped(caption) + "</summary>\n";
  body_ += "<div class=\"wide\">\n<table>\n";
  if (!folded && !caption.empty()) body_ += "<caption>" + svg_escaped(caption) + "</caption>\n";
  body_ += "<thead><tr>";
  for (const std::string& column : columns) body_ += "<th>" + svg_escaped(column) + "</th>";
  body_ += "</tr></thead>\n";
  for (const std::vector<std::string>& row : rows) {
    body_ += "<tr>";
    for (const std::string& text : row) body_ += cell(text);
    body_ += "</tr>\n";
  }
  body_ += folded ? "</table>\n</div>\n</details>\n" : "</table>\n</div>\n";
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
  for (const ReportSection& section : report.sections) {
    if (!section.name.empty() && section.name != report.title) page.heading(section.name);
    for (const ReportElement& element : section.elements) std::visit(Write{page}, element);
  }
  for (const std::string& line : report.provenance) page.paragraph(line);
  return page.text();
}

}  // namespace bigbird
