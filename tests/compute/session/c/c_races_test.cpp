// Every call of kinetograph.h that does without a GPU, by several threads at a time and in drawn order.
#include "races.hpp"

#include <fstream>
#include <iterator>
#include <regex>

namespace kinetograph::c::testing {
namespace {

constexpr std::uint32_t kRacedHeight = 16, kRacedWidth = 24;

/// The beginning of a DLManagedTensor: what its consumer needs to let go of it.
struct ExportedTensor {
    std::byte tensor[48];
    void* context;
    void (*deleter)(ExportedTensor*);
};

class CRaces : public CTest {
  protected:
    static void take_a_frame(kg_clip* clip, bool exports) {
        auto frame = sized<kg_frame>();
        const kg_result got = kg_clip_acquire(clip, 0, kShort, &frame);
        expect_status(got, "kg_clip_acquire");
        if (got != KG_OK) return;
        std::uint32_t finite = 0;
        expect_status(kg_clip_finite(clip, frame.id, &finite), "kg_clip_finite");
        expect_status(kg_clip_wait(clip, frame.id, nullptr), "kg_clip_wait");
        void* tensor = nullptr;
        if (exports && kg_clip_export(clip, frame.id, KG_LAYOUT_HWC, &tensor) == KG_OK) {
            auto* const made = static_cast<ExportedTensor*>(tensor);
            made->deleter(made);
        }
        EXPECT_EQ(kg_clip_release(clip, frame.id, nullptr), KG_OK) << kg_last_error();
    }

    void keep_state(kg_clip* clip) {
        kg_state* made = nullptr;
        expect_status(kg_clip_save(clip, kShort, &made), "kg_clip_save");
        if (made == nullptr) return;
        const Owned<kg_state> state(made);
        auto info = sized<kg_state_info>();
        EXPECT_EQ(kg_state_describe(made, &info), KG_OK) << kg_last_error();
        expect_status(kg_clip_load(clip, made, kShort), "kg_clip_load");
        std::string bytes;
        EXPECT_EQ(kg_state_pack(made, append, &bytes), KG_OK) << kg_last_error();
        kg_state* parsed = nullptr;
        EXPECT_EQ(kg_state_parse(instance_.get(), bytes.data(), bytes.size(), nullptr, &parsed), KG_OK)
            << kg_last_error();
        if (parsed != nullptr) kg_state_destroy(parsed);
    }

    static void append(void* bytes, const void* piece, std::uint64_t count) {
        static_cast<std::string*>(bytes)->append(static_cast<const char*>(piece), count);
    }
    static void ignore_pass(void* /*user*/, const kg_pass_info* /*pass*/) {}

    static void fork(kg_clip* clip) {
        auto desc = sized<kg_clip_desc>();
        kg_clip* made = nullptr;
        expect_status(kg_clip_fork(clip, &desc, kShort, &made), "kg_clip_fork");
        if (made != nullptr) kg_clip_destroy(made);
    }

    void make_another_clip() {
        auto desc = sized<kg_clip_desc>();
        auto info = sized<kg_clip_info>();
        EXPECT_EQ(kg_model_declare_clip(model_.get(), kHeight, kWidth, &desc, &info), KG_OK) << kg_last_error();
        auto admission = sized<kg_admission>();
        EXPECT_EQ(kg_model_admission(model_.get(), kHeight, kWidth, &desc, &admission), KG_OK) << kg_last_error();
        EXPECT_EQ(kg_model_metrics(
                      model_.get(), [](void*, const void*, std::uint64_t) {}, nullptr),
                  KG_OK);
        const auto other = clip();
        EXPECT_EQ(kg_clip_push(other.get(), &latents_, kLong, nullptr), KG_OK) << kg_last_error();
    }

    void describe(kg_clip* clip) {
        auto of_clip = sized<kg_clip_info>();
        EXPECT_EQ(kg_clip_describe(clip, &of_clip), KG_OK) << kg_last_error();
        auto of_model = sized<kg_model_info>();
        EXPECT_EQ(kg_model_describe(model_.get(), &of_model), KG_OK) << kg_last_error();
        auto of_weights = sized<kg_weights_info>();
        EXPECT_EQ(kg_weights_describe(weights_.get(), &of_weights), KG_OK) << kg_last_error();
    }

    std::vector<float> values_ = latents_of(1);
    kg_latents latents_ = view_of(values_);
};

TEST_F(CRaces, OfCallsOnAClipLeaveItUsable) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(2);
    const auto wanted = decode(clip().get(), values);
    auto desc = sized<kg_clip_desc>();
    desc.rewind_steps = 2;
    desc.fps = 25.0;
    desc.passes = 1;
    kg_clip* made = nullptr;
    ASSERT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
    const Owned<kg_clip> raced(made);
    race({
        [&] { EXPECT_EQ(kg_clip_passes(made, ignore_pass, nullptr), KG_OK) << kg_last_error(); },
        [&] { expect_status(kg_clip_push(made, &latents_, kShort, nullptr), "kg_clip_push"); },
        [&] { expect_status(kg_clip_push(made, &latents_, kShort, nullptr), "kg_clip_push"); },
        [&] { take_a_frame(made, false); },
        [&] { take_a_frame(made, true); },
        [&] { describe(made); },
        [&] { expect_status(kg_clip_reset(made), "kg_clip_reset"); },
        [&] { expect_status(kg_clip_cancel(made), "kg_clip_cancel"); },
        [&] { keep_state(made); },
        [&] { expect_status(kg_clip_rewind(made, 1, kShort), "kg_clip_rewind"); },
        [&] { expect_status(kg_clip_park(made, kShort), "kg_clip_park"); },
        [&] { expect_status(kg_clip_resume(made, kShort), "kg_clip_resume"); },
        [&] { fork(made); },
        [&] { make_another_clip(); },
    });
    ASSERT_EQ(kg_clip_reset(made), KG_OK) << kg_last_error();
    EXPECT_EQ(decode(made, values), wanted);
}

TEST_F(CRaces, OfCallsOnAnEncoderLeaveItUsable) {
    ASSERT_NO_FATAL_FAILURE(open());
    const std::vector<float> values(std::size_t{9} * kRacedHeight * kRacedWidth * 3, 0.25F);
    auto pictures = sized<kg_pictures>();
    pictures.type = KG_PICTURE_FLOAT32;
    pictures.data = values.data();
    const std::int64_t shape[] = {1, kRacedHeight, kRacedWidth, 3};
    std::memcpy(pictures.shape, shape, sizeof(shape));
    kg_encoder* made = nullptr;
    ASSERT_EQ(kg_encoder_create(model_.get(), kRacedHeight, kRacedWidth, nullptr, &made), KG_OK) << kg_last_error();
    const Owned<kg_encoder> raced(made);
    const auto take = [](kg_encoder* encoder, std::uint64_t timeout) {
        std::vector<float> latents(std::size_t{16} * 2 * 3);
        return kg_encoder_take(encoder, timeout, latents.data(), latents.size(), nullptr);
    };
    const auto push = [&] { expect_status(kg_encoder_push(made, &pictures, kShort, nullptr), "kg_encoder_push"); };
    race({
        push,
        push,
        push,
        [&] { expect_status(take(made, kShort), "kg_encoder_take"); },
        [&] { expect_status(take(made, kShort), "kg_encoder_take"); },
        [&] { expect_status(kg_encoder_finish(made, nullptr), "kg_encoder_finish"); },
        [&] { expect_status(kg_encoder_reset(made), "kg_encoder_reset"); },
        [&] { expect_status(kg_encoder_cancel(made), "kg_encoder_cancel"); },
        [&] {
            auto info = sized<kg_encoder_info>();
            expect_status(kg_encoder_describe(made, &info), "kg_encoder_describe");
        },
    });
    ASSERT_EQ(kg_encoder_reset(made), KG_OK) << kg_last_error();
    pictures.shape[0] = 9;
    ASSERT_EQ(kg_encoder_push(made, &pictures, kLong, nullptr), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_encoder_finish(made, nullptr), KG_OK) << kg_last_error();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(take(made, kLong), KG_OK) << kg_last_error();
    EXPECT_EQ(take(made, kLong), KG_END);
}

TEST_F(CRaces, OfCallsOnAReencoderLeaveItUsable) {
    ASSERT_NO_FATAL_FAILURE(open());
    kg_reencoder* made = nullptr;
    ASSERT_EQ(kg_reencoder_create(model_.get(), kHeight, kWidth, nullptr, &made), KG_OK) << kg_last_error();
    const Owned<kg_reencoder> raced(made);
    const auto with_room = [](const auto& call) {
        std::vector<float> latents(std::size_t{16} * kHeight * kWidth * 4);
        auto room = sized<kg_reencoded>();
        room.latents = latents.data();
        room.latents_count = latents.size();
        return call(&room);
    };
    const auto reencode = [&] {
        expect_status(with_room([&](kg_reencoded* room) { return kg_reencode(made, &latents_, nullptr, room); }),
                      "kg_reencode");
    };
    race({
        reencode,
        reencode,
        [&] {
            expect_status(with_room([&](kg_reencoded* room) { return kg_reencoder_finish(made, nullptr, room); }),
                          "kg_reencoder_finish");
        },
        [&] { expect_status(kg_reencoder_reset(made), "kg_reencoder_reset"); },
        [&] {
            auto info = sized<kg_encoder_info>();
            expect_status(kg_reencoder_describe(made, &info), "kg_reencoder_describe");
        },
    });
    ASSERT_EQ(kg_reencoder_reset(made), KG_OK) << kg_last_error();
    EXPECT_EQ(with_room([&](kg_reencoded* room) { return kg_reencode(made, &latents_, nullptr, room); }), KG_OK)
        << kg_last_error();
}

/// Handles of every type, each in use while another thread destroys it.
class CLives : public CRaces {
  protected:
    void SetUp() override {
        CRaces::SetUp();
        ASSERT_NO_FATAL_FAILURE(open());
        file_ = latents_file(latents_of(2));
        state_file_ = file_ + ".state";
        device_.device = "cpu";
        device_.precision = KG_PRECISION_FP32;
        make_all();
    }
    void make_all() {
        make_instance();
        make_stop();
        weights_slot_.renew("kg_weights_open",
                            [&](kg_weights** made) { return kg_weights_open(instance_.get(), kWeights, made); });
        make_model();
        make_clip();
        make_encoder();
        make_reencoder();
        make_state();
    }
    void TearDown() override {
        std::remove(file_.c_str());
        std::remove(state_file_.c_str());
    }

    void make_instance() {
        auto desc = sized<kg_instance_desc>();
        desc.header_version = kg_version();
        desc.log = [](void*, std::uint32_t, const char*) {};
        instances_.renew("kg_instance_create", [&](kg_instance** made) { return kg_instance_create(&desc, made); });
    }
    void make_stop() {
        stops_.renew("kg_stop_create",
                     [&](kg_stop** made) { return kg_stop_create(instances_.get(), KG_FOREVER, made); });
    }
    void open_weights(std::uint32_t way) {
        auto desc = sized<kg_weights_desc>();
        desc.path = kWeights;
        desc.stop = stops_.get();
        const char nonsense[8] = {1, 2, 3};
        weights_slot_.renew("kg_weights_open",
                            [&](kg_weights** made) {
                                kg_instance* const instance = instances_.get();
                                if (way == 0) return kg_weights_open(instance, kWeights, made);
                                if (way == 1) return kg_weights_open_until(instance, kWeights, stops_.get(), made);
                                if (way == 2) return kg_weights_create(instance, &desc, made);
                                return kg_weights_parse(instance, nonsense, sizeof(nonsense), "nonsense", nullptr,
                                                        nullptr, made);
                            },
                            {KG_ERROR_CORRUPT});
    }
    void make_model() {
        models_.renew("kg_model_create",
                      [&](kg_model** made) { return kg_model_create(weights_slot_.get(), &device_, made); });
    }
    void make_clip() {
        auto desc = sized<kg_clip_desc>();
        desc.fps = 25.0;
        clips_.renew("kg_clip_create",
                     [&](kg_clip** made) { return kg_clip_create(models_.get(), kHeight, kWidth, &desc, made); });
    }
    void make_encoder() {
        encoders_.renew("kg_encoder_create", [&](kg_encoder** made) {
            return kg_encoder_create(models_.get(), kRacedHeight, kRacedWidth, nullptr, made);
        });
    }
    void make_reencoder() {
        reencoders_.renew("kg_reencoder_create", [&](kg_reencoder** made) {
            return kg_reencoder_create(models_.get(), kHeight, kWidth, nullptr, made);
        });
    }
    void make_state() {
        states_.renew("kg_clip_save", [&](kg_state** made) { return kg_clip_save(clips_.get(), kShort, made); });
    }
    void use_file() {
        kg_clip* made = nullptr;
        auto desc = sized<kg_clip_desc>();
        desc.stop = stops_.get();
        expect_status(kg_clip_open(models_.get(), file_.c_str(), &desc, &made), "kg_clip_open");
        if (made == nullptr) return;
        take_a_frame(made, true);
        expect_status(kg_clip_close(made, kShort), "kg_clip_close");
        EXPECT_EQ(kg_clip_destroy(made), KG_OK) << kg_last_error();
    }
    void use_states() {
        auto info = sized<kg_state_info>();
        expect_status(kg_state_describe(states_.get(), &info), "kg_state_describe");
        expect_status(kg_state_write(states_.get(), state_file_.c_str()), "kg_state_write");
        std::string bytes;
        expect_status(kg_state_pack(states_.get(), append, &bytes), "kg_state_pack");
        states_.renew("kg_state_parse",
                      [&](kg_state** made) {
                          return kg_state_parse(instances_.get(), bytes.data(), bytes.size(), "packed", made);
                      },
                      {KG_ERROR_CORRUPT});
        states_.renew("kg_state_read",
                      [&](kg_state** made) { return kg_state_read(instances_.get(), state_file_.c_str(), made); },
                      {KG_ERROR_NOT_FOUND});
        expect_status(kg_clip_load(clips_.get(), states_.get(), kShort), "kg_clip_load");
    }
    void use_the_rest() {
        const auto ignore = [](void*, const kg_device_info*) {};
        expect_status(kg_list_devices(instances_.get(), ignore, nullptr), "kg_list_devices");
        auto of_weights = sized<kg_weights_info>();
        expect_status(kg_weights_describe(weights_slot_.get(), &of_weights), "kg_weights_describe");
        auto of_model = sized<kg_model_info>();
        expect_status(kg_model_describe(models_.get(), &of_model), "kg_model_describe");
        expect_status(kg_clip_passes(clips_.get(), ignore_pass, nullptr), "kg_clip_passes");
        auto of_encoder = sized<kg_encoder_info>();
        expect_status(kg_encoder_describe(encoders_.get(), &of_encoder), "kg_encoder_describe");
        expect_status(kg_encoder_cancel(encoders_.get()), "kg_encoder_cancel");
        expect_status(kg_reencoder_describe(reencoders_.get(), &of_encoder), "kg_reencoder_describe");
        expect_status(kg_reencoder_reset(reencoders_.get()), "kg_reencoder_reset");
    }

    Slot<kg_instance> instances_;
    Slot<kg_stop> stops_;
    Slot<kg_weights> weights_slot_;
    Slot<kg_model> models_;
    Slot<kg_clip> clips_;
    Slot<kg_encoder> encoders_;
    Slot<kg_reencoder> reencoders_;
    Slot<kg_state> states_;
    kg_model_desc device_ = sized<kg_model_desc>();
    std::string file_, state_file_;
};

TEST_F(CLives, OfHandlesEndWhileOtherThreadsUseThem) {
    const auto wanted = decode(clip().get(), latents_of(2));
    std::atomic<std::uint32_t> way = 0;
    race({
        [&] { make_instance(); },
        [&] { make_stop(); },
        [&] { expect_status(kg_stop_request(stops_.get()), "kg_stop_request"); },
        [&] { open_weights(way++ % 4); },
        [&] { make_model(); },
        [&] { make_clip(); },
        [&] { make_encoder(); },
        [&] { make_reencoder(); },
        [&] { make_state(); },
        [&] { use_states(); },
        [&] { use_file(); },
        [&] { use_the_rest(); },
        [&] { expect_status(kg_clip_push(clips_.get(), &latents_, kShort, nullptr), "kg_clip_push"); },
        [&] { expect_status(kg_clip_cancel(clips_.get()), "kg_clip_cancel"); },
    });
    ASSERT_NO_FATAL_FAILURE(make_all());
    EXPECT_EQ(decode(clips_.get(), latents_of(2)), wanted);
}

TEST(CRacedCalls, AreAllOfTheHeader) {
    const auto text_of = [](const std::string& path) {
        std::ifstream file(KINETOGRAPH_ASSETS "/../" + path);
        return std::string{std::istreambuf_iterator<char>(file), {}};
    };
    std::string raced = text_of("tests/compute/session/c/c_fixture.hpp");  // destroys handles
    for (const char* const name : {"c_races_test.cpp", "c_gpu_races_test.cpp", "c_vulkan_races_test.cpp"})
        raced += text_of(std::string("tests/compute/session/c/") + name);
    const std::string header = text_of("compute/session/c/kinetograph.h");
    const std::regex declaration("KG_API [^;]*?(kg_[a-z_0-9]+)\\(");
    int calls = 0;
    for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at, ++calls)
        EXPECT_NE(raced.find((*at)[1].str() + "("), std::string::npos) << (*at)[1];
    EXPECT_GT(calls, 50);
}

}  // namespace
}  // namespace kinetograph::c::testing
