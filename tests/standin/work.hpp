// Operations of streams, as pieces of their work.
#pragma once

#include <kinetograph/tests/standin/machine.hpp>

#include <span>

namespace kinetograph::standin {

/// Runs the kernel with a copy of `arguments`; KernelCall::arguments is not read.
Work launch(const Kernel& kernel, const KernelCall& call, std::span<const std::byte> arguments);

/// Copies between any two places. Returns when ordinary host memory has been read or written, which a capture refuses.
/// InvalidValue: a range exceeds the allocation in which it starts.
Status copy(Stream& stream, void* to, const void* from, std::uint64_t bytes);

Work fill(void* address, int value, std::uint64_t bytes);

/// Waits until `reached` returns true for the eight bytes at `address`.
Work wait_for(void* address, std::function<bool(std::uint64_t value)> reached);
Work write(void* address, std::uint64_t value);

Work wait_for(std::shared_ptr<ExternalCounter> counter, std::uint64_t value);
Work signal(std::shared_ptr<ExternalCounter> counter, std::uint64_t value);

/// Calls a host function on the thread that makes all such calls; see in_callback().
Work call_back(void (*function)(void* user_data), void* user_data);
/// Whether the calling thread is in such a function, where the library must not be called.
bool in_callback();

}  // namespace kinetograph::standin
