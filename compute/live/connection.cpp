#include <kinetograph/compute/live/connection.hpp>
#include <kinetograph/engine/base/descriptors.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace kinetograph::live {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

Result<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path))
        return fail(ErrorCode::InvalidArgument, "unix:{}: the path of a socket has 1 to {} bytes, this one {}", path,
                    sizeof(address.sun_path) - 1, path.size());
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

Result<Descriptor> open_socket(const std::string& path) {
    Descriptor socket(above_stdio(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    if (socket.fd() < 0) return fail(ErrorCode::Io, "unix:{}: no socket: {}", path, reason(errno));
    return socket;
}

/// Whether it is a socket on which no program listens. A full backlog is a sign of one.
bool is_abandoned(const std::string& path, const sockaddr_un& address) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    Descriptor probe(above_stdio(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    return probe.fd() >= 0 && ::connect(probe.fd(), generic(address), sizeof(address)) != 0 && errno == ECONNREFUSED;
}

/// The file whose lock says that a socket has an owner. It goes with the lock, so that a lock may be had on a file that
/// no longer has the name: then on the next one.
Result<Descriptor> lock(const std::string& path) {
    const std::string name = path + ".lock";
    for (;;) {
        Descriptor file(above_stdio(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)));
        if (file.fd() < 0) return fail(ErrorCode::Io, "unix:{}: cannot be made: {}: {}", path, name, reason(errno));
        if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK)
                return fail(ErrorCode::Io, "unix:{}: another program listens there already", path);
            return fail(ErrorCode::Io, "unix:{}: cannot be made: {}: {}", path, name, reason(errno));
        }
        struct stat locked {};
        struct stat named {};
        if (::fstat(file.fd(), &locked) == 0 && ::stat(name.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
            locked.st_dev == named.st_dev)
            return file;
    }
}

/// The sockets of this process, for Listener::remove_all().
class Sockets {
  public:
    void add(const std::string& path) {
        const Lock held(mutex_);
        paths_.push_back(path);
    }
    void remove(const std::string& path) {
        const Lock held(mutex_);
        if (std::erase(paths_, path) > 0) unlink(path);
    }
    void remove_all() {
        const Lock held(mutex_);
        for (const std::string& path : paths_) unlink(path);
        paths_.clear();
    }

  private:
    static void unlink(const std::string& path) {
        ::unlink(path.c_str());
        ::unlink((path + ".lock").c_str());
    }
    Mutex mutex_;
    std::vector<std::string> paths_ KG_GUARDED_BY(mutex_);
};

Sockets& sockets() {
    static Sockets all;
    return all;
}

}  // namespace

Descriptor Descriptor::borrow(int fd) {
    Descriptor borrowed(fd);
    borrowed.is_borrowed_ = true;
    return borrowed;
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), is_borrowed_(other.is_borrowed_) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(is_borrowed_, other.is_borrowed_);
    return *this;
}

Descriptor::~Descriptor() {
    if (fd_ >= 0 && !is_borrowed_) ::close(fd_);
}

Result<Alarm> Alarm::create() {
    Descriptor event(above_stdio(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    if (event.fd() < 0) return fail(ErrorCode::Io, "no event: {}", reason(errno));
    return Alarm(std::move(event));
}

void Alarm::raise() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_.fd(), &one, sizeof(one));  // full: it is raised already
}

Result<bool> Alarm::wait_for(int fd) const {
    std::array<pollfd, 2> files{pollfd{.fd = event_.fd(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = fd, .events = POLLIN, .revents = 0}};
    while (::poll(files.data(), files.size(), -1) < 0)
        if (errno != EINTR) return fail(ErrorCode::Io, "cannot wait for input: {}", reason(errno));
    return files[0].revents == 0;
}

Result<std::unique_ptr<Connection>> Connection::create(Descriptor file, std::string name) {
    KG_TRY(auto alarm, Alarm::create());
    struct stat status {};
    const bool is_socket = ::fstat(file.fd(), &status) == 0 && S_ISSOCK(status.st_mode);
    return std::unique_ptr<Connection>(new Connection(std::move(file), std::move(name), std::move(alarm), is_socket));
}

Result<std::size_t> Connection::read(std::span<std::byte> bytes) {
    for (;;) {
        KG_TRY(const bool ready, alarm_.wait_for(file_.fd()));
        if (!ready) return fail(ErrorCode::Cancelled, "the viewer reads it no more");
        const auto have = ::read(file_.fd(), bytes.data(), bytes.size());
        if (have >= 0) return static_cast<std::size_t>(have);
        if (errno == ECONNRESET) return 0;  // its process has ended
        if (errno != EINTR && errno != EAGAIN) return fail(ErrorCode::Io, "cannot be read: {}", reason(errno));
    }
}

void Connection::reply(Tag tag, std::uint64_t number, std::string_view payload) {
    if (!is_socket_) return;
    const auto record = encode(RecordHeader{tag, static_cast<std::uint32_t>(payload.size()), number});
    std::string bytes(reinterpret_cast<const char*>(record.data()), record.size());
    bytes += payload;
    [[maybe_unused]] const auto sent = ::send(file_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Connection::grant(std::uint64_t latent_frames) { reply(kCredit, latent_frames, {}); }

void Connection::refuse(const std::string& sentence) {
    reply(kRefusal, 0, std::string_view(sentence).substr(0, kLongestSentence));
}

Result<std::unique_ptr<Listener>> Listener::create(std::string path) {
    KG_TRY(const sockaddr_un address, address_of(path));
    KG_TRY(auto socket, open_socket(path));
    KG_TRY(auto alarm, Alarm::create());
    KG_TRY(auto owned, lock(path));
    if (is_abandoned(path, address)) ::unlink(path.c_str());
    // No connection can be made before listen(), so that the mode is set in time.
    if (::bind(socket.fd(), generic(address), sizeof(address)) != 0) {
        const int error = errno;
        ::unlink((path + ".lock").c_str());
        return fail(ErrorCode::Io, "unix:{}: cannot be made: {}", path, reason(error));
    }
    sockets().add(path);
    std::unique_ptr<Listener> listener(
        new Listener(std::move(owned), std::move(socket), std::move(path), std::move(alarm)));
    constexpr int kWaiting = 4;
    if (::chmod(listener->path_.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(listener->socket_.fd(), kWaiting) != 0)
        return fail(ErrorCode::Io, "unix:{}: cannot be listened on: {}", listener->path_, reason(errno));
    return listener;
}

Listener::~Listener() { sockets().remove(path_); }

void Listener::remove_all() { sockets().remove_all(); }

Result<std::unique_ptr<Connection>> Listener::accept() {
    for (;;) {
        KG_TRY(const bool ready, alarm_.wait_for(socket_.fd()));
        if (!ready) return fail(ErrorCode::Cancelled, "unix:{}: the viewer listens no more", path_);
        Descriptor file(above_stdio(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC)));
        if (file.fd() >= 0) return Connection::create(std::move(file), "unix:" + path_);
        if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED)
            return fail(ErrorCode::Io, "unix:{}: no connection: {}", path_, reason(errno));
    }
}

}  // namespace kinetograph::live
