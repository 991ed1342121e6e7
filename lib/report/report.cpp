// A report as a page; see report.h.
#include "lib/report/report.h"

#include "lib/report/html_page.h"

namespace bigbird {
namespace {

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
