#include <kinetograph/tests/standin/cuda/chip.hpp>

#include <kinetograph/tests/standin/machine.hpp>

#include <cstdlib>

namespace kinetograph::accel::cuda {

Chip posed_chip() {
    const std::string& name = standin::Machine::instance().options().architecture;  // "sm_90"
    const int architecture = std::atoi(name.c_str() + name.find_first_of("0123456789"));
    const auto shared_kib = [&] {  // CUDA Programming Guide, Technical Specifications per Compute Capability
        switch (architecture) {
            case 75:
                return 64;
            case 80:
            case 87:
                return 163;
            case 86:
            case 89:
            case 120:
                return 99;
            default:
                return 227;
        }
    }();
    Chip chip{.architecture = architecture, .shared_bytes = shared_kib << 10};
    if (!standin::Machine::instance().options().gpcs.empty()) chip.gpcs = standin::Machine::instance().options().gpcs;
    return chip;
}

}  // namespace kinetograph::accel::cuda

namespace kinetograph::standin {

PosedDevice posed_device() { return {.name = "Stand-in H200", .architecture = "sm_90", .imports_timelines = true}; }

}  // namespace kinetograph::standin
