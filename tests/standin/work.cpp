#include <kinetograph/tests/standin/work.hpp>

#include <cstring>

namespace kinetograph::standin {

namespace {

Machine& machine() { return Machine::instance(); }

/// An argument buffer with the alignment of kernel arguments.
struct Arguments {
    explicit Arguments(std::span<const std::byte> given) : words((given.size() + sizeof(Word) - 1) / sizeof(Word)) {
        if (!given.empty()) std::memcpy(words.data(), given.data(), given.size());
    }
    struct alignas(64) Word {
        std::byte bytes[64];
    };
    std::vector<Word> words;
};

/// The host's own address if there is one: thread checkers identify memory by its address.
std::uint64_t* counter_at(void* address) {
    return static_cast<std::uint64_t*>(machine().addresses().host_address(address));
}

bool& calling_back() {
    thread_local bool calling = false;
    return calling;
}

/// Polls until the condition holds or the device has failed.
template <class Condition>
Status wait_until(Condition condition) {
    while (!condition() && machine().fault().ok()) std::this_thread::sleep_for(std::chrono::microseconds(5));
    return {};
}

}  // namespace

Work launch(const Kernel& kernel, const KernelCall& call, std::span<const std::byte> arguments) {
    return [name = kernel.name, call, copied = Arguments(arguments)] {
        KernelCall complete = call;
        complete.arguments = copied.words.data();
        return machine().run_kernel(name, complete);
    };
}

Status copy(Stream& stream, void* to, const void* from, std::uint64_t bytes) {
    const Place target = machine().addresses().place(to, bytes), source = machine().addresses().place(from, bytes);
    if (target == Place::Broken || source == Place::Broken) return Code::InvalidValue;
    const bool pageable = target == Place::Pageable || source == Place::Pageable;
    if (pageable && stream.capture) return stream.refuse_capture();
    const bool to_host = machine().addresses().find(to, bytes) == AddressKind::Pinned;
    const Status pushed = stream.push([to, from, bytes, to_host]() -> Status {
        if (to_host) (void)wait_until([] { return !machine().holds_copies_to_host(); });
        if (const Status fault = machine().fault(); !fault.ok()) return fault;
        const AddressSpace::Access access(machine().addresses());
        std::memmove(to, from, bytes);
        return {};
    });
    if (pushed.ok() && pageable) stream.wait_until_idle();  // the caller stages ordinary memory
    return pushed;
}

Work fill(void* address, int value, std::uint64_t bytes) {
    return [address, value, bytes]() -> Status {
        const AddressSpace::Access access(machine().addresses());
        std::memset(address, value, bytes);
        return {};
    };
}

Work wait_for(void* address, std::function<bool(std::uint64_t value)> reached) {
    return [counter = counter_at(address), reached = std::move(reached)] {
        return wait_until([&] {
            const AddressSpace::Access access(machine().addresses());
            return reached(std::atomic_ref(*counter).load(std::memory_order_acquire));
        });
    };
}

Work write(void* address, std::uint64_t value) {
    return [counter = counter_at(address), value]() -> Status {
        const AddressSpace::Access access(machine().addresses());
        std::atomic_ref(*counter).store(value, std::memory_order_release);
        return {};
    };
}

Work wait_for(std::shared_ptr<ExternalCounter> counter, std::uint64_t value) {
    return [counter = std::move(counter), value] { return wait_until([&] { return counter->value() >= value; }); };
}

Work signal(std::shared_ptr<ExternalCounter> counter, std::uint64_t value) {
    return [counter = std::move(counter), value]() -> Status {
        if (counter->value() >= value)
            machine().complain(fmt::format("a semaphore at {} signalled with {}", counter->value(), value));
        counter->signal(value);
        return {};
    };
}

Work call_back(void (*function)(void* user_data), void* user_data) {
    return [function, user_data]() -> Status {
        std::lock_guard lock(machine().callback_mutex());
        calling_back() = true;
        function(user_data);
        calling_back() = false;
        return {};
    };
}

bool in_callback() { return calling_back(); }

}  // namespace kinetograph::standin
