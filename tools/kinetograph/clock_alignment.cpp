#include <kinetograph/tools/kinetograph/clock_alignment.hpp>

#include <kinetograph/engine/vulkan/clock.hpp>

#include <array>
#include <cstdlib>
#include <thread>

namespace kinetograph::cli {
namespace {

constexpr std::string_view kReadTimer = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry read_timer(.param .u64 to)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u64 %rd2, %globaltimer;
    st.global.u64 [%rd1], %rd2;
    ret;
}
)";

/// Statements further apart than this are not of one timer.
constexpr Nanoseconds kOneTimer = std::chrono::milliseconds(5);
constexpr Nanoseconds kPause = std::chrono::milliseconds(3);  // spreads the readings over those of the clocks

struct Moment {
    std::uint64_t timer = 0;
    Nanoseconds before{}, after{};  ///< by the accelerator's clock
};

class TimerReader {
  public:
    static Result<TimerReader> create(accel::Device& device) {
        TimerReader reader;
        // The driver's compiler needs a null-terminated text.
        KG_TRY(reader.module_,
               device.load("read_timer", std::as_bytes(std::span(kReadTimer.data(), kReadTimer.size() + 1))));
        KG_TRY(reader.kernel_, reader.module_->kernel("read_timer"));
        KG_TRY(reader.value_, device.allocate("timer", sizeof(std::uint64_t)));
        KG_TRY(reader.stream_, device.create_stream("timer"));
        KG_TRY(reader.before_, device.create_event());
        KG_TRY(reader.after_, device.create_event());
        return reader;
    }

    Result<Moment> read() {
        const auto address = reinterpret_cast<std::uint64_t>(value_->data());
        stream_->record(before_);
        stream_->launch({.name = "read_timer",
                         .kernel = *kernel_,
                         .grid = {},
                         .block = {},
                         .arguments = std::as_bytes(std::span(&address, 1))});
        stream_->record(after_);
        Moment moment;
        KG_CHECK(stream_->read_back(std::as_writable_bytes(std::span(&moment.timer, 1)), value_->data()));
        const auto before = before_->time(), after = after_->time();
        if (!before || !after) return fail(ErrorCode::DeviceLost, "the events around a kernel that ran have no time");
        moment.before = *before;
        moment.after = *after;
        return moment;
    }

  private:
    std::shared_ptr<accel::Module> module_;
    std::shared_ptr<accel::Kernel> kernel_;
    std::unique_ptr<accel::Memory> value_;
    std::shared_ptr<accel::Event> before_, after_;
    std::unique_ptr<accel::Stream> stream_;
};

}  // namespace

Result<ClockAlignment> measure_alignment(accel::Device& accelerator, const vulkan::Device& display,
                                         std::int64_t count) {
    if (accelerator.info().kind != "cuda")
        return fail(ErrorCode::Unsupported, "only CUDA kernels read the timer that Vulkan stamps with, this is {}",
                    accelerator.info().name);
    if (!display.clock().available())
        return fail(ErrorCode::Unsupported, "{} has no time stamps", display.report().name);
    KG_TRY(auto reader, TimerReader::create(accelerator));
    ClockAlignment alignment;
    for (std::int64_t i = 0; i < count; ++i) {
        std::this_thread::sleep_for(kPause);
        display.clock().calibrate();
        KG_TRY(const Moment moment, reader.read());
        const Nanoseconds vulkan = display.clock().to_host(moment.timer, moment.after);
        const Nanoseconds distance = vulkan - moment.before - (moment.after - moment.before) / 2;
        if (std::abs(distance.count()) > kOneTimer.count())
            return fail(ErrorCode::Unsupported,
                        "Vulkan's time stamps on {} are not of the timer that kernels read: they are {} ms apart",
                        display.report().name, distance.count() / 1'000'000);
        alignment.distance.add(to_seconds(distance));
        alignment.width.add(to_seconds(moment.after - moment.before));
        if (const auto clock = accelerator.clock_quality()) alignment.accelerator_error = clock->error;
        alignment.vulkan_error = display.clock().error();
        alignment.excess.add(to_seconds(std::chrono::abs(distance) - (moment.after - moment.before) / 2 -
                                        alignment.accelerator_error - alignment.vulkan_error));
    }
    return alignment;
}

}  // namespace kinetograph::cli
