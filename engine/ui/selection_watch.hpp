// SelectionWatch: tells a panel that a pass was selected elsewhere, so that it brings the pass into view.
#pragma once

#include <kinetograph/engine/ui/panel.hpp>

namespace kinetograph::ui {

class SelectionWatch {
  public:
    /// True once after a pass was selected that was not passed to note().
    bool has_changed(const Selection& selection) {
        if (pass_ == selection.pass && track_ == selection.track) return false;
        note(selection);
        return pass_ != 0;
    }
    /// Call when the panel itself has made the selection: the pass is in view already.
    void note(const Selection& selection) {
        pass_ = selection.pass;
        track_ = selection.track;
    }

  private:
    profile::NameId pass_ = 0, track_ = 0;
};

}  // namespace kinetograph::ui
