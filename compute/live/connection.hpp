// Connection and Listener: bytes from a pipe or a Unix socket. Every wait for them can be cancelled.
#pragma once

#include <kinetograph/compute/live/reader.hpp>

#include <sys/types.h>

#include <atomic>
#include <memory>

namespace kinetograph::live {

/// An open file descriptor, closed by the destructor unless it is borrowed.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    static Descriptor borrow(int fd);
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    int fd() const { return fd_; }

  private:
    int fd_ = -1;
    bool is_borrowed_ = false;
};

/// Raised by one thread to end the waits of others, now and later.
class Alarm {
  public:
    /// Errors: Io.
    static Result<Alarm> create();
    void raise() const;
    /// Waits until `fd` has something to read; false if the alarm was raised. Errors: Io.
    Result<bool> wait_for(int fd) const;

  private:
    explicit Alarm(Descriptor event) : event_(std::move(event)) {}
    Descriptor event_;
};

/// The bytes of one generator. Replies go back over a socket; on a pipe, which cannot carry them, they are dropped.
class Connection final : public ByteSource {
  public:
    /// Errors: Io.
    static Result<std::unique_ptr<Connection>> create(Descriptor file, std::string name);

    /// One thread reads. Errors: Io; Cancelled after cancel().
    Result<std::size_t> read(std::span<std::byte> bytes) override;
    const std::string& name() const override { return name_; }

    /// Sends the generator how many latent frames it may have sent, of all streams together. If the socket is full the
    /// reply is dropped: a later one grants as much or more.
    void grant(std::uint64_t latent_frames);
    /// Sends the generator why no more is read.
    void refuse(const std::string& sentence);
    /// Ends read() at once, now and later. Any thread.
    void cancel() { alarm_.raise(); }

  private:
    Connection(Descriptor file, std::string name, Alarm alarm, bool is_socket)
        : file_(std::move(file)), name_(std::move(name)), alarm_(std::move(alarm)), is_socket_(is_socket) {}
    void reply(Tag tag, std::uint64_t number, std::string_view payload);

    Descriptor file_;
    std::string name_;
    Alarm alarm_;
    bool is_socket_;
};

/// A Unix socket that generators connect to, one after another.
class Listener {
  public:
    /// Makes the socket `path`, for this user only; a socket there without a listener is replaced. The owner holds a
    /// lock on `path`.lock, which goes with the socket. Errors: InvalidArgument (a path that is too long), Io (also: a
    /// socket that has an owner, which does not notice the attempt).
    static Result<std::unique_ptr<Listener>> create(std::string path);
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();  ///< removes the socket

    /// Waits for the next generator. Errors: Io; Cancelled after cancel().
    Result<std::unique_ptr<Connection>> accept();
    /// Ends accept() at once, now and later. Any thread.
    void cancel() { alarm_.raise(); }
    /// Removes the sockets of all listeners of this process, which is about to end. Any thread.
    static void remove_all();

  private:
    Listener(Descriptor lock, Descriptor socket, std::string path, Alarm alarm)
        : lock_(std::move(lock)), socket_(std::move(socket)), path_(std::move(path)), alarm_(std::move(alarm)) {}

    Descriptor lock_;
    Descriptor socket_;
    std::string path_;
    Alarm alarm_;
};

}  // namespace kinetograph::live
