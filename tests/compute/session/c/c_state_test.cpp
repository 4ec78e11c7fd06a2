// The state of clips through kinetograph.h, on the CPU.
#include "c_fixture.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

namespace kinetograph::c::testing {
namespace {

class CStates : public CTest {
  protected:
    /// The latent frames from `first` on of latents_of(6).
    static std::vector<float> part(std::int64_t first, std::int64_t frames) {
        const auto all = latents_of(6);
        std::vector<float> values;
        for (std::int64_t c = 0; c < 16; ++c)
            for (std::int64_t i = first * 2; i < (first + frames) * 2; ++i)
                values.push_back(all[static_cast<std::size_t>(c * 12 + i)]);
        return values;
    }
    /// The frames of those latent frames, of which number 0 is a clip's first.
    std::vector<std::vector<std::uint8_t>> decode_part(kg_clip* clip, std::int64_t first, std::int64_t frames) {
        const auto values = part(first, frames);
        const kg_latents latents = view_of(values);
        EXPECT_EQ(kg_clip_push(clip, &latents, kLong, nullptr), KG_OK) << kg_last_error();
        std::vector<std::vector<std::uint8_t>> taken;
        for (std::int64_t i = first == 0 ? 3 : 0; i < 4 * frames; ++i) {
            auto frame = sized<kg_frame>();
            EXPECT_EQ(kg_clip_acquire(clip, 0, kLong, &frame), KG_OK) << kg_last_error();
            if (frame.id == 0) return taken;
            taken.push_back(bytes_of(frame));
            EXPECT_EQ(kg_clip_release(clip, frame.id, nullptr), KG_OK) << kg_last_error();
        }
        return taken;
    }
    Owned<kg_clip> rewindable(std::uint32_t steps) {
        auto desc = sized<kg_clip_desc>();
        desc.rewind_steps = steps;
        kg_clip* made = nullptr;
        EXPECT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
        return Owned<kg_clip>(made);
    }
};

TEST_F(CStates, ContinueInForksAndWhereTheyAreLoaded) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip(), other = clip();
    decode_part(made.get(), 0, 2);
    kg_clip* forked = nullptr;
    ASSERT_EQ(kg_clip_fork(made.get(), nullptr, kLong, &forked), KG_OK) << kg_last_error();
    const Owned<kg_clip> fork(forked);
    kg_state* saved = nullptr;
    ASSERT_EQ(kg_clip_save(made.get(), kLong, &saved), KG_OK) << kg_last_error();
    const Owned<kg_state> state(saved);
    auto info = sized<kg_state_info>();
    ASSERT_EQ(kg_state_describe(state.get(), &info), KG_OK);
    EXPECT_EQ(info.latent_frames, 2);
    EXPECT_EQ(info.frames, 5);
    EXPECT_EQ(info.latent_height, kHeight);
    EXPECT_EQ(info.latent_width, kWidth);
    const std::string path = ::testing::TempDir() + "c_states_" + std::to_string(::getpid()) + ".state";
    ASSERT_EQ(kg_state_write(state.get(), path.c_str()), KG_OK) << kg_last_error();
    const auto wanted = decode_part(made.get(), 2, 2);
    EXPECT_EQ(wanted.size(), 8U);
    EXPECT_EQ(decode_part(fork.get(), 2, 2), wanted);
    ASSERT_EQ(kg_state_read(instance_.get(), path.c_str(), &saved), KG_OK) << kg_last_error();
    const Owned<kg_state> read(saved);
    ASSERT_EQ(kg_clip_load(other.get(), read.get(), kLong), KG_OK) << kg_last_error();
    EXPECT_EQ(decode_part(other.get(), 2, 2), wanted);
    std::ofstream(path, std::ios::binary | std::ios::app) << 'x';
    EXPECT_SENTENCE(kg_state_read(instance_.get(), path.c_str(), &saved), KG_ERROR_CORRUPT, path);
    EXPECT_SENTENCE(kg_state_read(instance_.get(), "none.state", &saved), KG_ERROR_NOT_FOUND, "none.state");
    ::unlink(path.c_str());
}

TEST_F(CStates, ArePackedAsTheFilesBytes) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = clip(), other = clip();
    decode_part(made.get(), 0, 2);
    kg_state* saved = nullptr;
    ASSERT_EQ(kg_clip_save(made.get(), kLong, &saved), KG_OK) << kg_last_error();
    const Owned<kg_state> state(saved);
    std::string packed;
    const auto take = [](void* user, const void* piece, std::uint64_t bytes) {
        static_cast<std::string*>(user)->append(static_cast<const char*>(piece), bytes);
    };
    ASSERT_EQ(kg_state_pack(state.get(), take, &packed), KG_OK) << kg_last_error();
    const std::string path = ::testing::TempDir() + "c_states_" + std::to_string(::getpid()) + ".packed";
    ASSERT_EQ(kg_state_write(state.get(), path.c_str()), KG_OK) << kg_last_error();
    std::ifstream file(path, std::ios::binary);
    EXPECT_EQ(packed, std::string(std::istreambuf_iterator<char>(file), {}));
    ::unlink(path.c_str());
    ASSERT_EQ(kg_state_parse(instance_.get(), packed.data(), packed.size(), nullptr, &saved), KG_OK) << kg_last_error();
    const Owned<kg_state> parsed(saved);
    ASSERT_EQ(kg_clip_load(other.get(), parsed.get(), kLong), KG_OK) << kg_last_error();
    EXPECT_EQ(decode_part(other.get(), 2, 2), decode_part(made.get(), 2, 2));
    packed[packed.size() - 1] ^= 1;
    EXPECT_SENTENCE(kg_state_parse(instance_.get(), packed.data(), packed.size(), "sent", &saved), KG_ERROR_CORRUPT,
                    "sent: its contents do not match their hash");
    EXPECT_SENTENCE(kg_state_parse(instance_.get(), nullptr, 8, nullptr, &saved), KG_ERROR_INVALID_ARGUMENT,
                    "contents is NULL");
    EXPECT_SENTENCE(kg_state_pack(state.get(), nullptr, nullptr), KG_ERROR_INVALID_ARGUMENT, "take is NULL");
}

TEST_F(CStates, GoBackAndLeaveTheDevice) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto made = rewindable(1), reference = clip();
    decode_part(reference.get(), 0, 2);
    const auto wanted = decode_part(reference.get(), 2, 2);
    decode_part(made.get(), 0, 2);
    decode_part(made.get(), 5, 1);
    EXPECT_SENTENCE(kg_clip_rewind(made.get(), 2, kLong), KG_ERROR_INVALID_ARGUMENT, "rewinding 2 steps: 1 are kept");
    ASSERT_EQ(kg_clip_rewind(made.get(), 1, kLong), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_park(made.get(), kLong), KG_OK) << kg_last_error();
    const auto values = part(2, 1);
    const kg_latents latents = view_of(values);
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, 0, nullptr), KG_ERROR_INVALID_ARGUMENT, "the clip is parked");
    ASSERT_EQ(kg_clip_resume(made.get(), kLong), KG_OK) << kg_last_error();
    EXPECT_EQ(decode_part(made.get(), 2, 2), wanted);
}

TEST_F(CStates, AreDeclaredBeforeTheClipIsMade) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto first = clip();
    auto desc = sized<kg_clip_desc>();
    desc.rewind_steps = 2;
    auto declared = sized<kg_clip_info>(), made = sized<kg_clip_info>();
    ASSERT_EQ(kg_model_declare_clip(model_.get(), kHeight, kWidth, &desc, &declared), KG_OK) << kg_last_error();
    const auto another = rewindable(2);
    ASSERT_EQ(kg_clip_describe(another.get(), &made), KG_OK);
    EXPECT_EQ(declared.state_bytes, made.state_bytes);
    EXPECT_EQ(declared.clip_bytes, made.clip_bytes);
    EXPECT_EQ(made.device_bytes - declared.device_bytes, declared.clip_bytes);
    desc.rewind_steps = 65;
    EXPECT_SENTENCE(kg_model_declare_clip(model_.get(), kHeight, kWidth, &desc, &declared), KG_ERROR_INVALID_ARGUMENT,
                    "rewind_steps 65: there are up to 64");
}

TEST_F(CStates, AndFramesAreWhatAFurtherClipTakesThatShares) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto desc = sized<kg_clip_desc>();
    desc.sharing = KG_SHARING_VISIBLE;
    desc.weight = 2;
    std::vector<Owned<kg_clip>> clips;
    std::vector<kg_clip_info> infos;
    for (int i = 0; i < 3; ++i) {
        auto declared = sized<kg_clip_info>();
        ASSERT_EQ(kg_model_declare_clip(model_.get(), kHeight, kWidth, &desc, &declared), KG_OK) << kg_last_error();
        kg_clip* made = nullptr;
        ASSERT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
        clips.emplace_back(made);
        infos.push_back(sized<kg_clip_info>());
        ASSERT_EQ(kg_clip_describe(made, &infos.back()), KG_OK);
        EXPECT_EQ(infos.back().clip_bytes, declared.clip_bytes) << i;
    }
    EXPECT_LT(infos[1].clip_bytes, infos[0].clip_bytes);
    EXPECT_EQ(infos[2].device_bytes - infos[1].device_bytes, infos[2].clip_bytes);
    const auto alone = clip();
    const auto wanted = decode_part(alone.get(), 0, 3);
    for (const auto& each : clips) EXPECT_EQ(decode_part(each.get(), 0, 3), wanted);
    kg_clip* none = nullptr;
    desc.weight = -1;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &none), KG_ERROR_INVALID_ARGUMENT, "a weight");
    desc.weight = 0;
    desc.sharing = 3;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &none), KG_ERROR_INVALID_ARGUMENT,
                    "3 is no kg_sharing");
}

TEST_F(CStates, OfClipsThatShareAreAdmittedWhileTheyFitAndHaveFigures) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto desc = sized<kg_clip_desc>();
    desc.sharing = KG_SHARING_VISIBLE;
    desc.fps = 1000;
    desc.only_if_fits = 1;
    auto answer = sized<kg_admission>();
    const auto ask = [&] {
        EXPECT_EQ(kg_model_admission(model_.get(), kHeight, kWidth, &desc, &answer), KG_OK) << kg_last_error();
    };
    ask();
    EXPECT_EQ(answer.fits, 1U);
    EXPECT_EQ(answer.known, static_cast<std::uint32_t>(KG_KNOWN_NOT));
    EXPECT_EQ(answer.visible_clips, 0U);
    EXPECT_GT(answer.needed_bytes, 0U);
    EXPECT_GT(answer.free_bytes, answer.needed_bytes);
    std::vector<Owned<kg_clip>> clips;
    kg_clip* made = nullptr;
    ASSERT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
    clips.emplace_back(made);
    decode_part(made, 0, 2);
    const auto values = part(2, 1);
    kg_latents latents = view_of(values);
    latents.input_ns = 1;  // since the machine was started
    ASSERT_EQ(kg_clip_push(made, &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made, 0, kLong, &frame), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_release(made, frame.id, nullptr), KG_OK);
    auto info = sized<kg_clip_info>();
    ASSERT_EQ(kg_clip_describe(made, &info), KG_OK);
    EXPECT_GT(info.first_frame_ns, 0);
    EXPECT_GT(info.latency_ns, 0);
    EXPECT_GE(info.longest_latency_ns, info.average_latency_ns);
    EXPECT_GT(info.input_latency_ns, info.longest_latency_ns);
    EXPECT_EQ(info.input_latency_ns, info.average_input_latency_ns);
    while (answer.known != KG_KNOWN_MEASURED) {
        ASSERT_EQ(kg_clip_describe(made, &info), KG_OK);
        ask();
    }
    EXPECT_GT(answer.needed_seconds, 0);
    EXPECT_EQ(answer.needed_seconds, answer.taken_seconds);
    EXPECT_EQ(answer.visible_clips, 1U);
    kg_result created = KG_OK;
    while (created == KG_OK && clips.size() < 500) {
        created = kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made);
        if (created == KG_OK) clips.emplace_back(made);
    }
    EXPECT_EQ(created, KG_ERROR_OUT_OF_MEMORY);
    EXPECT_NE(std::string(kg_last_error()).find("seconds of it a second (as measured), of which "), std::string::npos)
        << kg_last_error();
    ask();
    EXPECT_EQ(answer.fits, 0U);
    EXPECT_GT(answer.needed_seconds + answer.taken_seconds, 1);
    desc.sharing = KG_SHARING_BACKGROUND;
    ask();
    EXPECT_EQ(answer.fits, 1U);
    std::string text;
    const auto take = [](void* user, const void* piece, std::uint64_t bytes) {
        static_cast<std::string*>(user)->append(static_cast<const char*>(piece), bytes);
    };
    const auto counts_all_frames = [&] {  // once the last step was seen to be done
        EXPECT_EQ(kg_clip_describe(clips[0].get(), &info), KG_OK);
        text.clear();
        EXPECT_EQ(kg_model_metrics(model_.get(), take, &text), KG_OK) << kg_last_error();
        return text.find("kinetograph_frames_total{family=\"wan2.1\",clip=\"1\"} 9\n") != std::string::npos;
    };
    for (int i = 0; i < 1000 && !counts_all_frames(); ++i) ::usleep(1000);
    EXPECT_TRUE(counts_all_frames()) << text;
    desc.sharing = KG_SHARING_NONE;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_ERROR_INVALID_ARGUMENT,
                    "whether a clip fits is asked of a runner that it shares with others");
    latents.input_ns = -1;
    EXPECT_SENTENCE(kg_clip_push(clips[0].get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "kg_latents.input_ns is -1");
    EXPECT_SENTENCE(kg_model_metrics(model_.get(), nullptr, nullptr), KG_ERROR_INVALID_ARGUMENT, "take is NULL");
}

TEST_F(CStates, OfFilesAndOfWhatIsNoHandleAreRefused) {
    ASSERT_NO_FATAL_FAILURE(open());
    const std::string path = latents_file(latents_of(2));
    kg_clip* opened = nullptr;
    ASSERT_EQ(kg_clip_open(model_.get(), path.c_str(), nullptr, &opened), KG_OK) << kg_last_error();
    const Owned<kg_clip> of_file(opened);
    ::unlink(path.c_str());
    kg_state* saved = nullptr;
    EXPECT_SENTENCE(kg_clip_save(of_file.get(), kLong, &saved), KG_ERROR_INVALID_ARGUMENT, "the clip is a file's");
    const auto made = clip();
    EXPECT_SENTENCE(kg_clip_save(made.get(), kLong, nullptr), KG_ERROR_INVALID_ARGUMENT, "state is NULL");
    EXPECT_SENTENCE(kg_clip_load(made.get(), nullptr, kLong), KG_ERROR_INVALID_ARGUMENT, "the handle is NULL");
    EXPECT_SENTENCE(kg_clip_fork(made.get(), nullptr, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT, "fork is NULL");
    EXPECT_SENTENCE(kg_state_write(reinterpret_cast<kg_state*>(made.get()), "x"), KG_ERROR_INVALID_ARGUMENT,
                    "kg_state");
}

TEST_F(CStates, ClipsNameTheirDearestPasses) {
    ASSERT_NO_FATAL_FAILURE(open());
    struct Found {
        std::vector<std::string> names;
        std::vector<double> shares;
        std::uint32_t calls = 0;
    } found;
    const auto each = [](void* user, const kg_pass_info* pass) {
        auto& all = *static_cast<Found*>(user);
        all.names.emplace_back(pass->name);
        all.shares.push_back(pass->share);
        all.calls = std::max(all.calls, pass->calls);
        EXPECT_LE(0, pass->average_ns);
        EXPECT_LE(pass->average_ns, pass->longest_ns);
        EXPECT_STRNE(pass->track, "");
    };
    const auto silent = clip();
    EXPECT_SENTENCE(kg_clip_passes(silent.get(), each, &found), KG_ERROR_INVALID_ARGUMENT,
                    "the clip was made without kg_clip_desc.passes");
    auto desc = sized<kg_clip_desc>();
    desc.passes = 1;
    kg_clip* made = nullptr;
    ASSERT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
    const Owned<kg_clip> recorded(made);
    ASSERT_EQ(kg_clip_passes(recorded.get(), each, &found), KG_OK) << kg_last_error();
    EXPECT_TRUE(found.names.empty());
    decode_part(recorded.get(), 0, 3);
    ASSERT_EQ(kg_clip_passes(recorded.get(), each, &found), KG_OK) << kg_last_error();
    EXPECT_NE(std::ranges::find(found.names, "decoder.head.2"), found.names.end())
        << ::testing::PrintToString(found.names);
    EXPECT_TRUE(std::ranges::is_sorted(found.shares, std::greater{}));
    EXPECT_NEAR(std::accumulate(found.shares.begin(), found.shares.end(), 0.0), 1, 1e-6);
    EXPECT_EQ(found.calls, 3U);
    desc.sharing = KG_SHARING_VISIBLE;
    EXPECT_SENTENCE(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_ERROR_INVALID_ARGUMENT,
                    "passes are recorded of clips that do not share");
}

}  // namespace
}  // namespace kinetograph::c::testing
