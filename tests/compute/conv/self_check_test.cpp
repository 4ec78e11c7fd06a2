// The check of CPU methods against fp64: all pass here, one with wrong sums is named with its error.
#include <kinetograph/compute/conv/reference/convolution.hpp>
#include <kinetograph/compute/conv/self_check.hpp>

#include <gtest/gtest.h>

namespace kinetograph::conv {
namespace {

TEST(SelfCheck, PassesEveryMethodOfThisProcessor) {
    for (const Candidate& candidate : candidates()) {
        if (candidate.create == nullptr) continue;
        EXPECT_EQ(self_check(candidate), "") << candidate.name;
    }
}

TEST(SelfCheck, SaysHowFarTheSumsOfAWrongMethodAreFromThoseInFp64) {
    Candidate wrong = *find_candidate("reference-cpu").value();
    wrong.create = [](accel::Device& device, const ConvProblem& problem, Weights& weights) {
        ConvProblem without = problem;
        without.activation = Activation::None;
        return reference::create(device, without, weights);
    };
    for (const Element element : {Element::F32, Element::BF16}) {
        const std::string reason = compare_with_reference(wrong, element);
        EXPECT_TRUE(reason.starts_with("its sums are wrong on this processor: a small problem in " +
                                       std::string(tensor::to_string(element)) + " has a relative error of "))
            << reason;
    }
}

}  // namespace
}  // namespace kinetograph::conv
