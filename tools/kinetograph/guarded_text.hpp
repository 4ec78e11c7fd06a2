// GuardedText: the text output of a command that works for some time before writing it.
#pragma once

#include <kinetograph/tools/kinetograph/guarded_outputs.hpp>
#include <kinetograph/tools/kinetograph/interrupt.hpp>

#include <memory>
#include <string>

namespace kinetograph::cli {

/// The file is created before the work, and removed if the user interrupts it. Create it before any thread
/// (interrupt.hpp).
class GuardedText {
  public:
    /// `path` "-": standard output; empty: no output. Errors: Io naming the path.
    static Result<GuardedText> create(const std::string& path) {
        GuardedText text;
        KG_CHECK(text.state_->output.open_text(path));
        return text;
    }
    bool wanted() const { return state_->output.has_text(); }
    /// Only if there is an output. Errors: Io.
    Result<void> write(std::string_view text) { return state_->output.write_text(text); }

  private:
    struct State {
        GuardedOutputs output;
        Interrupt interrupt{[this] { output.discard(); }};
    };
    GuardedText() = default;
    std::unique_ptr<State> state_ = std::make_unique<State>();
};

}  // namespace kinetograph::cli
