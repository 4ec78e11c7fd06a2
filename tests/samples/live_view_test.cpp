// The viewer with latents that are made while it shows them, by generators that come and go over a socket.
#include "text_finder.hpp"
#include "virtual_display.hpp"

#include <kinetograph/engine/ui/fonts.hpp>
#include <kinetograph/samples/viewer/checkpoint_source.hpp>
#include <kinetograph/samples/viewer/player.hpp>
#include <kinetograph/samples/viewer/viewer.hpp>
#include <kinetograph/tests/compute/live/live_bytes.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace kinetograph::viewer {
namespace {

using live::testing::Bytes;

/// A generator that connects to the socket as soon as a server listens there, writes `bytes` and waits to be hung up
/// on.
class SocketGenerator {
  public:
    SocketGenerator(std::string path, Bytes bytes)
        : thread_([path = std::move(path), sent = std::move(bytes)] { run(path, sent); }) {}
    SocketGenerator(const SocketGenerator&) = delete;
    SocketGenerator& operator=(const SocketGenerator&) = delete;
    ~SocketGenerator() { thread_.join(); }

  private:
    static void run(const std::string& path, const Bytes& bytes) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        const live::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        while (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        EXPECT_EQ(::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
        ::shutdown(socket.fd(), SHUT_WR);
        std::array<std::byte, 256> replies{};
        while (::read(socket.fd(), replies.data(), replies.size()) > 0) continue;
    }
    std::thread thread_;
};

Bytes streams(int count, std::int64_t latent_frames) {
    Bytes bytes;
    live::Writer writer(bytes);
    for (int i = 0; i < count; ++i) {
        writer.start(live::testing::small_header());
        writer.chunk(live::testing::small_latents(0, latent_frames));
        writer.end();
    }
    return bytes;
}

class LiveViewing : public ::testing::Test {
  protected:
    LiveViewing() {
        options_.latents = "unix:" + socket();
        options_.weights = "synthetic:wan2.1,dim=2";
        options_.model.precision = vae::Precision::Fp32;
        options_.headless = true;
        options_.width = 640;
        options_.height = 360;
        options_.validation = true;
        options_.screenshot = folder_.path() / "picture.png";
    }
    std::string socket() const { return folder_.path() / "live.sock"; }
    /// How well `text` is found in the status bar at the picture's lower edge.
    double find_in_status(std::string_view text) const {
        auto picture = present::read_png(options_.screenshot);
        EXPECT_TRUE(picture) << picture.error().message;
        if (!picture) return 0.0;
        constexpr std::uint32_t kRows = 50;
        const std::size_t above = std::size_t{4} * picture->width * (picture->height - kRows);
        picture->rgba.erase(picture->rgba.begin(), picture->rgba.begin() + static_cast<std::ptrdiff_t>(above));
        picture->height = kRows;
        return ui::testing::find_text(*picture, text, ui::kTextSize).correlation;
    }

    const test::TemporaryFolder folder_;
    ViewerOptions options_;
};

TEST_F(LiveViewing, ShowsEveryFrameOfEveryStreamAndSaysTheGeneratorsRateAndLag) {
    const SocketGenerator generator(socket(), streams(2, 3));
    std::vector<std::int64_t> shown;
    options_.frames = 2 * 9 - 1;
    options_.on_frame = [&](const PresentedFrame& frame) -> Result<void> {
        shown.push_back(frame.index);
        return {};
    };
    const auto summary = viewer::run(options_);
    ASSERT_TRUE(summary) << summary.error().message;
    for (std::size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i], static_cast<std::int64_t>(i % 9));
    EXPECT_EQ(shown.size(), options_.frames);
    for (const std::string& message : summary->validation_messages) ADD_FAILURE() << message;
    EXPECT_GT(find_in_status("frame 8"), 0.9);
    EXPECT_GT(std::max(find_in_status("generator"), find_in_status("ended by its generator")), 0.9);
}

TEST_F(LiveViewing, EndsOffscreenWithTheGeneratorsConnection) {
    const SocketGenerator generator(socket(), streams(2, 2));
    const auto summary = viewer::run(options_);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->frames_shown, 10U);
}

TEST_F(LiveViewing, EndsOffscreenWithTheSentenceOfABrokenStream) {
    Bytes bytes = streams(1, 2);
    bytes.resize(bytes.size() - 20);
    const SocketGenerator generator(socket(), bytes);
    const auto summary = viewer::run(options_);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().message, "unix:" + socket() +
                                           ": stream 0 \"orbit\", chunk 0: the input ends after 124 of 128 bytes of a "
                                           "latent frame; " +
                                           options_.screenshot.string() + " is the last picture before that");
}

TEST_F(LiveViewing, InAWindowGoesOnAfterGeneratorsThatAreBrokenOrOfAnotherVae) {
    const auto display = present::testing::VirtualDisplay::start();
    if (!display) GTEST_SKIP() << "Xvfb is not installed (Debian package xvfb)";
    options_.headless = false;
    options_.frames = 5;
    Bytes foreign;
    live::StreamHeader header = live::testing::small_header();
    header.family = "mochi";
    live::Writer(foreign).start(header);
    std::vector<std::unique_ptr<SocketGenerator>> generators;  // they end with the source's connections
    profile::Recorder recorder;
    CheckpointSource source(options_.weights, "", {.device = "cpu", .model = options_.model, .recorder = &recorder}, {},
                            live::Connections::All);
    for (const Bytes& bytes : {Bytes(7), foreign, streams(1, 3)})
        generators.push_back(std::make_unique<SocketGenerator>(socket(), bytes));
    const auto summary = viewer::run(options_, source, recorder);
    if (!summary && summary.error().message.find("can present to this window") != std::string::npos)
        GTEST_SKIP() << "no Vulkan device here can present to an X server";
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->frames_shown, 5U);
}

TEST_F(LiveViewing, ListensAgainAfterTheDisplayWasLostWhileNoGeneratorCame) {
    std::optional<SocketGenerator> generator;  // ends with the source's connections
    CheckpointSource source(options_.weights, "", {.device = "cpu", .model = options_.model}, {},
                            live::Connections::All);
    Player player(source, false, 1.0);
    constexpr Nanoseconds kRefresh = std::chrono::milliseconds(16);
    player.open(options_.latents, Nanoseconds{});
    while (source.opening() != "waiting for a generator") ASSERT_TRUE(player.advance(Nanoseconds{}, kRefresh));
    player.leave_display({ErrorCode::DeviceLost, "the device that draws is lost"}, Nanoseconds{});
    EXPECT_FALSE(player.loading());
    player.enter_display(Nanoseconds{});
    generator.emplace(socket(), streams(1, 2));
    while (player.frame() == nullptr) ASSERT_TRUE(player.advance(Nanoseconds{}, kRefresh));
    EXPECT_EQ(player.latents(), "orbit");
}

TEST_F(LiveViewing, WithAWindowThatIsClosedWhileNoGeneratorComesEnds) {
    CheckpointSource source(options_.weights, "", {.device = "cpu", .model = options_.model}, {},
                            live::Connections::All);
    {
        Player player(source, false, 1.0);
        player.open(options_.latents, Nanoseconds{});
        while (source.opening() != "waiting for a generator")
            ASSERT_TRUE(player.advance(Nanoseconds{}, std::chrono::milliseconds(16)));
    }
    EXPECT_FALSE(source.more());
}

}  // namespace
}  // namespace kinetograph::viewer
