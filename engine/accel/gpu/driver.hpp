// Driver: the library of a GPU's driver, opened at run time, and how its errors map to ErrorCode.
#pragma once

#include <kinetograph/engine/accel/gpu/entry_points.hpp>

#include <memory>
#include <span>

namespace kinetograph::accel::gpu {

/// Where a driver's library is searched for, and what errors say if it is missing.
struct LibraryDesc {
    std::string_view without;            ///< what a machine without it lacks: "CUDA lane off"
    const char* variable;                ///< of the environment: it names the library
    std::span<const char* const> names;  ///< otherwise the first of these that the loader finds
    std::string_view since;              ///< the releases that have every required entry point: "ROCm 6.0 or newer has"
};

/// Opens `library`, or if that is empty, what `desc` says, and looks up the functions of `table`. Returns the name it
/// was found under. The library stays loaded until the process ends, because its threads may outlive all our objects.
/// Errors: NotFound (no such library, or one that lacks an entry point; the sentence names it and says what is off).
Result<std::string> open_library(const LibraryDesc& desc, const std::string& library, const EntryPointTable& table);

/// An opened driver. `Api` supplies what differs:
///     Status, EntryPoints               its error codes and its functions
///     kLibrary                          a LibraryDesc
///     init(), count()                   of the entry points, those that start the driver and count its devices
///     code_of(status)                   the ErrorCode for one of its error codes
///     error_name(), version()           its own words; error_name() may be null, version() empty
template <class Api>
class Driver {
  public:
    using Status = typename Api::Status;
    using EntryPoints = typename Api::EntryPoints;

    /// Errors: those of open_library(), and what the driver answers to being started.
    static Result<std::shared_ptr<const Driver>> open(const std::string& library = {}) {
        std::shared_ptr<Driver> driver(new Driver);
        KG_TRY(driver->library_, open_library(Api::kLibrary, library, driver->entry_points_));
        if (auto ready = driver->call(Api::init(driver->entry_points_), 0U); !ready)
            return fail(ready.error().code, "{}: {}: {}", driver->library_, ready.error().message,
                        Api::kLibrary.without);
        return std::shared_ptr<const Driver>(std::move(driver));
    }

    const EntryPoints& entry_points() const { return entry_points_; }
    const EntryPoints* operator->() const { return &entry_points_; }
    const std::string& library() const { return library_; }  ///< by the name it was found under
    /// "libcuda.so.1, driver 13.0"
    std::string description() const {
        const std::string version = Api::version(entry_points_);
        return version.empty() ? library_ : fmt::format("{}, {}", library_, version);
    }

    /// At least one. Errors: NotFound, and what the driver says.
    Result<std::uint32_t> count_devices() const {
        int count = 0;
        if (auto counted = call(Api::count(entry_points_), &count); !counted)
            return fail(counted.error().code, "{} finds no device ({}): {}", library_, counted.error().message,
                        Api::kLibrary.without);
        if (count == 0) return fail(ErrorCode::NotFound, "{} finds no device: {}", library_, Api::kLibrary.without);
        return static_cast<std::uint32_t>(count);
    }

    /// "CUDA_ERROR_OUT_OF_MEMORY (2)"
    std::string name(Status status) const {
        const char* name = Api::error_name(entry_points_, status);
        return fmt::format("{} ({})", name != nullptr ? name : "an error without a name", static_cast<int>(status));
    }
    Error error(Status status, std::string_view call) const {
        return {Api::code_of(status), fmt::format("{}: {}", call, name(status))};
    }

    /// Calls `entry_point`. Errors: what the driver answers, with the call's name before it.
    template <class... Parameters, class... Arguments>
    Result<void> call(const EntryPoint<Status(Parameters...)>& entry_point, Arguments... arguments) const {
        const Status status = entry_point(arguments...);
        if (status == Status::Success) return {};
        return fail(error(status, entry_point.name()));
    }

    /// Available if all `entry_points` are there; otherwise the reason names library and first missing one.
    Capability has(std::initializer_list<const EntryPointBase*> entry_points) const {
        for (const EntryPointBase* entry_point : entry_points)
            if (!entry_point->present()) return {false, fmt::format("{} has no {}", library_, entry_point->symbol())};
        return {true, {}};
    }

  private:
    Driver() = default;
    std::string library_;
    EntryPoints entry_points_;
};

}  // namespace kinetograph::accel::gpu
