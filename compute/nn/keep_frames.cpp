#include <kinetograph/compute/nn/keep_frames.hpp>

namespace kinetograph::nn {

Result<void> check(std::string_view pass_name, const KeepFrames& work) {
    if (work.fresh.size() <= work.kept.size()) return {};
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": {} fresh frames, of which {} are kept", pass_name,
                work.fresh.size(), work.kept.size());
}

Result<void> enqueue_keep_frames(accel::Stream& stream, std::string_view pass_name, const KeepFrames& work) {
    KG_CHECK(check(pass_name, work));
    const std::size_t stay = work.kept.size() - work.fresh.size();
    for (std::size_t i = 0; i < stay; ++i)
        stream.copy(work.kept[i], work.kept[i + work.fresh.size()], work.frame_bytes);
    for (std::size_t i = 0; i < work.fresh.size(); ++i)
        stream.copy(work.kept[stay + i], work.fresh[i], work.frame_bytes);
    return {};
}

}  // namespace kinetograph::nn
