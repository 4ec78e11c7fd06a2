// safetensors files: a checked reader and a writer that never leaves half a file.
// Format: https://huggingface.co/docs/safetensors (u64 header length, JSON header, tensor bytes).
#pragma once

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

/// A file in memory. Views point into it, at any alignment, and live as long as the object (a move keeps them); what
/// happens to the file on the disk after open() does not reach them.
class SafetensorsFile {
  public:
    /// Errors: NotFound, Io; InvalidArgument for a folder or device; OutOfMemory where the file does not fit into what
    /// is free; Corrupt with the file, the tensor and what is wrong: truncated file or one that becomes so while it is
    /// read, header longer than the file or than 100 MB, malformed JSON (see parse_safetensors_header), unknown dtype,
    /// offsets that overlap, leave holes, run backwards or past the end, a byte count that does not match shape and
    /// dtype, a duplicate name.
    static Result<SafetensorsFile> open(const std::filesystem::path& path);
    /// The same checks on bytes in memory, which must outlive the object; `name` stands for the file in errors.
    static Result<SafetensorsFile> parse(std::span<const std::byte> bytes, std::string_view name);

    SafetensorsFile(SafetensorsFile&&) noexcept;
    SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
    ~SafetensorsFile();

    const std::string& name() const;                  ///< the path, for messages
    const std::vector<NamedTensor>& tensors() const;  ///< in file order
    const std::map<std::string, std::string>& metadata() const;
    const TensorView* find(std::string_view tensor) const;  ///< null if absent
    std::span<const std::byte> bytes() const;               ///< the whole file

  private:
    struct State;
    explicit SafetensorsFile(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Writes `tensors`, in the order given, beside `path` and renames the file into place once complete and flushed.
/// Errors: Io with the path and the system's reason; InvalidArgument for a name twice, a byte count that does not match
/// shape and dtype, text that is not UTF-8. Nothing is left behind then, and an older file at `path` stays as it was.
Result<void> write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata = {});

}  // namespace kinetograph::tensor
