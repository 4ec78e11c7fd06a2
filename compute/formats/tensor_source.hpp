// TensorSource: the named tensors of a checkpoint in any format. Each format is one source of this folder, which the
// build picks up.
#pragma once

#include <kinetograph/compute/tensor/safetensors.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kinetograph::formats {

class TensorSource {
  public:
    struct Contents {
        std::string name;                          ///< the path, for messages
        std::vector<tensor::NamedTensor> tensors;  ///< no name twice
        std::map<std::string, std::string> metadata;
        std::vector<std::span<const std::byte>> files;      ///< all bytes, in a fixed order
        std::vector<std::shared_ptr<const void>> owners{};  ///< of the memory that views and bytes refer to
        std::map<std::string, std::string> unreadable{};    ///< tensors that no view can show -> their type: Q4_K
    };
    explicit TensorSource(Contents contents);

    const std::string& name() const { return contents_.name; }
    const std::vector<tensor::NamedTensor>& tensors() const { return contents_.tensors; }
    const std::map<std::string, std::string>& metadata() const { return contents_.metadata; }
    const std::vector<std::span<const std::byte>>& files() const { return contents_.files; }
    const std::map<std::string, std::string>& unreadable() const { return contents_.unreadable; }
    /// Null if absent. Views live as long as the object; a move keeps them.
    const tensor::TensorView* find(std::string_view tensor) const;

  private:
    Contents contents_;
    std::unordered_map<std::string_view, std::size_t> index_of_;  // keys point into the contents
};

/// A caller's bytes, which stay valid and unchanged for as long as `owner` is held.
struct OwnedBytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner{};
};

/// One file format, recognised by its suffix or its first bytes. The format with neither takes what no other one
/// claims.
struct Format {
    std::string suffix{};  ///< of the path, which may have a variant before its last part: ".index.fp16.json"
    std::vector<std::string> first_bytes{};  ///< of the contents, each at most 8
    /// Opens a file. Null: the whole file is read and given to `parse`.
    Result<TensorSource> (*open)(const std::filesystem::path& path, const tensor::ReadOptions& options) = nullptr;
    /// Parses a file's contents; null for a format of several files. It checks the limits between pieces of its work,
    /// and makes copies with the allocator.
    Result<TensorSource> (*parse)(const OwnedBytes& contents, const std::string& name,
                                  const tensor::ReadOptions& options) = nullptr;
};

/// Every format, by the name of its source.
const std::vector<Format>& all();

/// Opens `path` in its format. A folder stands for the VAE in it: what diffusers has put there
/// (diffusion_pytorch_model..., in the folder or in vae/) unless its config.json is of another model, else the one file
/// with "vae" in its name, else the only checkpoint. For a file of such a folder, fields of config.json that the file
/// itself lacks count as metadata. Errors: those of the format; NotFound for a folder without a checkpoint;
/// InvalidArgument for one with several, naming them; Corrupt, Io for a config.json that is not a JSON object or cannot
/// be read.
Result<TensorSource> open(const std::filesystem::path& path, const tensor::ReadOptions& options = {});

/// The same for a file's contents in memory, which the source keeps; `name` stands for the path. Errors also:
/// Unsupported (a format of several files).
Result<TensorSource> parse(const OwnedBytes& contents, const std::string& name,
                           const tensor::ReadOptions& options = {});

/// The fields of a small file with one JSON object: texts unchanged, everything else in JSON. Errors: those of
/// read_text; Corrupt for anything else or for one that is nested more than 64 deep.
Result<std::map<std::string, std::string>> read_object(const std::filesystem::path& path,
                                                       const CallLimits& limits = {});

/// A small text file: an index, a configuration. Errors: those of tensor::FileContents; Corrupt above 16 MiB.
Result<std::string> read_text(const std::filesystem::path& path, const CallLimits& limits = {});

}  // namespace kinetograph::formats
