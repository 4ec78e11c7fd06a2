// GuardedText: the text output of a command that works for some time before writing it.
#pragma once

#include <kinetograph/tools/kinetograph/guarded_outputs.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace kinetograph::cli {

/// The file is created before the work, and removed if the user interrupts it. Create it before any thread
/// (interrupt.hpp).
class GuardedText {
  public:
    /// `path` "-": standard output; empty: no output. Errors: Io naming the path.
    static Result<GuardedText> create(const std::string& path) {
        GuardedText text;
        KG_CHECK(text.outputs_->open_text(path));
        return text;
    }
    bool wanted() const { return outputs_->has_text(); }
    /// Only if there is an output. Errors: Io.
    Result<void> write(std::string_view text) { return outputs_->write_text(text); }

  private:
    GuardedText() = default;
    std::unique_ptr<GuardedOutputs> outputs_ = std::make_unique<GuardedOutputs>();
};

}  // namespace kinetograph::cli
