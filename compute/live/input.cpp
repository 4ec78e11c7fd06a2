#include <kinetograph/compute/live/input.hpp>

#include <unistd.h>

namespace kinetograph::live {
namespace {

constexpr std::string_view kSocketPrefix = "unix:";

}  // namespace

bool is_input(std::string_view name) { return name == "-" || name.starts_with(kSocketPrefix); }

Result<std::unique_ptr<Input>> Input::open(const std::string& name, Connections served) {
    if (name.starts_with(kSocketPrefix)) {
        std::unique_ptr<Input> input(new Input(name, served));
        KG_TRY(input->listener_, Listener::create(name.substr(kSocketPrefix.size())));
        return input;
    }
    if (isatty(STDIN_FILENO) == 1)
        return fail(ErrorCode::InvalidArgument,
                    "standard input is a terminal: pipe the latents of a generator into it, or name a file");
    KG_TRY(auto connection, Connection::create(Descriptor::borrow(STDIN_FILENO), "standard input"));
    return of(std::move(connection));
}

std::unique_ptr<Input> Input::of(std::unique_ptr<Connection> connection) {
    std::unique_ptr<Input> input(new Input(connection->name(), Connections::TheFirst));
    input->replace_feed(std::make_shared<Feed>(std::move(connection)));
    return input;
}

Result<std::optional<Incoming>> Input::next() {
    for (;;) {
        KG_TRY(const auto current, feed());
        if (!current) return std::nullopt;
        auto header = current->reader.next_stream();
        if (header && *header) {
            const Lock lock(mutex_);
            has_served_ = true;
            return Incoming{current, std::move(**header), current->reader.stream()};
        }
        if (!header) current->refuse(header.error().message);
        replace_feed(nullptr);
        KG_CHECK(std::move(header));
    }
}

/// The connection that is open, or else the next one; null when there is no other.
Result<std::shared_ptr<Feed>> Input::feed() {
    {
        const Lock lock(mutex_);
        if (cancelled_) return fail(ErrorCode::Cancelled, "{}: the viewer reads it no more", name_);
        if (feed_ && !feed_->broken) return feed_;
        feed_.reset();
        if (!serves_another()) return nullptr;
    }
    KG_TRY(auto connection, listener_->accept());
    replace_feed(std::make_shared<Feed>(std::move(connection)));
    return feed();
}

void Input::replace_feed(std::shared_ptr<Feed> feed) {
    const Lock lock(mutex_);
    feed_ = std::move(feed);
    if (feed_ && cancelled_) feed_->connection->cancel();
}

bool Input::serves_another() const { return listener_ && (served_ == Connections::All || !has_served_); }

bool Input::more() const {
    const Lock lock(mutex_);
    return !cancelled_ && (serves_another() || (feed_ && !feed_->broken));
}

void Input::cancel() {
    const Lock lock(mutex_);
    cancelled_ = true;
    if (listener_) listener_->cancel();
    if (feed_) feed_->connection->cancel();
}

}  // namespace kinetograph::live
