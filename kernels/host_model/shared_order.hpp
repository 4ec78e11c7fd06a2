#pragma once

#include <cstdint>
#include <kinetograph/kernels/host_model/instructions.hpp>
#include <vector>

/// Who touched each word of a CTA's shared memory last, and in which epoch: between two barriers. Two threads that
/// touch a word in the same epoch, one of them writing, race whatever the schedule was, so a missing barrier is found
/// in every run.
///
/// Watched are CTAs whose threads meet at barriers of the whole CTA (and of warps) only; where mbarriers or barriers of
/// some warps order the accesses, accesses.cpp watches asynchronous work instead. Accesses of less than a word are not
/// watched: two threads may well share a word.
namespace kinetograph::host_model {

struct Cta;
struct Lane;

/// cp.async of one thread that nobody has waited for: bytes [begin, end) of shared memory.
struct PendingCopy {
    uint32_t begin, end;
    const void* source;
    uint32_t source_bytes;
    uint32_t thread;
    Instruction at;
};

class SharedOrder {
  public:
    /// Thread `kWarp` stands for all lanes of the lane's warp (ldmatrix).
    static constexpr uint16_t kSomeThreads = 0xffff;

    /// Stops the run when the lane may not read or write bytes [begin, end) yet; remembers the access otherwise.
    void read(Lane& lane, uint32_t begin, uint32_t end, const Instruction& at, bool for_warp = false);
    void write(Lane& lane, uint32_t begin, uint32_t end, const Instruction& at);
    /// From now until land() nobody may touch the copy's bytes.
    void begin_copy(Lane& lane, const PendingCopy* copy);
    /// The copying thread has waited: from now on the bytes count as written by it, here.
    void finish_copy(Lane& lane, const PendingCopy& copy);
    /// Whether every byte has been written by some instruction.
    bool written(uint32_t begin, uint32_t end) const;

  private:
    struct Stamp {
        uint32_t epoch = 0, warp_epoch = 0;
        uint16_t thread = 0, warp = 0;  ///< kSomeThreads: several
        uint16_t instruction = 0;       ///< 0: none, else 1 + index
    };
    struct Word {
        Stamp write, read;
        const PendingCopy* copy = nullptr;
    };

    static bool ordered(const Stamp& stamp, const Lane& lane, bool for_warp);
    Stamp stamp(const Lane& lane, const Instruction& at);
    void check_copy(const Lane& lane, const Word& word, size_t index, const char* verb, const Instruction& at) const;
    [[noreturn]] void fail(const Lane& lane, size_t index, const char* verb, const Stamp& other, const char* did,
                           const Instruction& at) const;
    bool watches(const Lane& lane);

    std::vector<Word> words_;
    std::vector<Instruction> instructions_;
};

}  // namespace kinetograph::host_model
