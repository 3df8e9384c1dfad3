// A self-contained HTML page: style sheet and script inside, nothing fetched, opens from disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::report {

struct Fact {
  std::string name;
  std::string value;
  std::string note;  // may be empty
};

struct TableColumn {
  std::string name;
  bool is_number = false;
};

// What a swatch of a legend shows, by the class that the pictures use.
struct LegendEntry {
  std::string style;
  std::string text;
};

class Page {
 public:
  // `subtitle` stands below the title; both are plain text.
  Page(std::string_view title, std::string_view subtitle);

  void facts(const std::vector<Fact>& facts);
  void section(std::string_view heading);
  void paragraph(std::string_view text);
  void note(std::string_view text);
  // A picture (from Svg::str) with what it says below it.
  void figure(std::string_view svg, std::string_view caption,
              const std::vector<LegendEntry>& legend = {});
  // Pictures side by side where there is room.
  void figures(const std::vector<std::string>& svgs, std::string_view caption,
               const std::vector<LegendEntry>& legend = {});
  void table(const std::vector<TableColumn>& columns,
             const std::vector<std::vector<std::string>>& rows);
  // A table that is folded until its summary is clicked.
  void folded_table(std::string_view summary, const std::vector<TableColumn>& columns,
                    const std::vector<std::vector<std::string>>& rows);
  // Text in a fixed-width font: a command.
  void command(std::string_view text);

  std::string str() const;
  // What was added so far, without the page around it.
  const std::string& body() const { return body_; }

 private:
  std::string title_;
  std::string subtitle_;
  std::string body_;
};

// The parts that are the same on every page (page_style.cpp, content_style.cpp, page_script.cpp).
std::string_view page_style();
std::string_view content_style();
std::string_view page_script();

}  // namespace tessera::report
