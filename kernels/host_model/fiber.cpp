#include <kinetograph/kernels/host_model/fiber.hpp>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace kinetograph::host_model {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kStackBytes = 512 * 1024;  // redzones make frames several times larger

void start_switch(void** saved, const void* bottom, size_t size) {
    __sanitizer_start_switch_fiber(saved, bottom, size);
}
void finish_switch(void* saved, const void** bottom, size_t* size) {
    __sanitizer_finish_switch_fiber(saved, bottom, size);
}
#else
constexpr size_t kStackBytes = 96 * 1024;

void start_switch(void**, const void*, size_t) {}
void finish_switch(void*, const void**, size_t*) {}
#endif

/// Returns a fiber's stack to its pool when Boost.Context has finished with it.
struct PooledStack {
    StackPool* pool;
    void deallocate(boost::context::stack_context& stack) noexcept { pool->give_back(stack); }
};

}  // namespace

StackPool::StackPool() : StackPool(kStackBytes) {}

StackPool::~StackPool() {
    boost::context::protected_fixedsize_stack memory(stack_bytes_);
    for (auto& stack : idle_) {
#if defined(__SANITIZE_ADDRESS__)
        // Abandoned frames leave their redzones poisoned; the next mapping at this address would inherit the
        // poison.
        ASAN_UNPOISON_MEMORY_REGION(static_cast<const char*>(stack.sp) - stack.size, stack.size);
#endif
        memory.deallocate(stack);
    }
}

boost::context::stack_context StackPool::take() {
    if (idle_.empty()) return boost::context::protected_fixedsize_stack(stack_bytes_).allocate();
    const auto stack = idle_.back();
    idle_.pop_back();
    return stack;
}

Fiber::Fiber(StackPool& stacks, std::function<void()> body) : body_(std::move(body)) {
    const auto stack = stacks.take();
    stack_bottom_ = static_cast<const char*>(stack.sp) - stack.size;
    stack_size_ = stack.size;
    // Creating the fiber already switches to its stack once. If that were not announced, the fiber's first frame would
    // lie in the caller's fake stack, which AddressSanitizer frees when the caller catches an exception.
    void* fake_stack = nullptr;
    const void* caller_bottom = nullptr;
    size_t caller_size = 0;
    start_switch(&fake_stack, stack_bottom_, stack_size_);
    self_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                  PooledStack{&stacks},
                                  [this](boost::context::fiber&& scheduler) { return run(std::move(scheduler)); });
    finish_switch(fake_stack, &caller_bottom, &caller_size);
    start_switch(&fake_stack, caller_bottom, caller_size);
    finish_switch(fake_stack, nullptr, nullptr);
}

boost::context::fiber Fiber::run(boost::context::fiber&& scheduler) {
    finish_switch(nullptr, &scheduler_bottom_, &scheduler_size_);
    scheduler_ = std::move(scheduler);
    body_();
    finished_ = true;
    start_switch(nullptr, scheduler_bottom_, scheduler_size_);
    return std::move(scheduler_);
}

void Fiber::resume() {
    void* fake_stack = nullptr;
    start_switch(&fake_stack, stack_bottom_, stack_size_);
    self_ = std::move(self_).resume();
    finish_switch(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() {
    void* fake_stack = nullptr;
    start_switch(&fake_stack, scheduler_bottom_, scheduler_size_);
    scheduler_ = std::move(scheduler_).resume();
    finish_switch(fake_stack, &scheduler_bottom_, &scheduler_size_);
}

}  // namespace kinetograph::host_model
