// Builds one SVG picture as a string. Pictures carry no colours of their own: elements have
// classes, and the page's style sheet (content_style.cpp) gives each class a colour for light and
// for dark.
#pragma once

#include <string>
#include <string_view>

namespace tessera::report {

// For text between tags and for attribute values. Bytes that XML forbids are dropped.
std::string escape(std::string_view text);

// At most two decimals, no trailing zeros.
std::string coordinate(double value);

// class="name"
std::string style(std::string_view name);
// class="name" and the text that hovering shows; lines are parted by '\n'.
std::string style_with_tip(std::string_view name, std::string_view tip);

struct Point {
  double x = 0;
  double y = 0;
};

class Svg {
 public:
  // `description` is read aloud by screen readers. Below `least_width` pixels the picture keeps
  // that width and is scrolled, so that its text stays legible on a phone.
  Svg(double width, double height, std::string_view description, double least_width = 0);

  // `attributes` is text such as style() makes.
  void rect(double x, double y, double width, double height, std::string_view attributes);
  void line(Point from, Point to, std::string_view attributes);
  void circle(Point centre, double radius, std::string_view attributes);
  void path(std::string_view commands, std::string_view attributes);
  void text(Point at, std::string_view text, std::string_view attributes);
  // Elements up to end_group() belong to one <g>.
  void begin_group(std::string_view attributes);
  void end_group();

  double width() const { return width_; }
  double height() const { return height_; }
  std::string str() const;

 private:
  double width_;
  double height_;
  double least_width_;
  std::string description_;
  std::string body_;
};

}  // namespace tessera::report
