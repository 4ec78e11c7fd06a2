#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace kinetograph {
namespace {

/// Of a thread that waits before it sleeps: about what it takes to be woken.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Whether `is_met` became true while the thread spun.
template <class Condition>
bool spin_until(const Condition& is_met) {
    for (int i = 0; i < kSpins; ++i) {
        if (is_met()) return true;
        relax();
    }
    return false;
}

/// One call of for_tasks(), on its caller's stack.
struct Job {
    Job(std::int64_t tasks_of_it, const std::function<void(std::int64_t, int)>& its_body)
        : tasks(tasks_of_it), body(its_body) {}

    const std::int64_t tasks;
    const std::function<void(std::int64_t, int)>& body;
    std::atomic<std::int64_t> next{0};
    std::atomic<int> helping{0};  ///< threads of the pool that are in it
    int joined = 1;               ///< threads that have ever been in it, its caller first; under the pool's mutex
    std::exception_ptr failure;   ///< the first; under the pool's mutex

    bool has_tasks() const { return next.load(std::memory_order_relaxed) < tasks; }
};

class Pool {
  public:
    explicit Pool(int threads) : threads_(threads) {
        for (int i = 1; i < threads; ++i) {
            std::thread thread([this] { help_forever(); });
            pthread_setname_np(thread.native_handle(), "kg worker");
            thread.detach();
        }
    }

    void run(Job& job) KG_EXCLUDES(mutex_) {
        {
            const Lock lock(mutex_);
            jobs_.push_back(&job);
            published_.fetch_add(1, std::memory_order_release);
        }
        if (sleeping_.load() > 0) published_or_left_.notify_all();
        take_tasks(job, 0);
        Lock lock(mutex_);
        std::erase(jobs_, &job);  // no further thread joins
        lock.unlock();
        if (spin_until([&] { return job.helping.load(std::memory_order_acquire) == 0; })) return;
        lock.lock();
        published_or_left_.wait(lock, [&] { return job.helping.load(std::memory_order_acquire) == 0; });
    }

  private:
    void take_tasks(Job& job, int worker) KG_EXCLUDES(mutex_) {
        try {
            while (true) {
                const std::int64_t task = job.next.fetch_add(1, std::memory_order_relaxed);
                if (task >= job.tasks) return;
                job.body(task, worker);
            }
        } catch (...) {
            job.next.store(job.tasks, std::memory_order_relaxed);
            const Lock lock(mutex_);
            if (job.failure == nullptr) job.failure = std::current_exception();
        }
    }

    [[noreturn]] void help_forever() KG_EXCLUDES(mutex_) {
        std::uint64_t seen = 0;
        while (true) {
            spin_until([&] { return published_.load(std::memory_order_acquire) != seen; });
            Lock lock(mutex_);
            Job* job = nullptr;
            ++sleeping_;
            published_or_left_.wait(lock, [&]() KG_REQUIRES(mutex_) { return (job = open_job()) != nullptr; });
            --sleeping_;
            seen = published_.load(std::memory_order_relaxed);
            const int worker = job->joined++;
            job->helping.fetch_add(1, std::memory_order_relaxed);
            lock.unlock();
            take_tasks(*job, worker);
            lock.lock();  // so that a caller that is about to sleep sees that the thread has left
            job->helping.fetch_sub(1, std::memory_order_release);
            published_or_left_.notify_all();
        }
    }

    Job* open_job() KG_REQUIRES(mutex_) {
        const auto open =
            std::ranges::find_if(jobs_, [this](const Job* job) { return job->has_tasks() && job->joined < threads_; });
        return open == jobs_.end() ? nullptr : *open;
    }

    const int threads_;
    Mutex mutex_;
    Condition published_or_left_;
    std::vector<Job*> jobs_ KG_GUARDED_BY(mutex_);
    std::atomic<std::uint64_t> published_{0};  ///< jobs so far
    std::atomic<int> sleeping_{0};
};

/// The process's pool, which is never destroyed: its threads may sleep in it until the process ends. A child of fork()
/// has none of them, so it gets a pool of its own.
Pool& pool() {
    static Mutex mutex;
    static std::atomic<Pool*> made{nullptr};
    static std::atomic<pid_t> owner{0};
    const pid_t here = ::getpid();
    if (owner.load(std::memory_order_acquire) == here) return *made.load(std::memory_order_relaxed);
    const Lock lock(mutex);
    if (owner.load(std::memory_order_relaxed) != here) {
        made.store(new Pool(worker_count()), std::memory_order_relaxed);
        owner.store(here, std::memory_order_release);
    }
    return *made.load(std::memory_order_relaxed);
}

int processors_of_affinity() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// The least that the process's cgroup (version 2) and those around it allow.
std::optional<double> processors_of_cgroups() {
    std::ifstream groups("/proc/self/cgroup");
    std::optional<double> least;
    for (std::string line; std::getline(groups, line);) {
        if (!line.starts_with("0::")) continue;
        for (std::string path = line.substr(3); !path.empty(); path.erase(path.rfind('/'))) {
            std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
            std::string text;
            std::getline(file, text);
            if (const auto quota = processors_of_quota(text)) least = std::min(*quota, least.value_or(*quota));
            if (path.find('/') == std::string::npos) break;
        }
    }
    return least;
}

std::optional<int> threads_of_environment() {
    const char* text = std::getenv("OMP_NUM_THREADS");
    if (text == nullptr) return std::nullopt;
    const std::string_view value(text);
    int threads = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), threads);
    return read.ec == std::errc() && threads > 0 ? std::optional(threads) : std::nullopt;
}

}  // namespace

std::optional<double> processors_of_quota(std::string_view cpu_max) {
    double microseconds = 0, period = 0;
    const char* const end = cpu_max.data() + cpu_max.size();
    const auto quota = std::from_chars(cpu_max.data(), end, microseconds);
    if (quota.ec != std::errc() || quota.ptr == end || *quota.ptr != ' ') return std::nullopt;
    const auto rest = std::from_chars(quota.ptr + 1, end, period);
    if (rest.ec != std::errc() || !(period > 0) || !(microseconds > 0)) return std::nullopt;
    return microseconds / period;
}

int worker_count() {
    static const int count = [] {
        int threads = processors_of_affinity();
        if (const auto quota = processors_of_cgroups())
            threads = std::min(threads, static_cast<int>(std::min(std::ceil(*quota), 1e6)));
        if (const auto wanted = threads_of_environment()) threads = std::min(threads, *wanted);
        return std::max(1, threads);
    }();
    return count;
}

void for_tasks(std::int64_t tasks, const std::function<void(std::int64_t task, int worker)>& body) {
    if (tasks <= 1 || worker_count() == 1) {
        for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
        return;
    }
    Job job(tasks, body);
    pool().run(job);
    if (job.failure != nullptr) std::rethrow_exception(job.failure);
}

}  // namespace kinetograph
