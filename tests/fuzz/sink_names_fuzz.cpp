// Names of outputs: every name selects one kind of output or none, and an accepted picture pattern recognises the names
// that it generates.
#include <kinetograph/tools/media/output_kind.hpp>
#include <kinetograph/tools/media/picture_names.hpp>

#include <array>
#include <cstdlib>
#include <string_view>

namespace {

void expect(bool holds) {
    if (!holds) std::abort();
}

void check_names(const kinetograph::media::PictureNames& names, std::string_view pattern) {
    constexpr std::array<std::int64_t, 5> kFrames{0, 7, 99'999, 100'000, 1'000'000'000'000};
    for (const std::int64_t frame : kFrames) {
        const std::filesystem::path path = names.path(frame);
        expect(path.parent_path() == std::filesystem::path(pattern).parent_path());
        expect(path.parent_path() == names.folder());
        expect(names.index_of(path.filename().string()) == frame);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace kinetograph::media;
    const std::string_view name(reinterpret_cast<const char*>(data), size);
    const auto kind = output_kind(name);
    expect(!kind || (kind == OutputKind::RawRgb) == (name == "-"));
    const auto names = PictureNames::parse(name);
    expect(names || names.error().message.find("frames/%05d.png") != std::string::npos);
    if (names) check_names(*names, name);
    return 0;
}
