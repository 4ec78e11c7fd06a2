// kinetograph weights, conv, graph and bench: their reports, and that their JSON is complete.
#include <gtest/gtest.h>
#include <kinetograph/tests/source_tree.hpp>

#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <fstream>

#include "latent_files.hpp"
#include "program_json.hpp"

namespace kinetograph::test {
namespace {

TEST(WeightsProgram, ShowsSizeNamesHashAndEveryTensorOfTheDemoCheckpoint) {
    const std::string path = (source_tree() / "assets/demo_vae.safetensors").string();
    const auto json = run_json({"weights", path});
    EXPECT_EQ(json.at("dim"), 32);
    EXPECT_EQ(json.at("z_dim"), 16);
    EXPECT_EQ(json.at("naming"), "original");
    EXPECT_EQ(json.at("hash").get<std::string>().size(), 16U);
    EXPECT_EQ(json.at("latents_std").size(), 16U);
    std::uint64_t elements = 0;
    for (const auto& tensor : json.at("tensors")) {
        EXPECT_EQ(tensor.at("dtype"), "BF16");
        std::uint64_t count = 1;
        for (const std::uint64_t side : tensor.at("shape")) count *= side;
        elements += count;
    }
    EXPECT_EQ(json.at("parameters"), elements);

    const auto text = run_program({"weights", path});
    EXPECT_NE(text.out.find("decoder.head.2.weight"), std::string::npos);
    EXPECT_NE(text.out.find(json.at("hash").get<std::string>()), std::string::npos);
}

TEST(WeightsProgram, RecognisesTheFamilyByItsClass) {
    const TemporaryFolder folder;
    auto file = CheckpointFile::synthetic(2);
    file.metadata["_class_name"] = "AutoencoderKLQwenImage";
    const std::string path = (folder.path() / "vae.safetensors").string();
    file.write(path);
    EXPECT_EQ(run_json({"weights", path}).at("architecture"), "qwen-image");
}

TEST(FamiliesProgram, ListsWhatCanBeDecodedAndEachIsACheckpointByRule) {
    const auto json = run_json({"families"});
    ASSERT_FALSE(json.empty());
    const auto text = run_program({"families"});
    for (const auto& family : json) {
        const std::string name = family.at("name");
        EXPECT_NE(text.out.find(name), std::string::npos) << text.out;
        const auto weights = run_json({"weights", "synthetic:" + name + ",dim=4"});
        EXPECT_EQ(weights.at("architecture"), name);
        EXPECT_EQ(weights.at("z_dim"), family.at("latent_channels"));
    }
}

TEST(WeightsProgram, ListsTheTensorsOfAFileThatIsNoCheckpointAndSaysWhatIsWrong) {
    const TemporaryFolder folder;
    const auto result = run_program({"weights", write_latents(folder, "clip.safetensors")});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.out.find("[16, 2, 4, 6]"), std::string::npos) << result.out;
    EXPECT_NE(result.messages.find("no tensor of any decoder is in it"), std::string::npos) << result.messages;
}

TEST(WeightsProgram, NamesTheTensorsOfTypesThatItCannotRead) {
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "quantised.safetensors").string();
    const std::string header = R"({"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]},)"
                               R"("b":{"dtype":"F16","shape":[1],"data_offsets":[2,4]}})";
    const std::uint64_t bytes = header.size();
    std::ofstream(path, std::ios::binary)
        << std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes) << header << std::string(4, '\0');
    const auto text = run_program({"weights", path});
    EXPECT_EQ(text.exit_code, 1);
    EXPECT_NE(text.out.find("a is \"F4\", which cannot be read"), std::string::npos) << text.out;
    const auto json = nlohmann::json::parse(run_program({"weights", path, "--json", "-"}).out);
    EXPECT_EQ(json.at("unreadable"), nlohmann::json({{"a", "\"F4\""}}));
    ASSERT_EQ(json.at("tensors").size(), 1U);
    EXPECT_EQ(json.at("tensors")[0].at("name"), "b");
}

TEST(ConvProgram, AgreesWithTheReferenceAndSaysWhoRanIt) {
    const auto json = run_json({"conv", "--input", "1,3,9,11,16", "--filter", "24,3,3,3", "--pad", "2,0,1,1,1,1",
                                "--residual", "--activation", "silu", "--dtype", "bf16"});
    EXPECT_LT(json.at("relative_l2").get<double>(),
              4e-3);  // one rounding to bf16: 2^-9 at most, 2^-9 / sqrt(3) typical
    EXPECT_GT(json.at("relative_l2").get<double>(), 0);
    EXPECT_GT(json.at("tflops").get<double>(), 0);
    EXPECT_FALSE(json.at("backend").get<std::string>().empty());
}

TEST(ConvProgram, RunsTheBackEndThatWasAskedFor) {
    const std::vector<std::string> problem{"conv", "--input", "1,1,6,7,4", "--filter", "8,1,3,3", "--dtype", "fp32"};
    auto arguments = problem;
    arguments.insert(arguments.end(), {"--backend", "reference-cpu"});
    EXPECT_EQ(run_json(arguments).at("backend"), "reference-cpu");
}

TEST(ConvProgram, TakesItsFilterFromACheckpointInTheLayoutThatIsNamed) {
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "filters.safetensors").string();
    std::vector<float> values(3 * 2 * 5 * 4 * 8);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) - 6;
    const std::array tensors{tensor::NamedTensor{
        "up.weight",
        {tensor::DType::F32, {3, 2, 5, 4, 8}, reinterpret_cast<const std::byte*>(values.data()), values.size() * 4}}};
    ASSERT_TRUE(tensor::write_safetensors(path, tensors));
    const auto problem = [&](const std::string& filter, const std::string& tensor, const std::string& layout) {
        return std::vector<std::string>{
            "conv", "--lane",  "cpu",  "--input",       "1,4,6,7,4",         "--filter",        filter, "--repeats",
            "1",    "--dtype", "fp32", "--filter-from", path + ":" + tensor, "--filter-layout", layout};
    };
    const auto json = run_json(problem("8,3,2,5", "up.weight", "qrscf"));
    EXPECT_LT(json.at("relative_l2").get<double>(), 2e-6);
    EXPECT_GT(json.at("max_abs_reference").get<double>(), 30);  // numbers up to 6: drawn ones stay below 1

    const auto other = run_program(problem("8,3,2,5", "up.weight", "kqrsc"));
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_NE(other.messages.find("\"up.weight\" has the shape [3, 2, 5, 4, 8], the filter of"), std::string::npos)
        << other.messages;
    const auto missing = run_program(problem("8,3,2,5", "down.weight", "qrscf"));
    EXPECT_NE(missing.messages.find("there is no tensor \"down.weight\""), std::string::npos) << missing.messages;
}

TEST(ConvProgram, ExplainPrintsTheDispatchListWithTheReferenceLast) {
    const auto result = run_program({"conv", "--input", "1,1,6,7,4", "--filter", "8,1,3,3", "--explain"});
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.out.find("reference-cpu"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("TFLOP/s"), std::string::npos) << result.out;
}

TEST(ConvProgram, ExplainsForAGpuThatIsNotThereAndRunsNothing) {
    const std::vector<std::string> problem{"conv",      "--input", "1,6,88,160,384", "--filter",
                                           "384,3,3,3", "--for",   "gfx950"};
    const auto text = run_program(problem);
    EXPECT_EQ(text.exit_code, 0) << text.messages;
    EXPECT_NE(text.out.find("on AMD Instinct MI355X (gfx950), described, not opened:"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("four-wave-gfx950"), std::string::npos) << text.out;
    EXPECT_EQ(text.out.find("TFLOP/s"), std::string::npos) << text.out;

    const auto json = run_json(problem);
    EXPECT_EQ(json.at("architecture"), "gfx950");
    EXPECT_GE(json.at("dispatch").size(), 6U);
    for (const auto& row : json.at("dispatch")) {
        EXPECT_EQ(row.at("open").get<bool>(), row.at("reason").get<std::string>().empty()) << row.dump();
        EXPECT_EQ(row.at("open").get<bool>(), row.at("expected_error").is_number()) << row.dump();
    }
}

TEST(ConvProgram, PlansForAGpuWhoseKernelsThisBuildNeedNotHave) {
    for (const char* chip : {"sm_90", "sm_100", "gfx950"}) {
        const auto json = run_json(
            {"conv", "--input", "1,6,88,160,384", "--filter", "384,3,3,3", "--pad", "0,0,1,1,1,1", "--for", chip});
        const auto& first = json.at("dispatch").at(0);
        EXPECT_TRUE(first.at("open").get<bool>()) << chip << ": " << first.dump();
        EXPECT_TRUE(first.at("predicted_seconds").is_number()) << first.dump();
    }
}

TEST(ConvProgram, ExplainsForAGpuTheBackEndThatIsAskedFor) {
    const auto explained = [](const std::string& backend) {
        return run_program({"conv", "--input", "1,6,88,160,384", "--filter", "384,3,3,3", "--pad", "0,0,1,1,1,1",
                            "--for", "sm_90", "--backend", backend});
    };
    const auto slices = explained("q-slice-sm90");
    EXPECT_EQ(slices.exit_code, 0) << slices.messages;
    EXPECT_NE(slices.out.find("q-slice-sm90  open, "), std::string::npos) << slices.out;
    EXPECT_EQ(slices.out.find("implicit-gemm-sm90"), std::string::npos) << slices.out;
    const auto closed = explained("im2col-gfx950");
    EXPECT_NE(closed.out.find("im2col-gfx950  closed: wants a gfx950 device, met cuda"), std::string::npos)
        << closed.out;
    const auto kernel = explained("implicit-gemm-sm90:none");
    EXPECT_EQ(kernel.exit_code, 1);
    EXPECT_NE(kernel.messages.find("implicit-gemm-sm90 has no kernel \"none\" for it; it has sm90_conv_"),
              std::string::npos)
        << kernel.messages;
}

TEST(ConvProgram, PrintsModelsApartFromMethods) {
    const std::vector<std::string> problem{"conv",  "--input",     "1,6,88,160,384", "--filter", "384,3,3,3",
                                           "--pad", "0,0,1,1,1,1", "--for",          "gfx950"};
    const auto text = run_program(problem);
    const auto models = text.out.find("models, without kernels:\n  winograd-time-gfx950  ");
    EXPECT_NE(models, std::string::npos) << text.out;
    EXPECT_EQ(text.out.find("winograd-time-gfx950"), text.out.find("winograd-time-gfx950", models)) << text.out;
    const auto json = run_json(problem);
    EXPECT_EQ(json.at("models").at(0).at("beside"), "four-wave-gfx950");
}

TEST(ConvProgram, ExplainsWhyGroupsAndUpsamplingCloseABackEnd) {
    const auto json = run_json(
        {"conv", "--input", "1,1,8,8,32", "--filter", "32,1,3,3", "--groups", "4", "--upsample", "--for", "gfx950"});
    const auto reason_of = [&json](std::string_view candidate) {
        for (const auto& row : json.at("dispatch"))
            if (row.at("candidate") == candidate) return row.at("reason").get<std::string>();
        return std::string();
    };
    EXPECT_NE(reason_of("four-wave-gfx950").find("wants groups 1, met 4"), std::string::npos)
        << reason_of("four-wave-gfx950");
    EXPECT_NE(reason_of("im2col-gfx950").find("one to upsample"), std::string::npos) << reason_of("im2col-gfx950");
}

TEST(ConvProgram, NamesTheArchitecturesThatItCanExplainFor) {
    const auto result = run_program({"conv", "--input", "1,1,6,7,4", "--filter", "8,1,3,3", "--for", "sm_70"});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.messages.find("sm_70 is none of sm_100|sm_90|sm_80|sm_86|sm_89|sm_120|gfx950"), std::string::npos)
        << result.messages;
}

TEST(ConvProgram, RefusesABackEndThatDoesNotExistWithTheListOfThoseThatDo) {
    const auto result = run_program({"conv", "--input", "1,1,6,7,4", "--filter", "8,1,3,3", "--backend", "abacus"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.messages.find("no back end is called abacus; there are implicit-gemm-sm100, "), std::string::npos)
        << result.messages;
}

TEST(ConvProgram, RefusesAProblemWithoutOutputNamingTheField) {
    const auto result = run_program({"conv", "--input", "1,1,2,2,4", "--filter", "8,1,3,3"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_FALSE(result.messages.empty());
}

TEST(GraphProgram, DumpsThePlanAsTableJsonAndGraphviz) {
    const std::vector<std::string> graph{"graph", "--weights", kSmallWeights, "--size", "48x32"};
    const auto table = run_program(graph);
    EXPECT_EQ(table.exit_code, 0) << table.messages;
    EXPECT_NE(table.out.find("passes in"), std::string::npos) << table.out;

    auto json = graph;
    json.emplace_back("--json");
    const auto dumped = run_program(json);
    EXPECT_EQ(dumped.exit_code, 0) << dumped.messages;
    EXPECT_FALSE(nlohmann::json::parse(dumped.out).empty());

    auto dot = graph;
    dot.emplace_back("--dot");
    EXPECT_EQ(run_program(dot).out.find("digraph"), 0U);
}

TEST(GraphProgram, TheFirstStepHasAnotherPlanThanLaterOnes) {
    const std::vector<std::string> graph{"graph", "--weights", kSmallWeights, "--size", "48x32", "--step"};
    auto first = graph, later = graph;
    first.emplace_back("first");
    later.emplace_back("later");
    EXPECT_NE(run_program(first).out, run_program(later).out);
}

}  // namespace
}  // namespace kinetograph::test
