// A plan's pictures stand in a page that is not ours: nothing in them reaches out of their element.
#include "report/plan_pictures.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "support/xml_check.hpp"
#include "tessera/tessera.hpp"

namespace tessera::report {
namespace {

using test::count_elements;
using test::xml_fault;

std::string pictures_of(const GemmShape& shape, const PlanOptions& options = {},
                        std::string_view machine = "h200") {
  return plan_pictures(make_plan(dense_problem(shape, gemm_types_for(ElementType::bf16)),
                                 machine_by_name(machine), options));
}

// What follows the style sheet, in one element.
std::string figures_in(const std::string& html) {
  return "<div>" + html.substr(html.find("</style>") + 8) + "</div>";
}

TEST(PlanPictures, ShowScheduleOrderAndTime) {
  PlanOptions options;
  options.schedule = ScheduleKind::hybrid;
  options.workers = 82;
  const std::string html = pictures_of({1536, 1792, 6016}, options);
  EXPECT_EQ(xml_fault(figures_in(html)), "");
  EXPECT_EQ(count_elements(html, "figure"), 3);
  for (const char* const words : {"MAC iterations done", "first wave", "launch", "arithmetic"}) {
    EXPECT_NE(html.find(words), std::string::npos) << words;
  }
}

TEST(PlanPictures, ShowHowTilesAreAddedUp) {
  PlanOptions options;
  options.splits = 33;
  options.kernel = "sm90_bf16_128x128x64";
  const auto legend = [&](ElementType c) {
    const Problem problem =
        dense_problem({256, 256, 65536}, {ElementType::bf16, ElementType::bf16, c});
    const std::string html = plan_pictures(make_plan(problem, machine_by_name("h200"), options));
    EXPECT_EQ(xml_fault(figures_in(html)), "");
    return html.find("the workers of one tile meet") != std::string::npos ? "meeting"
           : html.find("added at the arrowhead") != std::string::npos     ? "tree"
                                                                          : "neither";
  };
  EXPECT_STREQ(legend(ElementType::bf16), "meeting");
  EXPECT_STREQ(legend(ElementType::f32), "tree");
}

TEST(PlanPictures, NeedNoScriptAndFetchNothing) {
  const std::string html = pictures_of({4096, 4096, 512});
  EXPECT_EQ(html.find("data-tip"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("<title>Worker 0, work item 1&#10;"), std::string::npos);
  const std::string without_names =
      std::regex_replace(html, std::regex("http://www.w3.org/2000/svg"), "");
  EXPECT_EQ(without_names.find("//"), std::string::npos);
  EXPECT_EQ(without_names.find("url("), std::string::npos);
}

TEST(PlanPictures, KeepTheirStyleToThemselves) {
  const std::string html = pictures_of({4096, 4096, 512});
  EXPECT_EQ(html.rfind("<style>\n.tessera-plan {", 0), 0U);
  // The one block that is opened at the start is closed at the end.
  const std::string sheet = html.substr(0, html.find("</style>"));
  int depth = 0;
  for (std::size_t i = 0; i < sheet.size(); ++i) {
    if (sheet[i] == '{') ++depth;
    if (sheet[i] != '}') continue;
    --depth;
    EXPECT_TRUE(depth > 0 || sheet.find_first_not_of("} \n", i) == std::string::npos);
  }
  EXPECT_EQ(depth, 0);
  EXPECT_EQ(sheet.find(":root"), std::string::npos);
}

TEST(PlanPictures, EscapeWhatAPlanFromAFileNames) {
  Plan plan = make_plan(dense_problem({64, 64, 64}), machine_by_name("zen4"));
  plan.cost.terms = {{"<script>alert(1)</script>\"'&", 1e-6}};
  const std::string html = plan_pictures(plan);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(xml_fault(figures_in(html)), "");
}

TEST(PlanPictures, AreOfBoundedSize) {
  EXPECT_LT(pictures_of({1 << 20, 1 << 20, 1 << 16}).size(), 3'000'000U);
  EXPECT_EQ(count_elements(pictures_of({0, 5, 5}), "figure"), 1);
}

}  // namespace
}  // namespace tessera::report
