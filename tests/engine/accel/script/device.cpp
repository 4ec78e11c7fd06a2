#include "device.hpp"

#include "images.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

namespace kinetograph::accel::script {
namespace {

constexpr char kOwner{};

class ScriptKernel final : public Kernel {
  public:
    ScriptKernel(std::string name, char operation, int constant) : operation_(operation), constant_(constant) {
        info_.name = std::move(name);
        info_.max_threads = 1024;
        info_.argument_bytes = sizeof(Params);
    }
    const KernelInfo& info() const override { return info_; }
    const void* owner() const override { return &kOwner; }
    int operator()(int value) const { return operation_ == '*' ? value * constant_ : value + constant_; }

  private:
    KernelInfo info_;
    char operation_;
    int constant_;
};

class ScriptModule final : public Module {
  public:
    static Result<std::shared_ptr<Module>> load(std::span<const std::byte> image) {
        auto module = std::make_shared<ScriptModule>();
        std::istringstream text(std::string(reinterpret_cast<const char*>(image.data()), image.size()));
        std::string name;
        char operation = 0;
        for (int constant = 0; text >> name;) {
            if (!(text >> operation >> constant)) return fail(ErrorCode::Corrupt, "\"{}\" computes nothing", name);
            module->kernels_.push_back(std::make_shared<ScriptKernel>(name, operation, constant));
        }
        return module;
    }
    Result<std::shared_ptr<Kernel>> kernel(std::string_view name) override {
        for (const auto& kernel : kernels_)
            if (kernel->info().name == name) return kernel;
        return fail(ErrorCode::NotFound, "there is no kernel \"{}\"", name);
    }

  private:
    std::vector<std::shared_ptr<ScriptKernel>> kernels_;
};

/// The CPU's stream, which launches scripts too.
class ScriptStream final : public Stream {
  public:
    ScriptStream(Machine& machine, std::unique_ptr<Stream> host) : machine_(machine), host_(std::move(host)) {}
    void launch(const Launch& launch) override {
        ++machine_.launches;
        Params params{};
        std::memcpy(&params, launch.arguments.data(), sizeof(params));
        host_->enqueue(launch.name,
                       [params, kernel = static_cast<const ScriptKernel&>(launch.kernel)]() -> Result<void> {
                           std::transform(params.from, params.from + params.count, params.to, kernel);
                           return {};
                       });
    }
    void enqueue(std::string_view name, std::function<Result<void>()> work) override {
        host_->enqueue(name, std::move(work));
    }
    void fill(std::byte* address, std::byte value, std::uint64_t bytes) override { host_->fill(address, value, bytes); }
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override { host_->copy(to, from, bytes); }
    void wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) override {
        host_->wait(std::move(timeline), value);
    }
    void signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) override {
        host_->signal(std::move(timeline), value);
    }
    bool sees(const Timeline& timeline) const override { return host_->sees(timeline); }
    void record(std::shared_ptr<Event> event) override { host_->record(std::move(event)); }
    Result<void> begin_capture() override { return host_->begin_capture(); }
    Result<std::shared_ptr<Graph>> end_capture() override { return host_->end_capture(); }
    void replay(Graph& graph) override { host_->replay(graph); }
    Result<void> upload(std::byte* to, std::span<const std::byte> from) override { return host_->upload(to, from); }
    Result<void> read_back(std::span<std::byte> to, const std::byte* from) override {
        return host_->read_back(to, from);
    }
    Result<void> status() const override { return host_->status(); }
    Result<void> noted() const override { return host_->noted(); }
    Result<void> synchronize() override { return host_->synchronize(); }
    void give_up() override { machine_.given_up.emplace_back(this); }

  private:
    Machine& machine_;
    std::unique_ptr<Stream> host_;
};

class ScriptDevice final : public Device {
  public:
    ScriptDevice(std::shared_ptr<Machine> machine, const DeviceHooks& hooks)
        : Device(hooks.log), machine_(std::move(machine)), host_(cpu::create_device(hooks)), info_(host_->info()) {
        info_.kind = "script";
        info_.name = machine_->name;
        info_.features = info_.architecture = "text";
        info_.can_load = {true, ""};
    }
    const DeviceInfo& info() const override { return info_; }
    Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) override {
        return host_->allocate(name, bytes);
    }
    Result<std::unique_ptr<Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) override {
        return host_->allocate_pinned(name, bytes);
    }
    Result<std::unique_ptr<Memory>> import_host(std::string_view name, std::span<std::byte> memory) override {
        return host_->import_host(name, memory);
    }
    Result<std::unique_ptr<Memory>> import_memory(std::string_view name, const ExternalMemoryDesc& desc) override {
        return host_->import_memory(name, desc);
    }
    Result<std::unique_ptr<Stream>> create_stream(std::string_view name) override {
        KG_TRY(auto host, host_->create_stream(name));
        return std::make_unique<ScriptStream>(*machine_, std::move(host));
    }
    Result<std::shared_ptr<Timeline>> create_timeline() override { return host_->create_timeline(); }
    Result<std::shared_ptr<Timeline>> import_timeline(int fd, std::shared_ptr<Timeline> original) override {
        return host_->import_timeline(fd, std::move(original));
    }
    Result<std::shared_ptr<Event>> create_event() override { return host_->create_event(); }
    Result<std::shared_ptr<Module>> load(std::string_view name, std::span<const std::byte> image) override {
        ++machine_->loads;
        KG_TRY_IN(fmt::format("loading \"{}\"", name), auto module, ScriptModule::load(image));
        return module;
    }
    std::uint64_t bytes_allocated() const override { return host_->bytes_allocated(); }
    std::uint64_t peak_bytes() const override { return host_->peak_bytes(); }
    std::uint64_t bytes_free() const override { return host_->bytes_free(); }
    std::uint64_t budget_bytes() const override { return host_->budget_bytes(); }
    void set_budget(MemoryBudget budget) override { host_->set_budget(std::move(budget)); }

  private:
    std::shared_ptr<Machine> machine_;
    std::unique_ptr<Device> host_;
    DeviceInfo info_;
};

class Thermometer final : public Sensors {
    std::vector<SensorReading> read() override { return {{"temperature", "\u00b0C", 21.0}}; }
};

}  // namespace

Backend backend() {
    static constexpr std::array<std::string_view, 2> kFormats{"compressed script", "script"};
    return {.name = "script",
            .inspect = []() -> Result<std::vector<DeviceInfo>> {
                return std::vector{ScriptDevice(std::make_shared<Machine>(), {}).info()};
            },
            .open = [](std::uint32_t ordinal, const DeviceHooks& hooks) -> Result<std::unique_ptr<Device>> {
                if (ordinal > 0) return fail(ErrorCode::OutOfRange, "script device {}: there is one", ordinal);
                return std::make_unique<ScriptDevice>(std::make_shared<Machine>(), hooks);
            },
            .adopt = [](const void* callers, const DeviceHooks& hooks) -> Result<std::unique_ptr<Device>> {
                auto* const machine = static_cast<Machine*>(const_cast<void*>(callers));
                return std::make_unique<ScriptDevice>(std::shared_ptr<Machine>(std::shared_ptr<void>(), machine),
                                                      hooks);
            },
            .image_formats = kFormats,
            .open_sensors = [](const DeviceInfo& /*device*/, const SensorSources& /*sources*/)
                -> Result<std::unique_ptr<Sensors>> { return std::make_unique<Thermometer>(); },
            .dlpack_type = 12};
}

}  // namespace kinetograph::accel::script

namespace kinetograph::script {

conv::Images images() {
    return {.format = "script",
            .count = [] { return std::size_t{1}; },
            .find =
                [](std::string_view architecture, std::string_view name) {
                    static constexpr std::string_view kSteps = "twice * 2\nnext + 1\n";
                    const bool has = architecture == "text" && name == "steps";
                    return has ? std::as_bytes(std::span(kSteps)) : std::span<const std::byte>();
                },
            .compiler = [] { return std::string_view("written by hand"); }};
}

}  // namespace kinetograph::script
