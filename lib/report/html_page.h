// A page that needs nothing else: style and pictures inside, no script, light and dark as the reader's system
// is, and fit to be printed. It is well-formed XML too, so that any parser reads it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/report/first_screen.h"

namespace bigbird {

struct ReportTable;

class HtmlPage {
 public:
  explicit HtmlPage(std::string title);

  // Texts are plain: what HTML gives a meaning to is escaped here.
  // `id`: where links of contents() lead.
  void heading(const std::string& text, const std::string& id = {});
  void paragraph(const std::string& text);
  void key_figures(const std::vector<KeyFigure>& figures);
  void warnings(const std::vector<std::string>& lines);
  struct Part {
    std::string id, name, outcome;
  };
  void contents(const std::vector<Part>& parts);
  // Two columns, a name and what it is.
  void facts(const std::vector<std::pair<std::string, std::string>>& rows);
  // Cells that are numbers stand at the right, with three digits and the full value as their title.
  void table(const ReportTable& table);
  // Lines as they are, behind the caption.
  void listing(const std::string& caption, const std::string& text);
  // <svg> elements (charts.h) or image_of, side by side where there is room.
  void figures(const std::vector<std::string>& elements);

  // A complete document.
  std::string text() const;

 private:
  std::string title_;
  std::string body_;
};

// A complete SVG document as an <img> element that holds it: its styles and names are its own.
std::string image_of(const std::string& title, const std::string& svg);

}  // namespace bigbird
