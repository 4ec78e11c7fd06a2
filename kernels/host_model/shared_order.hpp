#pragma once

#include <cstdint>
#include <kinetograph/kernels/host_model/instructions.hpp>
#include <vector>

/// For each word of a CTA's shared memory, which threads accessed it last, and in which epoch (the time between two
/// barriers). If two threads access a word in the same epoch and one of them writes, they race whatever the schedule
/// was: a missing barrier is found in every run.
///
/// This watches only CTAs whose threads synchronise by barriers of the whole CTA and of single warps. In CTAs with
/// mbarriers or barriers of some warps, accesses.cpp watches asynchronous work instead. Accesses of less than a word
/// are not watched, because two threads may share a word.
namespace kinetograph::host_model {

struct Cta;
struct Lane;

/// A thread's cp.async that has not been waited for: bytes [begin, end) of shared memory.
struct PendingCopy {
    uint32_t begin, end;
    const void* source;
    uint32_t source_bytes;
    uint32_t thread;
    Instruction at;
};

class SharedOrder {
  public:
    /// A stamp's thread or warp if several have accessed the word.
    static constexpr uint16_t kSomeThreads = 0xffff;

    /// Stops the run if the lane may not read or write bytes [begin, end) yet; otherwise records the access.
    void read(Lane& lane, uint32_t begin, uint32_t end, const Instruction& at, bool for_warp = false);
    void write(Lane& lane, uint32_t begin, uint32_t end, const Instruction& at);
    /// Until the copy lands, no thread may access its bytes.
    void begin_copy(Lane& lane, const PendingCopy* copy);
    /// The copying thread has waited: the bytes now count as written by it at this point.
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
