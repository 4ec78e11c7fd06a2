#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <functional>
#include <vector>

namespace kinetograph::host_model {

/// Stacks with a guard page, reused by later fibers: a grid starts thousands of threads.
class StackPool {
  public:
    StackPool();
    explicit StackPool(size_t stack_bytes) : stack_bytes_(stack_bytes) {}
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;
    ~StackPool();
    boost::context::stack_context take();
    void give_back(boost::context::stack_context stack) { idle_.push_back(stack); }

  private:
    size_t stack_bytes_;
    std::vector<boost::context::stack_context> idle_;
};

/// One thread of a kernel: runs `body` on its own stack whenever the scheduler resumes it. AddressSanitizer is notified
/// of every switch. `body` must return before the fiber is destroyed; to stop it early, throw an exception through it.
class Fiber {
  public:
    Fiber(StackPool& stacks, std::function<void()> body);
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    ~Fiber() = default;

    void resume();   ///< scheduler: runs the body until it suspends or returns
    void suspend();  ///< body: returns to the scheduler
    bool finished() const { return finished_; }

  private:
    boost::context::fiber run(boost::context::fiber&& scheduler);

    std::function<void()> body_;
    boost::context::fiber self_;
    boost::context::fiber scheduler_;
    bool finished_ = false;
    const void* stack_bottom_ = nullptr;
    size_t stack_size_ = 0;
    const void* scheduler_bottom_ = nullptr;
    size_t scheduler_size_ = 0;
};

}  // namespace kinetograph::host_model
