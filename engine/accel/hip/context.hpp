// Context: what everything of one HIP device shares; it lives as long as the last of them.
#pragma once

#include <kinetograph/engine/accel/hip/runtime.hpp>
#include <kinetograph/engine/accel/ledger.hpp>

namespace kinetograph::accel::hip {

struct Context {
    std::shared_ptr<const Runtime> runtime;
    int ordinal = 0;
    DeviceInfo info;
    Ledger ledger;

    const EntryPoints& hip() const { return runtime->entry_points(); }
    /// The runtime keeps a current device for every thread, and allocations, modules and launches go to that one: every
    /// entry of ours says which it means, so that several devices and other users of HIP can live in one process.
    Result<void> make_current() const { return runtime->check(hip().hipSetDevice(ordinal), "hipSetDevice"); }
};

}  // namespace kinetograph::accel::hip
