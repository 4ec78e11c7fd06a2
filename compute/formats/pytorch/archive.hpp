// The zip archive in which PyTorch stores a checkpoint, every entry uncompressed, so that its bytes are a view; and
// that of NumPy's arrays, which may be deflated.
#pragma once

#include <kinetograph/engine/base/call_limits.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::formats::torch_file {

struct ArchiveEntry {
    std::string name;  ///< "archive/data/0"
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> inflated{};  ///< owns the bytes of an entry that was compressed
};

/// The entries of the zip archive in `contents`, in its own order; their bytes are views of `contents`, those of
/// deflated
/// *.npy files copies. Errors: Corrupt, with the entry: not a zip archive, any other entry that is compressed, one that
/// is encrypted, beyond the end or named twice, two entries that overlap, bytes that do not match their checksum (if
/// any entry has one), more than 100,000 entries, entries that grow more than deflate can; OutOfMemory; Cancelled.
Result<std::vector<ArchiveEntry>> read_archive(std::span<const std::byte> contents, const std::string& file,
                                               const CallLimits& limits = {});

}  // namespace kinetograph::formats::torch_file
