// The man page and the completions say what the parser knows.
#include <gtest/gtest.h>

#include "cli/completion.hpp"
#include "cli/man_page.hpp"
#include "cli/verbs.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

class Manual : public testing::Test {
 protected:
  Manual() : app_("Multiplies matrices.", "tessera") {
    app_.footer("Exit codes: 0 fine.");
    CLI::App* const verb = app_.add_subcommand("weigh", "Weigh one - or two - of them");
    verb->add_option("shape", text_, "The size")->type_name("MxN");
    verb->add_option("--schedule,-s", text_, ".first of its line's words")->type_name("SCHEDULE");
    verb->add_option("--stored", text_, "How")->type_name("NN|NT");
    verb->add_option("--machine", text_, "For what")->type_name("FILE|NAME");
    verb->add_option("--pairs", text_, "When")
        ->type_name("on|off")
        ->check(CLI::IsMember({"on", "off"}));
    verb->add_option("--count", text_, "It's a number")->type_name("N")->check(CLI::Range(1, 9));
    verb->add_flag("--json", flag_, "As JSON");
    tree_ = option_tree(app_);
  }

  const OptionEntry& option(const std::string& name) {
    for (const OptionEntry& entry : tree_.verbs.at(0).options) {
      if (entry.names.at(0) == name) return entry;
    }
    throw std::runtime_error("no option " + name);
  }

  CLI::App app_;
  OptionTree tree_;

 private:
  std::string text_;
  bool flag_ = false;
};

TEST_F(Manual, ReadsTheOptionTree) {
  ASSERT_EQ(tree_.verbs.size(), 1u);
  EXPECT_EQ(tree_.verbs[0].name, "weigh");
  EXPECT_TRUE(option("shape").is_positional);
  EXPECT_EQ(option("--schedule").names, (std::vector<std::string>{"--schedule", "-s"}));
  EXPECT_EQ(option("--schedule").choices.size(), 4u);
  EXPECT_EQ(option("--stored").choices, (std::vector<std::string>{"NN", "NT"}));
  EXPECT_EQ(option("--pairs").choices, (std::vector<std::string>{"on", "off"}));
  EXPECT_EQ(option("--count").value, "N");
  EXPECT_TRUE(option("--machine").is_file);
  EXPECT_FALSE(option("--machine").choices.empty());
  EXPECT_TRUE(option("--count").choices.empty());
  EXPECT_EQ(option("--json").value, "");
}

TEST_F(Manual, EscapesForTroff) {
  const std::string page = man_page(tree_);
  EXPECT_NE(page.find("Weigh one \\- or two \\- of them"), std::string::npos);
  EXPECT_NE(page.find("\\&.first"), std::string::npos);
  EXPECT_NE(page.find("\\fB\\-\\-schedule\\fR, \\fB\\-s\\fR \\fISCHEDULE\\fR"), std::string::npos);
  EXPECT_NE(page.find("TESSERA_VERBOSE"), std::string::npos);
}

TEST_F(Manual, CompletesForEachShell) {
  const std::string bash = completion_script(tree_, "bash");
  EXPECT_NE(bash.find("--stored) COMPREPLY=( $(compgen -W 'NN NT'"), std::string::npos) << bash;
  EXPECT_NE(completion_script(tree_, "zsh").find(bash), std::string::npos);
  const std::string fish = completion_script(tree_, "fish");
  EXPECT_NE(fish.find("-l schedule -s s -x -a 'data_parallel split_k stream_k hybrid'"),
            std::string::npos)
      << fish;
  EXPECT_NE(fish.find("'It'\\''s a number'"), std::string::npos);
  EXPECT_THROW(completion_script(tree_, "tcsh"), Error);
}

}  // namespace
}  // namespace tessera::cli
