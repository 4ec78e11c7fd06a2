#include <kinetograph/engine/interop/timeline_point.hpp>

namespace kinetograph::interop {

Result<void> ApplicationTimeline::status() const {
    if (*closing_) return fail(ErrorCode::Cancelled, "the bridge was closed while {} was waited for", name());
    return theirs_->status();
}

}  // namespace kinetograph::interop
