// The spellings of the small enumerations, as the command line and JSON use them.
#include "core/names.hpp"

#include <array>
#include <charconv>

#include "tessera/problem.hpp"
#include "tessera/schedule.hpp"

namespace tessera {
namespace {

template <class E>
struct Named {
  E value;
  std::string_view name;
};

constexpr std::array kBiasAxes = {Named<BiasAxis>{BiasAxis::none, "none"},
                                  Named<BiasAxis>{BiasAxis::row, "row"},
                                  Named<BiasAxis>{BiasAxis::column, "column"}};
constexpr std::array kActivations = {Named<Activation>{Activation::none, "none"},
                                     Named<Activation>{Activation::relu, "relu"},
                                     Named<Activation>{Activation::gelu_tanh, "gelu_tanh"},
                                     Named<Activation>{Activation::gelu_erf, "gelu_erf"},
                                     Named<Activation>{Activation::silu, "silu"}};
constexpr std::array kMajors = {
    Named<Major>{Major::row, "row"}, Named<Major>{Major::column, "column"},
    Named<Major>{Major::general, "general"}, Named<Major>{Major::packed, "packed"}};
constexpr std::array kScheduleKinds = {
    Named<ScheduleKind>{ScheduleKind::data_parallel, "data_parallel"},
    Named<ScheduleKind>{ScheduleKind::split_k, "split_k"},
    Named<ScheduleKind>{ScheduleKind::stream_k, "stream_k"},
    Named<ScheduleKind>{ScheduleKind::hybrid, "hybrid"}};
constexpr std::array kTileOrders = {Named<TileOrder>{TileOrder::linear, "linear"},
                                    Named<TileOrder>{TileOrder::swizzle, "swizzle"},
                                    Named<TileOrder>{TileOrder::hilbert, "hilbert"}};

}  // namespace

std::string_view name_of(BiasAxis axis) {
  return name_from_value<&Named<BiasAxis>::value>(kBiasAxes, axis);
}
std::string_view name_of(Activation activation) {
  return name_from_value<&Named<Activation>::value>(kActivations, activation);
}
std::string_view name_of(Major major) {
  return name_from_value<&Named<Major>::value>(kMajors, major);
}
std::string_view name_of(ScheduleKind kind) {
  return name_from_value<&Named<ScheduleKind>::value>(kScheduleKinds, kind);
}
std::string_view name_of(TileOrder order) {
  return name_from_value<&Named<TileOrder>::value>(kTileOrders, order);
}

BiasAxis bias_axis_from_name(std::string_view name) {
  return value_from_name<&Named<BiasAxis>::value>("bias", kBiasAxes, name);
}
Activation activation_from_name(std::string_view name) {
  return value_from_name<&Named<Activation>::value>("activation", kActivations, name);
}
Major major_from_name(std::string_view name) {
  return value_from_name<&Named<Major>::value>("major", kMajors, name);
}
ScheduleKind schedule_kind_from_name(std::string_view name) {
  return value_from_name<&Named<ScheduleKind>::value>("schedule", kScheduleKinds, name);
}

std::optional<int> number_in_brackets(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view argument = text.substr(open + 1);
  const char* const last = argument.data() + argument.size();
  int number = 0;
  const auto [end, error] = std::from_chars(argument.data(), last, number);
  const bool is_closed = end + 1 == last && *end == ')';
  return error == std::errc() && is_closed ? std::optional(number) : std::nullopt;
}

TileOrderChoice tile_order_from_name(std::string_view text) {
  TileOrderChoice choice;
  const std::size_t open = text.find('(');
  choice.order =
      value_from_name<&Named<TileOrder>::value>("order", kTileOrders, text.substr(0, open));
  if (open == std::string_view::npos) return choice;

  choice.group_m = number_in_brackets(text).value_or(0);
  if (choice.order != TileOrder::swizzle || choice.group_m < 1) {
    throw Error(ErrorCode::invalid_argument, "order",
                "be linear, hilbert, swizzle or swizzle(ROWS)", "'" + std::string(text) + "'",
                "give a positive number of rows, as in swizzle(8)");
  }
  return choice;
}

}  // namespace tessera
