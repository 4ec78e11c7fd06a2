#include <kinetograph/samples/viewer/actions.hpp>

#include <gtest/gtest.h>

namespace kinetograph::viewer {
namespace {

using present::Key;
using present::KeyEvent;

std::optional<Action> character(char32_t letter, bool repeat = false) {
    return action_for(KeyEvent{Key::Character, letter, repeat});
}

TEST(Actions, AreMpvsKeys) {
    EXPECT_EQ(character(U' '), Action::PlayPause);
    EXPECT_EQ(character(U'.'), Action::StepForward);
    EXPECT_EQ(character(U','), Action::StepBack);
    EXPECT_EQ(character(U'['), Action::Slower);
    EXPECT_EQ(character(U']'), Action::Faster);
    EXPECT_EQ(character(U'f'), Action::FullScreen);
    EXPECT_EQ(character(U's'), Action::Screenshot);
    EXPECT_EQ(character(U'I'), Action::Overlay);
    EXPECT_EQ(character(U'L'), Action::Loop);
    EXPECT_EQ(character(U'q'), Action::Quit);
    EXPECT_EQ(action_for({Key::Backspace, 0, false}), Action::NormalSpeed);
    EXPECT_EQ(action_for({Key::Escape, 0, false}), Action::LeaveFullScreen);
}

TEST(Actions, CaseMatters) {
    EXPECT_EQ(character(U'l'), std::nullopt);
    EXPECT_EQ(character(U'Q'), std::nullopt);
    EXPECT_EQ(character(U'F'), std::nullopt);
}

TEST(Actions, AHeldKeyStepsButDoesNotFlipSwitches) {
    EXPECT_EQ(character(U'.', true), Action::StepForward);
    EXPECT_EQ(character(U']', true), Action::Faster);
    for (const char32_t letter : {U' ', U'f', U's', U'I', U'L', U'q'}) EXPECT_EQ(character(letter, true), std::nullopt);
}

TEST(Actions, TheHelpNamesEveryKeyOfTheIssue) {
    std::string all;
    for (const Binding& binding : bindings()) all += std::string(binding.keys) + " ";
    for (const char* key : {"space", ".", ",", "[", "]", "f", "s", "I", "L", "q"})
        EXPECT_NE(all.find(key), std::string::npos) << key;
}

}  // namespace
}  // namespace kinetograph::viewer
