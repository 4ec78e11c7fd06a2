#include <kinetograph/compute/tensor/content_guess.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace kinetograph::tensor {

namespace {

constexpr std::string_view kWebPage =
    "a web page (HTML), not the file itself: download it again, signed in if the site asks for it";

struct Known {
    std::string_view begin, what;
    std::size_t at = 0;
};

constexpr std::array<Known, 25> kBinary{{
    {"PK\x03\x04", "a zip archive, as PyTorch's .pt and .pth are"},
    {"PK\x05\x06", "an empty zip archive"},
    {"\x93NUMPY", "an array of NumPy's"},
    {"\x80\x02", "a Python pickle: save its tensors with torch.save or as safetensors"},
    {"\x80\x03", "a Python pickle: save its tensors with torch.save or as safetensors"},
    {"\x80\x04", "a Python pickle: save its tensors with torch.save or as safetensors"},
    {"\x80\x05", "a Python pickle: save its tensors with torch.save or as safetensors"},
    {"GGUF", "a GGUF file"},
    {"GGML", "a GGML file, older than gguf: convert it"},
    {"\x89HDF", "an HDF5 file: save its tensors as safetensors"},
    {"\x89PNG", "a PNG picture"},
    {"\xff\xd8\xff", "a JPEG picture"},
    {"GIF8", "a GIF picture"},
    {"RIFF", "a RIFF file (WebP, AVI or WAV)"},
    {"\x1a\x45\xdf\xa3", "a Matroska or WebM video"},
    {"ftyp", "an MP4 or MOV video", 4},
    {"%PDF", "a PDF document"},
    {"\x1f\x8b", "compressed by gzip: unpack it first"},
    {"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"},
    {"BZh", "compressed by bzip2: unpack it first"},
    {"\xfd\x37zXZ", "compressed by xz: unpack it first"},
    {"7z\xbc\xaf", "a 7z archive: unpack it first"},
    {"Rar!", "a RAR archive: unpack it first"},
    {"\x7f"
     "ELF",
     "a program (ELF)"},
    {"ustar", "a tar archive: unpack it first", 257},
}};

constexpr std::array<Known, 9> kText{{
    {"<!doctype html", kWebPage},
    {"<html", kWebPage},
    {"<head", kWebPage},
    {"<!--", kWebPage},
    {"<?xml", "an XML document, as servers send errors, not the file itself: download it again"},
    {"<error", "an XML document, as servers send errors, not the file itself: download it again"},
    {"version https://git-lfs", "a Git LFS pointer, not the file itself: git lfs pull fetches it"},
    {"{", "JSON text, not the file itself: a server's answer or a configuration"},
    {"[", "JSON text, not the file itself: a server's answer or a configuration"},
}};

/// The file's beginning in lower case, without a byte order mark and blanks; empty if it is not all text.
std::string text_of(std::string_view bytes) {
    if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
    const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return "";
    std::string text(bytes.substr(begin));
    const auto is_text = [](unsigned char c) {
        return c >= 0x20 ? c != 0x7f && c < 0xf8 : c == '\t' || c == '\r' || c == '\n';
    };
    if (!std::ranges::all_of(text, is_text)) return "";
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

}  // namespace

std::string guess_content(std::span<const std::byte> bytes) {
    const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kBytesToGuessBy));
    const auto name = [](const auto& table, std::string_view contents) {
        const auto* found = std::ranges::find_if(table, [&](const Known& known) {
            return contents.size() > known.at && contents.substr(known.at).starts_with(known.begin);
        });
        return std::string(found == table.end() ? "" : found->what);
    };
    if (begin.empty()) return "an empty file, truncated? Download or save it again";
    constexpr std::size_t kFewestZeros = 16;
    if (begin.size() >= kFewestZeros && begin.find_first_not_of('\0') == std::string_view::npos)
        return "a file that begins with zeros only, as a download that was cut short: download it again";
    if (std::string what = name(kBinary, begin); !what.empty()) return what;
    const std::string text = text_of(begin);
    if (std::string what = name(kText, text); !what.empty()) return what;
    constexpr std::size_t kFewest = 8;  // shorter ones begin anything
    return text.size() < kFewest ? "" : "text, not the file itself";
}

}  // namespace kinetograph::tensor
