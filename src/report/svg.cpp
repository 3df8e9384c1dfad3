#include "report/svg.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tessera::report {

std::string escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char byte : text) {
    switch (byte) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      default:
        if (static_cast<unsigned char>(byte) >= 0x20 || byte == '\t') escaped += byte;
    }
  }
  return escaped;
}

std::string coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string style(std::string_view name) {
  return fmt::format("class=\"{}\"", name);
}

std::string style_with_tip(std::string_view name, std::string_view tip) {
  return fmt::format("class=\"{}\" data-tip=\"{}\"", name, escape(tip));
}

Svg::Svg(double width, double height, std::string_view description, double least_width)
    : width_(width), height_(height), least_width_(least_width), description_(description) {}

void Svg::rect(double x, double y, double width, double height, std::string_view attributes) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", coordinate(x),
                       coordinate(y), coordinate(width), coordinate(height), attributes);
}

void Svg::line(Point from, Point to, std::string_view attributes) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", coordinate(from.x),
                       coordinate(from.y), coordinate(to.x), coordinate(to.y), attributes);
}

void Svg::circle(Point centre, double radius, std::string_view attributes) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {}/>\n", coordinate(centre.x),
                       coordinate(centre.y), coordinate(radius), attributes);
}

void Svg::path(std::string_view commands, std::string_view attributes) {
  body_ += fmt::format("<path d=\"{}\" {}/>\n", commands, attributes);
}

void Svg::text(Point at, std::string_view text, std::string_view attributes) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", coordinate(at.x), coordinate(at.y),
                       attributes, escape(text));
}

void Svg::begin_group(std::string_view attributes) {
  body_ += fmt::format("<g {}>\n", attributes);
}

void Svg::end_group() {
  body_ += "</g>\n";
}

std::string Svg::str() const {
  const std::string least =
      least_width_ > 0 ? fmt::format(" style=\"min-width:{}px\"", coordinate(least_width_)) : "";
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\"{}>\n{}</svg>\n",
      coordinate(width_), coordinate(height_), escape(description_), least, body_);
}

}  // namespace tessera::report
