#include <gtest/gtest.h>

#include <kinetograph/engine/base/processor.hpp>

#include <iterator>
#include <set>
#include <sstream>

namespace kinetograph {
namespace {

constexpr InstructionSet kSets[] = {InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512,
                                    InstructionSet::Avx512Bf16, InstructionSet::Amx};

bool names(const std::string& features, std::string_view feature) {
    return (' ' + features + ' ').find(fmt::format(" {} ", feature)) != std::string::npos;
}

std::set<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

TEST(Processor, NamesEveryFeatureOnceAsUsedOrAsLacking) {
    const Processor here = inspect_processor("").value();
    EXPECT_EQ(words(here.features + ' ' + here.lacking),
              (std::set<std::string>{"avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile",
                                     "amx_bf16", "amx_int8"}));
    EXPECT_GE(here.cache_bytes, 64 << 10);
}

TEST(Processor, WithoutACapUsesAllThatItHas) {
    const Processor whole = inspect_processor("").value();
    EXPECT_EQ(whole.uses, whole.has);
    EXPECT_FALSE(whole.cap);
    EXPECT_EQ(whole.unused, "");
    EXPECT_EQ(names(whole.features, "avx2"), whole.has >= InstructionSet::Avx2);
    EXPECT_EQ(names(whole.features, "avx512f"), whole.has >= InstructionSet::Avx512);
    EXPECT_EQ(names(whole.features, "avx512_bf16"), whole.has >= InstructionSet::Avx512Bf16);
    EXPECT_EQ(names(whole.features, "amx_int8"), whole.has == InstructionSet::Amx);
}

TEST(Processor, UnderACapUsesNoMoreThanThatAndNamesWhatIsLeftOut) {
    const Processor whole = inspect_processor("").value();
    for (const InstructionSet cap : kSets) {
        const Processor capped = inspect_processor(to_string(cap)).value();
        EXPECT_EQ(capped.cap, cap);
        EXPECT_EQ(capped.has, whole.has);
        EXPECT_EQ(capped.uses, std::min(cap, whole.has));
        EXPECT_EQ(names(capped.features, "avx512f"), capped.uses >= InstructionSet::Avx512);
        EXPECT_EQ(words(capped.features + ' ' + capped.unused), words(whole.features));
        EXPECT_EQ(capped.lacking, whole.lacking);
    }
}

TEST(Processor, RefusesACapThatIsNoSetAndNamesThose) {
    const auto refused = inspect_processor("avx3");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(refused.error().message,
              "\"avx3\" is no set of instructions; there are baseline, avx2, avx512, avx512_bf16, amx");
}

}  // namespace
}  // namespace kinetograph
