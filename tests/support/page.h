// What an HTML page of the program consists of, as an XML parser reads it: pages are well-formed XML too.
#pragma once

#include <expat.h>

#include <map>
#include <string>
#include <vector>

namespace bigbird::testing {

struct Page {
  std::string error;                           // empty: well-formed
  std::map<std::string, int> elements;         // how many of each name
  std::vector<std::string> headings;           // h1 and h2
  std::vector<std::string> charts;             // aria-label of each svg, alt of each img
  std::vector<std::vector<std::string>> rows;  // of all tables, the cells of each row
  std::vector<std::vector<std::string>>
      full;                              // the same cells, as their titles have them where they have one
  std::vector<std::string> heads;        // th and captions
  std::vector<std::string> key_figures;  // "AUROC: 0.75: chance 0.5"
  std::vector<std::string> warnings;
  std::vector<std::string> contents;  // links of the table of contents
  std::vector<std::string> targets;   // ids of h2
  std::vector<std::string> outside;   // values of href and src that are no data: URL and not of the page

  // The second cell of the first row that begins with `name`; empty where there is none.
  std::string fact(const std::string& name) const {
    for (const auto& row : rows) {
      if (row.size() > 1 && row.front() == name) return row[1];
    }
    return {};
  }
  bool has_key_figure(const std::string& text) const {
    for (const std::string& figure : key_figures) {
      if (figure == text) return true;
    }
    return false;
  }
  bool has_chart(const std::string& title) const {
    for (const std::string& chart : charts) {
      if (chart == title) return true;
    }
    return false;
  }
};

inline Page read_page(std::string text) {
  struct State {
    Page page;
    std::string content;
    std::string title;  // of the cell that is open
    std::string kind;   // class of the element that is open
    bool in_contents = false;
  } state;
  const std::string doctype = "<!DOCTYPE html>\n";
  if (text.rfind(doctype, 0) == 0) text.erase(0, doctype.size());
  const XML_Parser parser = XML_ParserCreate("UTF-8");
  XML_SetUserData(parser, &state);
  XML_SetElementHandler(
      parser,
      [](void* data, const XML_Char* name, const XML_Char** attributes) {
        State& at = *static_cast<State*>(data);
        ++at.page.elements[name];
        at.content.clear();
        at.title.clear();
        at.kind.clear();
        if (std::string(name) == "nav") at.in_contents = true;
        if (std::string(name) == "tr") {
          at.page.rows.emplace_back();
          at.page.full.emplace_back();
        }
        for (; *attributes != nullptr; attributes += 2) {
          const std::string key = attributes[0], value = attributes[1];
          if ((std::string(name) == "svg" && key == "aria-label") ||
              (std::string(name) == "img" && key == "alt"))
            at.page.charts.push_back(value);
          if (key == "title") at.title = value;
          if (key == "class") at.kind = value;
          if (key == "id" && std::string(name) == "h2") at.page.targets.push_back(value);
          if (at.in_contents && key == "href") at.page.contents.push_back(value);
          const bool inside = value.rfind("data:", 0) == 0 || value.rfind('#', 0) == 0;
          if ((key == "href" || key == "src") && !inside) at.page.outside.push_back(value);
        }
      },
      [](void* data, const XML_Char* name) {
        State& at = *static_cast<State*>(data);
        const std::string element = name;
        if (element == "h1" || element == "h2") at.page.headings.push_back(at.content);
        if ((element == "td" || element == "th") && !at.page.rows.empty()) {
          at.page.rows.back().push_back(at.content);
          at.page.full.back().push_back(at.title.empty() ? at.content : at.title);
        }
        if (element == "th" || element == "caption") at.page.heads.push_back(at.content);
        if (element == "dt") at.page.key_figures.push_back(at.content);
        if (element == "dd") at.page.key_figures.back() += ": " + at.content;
        if (element == "li" && at.kind == "warning") at.page.warnings.push_back(at.content);
        if (element == "nav") at.in_contents = false;
        at.content.clear();
        at.title.clear();
      });
  XML_SetCharacterDataHandler(parser, [](void* data, const XML_Char* letters, int count) {
    static_cast<State*>(data)->content.append(letters, static_cast<std::size_t>(count));
  });
  if (XML_Parse(parser, text.data(), static_cast<int>(text.size()), 1) != XML_STATUS_OK) {
    state.page.error = std::string(XML_ErrorString(XML_GetErrorCode(parser))) + " in line " +
                       std::to_string(XML_GetCurrentLineNumber(parser));
  }
  XML_ParserFree(parser);
  return state.page;
}

}  // namespace bigbird::testing
