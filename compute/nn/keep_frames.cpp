#include <kinetograph/compute/nn/keep_frames.hpp>

namespace kinetograph::nn {

Result<void> check(std::string_view pass_name, const KeepFrames& work) {
    if (work.fresh.size() <= work.kept.size()) return {};
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} fresh frames, of which {} are kept", pass_name,
                work.fresh.size(), work.kept.size());
}

Result<void> enqueue_keep_frames(accel::Stream& stream, std::string_view pass_name, const KeepFrames& work) {
    KG_CHECK(check(pass_name, work));
    for (std::size_t i = 0; i < work.kept.size(); ++i) stream.copy(work.kept[i], work.source(i), work.frame_bytes);
    return {};
}

}  // namespace kinetograph::nn
