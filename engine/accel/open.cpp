#include <kinetograph/engine/accel/open.hpp>

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/engine/accel/hip/device.hpp>

namespace kinetograph::accel {

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

std::vector<Availability> inspect_accelerators() {
    std::vector<Availability> all;
    all.reserve(3);
    for (const Kind kind : {Kind::Cpu, Kind::Cuda, Kind::Hip}) {
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
