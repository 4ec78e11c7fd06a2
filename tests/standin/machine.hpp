// The machine that a stand-in's entry points operate on: options, counters, address space, live objects.
#pragma once

#include <kinetograph/tests/standin/address_space.hpp>
#include <kinetograph/tests/standin/kernels.hpp>
#include <kinetograph/tests/standin/standin.hpp>
#include <kinetograph/tests/standin/stream.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace kinetograph::standin {

/// The live objects of one kind. A call with any other handle is an error that would crash a driver.
template <class Object>
class Handles {
  public:
    Object* add(std::unique_ptr<Object> object) {
        std::lock_guard lock(mutex_);
        objects_.insert(object.get());
        return object.release();
    }
    /// Null if it does not exist.
    std::unique_ptr<Object> remove(Object* object) {
        std::lock_guard lock(mutex_);
        return std::unique_ptr<Object>(objects_.erase(object) != 0 ? object : nullptr);
    }
    bool contain(Object* object) const {
        std::lock_guard lock(mutex_);
        return objects_.contains(object);
    }
    std::vector<Object*> all() const {
        std::lock_guard lock(mutex_);
        return {objects_.begin(), objects_.end()};
    }

  private:
    mutable std::mutex mutex_;
    std::set<Object*> objects_;
};

struct Module;

struct Function {
    const Module* module = nullptr;
    Kernel kernel;
    std::optional<int> dynamic_shared_limit{};  ///< of a block in bytes, if it was set
    bool large_clusters = false;                ///< beyond the size that every chip supports are allowed
};

struct Module {
    int device = 0;
    std::optional<std::set<std::string, std::less<>>> kernels;  ///< of the image; none: all that the library has
    std::vector<std::unique_ptr<Function>> functions;
    Function* find(std::string_view name);  ///< null: there is no such kernel
};

/// A memory file exported by another API.
struct ExternalMemory {
    /// Leaves the descriptor to the caller; null if the file is shorter.
    static std::unique_ptr<ExternalMemory> open(int fd, std::uint64_t bytes);
    ~ExternalMemory();
    ExternalMemory(const ExternalMemory&) = delete;
    ExternalMemory& operator=(const ExternalMemory&) = delete;
    const int fd;  ///< its own
    const std::uint64_t bytes;
    std::uint64_t data = 0;  ///< offset in the file

  private:
    ExternalMemory(int descriptor, std::uint64_t data_bytes) : fd(descriptor), bytes(data_bytes) {}
};

struct ExternalSemaphore {
    std::shared_ptr<ExternalCounter> counter;
};

/// What the library poses as where Options specify nothing.
struct PosedDevice {
    std::string_view name, architecture;
    bool imports_timelines = false;
};
PosedDevice posed_device();

class Machine final : public Control {
  public:
    static Machine& instance();

    void reset(const Options& options) override;
    std::uint64_t calls(std::string_view entry_point) const override;
    std::uint64_t calls() const override;
    std::uint64_t kernels_run() const override;
    Live live() const override;
    std::vector<std::string> complaints() const override;
    void import_semaphores(std::function<std::shared_ptr<ExternalCounter>(int fd)> import) override;
    void hold_copies_to_host(bool hold) override { holds_copies_to_host_ = hold; }
    void fail() override;
    void inject(const Injection& injection) override;

    /// Counts a call; returns an Injection's status, otherwise success.
    Status enter(const char* entry_point);
    void complain(std::string sentence);
    const Options& options() const { return options_; }
    AddressSpace& addresses() { return *addresses_; }
    std::int64_t device_now() const;  ///< nanoseconds of the device's clock, which drifts against the host's
    std::shared_ptr<ExternalCounter> import_semaphore(int fd) const;

    /// The device has failed: nothing runs any more, and calls on streams return this.
    Status fault() const { return fault_.load(); }
    void recover() { fault_ = Status(); }             ///< call once the failed objects were destroyed
    std::shared_ptr<HardwareQueue> hardware_queue();  ///< of the next stream; null: its own
    bool holds_copies_to_host() const { return holds_copies_to_host_; }
    Status run_kernel(const std::string& name, const KernelCall& call);
    std::mutex& call_mutex() { return call_mutex_; }          ///< held while a call is blocked
    std::mutex& callback_mutex() { return callback_mutex_; }  ///< one thread of the library runs all callbacks
    void wait_until_idle();                                   ///< waits for all streams, like calls that free memory
    void pause();                                             ///< occasionally, for a moment

    Handles<Stream> streams;
    Handles<Event> events;
    Handles<Module> modules;
    Handles<Graph> graphs;
    Handles<GraphExec> graph_execs;
    Handles<ExternalMemory> external_memories;
    Handles<ExternalSemaphore> external_semaphores;
    std::atomic<std::size_t> contexts = 0;

  private:
    Machine();

    mutable std::mutex mutex_;
    Options options_;
    std::map<std::string, std::uint64_t, std::less<>> calls_;
    std::vector<std::string> complaints_;
    std::unique_ptr<AddressSpace> addresses_;
    std::atomic<std::uint64_t> kernels_ = 0;
    std::atomic<Status> fault_ = Status();
    std::function<std::shared_ptr<ExternalCounter>(int fd)> import_;
    std::mutex call_mutex_;
    std::mutex callback_mutex_;
    std::minstd_rand random_;
    std::vector<std::shared_ptr<HardwareQueue>> queues_;
    std::size_t queues_given_ = 0;
    std::atomic<bool> holds_copies_to_host_ = false;
};

}  // namespace kinetograph::standin
