// Properties of every family.
#include <kinetograph/compute/families/family.hpp>

#include <gtest/gtest.h>

#include <set>

namespace kinetograph::families {
namespace {

TEST(Families, SayOfTheirNetworksWhatIsTrue) {
    for (const Family& family : all()) {
        const nn::Network network = family.decoder(family.published);
        EXPECT_EQ(nn::factors(network), family.factors) << family.name;
        EXPECT_EQ(network.input_channels(), family.published.z_dim) << family.name;
        EXPECT_EQ(family.statistics.mean.size(), static_cast<std::size_t>(family.published.z_dim)) << family.name;
        EXPECT_EQ(family.statistics.std.size(), static_cast<std::size_t>(family.published.z_dim)) << family.name;
        std::set<std::string> parameters;
        for (const nn::Parameter& parameter : nn::parameters(network)) parameters.insert(parameter.name);
        for (const WidthIn& width : {family.dim, family.z_dim})
            EXPECT_TRUE(parameters.contains(width.tensor)) << family.name << ": " << width.tensor;
    }
}

TEST(Families, AreToldApartByKeysOrByClass) {
    std::set<std::string> classes, names;
    for (const Family& family : all()) {
        EXPECT_TRUE(names.insert(family.name).second) << family.name;
        EXPECT_TRUE(family.has_keys_of_its_own || classes.insert(family.diffusers_class).second) << family.name;
    }
}

TEST(Families, CountTheFramesOfAClip) {
    const Family& wan = *find("wan2.1");
    EXPECT_EQ(wan.frames_of(0), 0);
    EXPECT_EQ(wan.frames_of(1), 1);
    EXPECT_EQ(wan.frames_of(5), 17);
    EXPECT_EQ(find("wan9"), nullptr);
}

}  // namespace
}  // namespace kinetograph::families
