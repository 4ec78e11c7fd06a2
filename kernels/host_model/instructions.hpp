#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/element.hpp>

/// What kernels/isa calls on the host: one function per instruction, for the thread (fiber) that is running. A function
/// returns when the hardware would let the thread continue, and stops the whole run with a Fault when the kernel is
/// wrong.
namespace kinetograph::isa {
struct TensorMap;
}
namespace kinetograph::host_model {

/// A line of a kernel. std::source_location is missing from clang 14, so the compilers' built-ins fill it.
struct Site {
    const char* file = "";
    uint32_t line = 0;

    /// As a default argument: the caller's file and line.
    static constexpr Site here(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
        return {file, line};
    }
};

/// An instruction as messages name it, and the line of the kernel that holds it.
struct Instruction {
    const char* name = "";
    Site site;
};

struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
    uint32_t count() const { return x * y * z; }
};

// Identity of the running thread: thread.hpp, cluster.hpp
uint32_t thread_index();
Dim3 block_index();
Dim3 grid_size();
uint32_t cluster_rank();
uint32_t cluster_size();

// Synchronisation of threads: thread.hpp, barrier.hpp, cluster.hpp
void sync_warp(const Instruction& at);
bool elect_one(const Instruction& at);
uint32_t broadcast(uint32_t value, uint32_t source, const Instruction& at);
void set_registers(uint32_t count, bool raise, const Instruction& at);
void named_barrier(uint32_t id, uint32_t threads, bool wait, const Instruction& at);
void cluster_arrive(const Instruction& at);
void cluster_wait(const Instruction& at);

// Shared memory: shared_memory.hpp, cluster.hpp, fence.hpp
void* dynamic_shared(uint64_t bytes, const Instruction& at);
uint32_t shared_address(const void* pointer, const Instruction& at);
/// The inverse, for an address of the running thread's CTA.
void* shared_pointer(uint32_t address, uint32_t bytes, const Instruction& at);
void check_shared_load(const void* source, uint32_t bytes, const Instruction& at);
void check_shared_store(const void* destination, uint32_t bytes, const Instruction& at);
uint32_t map_to_rank(const void* pointer, uint32_t rank, const Instruction& at);
uint32_t cluster_load(uint32_t address, const Instruction& at);
void cluster_store(uint32_t address, uint32_t value, const Instruction& at);
void fence_async_shared(const Instruction& at);
void fence_barrier_init(const Instruction& at);

// mbarrier.hpp
void mbarrier_init(void* barrier, uint32_t count, const Instruction& at);
void mbarrier_invalidate(void* barrier, const Instruction& at);
void mbarrier_arrive(void* barrier, uint32_t expected_bytes, const Instruction& at);
void mbarrier_arrive_remote(uint32_t address, uint32_t expected_bytes, const Instruction& at);
void mbarrier_arrive_release(uint32_t address, const Instruction& at);
void mbarrier_expect(void* barrier, uint32_t bytes, const Instruction& at);
void mbarrier_wait(void* barrier, uint32_t parity, const Instruction& at);
bool mbarrier_test(void* barrier, uint32_t parity, const Instruction& at);
/// Stops the run unless the phase of this parity is complete; `promise.name` is the promise in words.
void mbarrier_promise(const void* barrier, uint32_t parity, const Instruction& promise);

// tma.hpp
struct BoxCopy {
    void* shared;
    const isa::TensorMap* map;
    const int32_t* coordinates;
    int rank;
    const uint16_t* tap;  ///< rank - 2 im2col offsets, or null for a tiled map
};
struct LoadForm {
    bool multicast = false;
    uint16_t ranks = 0;
    bool pair = false;  ///< cta_group::2: the barrier may be the pair's other CTA's
};
void tma_prefetch(const isa::TensorMap* map, const Instruction& at);
void tma_load(const BoxCopy& copy, uint32_t barrier, const LoadForm& form, const Instruction& at);
void tma_store(const BoxCopy& copy, const Instruction& at);
void bulk_commit(const Instruction& at);
void bulk_wait(uint32_t pending, bool read, const Instruction& at);

// cp_async.hpp, warp_matrix.hpp, shuffle.hpp, global_memory.hpp
void cp_async_copy(uint32_t destination, const void* source, uint32_t bytes, uint32_t source_bytes,
                   const Instruction& at);
void cp_async_commit(const Instruction& at);
void cp_async_wait(uint32_t pending, const Instruction& at);
/// `loads` consecutive instructions; each fills the next words, from rows `stride` bytes after those of the last one.
struct MatrixLoads {
    uint32_t* words;
    uint32_t row;
    uint32_t matrices, loads = 1, stride = 0;
    bool transposed = false;
};
void ldmatrix(const MatrixLoads& loads, const Instruction& at);
/// Four matrices, of which this lane has words[0..3] and stores 16 bytes at `row`.
void stmatrix(const uint32_t* words, uint32_t row, const Instruction& at);
/// m times n instructions, row by row: the products of one row share fragment a, those of one column fragment b.
struct FragmentProducts {
    float* d;           ///< [m][n][4]
    const uint32_t* a;  ///< [m][4]
    const uint32_t* b;  ///< [n][2]
    uint32_t m = 1, n = 1;
    bool bfloat16 = false;
};
void mma_sync(const FragmentProducts& products, const Instruction& at);
uint32_t shuffle_xor(uint32_t value, uint32_t mask, const Instruction& at);
uint32_t rotate_lanes(uint32_t value, uint32_t lanes, const Instruction& at);
void check_global(const void* address, uint32_t bytes, const Instruction& at);

// wgmma.hpp
struct WgmmaOperands {
    void* accumulators;  ///< n / 2 of this thread: float, or int32_t of U8
    uint32_t n;
    uint64_t a;
    const uint32_t* a_registers;  ///< 4 words instead of `a`, or null
    uint64_t b;
    bool b_mn_major;  ///< B is stored [K][N]
    Element element;  ///< F16, BF16, or U8: A of U8 and B of I8
    bool accumulate;
};
void wgmma_fence(const Instruction& at);
void wgmma_mma(const WgmmaOperands& operands, const Instruction& at);
void wgmma_commit(const Instruction& at);
void wgmma_wait(uint32_t pending, const Instruction& at);
void wgmma_take(const void* accumulators, uint32_t count, const Instruction& at);

// tcgen05.hpp
struct Tcgen05Operands {
    uint32_t d;
    uint64_t a, b;
    uint32_t instruction;
    bool accumulate;
    int group;
    uint32_t element_bytes;
};
void tensor_alloc(uint32_t* slot, uint32_t columns, int group, const Instruction& at);
void tensor_dealloc(uint32_t address, uint32_t columns, int group, const Instruction& at);
void tensor_relinquish(int group, const Instruction& at);
void tensor_load(uint32_t* values, uint32_t columns, uint32_t address, const Instruction& at);
void tensor_wait_load(const Instruction& at);
void tcgen05_mma(const Tcgen05Operands& operands, const Instruction& at);
void tcgen05_commit(void* barrier, uint16_t ranks, int group, const Instruction& at);
void tcgen05_fence(bool before, const Instruction& at);

// clc.hpp
struct CancelAnswer {
    bool valid;
    Dim3 first_cta;
};
void try_cancel(void* response, void* barrier, bool multicast, const Instruction& at);
CancelAnswer query_cancel(const void* response, const Instruction& at);

}  // namespace kinetograph::host_model
