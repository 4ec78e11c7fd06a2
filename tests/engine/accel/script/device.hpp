// A back end of the tests: its device code is text, of which every line is a kernel: "twice * 2", "next + 1". A kernel
// takes the addresses of Params and computes on the host, in the order of its stream.
#pragma once

#include <kinetograph/engine/accel/backend.hpp>

#include <atomic>
#include <vector>

namespace kinetograph::accel::script {

/// What its devices compute in. Backend::adopt takes a caller's.
struct Machine {
    std::string name = "a machine of the tests";
    std::atomic<int> loads{0}, launches{0};
    std::vector<std::unique_ptr<Stream>> given_up{};
};

struct Params {
    const int* from;
    int* to;
    std::uint64_t count;
};

Backend backend();

}  // namespace kinetograph::accel::script
