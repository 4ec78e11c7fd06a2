// Every back end of the CPU against the fp64 reference on difficult shapes.
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include <algorithm>
#include <iterator>

namespace kinetograph::conv {
namespace {

using tensor::DType;

constexpr int kShapes = test::kAddressSanitized ? 120 : 480;

std::vector<ConvShape> shapes(std::uint64_t seed, int count) {
    std::vector<ConvShape> all = awkward_shapes(seed, count);
    std::ranges::copy(ring_shapes(), std::back_inserter(all));
    return all;
}

class ConvProperty : public testing::TestWithParam<Combination> {
  protected:
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

TEST_P(ConvProperty, AgreesWithTheFp64ReferenceOnAwkwardShapes) {
    const int tested = expect_agreement(*device_, GetParam(), shapes(7, kShapes));
    RecordProperty("shapes", tested);
    EXPECT_GE(tested, kShapes * 5 / 12);
}

TEST_P(ConvProperty, IsExactOnSmallIntegersWithOneRoundingAtTheEnd) {
    EXPECT_GE(expect_exactness(*device_, GetParam(), shapes(11, kShapes / 2)), kShapes * 5 / 24);
}

TEST_P(ConvProperty, TakesEveryNumberFromItsOwnPlace) {
    EXPECT_GE(expect_places(*device_, GetParam(), shapes(13, kShapes / 2)), kShapes * 5 / 24);
}

INSTANTIATE_TEST_SUITE_P(AllBackends, ConvProperty,
                         testing::Values(Combination{"direct-cpu", DType::F32, DType::F32},
                                         Combination{"direct-cpu", DType::BF16, DType::BF16},
                                         Combination{"direct-cpu", DType::BF16, DType::F32},
                                         Combination{"onednn-cpu", DType::F32, DType::F32},
                                         Combination{"onednn-cpu", DType::BF16, DType::BF16},
                                         Combination{"onednn-cpu", DType::BF16, DType::F32},
                                         Combination{"onednn-f32-cpu", DType::BF16, DType::BF16},
                                         Combination{"onednn-f32-cpu", DType::BF16, DType::F32}),
                         name_of);

}  // namespace
}  // namespace kinetograph::conv
