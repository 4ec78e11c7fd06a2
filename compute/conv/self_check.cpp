#include <kinetograph/compute/conv/checked_kernels.hpp>
#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/norm_after.hpp>
#include <kinetograph/compute/conv/planned.hpp>
#include <kinetograph/compute/conv/reference/convolution.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/engine/accel/backend.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <cmath>
#include <map>
#include <random>

namespace kinetograph::conv {
namespace {

/// Padded on one side and ragged on the other: 13 columns are no multiple of any tile's pixels.
ConvProblem small_problem(Element element) {
    ConvProblem p;
    p.d = 4;
    p.h = 5;
    p.w = 13;
    p.c_in = 16;
    p.filter = {24, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.input = p.weight = p.output = p.normed = element;
    if (element == Element::U8) {
        p.weight = Element::I8;
        p.output = p.normed = Element::F32;
    }
    p.residual = true;
    p.activation = Activation::Relu;
    return p;
}

/// Frames of random numbers one after another, in [-1, 1] or, of integers, in 0 ... 255.
struct TestFrames {
    TestFrames(std::int64_t frames, std::int64_t elements, Element element, std::mt19937& random)
        : count(static_cast<std::size_t>(frames)),
          bytes(static_cast<std::size_t>(frames * elements) * element_bytes(element)) {
        const bool integers = element == Element::U8;
        std::uniform_real_distribution<double> draw(integers ? 0 : -1, integers ? 255 : 1);
        for (std::int64_t i = 0; i < frames * elements; ++i) store_element(bytes.data(), i, element, draw(random));
    }

    std::size_t count;
    std::vector<std::byte> bytes;
};

/// A copy of them on a device.
struct DeviceTestFrames {
    static Result<DeviceTestFrames> create(accel::Device& device, accel::Stream& stream, const TestFrames& frames) {
        DeviceTestFrames made;
        KG_TRY(made.memory, device.allocate("self-check", std::max<std::size_t>(frames.bytes.size(), 1)));
        KG_CHECK(stream.upload(made.memory->data(), frames.bytes));
        for (std::size_t i = 0; i < frames.count; ++i)
            made.addresses.push_back(made.memory->data() + frames.bytes.size() / frames.count * i);
        return made;
    }
    std::vector<const std::byte*> inputs() const { return {addresses.begin(), addresses.end()}; }
    Result<std::vector<std::byte>> read(accel::Stream& stream, std::size_t bytes) const {
        std::vector<std::byte> read(bytes);
        KG_CHECK(stream.read_back(read, memory->data()));
        return read;
    }

    std::unique_ptr<accel::Memory> memory;
    std::vector<std::byte*> addresses;
};

struct TestCase {
    explicit TestCase(const ConvProblem& p)
        : input(p.frames_in(), p.h * p.w * p.c_in, p.input.element, random),
          residual(p.residual_frames(), p.pixels_out() * p.filter.k, p.output.element, random) {
        const bool integers = p.multiplies_integers();
        std::uniform_real_distribution<float> draw(integers ? -127.0F : -0.1F, integers ? 127.0F : 0.1F);
        for (std::int64_t i = 0; i < p.filter_elements(); ++i) parameters.filter.push_back(std::round(draw(random)));
        if (!integers)
            for (float& value : parameters.filter) value = draw(random);
        for (std::int64_t k = 0; k < p.filter.k; ++k) {
            if (p.bias) parameters.bias.push_back(draw(random));
            if (p.channel_scales) parameters.scales.push_back(draw(random));
            if (p.norm != Norm::None) parameters.gamma.push_back(1 + draw(random));
        }
    }

    std::mt19937 random{1};
    HostParameters parameters{};
    TestFrames input, residual;
};

/// The elements of the output, or of the norm where that is stored, which comes last. Errors: those of `create` and of
/// the stream, and as wait_within().
template <class Create>
Result<std::vector<double>> outputs(accel::Device& device, const ConvProblem& p, const TestCase& test,
                                    Nanoseconds patience, const Create& create) {
    Weights weights(test.parameters);
    KG_TRY(const std::unique_ptr<Convolution> made, create(device, p, weights));
    KG_CHECK(made->pack());
    KG_TRY(auto stream, device.create_stream("self-check"));
    std::mt19937 random;
    const std::int64_t elements = p.pixels_out() * p.filter.k;
    const TestFrames none(0, elements, p.output.element, random);
    const TestFrames blank(p.frames_out(), elements, p.output.element, random);
    KG_TRY(const auto input, DeviceTestFrames::create(device, *stream, test.input));
    KG_TRY(const auto residual, DeviceTestFrames::create(device, *stream, test.residual));
    KG_TRY(const auto output, DeviceTestFrames::create(device, *stream, p.norm == Norm::Instead ? none : blank));
    KG_TRY(const auto normed, DeviceTestFrames::create(device, *stream, p.norm == Norm::None ? none : blank));
    KG_TRY(const auto workspace, device.allocate("workspace", std::max<std::uint64_t>(made->workspace_bytes(), 1)));
    const auto inputs = input.inputs(), residuals = residual.inputs();
    KG_CHECK(made->enqueue(*stream, "self-check",
                           {.input = inputs,
                            .output = output.addresses,
                            .residual = residuals,
                            .workspace = workspace->data(),
                            .normed = normed.addresses}));
    KG_CHECK(wait_within(device, stream, patience));
    std::vector<double> values;
    for (const DeviceTestFrames* frames : {&output, &normed}) {
        if (frames->addresses.empty()) continue;
        KG_TRY(const auto bytes, frames->read(*stream, blank.bytes.size()));
        for (std::int64_t i = 0; i < p.frames_out() * elements; ++i)
            values.push_back(load_element(bytes.data(), i, p.output.element));
    }
    return values;
}

Result<std::unique_ptr<Convolution>> create_reference(accel::Device& device, const ConvProblem& p, Weights& weights) {
    if (p.norm == Norm::None) return reference::create(device, p, weights);
    ConvProblem bare = p;
    bare.norm = Norm::None;
    KG_TRY(auto made, reference::create(device, bare, weights));
    return create_norm_after(p, std::move(made), weights.norm());
}

/// Relative L2 of what `create` makes for the device beside the reference's on `host`. Errors: as outputs().
template <class Create>
Result<double> error_of(accel::Device& host, accel::Device& device, const ConvProblem& p, Nanoseconds patience,
                        const Create& create) {
    const TestCase test(p);
    KG_TRY(const auto wanted, outputs(host, p, test, patience, create_reference));
    KG_TRY(const auto got, outputs(device, p, test, patience, create));
    return relative_error(got, wanted);
}

Result<std::unique_ptr<accel::Device>> open_host() {
    return accel::find_backend(accel::DeviceInfo::kHost)->open(0, {});
}

}  // namespace

double relative_error(std::span<const double> got, std::span<const double> wanted) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        difference += (got[i] - wanted[i]) * (got[i] - wanted[i]);
        norm += wanted[i] * wanted[i];
    }
    return std::sqrt(difference / norm);
}

Result<void> wait_within(accel::Device& device, std::unique_ptr<accel::Stream>& stream, Nanoseconds patience) {
    if (device.info().is_host()) return stream->synchronize();
    KG_TRY(const auto timeline, device.create_timeline());
    stream->signal(timeline, 1);
    if (timeline->wait(1, patience)) return stream->synchronize();
    stream.release()->give_up();
    return fail(ErrorCode::DeviceLost, "{} did not end a small problem within {} s", device.info().name,
                std::chrono::duration_cast<std::chrono::seconds>(patience).count());
}

std::string compare_with_reference(const Candidate& candidate, Element element) {
    const ConvProblem p = small_problem(element);
    const auto device = open_host();
    if (!device) return device.error().message;
    const auto row = explain_named(chip_of((*device)->info()), p, candidate.name);
    if (row && !row->open) return "";
    const auto error = error_of(**device, **device, p, kSelfCheckPatience, candidate.create);
    if (!error) return error.error().code == ErrorCode::Unsupported ? "" : error.error().message;
    // Of float32 2e-6 is expected, of bf16 2.5e-3, of Winograd's transforms in bf16 3.4e-3.
    const double limit = element == Element::BF16 ? 1e-2 : 1e-5;
    if (*error <= limit) return "";  // NaN is no agreement
    return fmt::format(
        "its sums are wrong on this processor: a small problem in {} has a relative error of {:.2g} "
        "against fp64",
        tensor::to_string(element), *error);
}

const std::string& self_check(const Candidate& candidate) {
    static Mutex mutex;
    static std::map<std::string, std::string, std::less<>> known;
    const Lock lock(mutex);
    if (const auto found = known.find(candidate.name); found != known.end()) return found->second;
    std::string wrong;
    const bool is_reference = candidate.create == reference::create;
    for (const Element element : {Element::F32, Element::BF16, Element::U8})
        if (wrong.empty() && !is_reference) wrong = compare_with_reference(candidate, element);
    return known.emplace(candidate.name, std::move(wrong)).first->second;
}

namespace {

/// The problem on few pixels and one or two frames, so that the fp64 loops take milliseconds.
ConvProblem few_pixels(ConvProblem p) {
    constexpr std::int64_t kMostPixels = 20, kMostProducts = 400'000'000;
    const std::int64_t frames = std::min<std::int64_t>(p.d_out(), 2);
    p.n = 1;
    p.d = std::max<std::int64_t>(
        1, (frames - 1) * p.stride.d + p.dilation.d * (p.filter.q - 1) + 1 - p.pad.front - p.pad.back);
    p.h = std::min(p.h, kMostPixels);
    p.w = std::min(p.w, kMostPixels + 1);
    const auto rows_fit = [&] { return p.h_seen() / 2 + p.pad.top + p.pad.bottom > p.dilation.h * (p.filter.r - 1); };
    while (p.h > 1 && rows_fit() && p.frames_out() * p.pixels_out() * p.taps() * p.c_in * p.filter.k > kMostProducts)
        p.h /= 2;
    if (p.norms_to_bytes() || p.output.element == Element::F16) {  // norms of which the loops have none
        p.norm = Norm::None;
        p.normed = p.output;
    }
    return p;
}

/// One kernel of a method, and the plan that runs a small problem with it.
struct KernelToCheck {
    std::string name;  ///< "implicit-gemm-sm100:sm100_halo_bf16_n96_32x8_3_32"
    ConvPlan plan;
};

std::string name_of(std::string_view method, std::string_view kernel) { return fmt::format("{}:{}", method, kernel); }
/// Of a method whose kernels have no names that one could ask for.
std::string name_of(std::string_view method, Element element) {
    return fmt::format("{} {}", method, tensor::to_string(element));
}

/// Those of the problem's plan: each that the method takes by name, else all together.
std::vector<KernelToCheck> kernels_to_check(const Candidate& candidate, const ConvPlan& plan, const ConvProblem& few,
                                            const Chip& chip) {
    std::vector<KernelToCheck> all;
    if (candidate.choice.kernels != nullptr) {
        const auto names = candidate.choice.kernels(few, chip);
        for (const KernelName& kernel : plan.kernels)
            if (std::ranges::find(names, kernel.kernel) != names.end())
                all.push_back(
                    {name_of(candidate.name, kernel.kernel), candidate.choice.plan(few, chip, kernel.kernel)});
    }
    if (all.empty()) all.push_back({name_of(candidate.name, few.input.element), candidate.plan(few, chip)});
    return all;
}

struct Checked {
    Mutex mutex;
    std::map<std::string, CheckedKernels, std::less<>> devices KG_GUARDED_BY(mutex);

    CheckedKernels& of(const accel::DeviceInfo& device) KG_REQUIRES(mutex) {
        const std::string key = device.driver + accel::uuid_text(device) + device.architecture;
        return devices.try_emplace(key, device).first->second;
    }
};

Checked& checked() {
    static Checked all;
    return all;
}

bool is_checked(const accel::DeviceInfo& device) {
    return (device.kind == "cuda" || device.kind == "hip") && device.can_load && self_checks_are_on();
}

Error closed_by_check(const std::string& kernel, const std::string& wrong) {
    return {ErrorCode::Unsupported, fmt::format("its self-check on this device failed: {}: {}", kernel, wrong)};
}

/// Runs the small problem. Returns what is wrong with its results; "" if nothing is.
Result<std::string> try_kernel(accel::Device& device, const Candidate& candidate, const ConvProblem& few,
                               const ConvPlan& plan, Nanoseconds patience) {
    KG_TRY(const auto host, open_host());
    KG_TRY(const double error,
           error_of(*host, device, few, patience, [&](accel::Device& on, const ConvProblem& p, Weights& weights) {
               return create_planned(on, p, plan, candidate.name, weights);
           }));
    // Of a missing tap of 27 it would be 0.2, of a wrong column of the image's edge some 0.1.
    const double limit = std::max(1e-5, 4 * expected_error(candidate.rounding, few.coarser_operand()));
    if (error <= limit) return "";  // NaN is no agreement
    return fmt::format("{} has a relative error of {:.2g} against fp64, wanted {:.2g}", few.to_string(), error, limit);
}

}  // namespace

Result<void> check_once(accel::Device& device, const std::string& kernel, std::string_view image,
                        const std::function<Result<std::string>()>& try_kernel) {
    if (!is_checked(device.info())) return {};
    const std::uint64_t code = image_hash(device.info(), image);
    const Lock lock(checked().mutex);
    CheckedKernels& known = checked().of(device.info());
    if (const auto wrong = known.find(kernel, code))
        return wrong->empty() ? Result<void>{} : fail(closed_by_check(kernel, *wrong));
    known.begin(kernel, code);
    auto tried = try_kernel();
    if (!tried && tried.error().code == ErrorCode::OutOfMemory) {  // not the kernel's: it stays unchecked
        known.withdraw(kernel, code);
        return {};
    }
    const std::string wrong = tried ? *tried : tried.error().message;
    known.end(kernel, code, wrong);
    if (!tried && tried.error().code == ErrorCode::DeviceLost)
        return fail(ErrorCode::DeviceLost,
                    "the self-check of {} failed: {}; later processes take another kernel, this one cannot use the "
                    "device any further (KINETOGRAPH_SELF_CHECK=off leaves checks out)",
                    kernel, wrong);
    return wrong.empty() ? Result<void>{} : fail(closed_by_check(kernel, wrong));
}

Result<void> self_check(accel::Device& device, const Candidate& candidate, const ConvProblem& problem,
                        const ConvPlan& plan, Nanoseconds patience) {
    if (!is_checked(device.info()) || problem.carried || problem.empty()) return {};
    const Chip chip = chip_of(device.info());
    const ConvProblem few = few_pixels(problem);
    if (!reasons(candidate.gates, {few, chip}).empty()) return {};
    for (const KernelToCheck& kernel : kernels_to_check(candidate, plan, few, chip)) {
        KG_TRY(const auto loaded, load(Kernels(device), kernel.plan.kernels));
        KG_CHECK(check_once(device, kernel.name, kernel.plan.kernels.front().image,
                            [&] { return try_kernel(device, candidate, few, kernel.plan, patience); }));
    }
    return {};
}

Result<std::vector<DispatchRow>> explain_checked(accel::Device& device, const ConvProblem& problem, Sums sums) {
    for (const DispatchRow& row : explain(device.info(), problem, sums)) {
        if (row.plan == nullptr) continue;
        KG_TRY(const Candidate* candidate, find_candidate(row.candidate));
        auto done = self_check(device, *candidate, problem, *row.plan);
        if (!done && done.error().code != ErrorCode::Unsupported) return fail(std::move(done.error()));
    }
    return explain(device.info(), problem, sums);
}

std::string failed_check(const accel::DeviceInfo& device, std::string_view method, const ConvProblem& problem,
                         const ConvPlan& plan) {
    if (!is_checked(device)) return "";
    const Lock lock(checked().mutex);
    const CheckedKernels& known = checked().of(device);
    const std::uint64_t code = image_hash(device, plan.kernels.front().image);
    std::vector<std::string> names{name_of(method, problem.input.element)};
    for (const KernelName& kernel : plan.kernels) names.push_back(name_of(method, kernel.kernel));
    for (const std::string& name : names)
        if (const auto wrong = known.find(name, code); wrong && !wrong->empty())
            return closed_by_check(name, *wrong).message;
    return "";
}

std::string self_check_text(const accel::DeviceInfo& device) {
    if (device.kind != "cuda" && device.kind != "hip") return "";
    if (!self_checks_are_on()) return "self-checks are off (KINETOGRAPH_SELF_CHECK)";
    const Lock lock(checked().mutex);
    const CheckedKernels& known = checked().of(device);
    std::string text = fmt::format("{} kernels agreed with fp64 in self-checks", known.agreeing());
    for (const auto& [kernel, wrong] : known.wrong()) text += fmt::format("; closed: {}: {}", kernel, wrong);
    return text;
}

}  // namespace kinetograph::conv
