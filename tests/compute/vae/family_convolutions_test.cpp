// Every convolution that a step of some family launches, on every back end of the CPU that is open for it, against
// fp64. CTest lists it once more for other values of KINETOGRAPH_CPU (CMakeLists.txt).
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/engine/base/processor.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tools/decoder_step/step_passes.hpp>

#include <algorithm>
#include <set>

namespace kinetograph::vae {
namespace {

using conv::ConvProblem;
using conv::ConvShape;
using conv::FrameLayout;
using tensor::DType;

/// The launch on a picture of few pixels, which lies in memory as in a decoder: after the frames that are kept.
ConvShape shape_of(const StepLaunch& launch) {
    ConvShape shape{launch.problem};
    ConvProblem& p = shape.problem;
    p.h = std::min<std::int64_t>(p.h, 5);
    p.w = std::min<std::int64_t>(p.w, 7);
    const std::int64_t kept = p.carried ? 0 : p.filter.q - 1;
    if (kept > 0) shape.input = FrameLayout::Ring;
    shape.seam = kept;
    if (launch.frame_step > 1) shape.output = FrameLayout::EveryOther;
    shape.in_place = p.residual;
    return shape;
}

bool alike(const ConvShape& a, const ConvShape& b) { return a.problem == b.problem && a.output == b.output; }

/// Of all families at an eighth of their widths: of a clip's first step and of a later one. Each kind once.
std::vector<ConvShape> shapes_of_families(const accel::DeviceInfo& device, DType dtype) {
    const auto method_of = [&](const ConvProblem& problem) { return conv::explain(device, problem).front().candidate; };
    std::vector<ConvShape> shapes;
    for (const families::Family& family : families::all()) {
        families::Widths widths = family.published;
        widths.dim = std::max<std::int64_t>(widths.dim / 8, 8);
        const NetworkDesc network{
            .network = families::decoder_of(family, widths), .one_step = family.one_latent_frame, .dtype = dtype};
        for (const bool first : {true, false}) {
            if (family.one_latent_frame && !first) continue;
            const auto step = step_passes(network, {.height = 3, .width = 4}, method_of, {.first = first});
            EXPECT_TRUE(step) << family.name << ": " << step.error().message;
            for (const StepLaunch& launch : step->launches) {
                const ConvShape shape = shape_of(launch);
                if (std::ranges::none_of(shapes, [&](const ConvShape& one) { return alike(one, shape); }))
                    shapes.push_back(shape);
            }
        }
    }
    return shapes;
}

class FamilyConvolutions : public testing::TestWithParam<DType> {
  protected:
    void SetUp() override {
        const Processor& here = processor();
        if (here.uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
        if (here.cap && *here.cap >= here.has)
            GTEST_SKIP() << "KINETOGRAPH_CPU=" << to_string(*here.cap)
                         << " changes nothing: this processor has nothing beyond " << to_string(here.has);
    }
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

TEST_P(FamilyConvolutions, AgreeWithTheFp64ReferenceOnEveryOpenBackEnd) {
    const std::vector<ConvShape> shapes = shapes_of_families(device_->info(), GetParam());
    std::set<std::pair<conv::Activation, bool>> epilogues;
    bool upsampled = false, normed = false, widened = false;
    for (const ConvShape& shape : shapes) {
        const ConvProblem& p = shape.problem;
        epilogues.insert({p.activation, p.residual});
        upsampled |= p.upsample;
        normed |= p.norm != conv::Norm::None;
        widened |= p.output.element != p.input.element;
    }
    EXPECT_TRUE(epilogues.contains({conv::Activation::Relu, true})) << "TAEHV adds a residual before its ReLU";
    EXPECT_TRUE(epilogues.contains({conv::Activation::None, true})) << "Wan adds one after";
    EXPECT_TRUE(upsampled && normed);
    EXPECT_EQ(widened, GetParam() != DType::F32) << "the last layer stores float32";

    std::map<std::string_view, int> tested;
    for (const DType output : std::set{GetParam(), DType::F32}) {
        std::vector<ConvShape> stored;
        std::ranges::copy_if(shapes, std::back_inserter(stored),
                             [&](const ConvShape& shape) { return shape.problem.output.element == output; });
        for (const conv::Candidate& candidate : conv::candidates())
            tested[candidate.name] += conv::expect_agreement(*device_, {candidate.name, GetParam(), output}, stored);
    }
    for (const auto& [name, count] : tested)
        if (count > 0) RecordProperty(std::string(name), count);
    EXPECT_GE(tested.at(GetParam() == DType::F32 ? "onednn-cpu" : "onednn-f32-cpu"), static_cast<int>(shapes.size()));
}

/// The fp64 loops check the others; a decoder that needed them would decode a hundred times more slowly than it should.
TEST_P(FamilyConvolutions, NeedNoPlainLoops) {
    for (const ConvShape& shape : shapes_of_families(device_->info(), GetParam()))
        EXPECT_NE(conv::explain(device_->info(), shape.problem).front().candidate, "reference-cpu")
            << shape.problem.to_string();
}

INSTANTIATE_TEST_SUITE_P(OfBothTypes, FamilyConvolutions, testing::Values(DType::F32, DType::BF16),
                         [](const auto& of) { return std::string(tensor::to_string(of.param)); });

}  // namespace
}  // namespace kinetograph::vae
