#include <kinetograph/samples/viewer/clip.hpp>

namespace kinetograph::viewer {

Result<std::optional<Frame>> Clip::try_take() {
    KG_TRY(auto record, stream->try_take());
    if (!record) return std::nullopt;
    return Frame{.index = record->label.index,
                 .width = record->width,
                 .height = record->height,
                 .presentation_time = record->label.presentation_time,
                 .decoded_at = stream->decoded_at(*record).value_or(host_now()),
                 .is_finite = record->is_finite,
                 .made_by = record->label.made_by,
                 .pixels = std::make_shared<LentFrame>(*stream, *record),
                 .note = note_of ? note_of(record->label.index) : ""};
}

}  // namespace kinetograph::viewer
