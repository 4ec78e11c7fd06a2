#include <kinetograph/compute/vae/taesd_files.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace kinetograph::vae {
namespace {

using formats::TensorSource;

/// The layers of one network, under names that begin with `prefix` and a number.
struct Half {
    std::string prefix, diffusers;
    std::int64_t before = 0;  ///< layers that the numbers of diffusers leave out

    /// "3.conv.0.weight" as "decoder.layers.2.conv.0.weight"; nothing of another tensor.
    std::optional<std::string> name(std::string_view theirs) const {
        if (!theirs.starts_with(prefix)) return std::nullopt;
        theirs.remove_prefix(prefix.size());
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(theirs.data(), theirs.data() + theirs.size(), number);
        const auto digits = static_cast<std::size_t>(end - theirs.data());
        if (error != std::errc{} || digits == theirs.size() || theirs[digits] != '.' || number < before)
            return std::nullopt;
        return diffusers + std::to_string(number - before) + std::string(theirs.substr(digits));
    }
};

bool has_all(const TensorSource& file, const std::string& prefix, std::initializer_list<std::string_view> names) {
    return std::ranges::all_of(names, [&](std::string_view name) { return file.find(prefix + std::string(name)); });
}

/// The first and last layers, and the block that is the decoder's fourth layer, the encoder's second.
std::optional<Half> decoder_in(const TensorSource& file, const std::string& prefix) {
    if (!has_all(file, prefix, {"1.weight", "3.conv.0.weight", "19.weight"})) return std::nullopt;
    return Half{prefix, "decoder.layers.", 1};
}

std::optional<Half> encoder_in(const TensorSource& file, const std::string& prefix) {
    if (!has_all(file, prefix, {"0.weight", "1.conv.0.weight", "14.weight"})) return std::nullopt;
    return Half{prefix, "encoder.layers.", 0};
}

/// `path` with "encoder" in the place of the last "decoder" of its name, if there is such a file.
std::optional<std::filesystem::path> encoder_beside(const std::filesystem::path& path) {
    constexpr std::string_view kDecoder = "decoder", kEncoder = "encoder";
    std::string name = path.filename().string();
    const std::size_t at = name.rfind(kDecoder);
    if (at == std::string::npos) return std::nullopt;
    const auto other = path.parent_path() / name.replace(at, kDecoder.size(), kEncoder);
    std::error_code error;
    return std::filesystem::is_regular_file(other, error) ? std::optional(other) : std::nullopt;
}

void add(TensorSource::Contents& to, TensorSource file, const std::optional<Half>& half,
         const std::optional<Half>& other) {
    const auto kept = std::make_shared<const TensorSource>(std::move(file));
    for (tensor::NamedTensor tensor : kept->tensors()) {
        for (const auto& each : {half, other})
            if (auto name = each ? each->name(tensor.name) : std::nullopt) tensor.name = *std::move(name);
        to.tensors.push_back(std::move(tensor));
    }
    to.metadata.insert(kept->metadata().begin(), kept->metadata().end());
    to.files.insert(to.files.end(), kept->files().begin(), kept->files().end());
    to.unreadable.insert(kept->unreadable().begin(), kept->unreadable().end());
    to.owners.push_back(kept);
}

}  // namespace

Result<TensorSource> with_taesd_names(TensorSource file, const tensor::ReadOptions* beside) {
    auto decoder = decoder_in(file, ""), encoder = encoder_in(file, "");
    if (!decoder && encoder)
        return fail(
            ErrorCode::InvalidArgument,
            "{}: this is the encoder of a TAESD alone: take the decoder's file, with which one beside it of the "
            "same name, \"encoder\" in place of \"decoder\", is read",
            file.name());
    std::optional<std::filesystem::path> other;
    if (decoder && beside != nullptr) other = encoder_beside(file.name());
    if (!decoder) {
        decoder = decoder_in(file, "taesd_decoder.");
        encoder = encoder_in(file, "taesd_encoder.");
    }
    if (!decoder) return file;
    TensorSource::Contents contents{.name = file.name(), .tensors = {}, .metadata = {}, .files = {}};
    add(contents, std::move(file), decoder, encoder);
    if (other) {
        KG_TRY_IN(contents.name, auto opened, formats::open(*other, *beside));
        const auto half = encoder_in(opened, "");
        if (half) add(contents, std::move(opened), half, std::nullopt);
    }
    return TensorSource(std::move(contents));
}

}  // namespace kinetograph::vae
