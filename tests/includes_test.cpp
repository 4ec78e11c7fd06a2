// The house has floors: an include points into its own room or down, never up and never into a neighbour.
#include <kinetograph/tests/source_tree.hpp>

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace kinetograph::test {
namespace {

/// The rooms of each floor, from the top down. kernels/host_model is kernels/isa on the CPU: one room. bench/ measures
/// with a few of the tests' inputs.
const std::vector<std::vector<std::string>> kFloors = {
    {"bench/micro"},
    {"tests"},
    {"tools/kinetograph", "tools/gfx950"},
    {"tools/decoder_step", "tools/media", "samples/viewer", "samples/decode", "samples/embed", "samples/embed_c",
     "samples/embed_cuda", "samples/embed_overlay", "samples/embed_vulkan", "samples/plugin", "samples/sm100_function"},
    {"compute/live"},
    {"compute/session"},
    {"compute/stream"},
    {"compute/vae"},
    {"compute/families", "compute/formats"},
    {"compute/nn"},
    {"compute/conv"},
    {"compute/tensor"},
    {"engine/ui"},
    {"engine/interop", "engine/present"},
    {"engine/accel/vulkan"},
    {"engine/accel", "engine/vulkan"},
    {"engine/profile"},
    {"engine/graph"},
    {"engine/base"},
    {"kernels/cuda/sm100"},
    {"kernels/cuda/sm90", "kernels/cuda/sm80", "kernels/hip", "kernels/spirv"},
    {"kernels/cuda"},
    {"kernels/conv"},
    {"kernels/isa"},
};

struct Room {
    std::size_t floor;  ///< 0: the top
    std::string name;
};

/// The room with the longest name that holds the file; none if no room does.
std::optional<Room> room_of(std::string file) {
    const std::string host_model = "kernels/host_model/";
    if (file.starts_with(host_model)) file.replace(0, host_model.size(), "kernels/isa/");
    std::optional<Room> room;
    for (std::size_t floor = 0; floor < kFloors.size(); ++floor)
        for (const std::string& name : kFloors[floor])
            if (file.starts_with(name + '/') && (!room || name.size() > room->name.size())) room = {floor, name};
    return room;
}

/// The project's headers that a source includes, as paths in the tree.
std::vector<std::string> included(const std::string& source) {
    static const std::regex kInclude("^[ \t]*#[ \t]*include[ \t]*<kinetograph/([^>]*)>", std::regex::multiline);
    std::vector<std::string> paths;
    for (std::sregex_iterator found(source.begin(), source.end(), kInclude), end; found != end; ++found)
        paths.push_back((*found)[1]);
    return paths;
}

/// One sentence for each include of the file that does not point down.
std::vector<std::string> misdirected(const std::string& file, const std::string& source) {
    const auto from = room_of(file);
    if (!from) return {file + " is in no room of this test"};
    std::vector<std::string> wrong;
    for (const std::string& header : included(source)) {
        const auto to = room_of(header);
        if (!to || (to->name != from->name && to->floor <= from->floor)) wrong.push_back(file + " includes " + header);
    }
    return wrong;
}

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

TEST(Includes, PointDown) {
    static const std::set<std::string> kSources = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".hip", ".inc"};
    std::set<std::string> rooms;
    for (const char* top : {"bench", "compute", "engine", "kernels", "samples", "tools"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(source_tree() / top)) {
            if (!kSources.contains(entry.path().extension())) continue;
            const std::string file = std::filesystem::relative(entry.path(), source_tree());
            for (const std::string& sentence : misdirected(file, text_of(entry.path()))) ADD_FAILURE() << sentence;
            if (const auto room = room_of(file)) rooms.insert(room->name);
        }
    for (const auto& floor : kFloors)
        for (const std::string& name : floor)
            EXPECT_TRUE(name == "tests" || rooms.contains(name)) << "no source is in " << name;
}

/// What the test above would say of a file there that includes that header.
std::vector<std::string> with_include(const std::string& file, const std::string& header) {
    return misdirected(file, "#pragma once\n\n#include <vector>\n  #  include <kinetograph/" + header + ">\n");
}

TEST(Includes, ThatPointUpOrIntoANeighbourAreFound) {
    const std::array<std::pair<const char*, const char*>, 8> kWrong = {{
        {"engine/graph/plan.hpp", "compute/conv/dispatch.hpp"},
        {"compute/stream/stepper.hpp", "compute/session/session.hpp"},
        {"kernels/isa/convert.hpp", "kernels/conv/problem.hpp"},
        {"kernels/cuda/host/pack.hpp", "kernels/cuda/sm80/cost.hpp"},
        {"kernels/cuda/sm90/plan.cpp", "kernels/cuda/sm80/cost.hpp"},
        {"engine/vulkan/lane.hpp", "engine/accel/device.hpp"},
        {"compute/vae/model.hpp", "tests/source_tree.hpp"},
        {"compute/vae/model.hpp", "attic/model.hpp"},
    }};
    for (const auto& [file, header] : kWrong)
        EXPECT_EQ(with_include(file, header), std::vector<std::string>{std::string(file) + " includes " + header});
    EXPECT_TRUE(with_include("compute/conv/dispatch.hpp", "engine/graph/plan.hpp").empty());
    EXPECT_TRUE(with_include("kernels/conv/plan.hpp", "kernels/isa/element.hpp").empty());
    EXPECT_TRUE(with_include("kernels/isa/target.hpp", "kernels/host_model/instructions.hpp").empty());
    EXPECT_EQ(misdirected("attic/model.cpp", "").size(), 1u);
}

}  // namespace
}  // namespace kinetograph::test
