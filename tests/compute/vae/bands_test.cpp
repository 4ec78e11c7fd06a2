// Steps in bands of rows: the same bits as the whole picture, in less memory.
#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/shares.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/processor.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

constexpr std::int64_t kHeight = 24, kWidth = 1;

nn::Network wan(std::int64_t dim) { return Checkpoint::open(fmt::format("synthetic:wan2.1,dim={}", dim))->network(); }

std::vector<float> latent(int step, std::int64_t height = kHeight) {
    std::vector<float> values(static_cast<std::size_t>(16 * height * kWidth));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 2.0F * std::sin(1.3F * static_cast<float>(i) + 0.7F * static_cast<float>(step));
    return values;
}

class BandedSteps : public ::testing::Test {
  protected:
    std::shared_ptr<Model> model(accel::Device& device, Precision precision = Precision::Fp32) {
        auto made = Model::create(device, *checkpoint_, {.precision = precision});
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }
    static std::unique_ptr<Decoder> decoder(const std::shared_ptr<Model>& model, Bands bands = {},
                                            std::int64_t height = kHeight) {
        auto made = Decoder::create(model, {height, kWidth}, {.bands = bands});
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }
    static std::vector<float> frames_of(Decoder& decoder, int steps = 3) {
        std::vector<float> all;
        for (int step = 0; step < steps; ++step) {
            const auto frames = decoder.step(latent(step, decoder.clip().latent_size().height));
            EXPECT_TRUE(frames) << frames.error().message;
            if (frames) frames->append_to(all);
        }
        return all;
    }

    Result<Checkpoint> checkpoint_ = Checkpoint::open("synthetic:wan2.1,dim=2");
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

TEST(Bands, BeginAtUpsamplingsAndReadTheRowsThatLaterLayersReach) {
    const nn::Network network = wan(8);
    ASSERT_EQ(count_upsamplings(network), 3);
    for (const bool first : {true, false}) {
        const auto passes = nn::fuse(network, {.first_step = first}).value();
        // From the last upsampling on: its convolution, three blocks of two, the head. 8 rows are 4 of its input.
        const auto last = find_cut(passes, 2);
        ASSERT_TRUE(last);
        EXPECT_EQ(std::get<nn::ConvPass>(passes[*last]).conv->key, "decoder.upsamples.11.resample.1");
        const auto bands = BandCutter(passes, *last, 48, 4).bands(3);
        ASSERT_EQ(bands.size(), 3U);
        EXPECT_EQ(bands[0].made, (Rows{0, 16}));
        EXPECT_EQ(bands[0].read, (Rows{0, 20}));
        EXPECT_EQ(bands[1].made, (Rows{16, 16}));
        EXPECT_EQ(bands[1].read, (Rows{12, 24}));
        EXPECT_EQ(bands[2].read, (Rows{28, 20}));
        EXPECT_EQ(bands[1].reads.front(), bands[1].read);
        // On doubled pixels 7 rows around those that are made, then one fewer for each layer; multiples of four.
        ASSERT_EQ(bands[1].reads.size(), passes.size() - *last);
        EXPECT_EQ(bands[1].reads[1], (Rows{24, 48}));
        EXPECT_EQ(bands[1].reads.back(), (Rows{28, 40}));
        // Six more convolutions and an upsampling: 11 rows, which are 6; then 13, which are 7. Multiples of two.
        EXPECT_EQ(BandCutter(passes, *find_cut(passes, 1), 48, 4).bands(3)[1].read, (Rows{10, 28}));
        EXPECT_EQ(BandCutter(passes, *find_cut(passes, 0), 48, 4).bands(3)[1].read, (Rows{8, 32}));
        EXPECT_EQ(BandCutter(passes, *last, 10, 4).bands(9).size(), 5U) << "of two rows";
        const auto twos = BandCutter(passes, *find_cut(passes, 0), 48, 2).bands(3)[1];
        EXPECT_EQ(twos.read, (Rows{9, 30}));
        EXPECT_EQ(twos.reads.back(), (Rows{126, 132}));
        EXPECT_EQ(BandCutter(passes, *last, 10, 2).bands(9).size(), 9U);
        EXPECT_FALSE(find_cut(passes, 3));
    }
}

/// N 3x3 convolutions on doubled pixels reach N rows of them, which are (N + 1) / 2 before the doubling: where that
/// passes a multiple of two rows, a band reads two more.
TEST(Bands, ReadEveryRowThatAnOddNumberOfRowsAfterTheDoublingNeeds) {
    using namespace nn::primitive;
    for (const auto& [convolutions, around] : {std::pair(1, 2), {8, 4}, {9, 6}, {16, 8}, {17, 10}}) {
        nn::Network network(8);
        nn::Value x = network.append(nn::Network::input(), UpsampleSpace{"doubled"});
        for (int i = 0; i < convolutions; ++i)
            x = network.append(x, Conv{.key = fmt::format("{}", i), .c_in = 8, .filter = {8, 1, 3, 3}});
        const auto passes = nn::fuse(network, {.first_step = true}).value();
        const auto bands = BandCutter(passes, *find_cut(passes, 0), 96, 4).bands(3);
        EXPECT_EQ(bands[1].read, (Rows{32 - around, 32 + 2 * around})) << convolutions;
    }
}

TEST(Bands, DoNotBeginBeforeAnAttentionNorWhereALaterPassReadsWhatWasThereBefore) {
    using namespace nn::primitive;
    nn::Network network(8);
    nn::Value x = network.append(nn::Network::input(), UpsampleSpace{"first"});
    x = network.append(x, Conv{.key = "qkv", .c_in = 8, .filter = {24, 1, 1, 1}});
    x = network.append(x, Attention{"attention"});
    const nn::Value skip = network.append(x, UpsampleSpace{"second"});
    x = network.append(skip, UpsampleSpace{"third"});
    x = network.append(x, Conv{.key = "last", .c_in = 8, .filter = {3, 1, 3, 3}});
    const auto passes = nn::fuse(network, {.first_step = true}).value();
    EXPECT_FALSE(find_cut(passes, 0));
    EXPECT_TRUE(find_cut(passes, 1));
    EXPECT_TRUE(find_cut(passes, 2));
    network = nn::Network(8);
    const nn::Value kept = network.append(nn::Network::input(), Conv{.key = "a", .c_in = 8, .filter = {8, 1, 1, 1}});
    const nn::Value doubled = network.append(kept, UpsampleSpace{"first"});
    x = network.append(doubled, Conv{.key = "b", .c_in = 8, .filter = {8, 1, 3, 3}});
    x = network.append(x, UpsampleSpace{"second"});
    const nn::Value other = network.append(doubled, UpsampleSpace{"third"});
    x = network.append(x, Conv{.key = "c", .c_in = 8, .filter = {8, 1, 3, 3}});
    network.add(x, other);
    const auto crossing = nn::fuse(network, {.first_step = true}).value();
    EXPECT_TRUE(find_cut(crossing, 0));
    EXPECT_FALSE(find_cut(crossing, 1)) << "the sum reads what the first one made";
}

TEST(Bands, StateHowMuchMoreIsMultiplied) {
    const nn::Network network = wan(8);
    const auto passes = nn::fuse(network, {}).value();
    const auto whole = nn::extents(network, {1, 48, 4, 16}, false);
    const std::size_t cut = *find_cut(passes, 2);
    EXPECT_EQ(work_ratio(passes, cut, BandCutter(passes, cut, 192, 4).bands(1), whole), 1.0);
    const double two = work_ratio(passes, cut, BandCutter(passes, cut, 192, 4).bands(2), whole);
    EXPECT_GT(two, 1.0);
    EXPECT_LT(two, 1.0 + 8.0 / 192);
}

/// The heights of shares of 96 rows, or of so many, at these speeds.
std::vector<std::int64_t> shared_heights(const std::vector<double>& speeds, std::int64_t height = 96) {
    const NetworkDesc desc{.network = wan(8)};
    const accel::DeviceInfo info;
    std::vector<ShareDevice> devices;
    for (const double speed : speeds) devices.push_back({&info, speed});
    const StepList list = list_step(desc, {height, 16}, {false, 1}, [](const auto&) { return ""; }).value();
    std::vector<std::int64_t> heights;
    std::int64_t end = 0;
    for (const Rows& rows : share_rows(list, *find_cut(list.passes, 0), 4, desc, devices)) {
        EXPECT_EQ(rows.first, end);
        end += rows.count;
        heights.push_back(rows.count);
    }
    EXPECT_EQ(end, height);
    return heights;
}

TEST(Bands, AreAsHighAsDevicesAreFast) {
    using Heights = std::vector<std::int64_t>;
    EXPECT_EQ(shared_heights({1}), (Heights{96}));
    const Heights alike = shared_heights({1, 1}), slower = shared_heights({2, 1}), three = shared_heights({1, 1, 1});
    EXPECT_LT(alike[0], alike[1]) << "the first also computes what comes before";
    EXPECT_GT(alike[0], 30);
    EXPECT_GT(slower[0], alike[0] + 8);
    EXPECT_LT(three[1], three[2]) << "the middle one reads rows on both sides";
    EXPECT_EQ(shared_heights({1000, 1, 1}), (Heights{92, 2, 2})) << "a block each at least";
    EXPECT_EQ(shared_heights({1, 1, 1, 1}, 6).size(), 3U) << "of two rows";
}

TEST_F(BandedSteps, GiveTheBitsOfTheWholePictureWhereverTheyBegin) {
    for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
        const auto shared = model(*device_, precision);
        const std::vector<float> whole = frames_of(*decoder(shared));
        const bool all = precision == Precision::Fp32;
        for (const Bands bands : all ? std::vector{Bands{2, 0}, Bands{3, 1}, Bands{7, 2}} : std::vector{Bands{3, 2}}) {
            const auto banded = decoder(shared, bands);
            const std::vector<float> made = frames_of(*banded);
            ASSERT_EQ(made.size(), whole.size());
            EXPECT_EQ(std::memcmp(made.data(), whole.data(), whole.size() * sizeof(float)), 0)
                << bands.count << " bands from upsampling " << bands.upsampling << ", " << to_string(precision);
            ASSERT_TRUE(banded->reset());
            EXPECT_EQ(frames_of(*banded, 1), std::vector(whole.begin(), whole.begin() + whole.size() / 9))
                << "each band's own frames are forgotten";
        }
    }
}

TEST_F(BandedSteps, TraceModulesWholeThatBandsCompute) {
    const auto shared = model(*device_);
    const auto whole = decoder(shared), banded = decoder(shared, {3, 1});
    frames_of(*whole, 1);
    frames_of(*banded, 1);
    for (const std::string module : {"decoder.middle.1", "decoder.upsamples.8", "decoder.head.2"}) {
        ASSERT_TRUE(whole->reset() && banded->reset());
        const auto of_whole = whole->trace(latent(0), module), of_banded = banded->trace(latent(0), module);
        ASSERT_TRUE(of_whole && of_banded) << module;
        EXPECT_FALSE(of_whole->empty());
        EXPECT_EQ(*of_banded, *of_whole) << module;
    }
}

/// Pictures that steps write to memory of the test's.
std::vector<std::byte> pictures_of(accel::Device& device, Decoder& decoder, FrameFormat format) {
    const auto whole = [](const accel::Memory& memory) {
        return graph::Physical{reinterpret_cast<std::uintptr_t>(memory.data()), 0, memory.bytes()};
    };
    Clip& clip = decoder.clip();
    Runner& runner = decoder.runner();
    const graph::BufferDesc desc = clip.frame_desc(format);
    EXPECT_TRUE(decoder.reset());
    std::vector<std::byte> all;
    for (int step = 0; step < 3; ++step) {
        const std::vector<float> values = latent(step);
        const auto input = device.allocate("latents", values.size() * sizeof(float)).value();
        std::memcpy(input->host_data(), values.data(), values.size() * sizeof(float));
        graph::FrameGraph frame;
        std::vector<std::unique_ptr<accel::Memory>> outputs;
        std::vector<graph::Buffer> places;
        for (std::int64_t i = 0; i < clip.output(*clip.next()).frames; ++i) {
            outputs.push_back(device.allocate("frame", desc.bytes).value());
            places.push_back(frame.import_buffer(fmt::format("frame {}", i), desc, whole(*outputs.back())));
        }
        const auto declared =
            clip.declare(frame, clip.import_latents(frame, whole(*input)), {.format = format, .places = places});
        EXPECT_TRUE(declared) << declared.error().message;
        const auto executed = runner.execute(clip, frame);
        EXPECT_TRUE(executed && runner.wait(clip, *executed));
        for (const auto& output : outputs) all.insert(all.end(), output->host_data(), output->host_data() + desc.bytes);
    }
    return all;
}

TEST_F(BandedSteps, WriteTheirRowsOfPicturesOnTheDevice) {
    const auto shared = model(*device_);
    const auto whole = decoder(shared), banded = decoder(shared, {3, 2});
    for (const FrameFormat format : {FrameFormat::Rgba8, FrameFormat::Float32, FrameFormat::Float16})
        EXPECT_EQ(pictures_of(*device_, *banded, format), pictures_of(*device_, *whole, format));
}

TEST_F(BandedSteps, AreTakenWhereTheWholePictureIsOverTheBudgetWhichIsKept) {
    if (processor().uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
    constexpr std::int64_t kTall = 64;
    const auto shared = model(*device_);
    const auto whole = decoder(shared, {}, kTall);
    const StackMemory needed = whole->memory();
    const auto two = shared->plan({.height = kTall, .width = kWidth, .bands = {2, 2}});
    ASSERT_TRUE(two) << two.error().message;
    const std::uint64_t budget = shared->memory(**two).total() + needed.io;
    ASSERT_LT(budget, needed.total());
    std::string logged;
    const auto small = accel::cpu::create_device(
        {.log = Log([&](LogLevel, std::string_view message) { logged += message; }), .budget = {.bytes = budget}});
    const auto banded = decoder(model(*small), {}, kTall);
    EXPECT_GT(banded->clip().memory().bands, 1);
    EXPECT_GT(banded->clip().memory().work_ratio, 1.0);
    EXPECT_LT(banded->clip().memory().transients, needed.transients);
    EXPECT_NE(logged.find(fmt::format("in {} bands of rows", banded->clip().memory().bands)), std::string::npos)
        << logged;
    EXPECT_EQ(frames_of(*banded), frames_of(*whole));
    EXPECT_LE(small->peak_bytes(), budget);
    EXPECT_LE(small->peak_bytes(), banded->memory().total());
}

TEST_F(BandedSteps, AreRefusedBeforeAnyFilterIsLoadedWhereNoNumberOfThemFits) {
    if (device_->info().features.find("avx512f") == std::string::npos)
        GTEST_SKIP() << "without AVX-512 images smaller than filters are the reference's, which holds its own";
    const auto whole = decoder(model(*device_));
    const auto tiny = accel::cpu::create_device({.budget = {.bytes = whole->clip().memory().histories / 2}});
    int loaded = 0;
    NetworkDesc desc{.network = checkpoint_->network(), .dtype = tensor::DType::F32};
    const auto counting = Model::create(*tiny, "a network", desc, [&](const std::string& name) {
        loaded += name.ends_with("weight") && name != "conv2.weight" ? 1 : 0;  // but the map of the latents
        return checkpoint_->load(name).value();
    });
    const auto refused = Clip::create(*counting, {kHeight, kWidth});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_TRUE(refused.error().message.starts_with("decoding 1x24 latents needs ")) << refused.error().message;
    EXPECT_NE(refused.error().message.find("bands that need least"), std::string::npos) << refused.error().message;
    EXPECT_EQ(loaded, 0) << "no filter";
    tiny->set_budget({});
    EXPECT_TRUE(Clip::create(*counting, {kHeight, kWidth}));
    EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace kinetograph::vae
