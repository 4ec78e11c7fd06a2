#include <kinetograph/compute/tensor/mapped_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace kinetograph::tensor {

namespace {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }

  private:
    int fd_;
};

tl::unexpected<Error> system_failure(const std::filesystem::path& path, int error) {
    return fail(error == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "{}: {}", path.string(),
                std::generic_category().message(error));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not block us here
    if (file.get() < 0) return system_failure(path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return system_failure(path, errno);
    if (!S_ISREG(status.st_mode)) return fail(ErrorCode::InvalidArgument, "{}: not a regular file", path.string());
    if (status.st_size == 0) return MappedFile({});  // mmap refuses a length of 0

    const auto size = static_cast<std::size_t>(status.st_size);
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) return system_failure(path, errno);
    return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace kinetograph::tensor
