#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/reference/convolution.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/engine/accel/backend.hpp>
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
    TestFrames(std::int64_t count, std::int64_t elements, Element element, std::mt19937& random)
        : bytes(static_cast<std::size_t>(count * elements) * element_bytes(element)) {
        const bool integers = element == Element::U8;
        std::uniform_real_distribution<double> draw(integers ? 0 : -1, integers ? 255 : 1);
        for (std::int64_t i = 0; i < count * elements; ++i) store_element(bytes.data(), i, element, draw(random));
        for (std::int64_t i = 0; i < count; ++i)
            addresses.push_back(bytes.data() + bytes.size() / static_cast<std::size_t>(count) * i);
    }
    std::vector<const std::byte*> inputs() const { return {addresses.begin(), addresses.end()}; }

    std::vector<std::byte> bytes;
    std::vector<std::byte*> addresses;
};

struct TestCase {
    explicit TestCase(const ConvProblem& p)
        : input(p.frames_in(), p.h * p.w * p.c_in, p.input.element, random),
          residual(p.frames_out(), p.pixels_out() * p.filter.k, p.output.element, random) {
        const bool integers = p.multiplies_integers();
        std::uniform_real_distribution<float> draw(integers ? -127.0F : -0.1F, integers ? 127.0F : 0.1F);
        for (std::int64_t i = 0; i < p.filter_elements(); ++i) parameters.filter.push_back(std::round(draw(random)));
        if (!integers)
            for (float& value : parameters.filter) value = draw(random);
        for (std::int64_t k = 0; k < p.filter.k; ++k) parameters.bias.push_back(draw(random));
    }

    std::mt19937 random{1};
    HostParameters parameters{};
    TestFrames input, residual;
};

/// The output's elements. Errors: those of `create` and of the stream.
template <class Create>
Result<std::vector<double>> outputs(accel::Device& device, const ConvProblem& p, const TestCase& test,
                                    const Create& create) {
    Weights weights(test.parameters);
    KG_TRY(const std::unique_ptr<Convolution> made, create(device, p, weights));
    KG_CHECK(made->pack());
    KG_TRY(const auto stream, device.create_stream("self-check"));
    std::mt19937 random;
    const std::int64_t elements = p.pixels_out() * p.filter.k;
    TestFrames output(p.frames_out(), elements, p.output.element, random);
    const auto input = test.input.inputs(), residual = test.residual.inputs();
    KG_TRY(const auto workspace, device.allocate("workspace", made->workspace_bytes()));
    KG_CHECK(made->enqueue(
        *stream, "self-check",
        {.input = input, .output = output.addresses, .residual = residual, .workspace = workspace->data()}));
    KG_CHECK(stream->synchronize());
    std::vector<double> values;
    for (std::int64_t i = 0; i < p.frames_out() * elements; ++i)
        values.push_back(load_element(output.bytes.data(), i, p.output.element));
    return values;
}

/// Relative L2 of the method's outputs beside the reference's. Errors: as outputs().
Result<double> relative_error(const Candidate& candidate, accel::Device& device, const ConvProblem& p) {
    const TestCase test(p);
    KG_TRY(const auto wanted, outputs(device, p, test, reference::create));
    KG_TRY(const auto got, outputs(device, p, test, candidate.create));
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        difference += (got[i] - wanted[i]) * (got[i] - wanted[i]);
        norm += wanted[i] * wanted[i];
    }
    return std::sqrt(difference / norm);
}

}  // namespace

std::string compare_with_reference(const Candidate& candidate, Element element) {
    const ConvProblem p = small_problem(element);
    const auto device = accel::find_backend(accel::DeviceInfo::kHost)->open(0, {});
    if (!device) return device.error().message;
    const auto row = explain_named(chip_of((*device)->info()), p, candidate.name);
    if (row && !row->open) return "";
    const auto error = relative_error(candidate, **device, p);
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

}  // namespace kinetograph::conv
