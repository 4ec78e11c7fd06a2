#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/wave_machine.hpp>

/// Buffer loads and stores with the hardware's range check: voffset is compared with the descriptor's size for each
/// lane; soffset is added afterwards, unchecked.
namespace kinetograph::host_model {
namespace {

/// The lane's address, or null for a lane that is out of range.
const unsigned char* lane_address(const BufferDescriptor& buffer, uint32_t bytes, uint32_t lane, uint64_t voffset,
                                  uint32_t soffset, const Instruction& at) {
    WaveMachine& machine = WaveMachine::current();
    if (soffset > buffer.bytes) {
        machine.fail(at, "soffset " + std::to_string(soffset) + " lies beyond the buffer of " +
                             std::to_string(buffer.bytes) + " bytes: documents disagree on what the range check does");
    }
    if (voffset >= buffer.bytes) return nullptr;
    const std::string name = "lane " + std::to_string(lane);
    if (voffset + bytes > buffer.bytes) {
        machine.fail(at, name + " straddles the buffer's end: bytes " + std::to_string(voffset) + " to " +
                             std::to_string(voffset + bytes) + " of " + std::to_string(buffer.bytes));
    }
    if (voffset + soffset + bytes > buffer.bytes) {
        machine.fail(at, name + " reaches byte " + std::to_string(voffset + soffset) + " of a buffer of " +
                             std::to_string(buffer.bytes) +
                             " bytes: foreign memory, because the range check does not see soffset");
    }
    const unsigned char* const address = buffer.base + voffset + soffset;
    if (reinterpret_cast<uintptr_t>(address) % std::min(bytes, 4u) != 0) {
        machine.fail(at, name + " accesses byte " + std::to_string(voffset + soffset) +
                             ", whose address is not aligned to " + std::to_string(std::min(bytes, 4u)) + " bytes");
    }
    return address;
}

/// False if some lane needs a detailed check; the common case costs one comparison per lane.
bool all_plain(const BufferDescriptor& buffer, uint32_t bytes, const uint32_t* voffsets, uint32_t soffset) {
    if (buffer.bytes < bytes || soffset > buffer.bytes - bytes) return false;
    const uint32_t last = buffer.bytes - bytes - soffset;
    const auto misaligned = reinterpret_cast<uintptr_t>(buffer.base + soffset);
    uint32_t beyond = 0, low_bits = 0;
    for (uint32_t lane = 0; lane < kWaveLanes; ++lane) {
        beyond |= voffsets[lane] > last ? 1u : 0u;
        low_bits |= static_cast<uint32_t>(misaligned) + voffsets[lane];
    }
    return beyond == 0 && low_bits % std::min(bytes, 4u) == 0;
}

}  // namespace

void buffer_load(uint32_t* registers, uint32_t bytes, const BufferDescriptor& buffer, const uint32_t* voffsets,
                 uint32_t soffset, const Instruction& at) {
    WaveMachine::current().step();
    const bool plain = all_plain(buffer, bytes, voffsets, soffset);
    const uint32_t words = (bytes + 3) / 4;
    for (uint32_t lane = 0; lane < kWaveLanes; ++lane) {
        std::array<uint32_t, 4> value{};
        const unsigned char* const address = plain ? buffer.base + voffsets[lane] + soffset
                                                   : lane_address(buffer, bytes, lane, voffsets[lane], soffset, at);
        if (address != nullptr) std::memcpy(value.data(), address, bytes);
        for (uint32_t i = 0; i < words; ++i) registers[i * kWaveLanes + lane] = value[i];
    }
}

void buffer_load_to_lds(uint32_t place, const BufferDescriptor& buffer, const uint32_t* voffsets, uint32_t soffset,
                        const Instruction& at) {
    WaveMachine& machine = WaveMachine::current();
    machine.step();
    VectorOperation& operation = machine.queue_load(place, at);
    const bool plain = all_plain(buffer, 16, voffsets, soffset);
    for (uint32_t lane = 0; lane < kWaveLanes; ++lane) {
        uint32_t* const slot = operation.data.data() + lane * 4;
        const unsigned char* const address = plain ? buffer.base + voffsets[lane] + soffset
                                                   : lane_address(buffer, 16, lane, voffsets[lane], soffset, at);
        if (address != nullptr) {
            std::memcpy(slot, address, 16);
        } else {
            std::memset(slot, 0, 16);
        }
    }
    machine.issued(operation);
}

void buffer_store(const uint32_t* registers, uint32_t bytes, const BufferDescriptor& buffer, const uint32_t* voffsets,
                  uint32_t soffset, const Instruction& at) {
    WaveMachine& machine = WaveMachine::current();
    machine.step();
    machine.queue_store();
    const uint32_t words = (bytes + 3) / 4;
    for (uint32_t lane = 0; lane < kWaveLanes; ++lane) {
        const unsigned char* const address = lane_address(buffer, bytes, lane, voffsets[lane], soffset, at);
        if (address == nullptr) continue;
        std::array<uint32_t, 4> value{};
        for (uint32_t i = 0; i < words; ++i) value[i] = registers[i * kWaveLanes + lane];
        std::memcpy(const_cast<unsigned char*>(address), value.data(), bytes);
    }
}

}  // namespace kinetograph::host_model
