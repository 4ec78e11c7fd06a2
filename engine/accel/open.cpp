#include <kinetograph/engine/accel/open.hpp>

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/engine/accel/hip/device.hpp>

#include <array>

namespace kinetograph::accel {
namespace {

constexpr std::array kKinds{Kind::Cpu, Kind::Cuda, Kind::Hip};

}  // namespace

Result<std::unique_ptr<Device>> open(Kind kind) {
    switch (kind) {
        case Kind::Cpu:
            return cpu::create_device();
        case Kind::Hip:
            return hip::create_device();
        case Kind::Cuda:
            return cuda::create_device();
    }
    return fail(ErrorCode::InvalidArgument, "there is no such kind of accelerator");
}

Result<std::unique_ptr<Device>> open(std::string_view kind) {
    for (const Kind known : kKinds)
        if (to_string(known) == kind) return open(known);
    return fail(ErrorCode::InvalidArgument, "lane {}: there are cpu, cuda and hip", kind);
}

std::vector<Availability> inspect_accelerators() {
    std::vector<Availability> all;
    all.reserve(kKinds.size());
    for (const Kind kind : kKinds) {
        auto device = open(kind);
        if (!device) {
            all.push_back({kind, std::nullopt, std::move(device.error().message)});
            continue;
        }
        const DeviceInfo& info = (*device)->info();
        all.push_back({kind, info, fmt::format("{}; {}", info.driver, info.features)});
    }
    return all;
}

}  // namespace kinetograph::accel
