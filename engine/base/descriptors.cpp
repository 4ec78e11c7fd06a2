#include <kinetograph/engine/base/descriptors.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace kinetograph {

int above_stdio(int fd) {
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(fd);
    errno = error;
    return moved;
}

void occupy_closed_stdio() {
    constexpr std::array kFlags{O_WRONLY, O_RDONLY,
                                O_RDWR};  // of 0, 1 and 2; each open() takes the lowest that is free
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", kFlags[static_cast<std::size_t>(fd)]));
}

}  // namespace kinetograph
