// Driver: the CUDA driver library, opened at run time, and the way its errors become ours.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/accel/cuda/entry_points.hpp>

namespace kinetograph::accel::cuda {

/// An opened driver. It stays loaded until the process ends: its threads outlive every object of ours.
class Driver {
  public:
    /// Opens `library`; if empty, the one that KINETOGRAPH_CUDA_LIBRARY names; without either, libcuda.so.1.
    /// Errors: NotFound (no such library, or one that lacks an entry point; the sentence names it and says that the
    /// CUDA lane is off), and what cuInit answers.
    static Result<std::shared_ptr<const Driver>> open(const std::string& library = {});

    const EntryPoints& entry_points() const { return entry_points_; }
    const EntryPoints* operator->() const { return &entry_points_; }
    const std::string& library() const { return library_; }  ///< by the name it was found under
    /// "libcuda.so.1, driver 13.0"
    std::string description() const;

    /// "CUDA_ERROR_OUT_OF_MEMORY (2)"
    std::string name(Status status) const;
    Error error(Status status, std::string_view call) const;

    /// Calls `entry_point`. Errors: what the driver answers, with the call's name before it.
    template <class... Parameters, class... Arguments>
    Result<void> call(const EntryPoint<Status(Parameters...)>& entry_point, Arguments... arguments) const {
        const Status status = entry_point(arguments...);
        if (status == Status::Success) return {};
        return fail(error(status, entry_point.name()));
    }

  private:
    explicit Driver(std::string library) : library_(std::move(library)) {}

    std::string library_;
    EntryPoints entry_points_;
};

}  // namespace kinetograph::accel::cuda
