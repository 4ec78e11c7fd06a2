// Input: streams of live latents one after another, from standard input or from generators that connect to a socket.
#pragma once

#include <kinetograph/compute/live/connection.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

namespace kinetograph::live {

/// A connection and the reader of its bytes.
struct Feed {
    explicit Feed(std::unique_ptr<Connection> from) : connection(std::move(from)), reader(*connection) {}
    /// Nothing more is read, and the generator gets the reason.
    void refuse(const std::string& sentence) {
        broken = true;
        connection->refuse(sentence);
    }
    const std::unique_ptr<Connection> connection;
    Reader reader;
    std::uint64_t received = 0;       ///< latent frames of all its streams; used by the stream that is being read
    std::atomic<bool> broken{false};  ///< within a stream: no other stream follows
};

/// A stream that has begun. It is read to its end before Input::next() is called for another one.
struct Incoming {
    std::shared_ptr<Feed> feed;
    StreamHeader header;
    std::string title;  ///< "standard input: stream 0 "orbit"", for messages
};

/// Which connections to a socket are served: the first with a stream, or all. Each waits until those that were made
/// before it have ended; one that ends without a byte is none.
enum class Connections : std::uint8_t { TheFirst, All };

/// Whether `name` is an input of live latents: "-" or "unix:PATH".
bool is_input(std::string_view name);

class Input {
  public:
    /// Standard input for "-"; for "unix:PATH" a socket is made there. Errors: InvalidArgument (standard input is a
    /// terminal), those of Listener::create.
    static Result<std::unique_ptr<Input>> open(const std::string& name, Connections served);
    /// The input of a connection that exists.
    static std::unique_ptr<Input> of(std::unique_ptr<Connection> connection);

    /// Waits for the next stream; nothing if no other can come. Errors: those of Reader::next_stream, after which the
    /// connection is closed; those of Listener::accept; Cancelled after cancel().
    Result<std::optional<Incoming>> next();
    /// Whether another stream may come. Any thread.
    bool more() const;
    /// Ends all waiting at once, now and later, also that of the stream that is being read. Any thread.
    void cancel();
    const std::string& name() const { return name_; }  ///< for messages

  private:
    Input(std::string name, Connections served) : name_(std::move(name)), served_(served) {}
    bool serves_another() const KG_REQUIRES(mutex_);
    Result<std::shared_ptr<Feed>> feed();
    void replace_feed(std::shared_ptr<Feed> feed);

    std::string name_;
    Connections served_;
    std::unique_ptr<Listener> listener_;  ///< null for standard input
    mutable Mutex mutex_;
    std::shared_ptr<Feed> feed_ KG_GUARDED_BY(mutex_);
    bool has_served_ KG_GUARDED_BY(mutex_) = false;  ///< a stream has begun
    bool cancelled_ KG_GUARDED_BY(mutex_) = false;
};

}  // namespace kinetograph::live
