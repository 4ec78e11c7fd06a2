#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <kinetograph/kernels/host_model/fiber.hpp>
#include <kinetograph/kernels/host_model/machine.hpp>
#include <kinetograph/kernels/host_model/wave_instructions.hpp>
#include <kinetograph/kernels/host_model/wave_launch.hpp>
#include <memory>
#include <string>
#include <vector>

/// The state of one compute unit that runs workgroups one after another; wave_machine.cpp, wave_lds.cpp and
/// wave_buffer.cpp implement it.
namespace kinetograph::host_model {

/// An access to LDS while its workgroup runs. `settled`: how many barriers the accessing wave had passed when it waited
/// for the access. Other waves see it as done after one more barrier:
///
///   wave 0:  write   wait (settled = 2)   barrier 2 -> 3
///   wave 1:                               barrier 2 -> 3   read: 3 > 2, allowed
struct LdsAccess {
    static constexpr uint32_t kUnsettled = ~0u;
    Instruction at;
    uint32_t settled = kUnsettled;
    bool by_load = false;  ///< written by a load to LDS (vmcnt), not by an LDS instruction (lgkmcnt)
};

/// A load to LDS or a store that s_waitcnt vmcnt may wait for. Stores take effect when they are issued.
struct VectorOperation {
    uint32_t access = 0;  ///< index into the wave's accesses; 0: a store
    uint32_t place = 0;
    bool landed = true;
    std::array<uint32_t, 256> data;
};

struct Wave {
    uint32_t index = 0;
    std::unique_ptr<Fiber> fiber;
    uint32_t barriers = 0;            ///< passed
    std::vector<LdsAccess> accesses;  ///< [0] is unused
    std::vector<uint32_t> unsettled;  ///< accesses by LDS instructions that no wait covers yet
    std::deque<VectorOperation> vector_memory;
    bool at_barrier = false;
    Instruction barrier_at;
};

/// The last writer of a dword of LDS: wave and index into its accesses, packed into one word.
class Writer {
  public:
    static constexpr uint32_t kNone = 0;
    static uint32_t of(uint32_t wave, uint32_t access) { return wave << 28 | access; }
    static uint32_t wave(uint32_t word) { return word >> 28; }
    static uint32_t access(uint32_t word) { return word & 0x0fffffffu; }
};

class WaveMachine {
  public:
    WaveMachine(const ModelKernel& kernel, const WaveLaunch& launch, const void* parameters);

    /// Runs one workgroup; returns the sentence of its fault, if any.
    std::optional<std::string> run(Dim3 workgroup, uint64_t index);
    const WaveOutcome& counts() const { return counts_; }

    /// The machine and the wave of the fiber that is running.
    static WaveMachine& current();
    static Wave& wave() { return *current().running_; }

    /// Ends the run with "workgroup (x,y,z) wave w, <at>: <sentence>".
    [[noreturn]] void fail(const Instruction& at, const std::string& sentence);
    /// One instruction of the running wave: other waves may run first, and operations in flight may land.
    void step();
    void barrier(const Instruction& at);
    void wait_vector_memory(uint32_t pending);
    void wait_lds();

    void allocate_lds(uint32_t bytes, const Instruction& at);
    void read_lds(uint32_t* registers, uint32_t words, uint32_t base, const uint32_t* offsets, const Instruction& at);
    void write_lds(const uint32_t* registers, uint32_t words, uint32_t base, const uint32_t* offsets,
                   const bool* active, const Instruction& at);
    /// A load of 1 KiB to LDS: the caller fills in its data and calls issued().
    VectorOperation& queue_load(uint32_t place, const Instruction& at);
    void issued(VectorOperation& operation);
    void queue_store();

    Dim3 workgroup() const { return workgroup_; }
    void count_product() { ++counts_.matrix_products; }

  private:
    enum class Landing : uint8_t { Late, AtOnce, Mixed };  // seed % 3

    void start_waves();
    void run_waves();
    void release_barrier();
    void run_wave(Wave& wave);
    void finish_wave();
    void suspend();
    void land(VectorOperation& operation);
    void check_place(uint64_t begin, uint32_t bytes, const Instruction& at);
    void check_read(uint32_t dword, const Instruction& at);
    void check_write(uint32_t first, uint32_t dwords, bool by_load, const Instruction& at);
    void count_conflicts(uint32_t base, const uint32_t* offsets);
    std::string describe_access(uint32_t wave, const LdsAccess& access) const;
    uint32_t random(uint32_t below);

    const ModelKernel& kernel_;
    const WaveLaunch& launch_;
    const void* parameters_;
    Landing landing_;
    StackPool stacks_;
    std::vector<Wave> waves_;
    Wave* running_ = nullptr;
    Dim3 workgroup_{};
    uint64_t random_state_ = 1;
    uint64_t steps_ = 0;
    bool stopped_ = false;
    std::optional<std::string> fault_;
    WaveOutcome counts_;

    uint32_t lds_bytes_ = 0;
    std::vector<uint32_t> lds_;                   ///< contents, by dword
    std::vector<uint32_t> writers_;               ///< Writer of each dword
    std::vector<std::vector<uint32_t>> readers_;  ///< [wave][dword]: the wave's last access that read it
};

}  // namespace kinetograph::host_model
