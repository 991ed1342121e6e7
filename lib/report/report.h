// What a report says, before it is a page or MultiQC's files: sections of facts, tables and charts. Both are
// made from the same numbers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lib/report/charts.h"
#include "lib/report/first_screen.h"

namespace bigbird {

struct ReportTable {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool folded = false;  // closed at first, behind the caption
  // Of each row an address that its cell of this column leads to; empty: none.
  std::size_t linked_column = 0;
  std::vector<std::string> links = {};
};

// A complete SVG document, shown as an image of its own: no style of the page reaches it.
struct ReportPicture {
  std::string title;
  std::string svg;
};

using ReportChart = std::variant<LineChart, BarChart, MatrixChart, ReportPicture>;
using ReportCharts = std::vector<ReportChart>;  // side by side where there is room

struct ReportListing {  // lines as they are, closed behind the caption
  std::string caption;
  std::string text;
};

struct ReportText {
  std::string text;
};

using ReportElement = std::variant<ReportFacts, ReportTable, ReportCharts, ReportListing, ReportText>;

struct ReportSection {
  std::string name;  // empty: without a heading; of the charts that several runs share
  std::string kind;  // "run", "evaluation", "variants": what MultiQC files are named after
  std::vector<ReportElement> elements = {};
  FirstScreen first = {};

  void add(ReportElement element);
};

struct Report {
  std::string title;     // what was asked and how it came out
  std::string written;   // where the result lies, and when it was written
  std::size_t lead = 0;  // the section whose key figures open the page
  std::vector<ReportSection> sections;
  std::vector<std::string> provenance;  // lines at the end
};

// One self-contained HTML page, well-formed as XML too (html_page.h). Title, key figures and warnings stand
// first; with several sections a table of contents follows.
std::string report_html(const Report& report);

// File name -> content of MultiQC's custom content, a file for each kind of facts and each chart:
// "bigbird_run_loss_mqc.json". Charts and facts of one kind and name share a file, a sample for each section.
// General Statistics are a file of each kind, "bigbird_run_general_mqc.json". Pictures, tables, texts and
// listings have no place there. Samples are named by sample_names(); those of other reports in files of these
// names in `folder` are kept, so that reports may share a folder.
std::map<std::string, std::string> multiqc_files(const Report& report, const std::string& folder = {});

// What MultiQC is to call the files and runs of a report. It knows a sample by its name alone: two with one
// name, from one report or from two, become one, and the first is lost without a word.
//
// A name for each of `paths` (equal ones count once). It is the path below the working folder, or the whole
// path of what lies elsewhere, but at least the last folder and the file; folders are set apart by blanks,
// because MultiQC cuts names at slashes, and the suffixes of files that it would cut are left out. Of paths
// that would have one name all get the whole path, and their suffixes.
std::map<std::string, std::string> sample_names(const std::vector<std::string>& paths);
// Text as it may stand in MultiQC's pages, which take it for HTML: < > & and quotes become look-alikes,
// control characters blanks.
std::string multiqc_text(const std::string& text);

}  // namespace bigbird
