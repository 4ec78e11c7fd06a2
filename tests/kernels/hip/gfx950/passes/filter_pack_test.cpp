#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/tests/kernels/hip/gfx950/passes/pass_run.hpp>

namespace kinetograph::gfx950 {
namespace {

/// The kernel that packs on the device writes the bytes that the host packs, and none beside them.
void expect_same_bytes(const conv::ConvProblem& problem, const ConvKernel& kernel, Element stored, FilterOrder order) {
    const FilterPackProblem pass{problem, kernel, stored, order};
    SCOPED_TRACE(std::string(kernel.name) + " by " + launch_shape(pass).kernel + ": " + problem.to_string());
    TestFrames given(stored, 1, static_cast<size_t>(problem.filter_elements()));
    given.fill(9, problem.weight.element == Element::F8E4M3 ? 200.0f : 1.0f);  // some beyond 448
    std::vector<float> values;
    for (size_t i = 0; i < given.elements(); ++i) values.push_back(given.get(0, i));
    const std::vector<std::byte> want = pack_filter(problem, kernel, values, order);
    ASSERT_EQ(packed_filter_bytes(problem, kernel), want.size());
    TestFrames packed(Element::F8E4M3, 1, want.size());
    expect_pass(
        launch_shape(pass), make_params(pass, given.frame(0), packed.frame(0)), [&] { packed.poison(); },
        [&] {
            packed.expect_guards();
            ASSERT_TRUE(std::equal(want.begin(), want.end(), packed.frame(0)));
        });
}

TEST(FilterPackGfx950, WritesTheHostsBytesForEveryPathOfTheKernels) {
    conv::ConvProblem problem;
    problem.d = problem.h = problem.w = 8;
    for (const ConvKernel& kernel : kConvKernels) {
        problem.input = problem.weight = kernel.element;
        problem.filter = {3, 2, 3, 3};
        problem.c_in = kernel.path == ConvPath::Uniform    ? kernel.tile.bk
                       : kernel.path == ConvPath::Elements ? 5
                       : kernel.path == ConvPath::Pieces   ? 12
                                                           : 40;
        for (const FilterOrder order : {FilterOrder::Kcqrs, FilterOrder::Kqrsc}) {
            expect_same_bytes(problem, kernel, Element::F32, order);
            if (element_bytes(kernel.element) == 2) expect_same_bytes(problem, kernel, kernel.element, order);
        }
        if (HasFatalFailure()) return;
    }
}

TEST(FilterPackGfx950, SumsTheTapsOfEveryParityOfADoubledImage) {
    conv::ConvProblem problem;
    problem.h = problem.w = 6;
    problem.c_in = 24;
    problem.filter = {5, 2, 3, 3};
    problem.d = 2;
    problem.pad = {0, 0, 1, 1, 1, 1};
    problem.upsample = true;
    for (const ConvKernel& kernel : kConvKernels) {
        if (kernel.element == Element::F8E4M3 || kernel.tile.bm != 128 || kernel.tile.bn != 128) continue;
        problem.input = problem.weight = kernel.element;
        ASSERT_TRUE(is_folded(problem));
        expect_same_bytes(problem, kernel, Element::F32, FilterOrder::Kcqrs);
        expect_same_bytes(problem, kernel, kernel.element, FilterOrder::Kqrsc);
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace kinetograph::gfx950
