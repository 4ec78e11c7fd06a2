// safetensors files: a checked reader and a writer that never leaves a partial file. Format:
// https://huggingface.co/docs/safetensors (u64 header length, JSON header, tensor bytes).
#pragma once

#include <kinetograph/compute/tensor/file_contents.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <span>

namespace kinetograph::tensor {

struct NamedTensor {
    std::string name;
    TensorView view;
};

/// A file in memory. Views point into it, at any alignment, and live as long as the object (a move keeps them); later
/// changes of the file on disk do not affect them.
class SafetensorsFile {
  public:
    /// Errors: NotFound, Io; InvalidArgument for a folder or device; OutOfMemory if the file does not fit into free
    /// memory; Corrupt with the file, the tensor and what is wrong: a truncated file (also if truncated while it is
    /// read), a header longer than the file or than 100 MB, malformed JSON (see parse_safetensors_header), offsets that
    /// overlap, leave holes, run backwards or past the end, a byte count that does not match shape and dtype, a
    /// duplicate name; Cancelled.
    static Result<SafetensorsFile> open(const std::filesystem::path& path, const ReadOptions& options = {});
    /// The same checks on bytes in memory, which must outlive the object; `name` stands for the file in errors.
    static Result<SafetensorsFile> parse(std::span<const std::byte> bytes, std::string_view name);

    SafetensorsFile(SafetensorsFile&&) noexcept;
    SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
    ~SafetensorsFile();

    const std::string& name() const;                  ///< the path, for messages
    const std::vector<NamedTensor>& tensors() const;  ///< in file order
    /// Tensors of a dtype that no view can show -> that dtype, in quotes: "F4".
    const std::map<std::string, std::string>& unreadable() const;
    const std::map<std::string, std::string>& metadata() const;
    const TensorView* find(std::string_view tensor) const;  ///< null if absent
    std::span<const std::byte> bytes() const;               ///< the whole file

  private:
    struct State;
    explicit SafetensorsFile(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Writes `tensors`, in the given order, beside `path` and renames the file into place once complete and flushed.
/// Errors: Io with the path and the system's reason; InvalidArgument for a duplicate name, a byte count that does not
/// match shape and dtype, text that is not UTF-8. After an error no new file remains, and an older file at `path` is
/// unchanged.
Result<void> write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata = {});

}  // namespace kinetograph::tensor
