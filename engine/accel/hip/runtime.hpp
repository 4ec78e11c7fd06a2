// Runtime: the HIP runtime library, opened at run time, and the way its errors become ours.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/accel/hip/runtime_api.hpp>

#include <initializer_list>

namespace kinetograph::accel::hip {

/// An opened runtime. It stays loaded until the process ends: its threads outlive every object of ours.
class Runtime {
  public:
    /// Opens `library`; if empty, the one that KINETOGRAPH_HIP_LIBRARY names; without either, the newest of
    /// libamdhip64.so.7, .so.6 and .so that the loader finds.
    /// Errors: NotFound (no such library, or one that lacks an entry point; the sentence names it and says that the HIP
    /// lane is off), and what hipInit answers.
    static Result<std::shared_ptr<const Runtime>> open(const std::string& library = {});

    const EntryPoints& entry_points() const { return entry_points_; }
    const EntryPoints* operator->() const { return &entry_points_; }
    const std::string& library() const { return library_; }  ///< by the name it was found under
    /// "libamdhip64.so.7, HIP 7.0.51831"
    std::string description() const;

    /// "hipErrorOutOfMemory (2)"
    std::string name(Status status) const;
    /// `call` is the runtime's function, with what it was called for where that helps: "hipMalloc".
    Result<void> check(Status status, std::string_view call) const;
    Error error(Status status, std::string_view call) const;

    /// Available if all `entry_points` are there; otherwise the reason names library and first missing one.
    struct Optional {
        const char* name;
        bool present;
    };
    Capability has(std::initializer_list<Optional> entry_points) const;

  private:
    Runtime(std::string library, const EntryPoints& entry_points)
        : library_(std::move(library)), entry_points_(entry_points) {}

    std::string library_;
    EntryPoints entry_points_;
};

}  // namespace kinetograph::accel::hip
