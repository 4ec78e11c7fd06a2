// Pipes and sockets that live latents come through: slow writers, writers that die, waiting that ends.
#include "live_bytes.hpp"

#include <kinetograph/compute/live/input.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kinetograph::live {
namespace {

using test::TemporaryFolder;
using testing::Bytes;

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
        read = Descriptor(ends[0]);
        write = Descriptor(ends[1]);
    }
    std::unique_ptr<Input> input() { return Input::of(Connection::create(std::move(read), "a generator").value()); }
    Descriptor read, write;
};

void write_all(const Descriptor& file, std::span<const std::byte> bytes) {
    ASSERT_EQ(::write(file.fd(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

Descriptor connect_to(const std::string& path) {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << path;
    return socket;
}

Bytes empty_stream(const std::string& name, std::uint64_t number = 0) {
    StreamHeader header = testing::small_header();
    header.name = name;
    Bytes bytes;
    Writer writer(bytes);
    writer.start(header);
    writer.end();
    std::memcpy(bytes.data() + 8, &number, sizeof(number));
    return bytes;
}

/// The next stream's name, with its end read.
std::string next_name(Input& input) {
    const auto incoming = input.next();
    if (!incoming) return incoming.error().message;
    if (!*incoming) return "none";
    const auto item = (*incoming)->feed->reader.next();
    return (*incoming)->header.name + (item && std::holds_alternative<End>(*item) ? "" : " without an end");
}

TEST(LivePipes, GiveWhatASlowWriterWritesByteByByte) {
    Pipe pipe;
    const auto input = pipe.input();
    std::thread writer([&] {
        for (const std::byte byte : empty_stream("slow")) write_all(pipe.write, std::span(&byte, 1));
        pipe.write = Descriptor();
    });
    EXPECT_EQ(next_name(*input), "slow");
    EXPECT_EQ(next_name(*input), "none");
    EXPECT_FALSE(input->more());
    writer.join();
}

TEST(LivePipes, OfAWriterThatDiesNameTheStream) {
    Pipe pipe;
    const auto input = pipe.input();
    const Bytes bytes = empty_stream("cut off");
    write_all(pipe.write, std::span(bytes).first(bytes.size() - 3));
    pipe.write = Descriptor();
    const auto incoming = input->next();
    ASSERT_TRUE(incoming && *incoming);
    const auto item = (*incoming)->feed->reader.next();
    ASSERT_FALSE(item);
    EXPECT_EQ(
        item.error().message,
        "a generator: stream 0 \"cut off\", chunk 0: the input ends after 13 of 16 bytes of a record that continues "
        "or ends the stream");
}

TEST(LivePipes, AreNoLongerWaitedForOnceCancelled) {
    Pipe pipe;
    const auto input = pipe.input();
    auto waiting = std::async(std::launch::async, [&] { return input->next(); });
    input->cancel();
    const auto next = waiting.get();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, ErrorCode::Cancelled);
    EXPECT_FALSE(input->more());
    EXPECT_EQ(input->next().error().code, ErrorCode::Cancelled);
}

TEST(LiveSockets, ServeGeneratorsOneAfterAnother) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock";
    const auto input = Input::open("unix:" + path, Connections::All).value();
    Descriptor first = connect_to(path);
    const Descriptor second = connect_to(path);
    write_all(first, empty_stream("one"));
    write_all(first, empty_stream("two", 1));
    write_all(second, empty_stream("three"));
    EXPECT_EQ(next_name(*input), "one");
    EXPECT_EQ(next_name(*input), "two");
    first = Descriptor();
    EXPECT_EQ(next_name(*input), "three");
    EXPECT_TRUE(input->more());
}

TEST(LiveSockets, ServeTheFirstGeneratorOnlyIfThatIsWanted) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock";
    const auto input = Input::open("unix:" + path, Connections::TheFirst).value();
    EXPECT_TRUE(input->more());
    Descriptor first = connect_to(path);
    write_all(first, empty_stream("one"));
    EXPECT_EQ(next_name(*input), "one");
    first = Descriptor();
    EXPECT_EQ(next_name(*input), "none");
    EXPECT_FALSE(input->more());
}

TEST(LiveSockets, TellAGeneratorWhatIsWrongAndServeTheNextOne) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock";
    const auto input = Input::open("unix:" + path, Connections::All).value();
    const Descriptor broken = connect_to(path), sound = connect_to(path);
    write_all(broken, Bytes(16));
    write_all(sound, empty_stream("sound"));
    const auto refused = input->next();
    ASSERT_FALSE(refused);
    std::array<std::byte, 4096> reply{};
    const auto length = ::read(broken.fd(), reply.data(), reply.size());
    ASSERT_GT(length, static_cast<ssize_t>(kRecordBytes));
    const RecordHeader record = decode_record(std::span<const std::byte>(reply).first<kRecordBytes>());
    EXPECT_EQ(record.tag, kRefusal);
    EXPECT_EQ(record.payload_bytes, length - static_cast<ssize_t>(kRecordBytes));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(reply.data()) + kRecordBytes, record.payload_bytes),
              refused.error().message);
    EXPECT_EQ(next_name(*input), "sound");
}

TEST(LiveSockets, AreNoLongerListenedOnOnceCancelled) {
    const TemporaryFolder folder;
    const auto input = Input::open("unix:" + (folder.path() / "live.sock").string(), Connections::All).value();
    auto waiting = std::async(std::launch::async, [&] { return input->next(); });
    input->cancel();
    EXPECT_EQ(waiting.get().error().code, ErrorCode::Cancelled);
}

TEST(LiveSockets, AreForTheirUserAndLeaveNothingBehind) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock";
    {
        const auto input = Input::open("unix:" + path, Connections::All).value();
        struct stat status {};
        ASSERT_EQ(::stat(path.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777U, 0600U);
    }
    EXPECT_EQ(folder.count_entries(), 0U);
    {
        const auto input = Input::open("unix:" + path, Connections::All).value();
        Listener::remove_all();
        EXPECT_EQ(folder.count_entries(), 0U);
        folder.write("live.sock", "what another program has put there");
    }
    EXPECT_EQ(folder.count_entries(), 1U);
}

TEST(LiveSockets, TakeThePlaceOfOneThatAKilledViewerHasLeft) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock";
    {
        const Descriptor left(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.data(), path.size());
        ASSERT_EQ(::bind(left.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }
    EXPECT_TRUE(Input::open("unix:" + path, Connections::All));
}

TEST(LiveSockets, TakeThePlaceOfNothingElse) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock", file = folder.write("file", "contents").string();
    const auto input = Input::open("unix:" + path, Connections::All).value();
    const auto refusal = [](const std::string& taken) {
        const auto second = Input::open("unix:" + taken, Connections::All);
        return second ? "" : second.error().message;
    };
    EXPECT_EQ(refusal(path), "unix:" + path + ": another program listens there already");
    EXPECT_EQ(refusal(file), "unix:" + file + ": cannot be made: Address already in use");
    EXPECT_EQ(folder.count_entries(), 3U) << "with the lock";
}

TEST(LiveSockets, AreNotDisturbedByASecondProgramNorByAnEmptyConnection) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock";
    const auto input = Input::open("unix:" + path, Connections::TheFirst).value();
    EXPECT_FALSE(Input::open("unix:" + path, Connections::TheFirst));
    { const Descriptor empty = connect_to(path); }
    const Descriptor generator = connect_to(path);
    write_all(generator, empty_stream("one"));
    EXPECT_EQ(next_name(*input), "one");
}

TEST(LiveSockets, WithAFullBacklogAreRefusedAtOnceToWhoeverIsNoOwner) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock";
    const Descriptor foreign(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));  // holds no lock
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    ASSERT_EQ(::bind(foreign.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(foreign.fd(), 0), 0);
    const Descriptor waiting = connect_to(path);  // fills the backlog
    auto refused = std::async(std::launch::async, [&] { return Input::open("unix:" + path, Connections::All); });
    ASSERT_EQ(refused.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_EQ(refused.get().error().message, "unix:" + path + ": cannot be made: Address already in use");
    EXPECT_EQ(folder.count_entries(), 1U) << "the lock goes";
}

TEST(LiveSockets, ServeGeneratorsInTheOrderInWhichTheyConnected) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "live.sock";
    const auto input = Input::open("unix:" + path, Connections::All).value();
    std::vector<Descriptor> generators;
    for (int i = 0; i < 4; ++i) generators.push_back(connect_to(path));
    for (int i : {2, 0, 3, 1}) write_all(generators[static_cast<std::size_t>(i)], empty_stream(std::to_string(i)));
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(next_name(*input), std::to_string(i));
        generators[static_cast<std::size_t>(i)] = Descriptor();
    }
}

TEST(LiveSockets, OfPathsThatNoSocketCanHaveAreRefused) {
    for (const std::string& path : {std::string(), "/" + std::string(107, 'x')}) {
        const auto input = Input::open("unix:" + path, Connections::All);
        ASSERT_FALSE(input);
        EXPECT_NE(input.error().message.find("the path of a socket has 1 to 107 bytes"), std::string::npos);
    }
}

}  // namespace
}  // namespace kinetograph::live
