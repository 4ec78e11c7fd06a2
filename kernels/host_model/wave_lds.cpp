#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/wave_machine.hpp>

/// LDS with a record of its accesses: a wrong order is found from what the program waits for, not from the order in
/// which this run happened to execute.
namespace kinetograph::host_model {
namespace {

std::string lds_place(uint64_t byte) { return "LDS+" + std::to_string(byte); }

/// ds_read_b128 takes four phases of 16 lanes, each over all 64 banks. Source: AMD, "CDNA4 GEMM kernels" (ROCm blogs);
/// confirmed by the measurements of HipKittens.
constexpr std::array<std::array<uint8_t, 16>, 4> kReadPhases = {{
    {0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27},
    {4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31},
    {32, 33, 34, 35, 44, 45, 46, 47, 52, 53, 54, 55, 56, 57, 58, 59},
    {36, 37, 38, 39, 40, 41, 42, 43, 48, 49, 50, 51, 60, 61, 62, 63},
}};

}  // namespace

void WaveMachine::allocate_lds(uint32_t bytes, const Instruction& at) {
    if (lds_bytes_ == bytes) return;  // another wave of the workgroup has allocated already
    if (lds_bytes_ != 0) {
        fail(at, "the workgroup has " + std::to_string(lds_bytes_) + " bytes of LDS already; one allocation a kernel");
    }
    lds_bytes_ = bytes;
    const uint32_t dwords = (bytes + 3) / 4;
    lds_.assign(dwords, ~0u);
    writers_.assign(dwords, Writer::kNone);
    readers_.resize(waves_.size());
    for (auto& readers : readers_) readers.assign(dwords, 0);
}

void WaveMachine::check_place(uint64_t begin, uint32_t bytes, const Instruction& at) {
    if (begin + bytes <= lds_bytes_) return;
    fail(at, lds_place(begin) + " to " + std::to_string(begin + bytes) + " lies outside the workgroup's " +
                 std::to_string(lds_bytes_) + " bytes of LDS");
}

std::string WaveMachine::describe_access(uint32_t wave, const LdsAccess& access) const {
    return describe(access.at) + " of wave " + std::to_string(wave);
}

void WaveMachine::check_read(uint32_t dword, const Instruction& at) {
    const uint32_t word = writers_[dword];
    if (word == Writer::kNone) fail(at, "reads " + lds_place(dword * 4) + ", which was never written");
    const Wave& writer = waves_[Writer::wave(word)];
    const LdsAccess& access = writer.accesses[Writer::access(word)];
    if (&writer == running_) {
        if (!access.by_load || access.settled != LdsAccess::kUnsettled)
            return;  // a wave's LDS instructions execute in order
        fail(at, "reads " + lds_place(dword * 4) + ", which " + describe_access(writer.index, access) +
                     " loads: no s_waitcnt vmcnt has waited for it");
    }
    if (access.settled == LdsAccess::kUnsettled) {
        fail(at, "reads " + lds_place(dword * 4) + ", which " + describe_access(writer.index, access) +
                     " writes: that wave has not waited for it (" + (access.by_load ? "vmcnt)" : "lgkmcnt)"));
    }
    if (running_->barriers <= access.settled) {
        fail(at, "reads " + lds_place(dword * 4) + ", which " + describe_access(writer.index, access) +
                     " has written: no barrier since that wave waited for it");
    }
}

void WaveMachine::check_write(uint32_t first, uint32_t dwords, bool by_load, const Instruction& at) {
    const auto refuse = [&](uint32_t dword, const char* did, uint32_t wave, const LdsAccess& access) {
        const bool waited = access.settled != LdsAccess::kUnsettled;
        fail(at, "overwrites " + lds_place(dword * 4) + ", which " + describe_access(wave, access) + " " + did + ": " +
                     (waited ? "no barrier since that wave waited for it"
                             : std::string("that wave has not waited for it (") +
                                   (access.by_load ? "vmcnt)" : "lgkmcnt)")));
    };
    const auto ordered = [&](uint32_t wave, const LdsAccess& access) {
        if (wave == running_->index) {
            return (!by_load && !access.by_load) || access.settled != LdsAccess::kUnsettled;
        }
        return access.settled != LdsAccess::kUnsettled && running_->barriers > access.settled;
    };
    uint32_t good_word = Writer::kNone;  // most dwords have the same writer and readers
    for (uint32_t dword = first; dword < first + dwords; ++dword) {
        const uint32_t word = writers_[dword];
        if (word == Writer::kNone || word == good_word) continue;
        const uint32_t wave = Writer::wave(word);
        const LdsAccess& access = waves_[wave].accesses[Writer::access(word)];
        if (!ordered(wave, access)) refuse(dword, "writes", wave, access);
        good_word = word;
    }
    for (uint32_t wave = 0; wave < waves_.size(); ++wave) {
        const uint32_t* const readers = readers_[wave].data();
        uint32_t good_read = 0;
        for (uint32_t dword = first; dword < first + dwords; ++dword) {
            const uint32_t read = readers[dword];
            if (read == 0 || read == good_read) continue;
            const LdsAccess& access = waves_[wave].accesses[read];
            if (!ordered(wave, access)) refuse(dword, "reads", wave, access);
            good_read = read;
        }
    }
}

void WaveMachine::count_conflicts(uint32_t base, const uint32_t* offsets) {
    for (const auto& phase : kReadPhases) {
        std::array<uint32_t, 16> met{};  // cycles of each group of four banks
        uint32_t cycles = 1;
        for (uint32_t i = 0; i < phase.size(); ++i) {
            const uint32_t chunk = (base + offsets[phase[i]]) / 16;
            bool same = false;  // lanes that read the same address share the cycle
            for (uint32_t j = 0; met[chunk % 16] > 0 && j < i && !same; ++j)
                same = (base + offsets[phase[j]]) / 16 == chunk;
            if (!same) cycles = std::max(cycles, ++met[chunk % 16]);
        }
        counts_.lds_read_conflicts += cycles - 1;
    }
}

void WaveMachine::read_lds(uint32_t* registers, uint32_t words, uint32_t base, const uint32_t* offsets,
                           const Instruction& at) {
    step();
    ++counts_.lds_reads;
    Wave& wave = *running_;
    const auto access = static_cast<uint32_t>(wave.accesses.size());
    wave.accesses.push_back({.at = at});
    wave.unsettled.push_back(access);
    uint32_t* const readers = readers_.empty() ? nullptr : readers_[wave.index].data();
    uint32_t good = Writer::kNone;  // a writer whose data this wave may read: most dwords have the same writer
    for (uint32_t lane = 0; lane < kWaveLanes; ++lane) {
        const uint64_t byte = uint64_t{base} + offsets[lane];
        check_place(byte, words * 4, at);
        if (byte % (words * 4) != 0) {
            fail(at, lds_place(byte) + " of lane " + std::to_string(lane) + " is not aligned to " +
                         std::to_string(words * 4) + " bytes");
        }
        const auto dword = static_cast<uint32_t>(byte / 4);
        for (uint32_t i = 0; i < words; ++i) {
            if (writers_[dword + i] != good || good == Writer::kNone) {
                check_read(dword + i, at);
                good = writers_[dword + i];
            }
            readers[dword + i] = access;
            registers[i * kWaveLanes + lane] = lds_[dword + i];
        }
    }
    if (words == 4) count_conflicts(base, offsets);
}

void WaveMachine::write_lds(const uint32_t* registers, uint32_t words, uint32_t base, const uint32_t* offsets,
                            const bool* active, const Instruction& at) {
    step();
    Wave& wave = *running_;
    const auto access = static_cast<uint32_t>(wave.accesses.size());
    wave.accesses.push_back({.at = at});
    wave.unsettled.push_back(access);
    for (uint32_t lane = 0; lane < kWaveLanes; ++lane) {
        if (!active[lane]) continue;
        const uint64_t byte = uint64_t{base} + offsets[lane];
        check_place(byte, words * 4, at);
        if (byte % (words * 4) != 0) {
            fail(at, lds_place(byte) + " of lane " + std::to_string(lane) + " is not aligned to " +
                         std::to_string(words * 4) + " bytes");
        }
        const auto dword = static_cast<uint32_t>(byte / 4);
        check_write(dword, words, false, at);
        for (uint32_t i = 0; i < words; ++i) {
            writers_[dword + i] = Writer::of(wave.index, access);
            lds_[dword + i] = registers[i * kWaveLanes + lane];
        }
    }
}

// The instructions of lds.hpp.

void allocate_lds(uint32_t bytes, const Instruction& at) { WaveMachine::current().allocate_lds(bytes, at); }
void read_lds(uint32_t* registers, uint32_t words, uint32_t base, const uint32_t* offsets, const Instruction& at) {
    WaveMachine::current().read_lds(registers, words, base, offsets, at);
}
void write_lds(const uint32_t* registers, uint32_t words, uint32_t base, const uint32_t* offsets, const bool* active,
               const Instruction& at) {
    WaveMachine::current().write_lds(registers, words, base, offsets, active, at);
}

}  // namespace kinetograph::host_model
