#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/profile/report.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

namespace kinetograph::profile {
namespace {

std::string csv_field(std::string_view field) {
    if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
    std::string text = "\"";
    for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + '"';
}

/// ::write() that fails with EPIPE for a FIFO without a reader, without raising SIGPIPE, which would end the program.
ssize_t write_without_signal(int fd, const std::string& text) {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE) == 1)
        return ::write(fd, text.data(), text.size());  // from elsewhere, and thus blocked already
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    const ssize_t written = ::write(fd, text.data(), text.size());
    const int error = errno;
    const timespec at_once{};
    if (written < 0 && error == EPIPE)
        while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return written;
}

nlohmann::json percentiles(const DurationSketch& sketch) {
    return {{"mean", sketch.mean().count()},
            {"p50", sketch.quantile(0.5).count()},
            {"p95", sketch.quantile(0.95).count()},
            {"p99", sketch.quantile(0.99).count()},
            {"max", sketch.max().count()}};
}

}  // namespace

std::string to_csv(const Capture& capture) {
    std::string text =
        "pass,track,kernel,calls,first_ns,last_ns,mean_ns,p50_ns,p95_ns,p99_ns,max_ns,deviation_ns,share,operations,"
        "bytes,of_peak_operations,of_peak_bandwidth,of_roofline\n";
    for (const PassSummary& pass : capture.passes)
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{:.1f},{:.6f},{:.0f},{},{:.6f},{:.6f},{:.6f}\n", csv_field(pass.name),
            csv_field(pass.track), csv_field(pass.kernel), pass.calls, pass.first.count(), pass.last.count(),
            pass.mean.count(), pass.p50.count(), pass.p95.count(), pass.p99.count(), pass.max.count(), pass.deviation,
            pass.share, pass.operations, pass.bytes, pass.of_peak_operations, pass.of_peak_bandwidth, pass.of_roofline);
    return text;
}

std::string to_json_line(const Profile& profile, Nanoseconds now) {
    const Pacing& pacing = profile.pacing();
    nlohmann::json line{{"time_ns", now.count()},
                        {"frames", pacing.frames},
                        {"late", pacing.late},
                        {"missed_spans", profile.missed_spans()},
                        {"frame_ns", percentiles(pacing.intervals)},
                        {"low_1_percent_fps", pacing.low(0.01)},
                        {"latency_ns", percentiles(pacing.latency)},
                        {"screen_source", pacing.screen_source},
                        {"screen_latency_ns", percentiles(pacing.to_screen)},
                        {"counters", nlohmann::json::array()},
                        {"passes", nlohmann::json::array()}};
    for (const CounterSample& counter : profile.counters())
        line["counters"].push_back({{"name", profile.text(counter.name)},
                                    {"device", profile.text(counter.device)},
                                    {"unit", profile.text(counter.unit)},
                                    {"time_ns", counter.time.count()},
                                    {"value", counter.value}});
    for (const PassProfile& pass : profile.passes()) {
        if (pass.share <= 0.0) continue;
        const PassRates rates = profile.rates(pass);
        line["passes"].push_back({{"name", profile.text(pass.name)},
                                  {"track", profile.text(pass.track)},
                                  {"calls", pass.calls},
                                  {"last_ns", pass.last.count()},
                                  {"p50_ns", pass.quantile(0.5).count()},
                                  {"share", pass.share},
                                  {"operations_per_second", rates.operations_per_second},
                                  {"bytes_per_second", rates.bytes_per_second},
                                  {"of_peak_operations", rates.of_peak_operations},
                                  {"of_peak_bandwidth", rates.of_peak_bandwidth},
                                  {"of_roofline", rates.of_roofline}});
    }
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<LineSink> LineSink::open(const std::string& target) {
    constexpr std::string_view kSocket = "unix:";
    const auto failed = [&](std::string_view verb) {
        return fail(ErrorCode::Io, "{}: cannot {}: {}", target, verb, std::strerror(errno));
    };
    if (!target.starts_with(kSocket)) {
        const int fd =
            above_stdio(::open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666));
        if (fd < 0) return failed("open");
        return LineSink(target, fd, false);
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = target.substr(kSocket.size());
    if (path.size() >= sizeof address.sun_path)
        return fail(ErrorCode::Io, "{}: a socket's path has at most {} bytes", target, sizeof address.sun_path - 1);
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = above_stdio(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd < 0) return failed("make a socket");
    LineSink sink(target, fd, true);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed("connect");
    return sink;
}

LineSink::LineSink(LineSink&& other) noexcept
    : target_(std::move(other.target_)),
      fd_(std::exchange(other.fd_, -1)),
      is_socket_(other.is_socket_),
      rest_(std::move(other.rest_)),
      dropped_(other.dropped_) {}

LineSink::~LineSink() {
    if (fd_ >= 0) ::close(fd_);
}

Result<void> LineSink::write(std::string line) {
    const bool is_whole = rest_.empty();
    std::string text = std::move(rest_) + (is_whole ? line + '\n' : std::string());
    rest_.clear();
    const ssize_t written =
        is_socket_ ? ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) : write_without_signal(fd_, text);
    if (written < 0 && errno != EAGAIN && errno != EINTR)
        return fail(ErrorCode::Io, "{}: cannot write: {}", target_, std::strerror(errno));
    const auto done = static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    if (done > 0 || !is_whole) rest_ = text.substr(done);
    if (is_whole) {
        if (done == 0) ++dropped_;
        return {};
    }
    if (rest_.empty()) return write(std::move(line));
    ++dropped_;
    return {};
}

}  // namespace kinetograph::profile
