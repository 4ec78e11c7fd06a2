// kinetograph families: the kinds of VAE that this build decodes, and which of them it encodes.
#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>
#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <nlohmann/json.hpp>

namespace kinetograph::cli {
namespace {

std::string to_text() {
    Table table({"family", "title", "latents", ">channels", ">width", ">space", ">time", "clip", "encodes"});
    for (const families::Family& family : families::all())
        table.add({family.name, family.title, family.latents, fmt::format("{}", family.published.z_dim),
                   fmt::format("{}", family.published.dim), fmt::format("{}x", family.rates.space.out),
                   fmt::format("{}x", family.rates.time.out),
                   family.one_latent_frame ? "one picture" : "1 frame, then more",
                   family.encoder == nullptr ? "no" : "yes"});
    return table.to_string();
}

nlohmann::ordered_json to_json() {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const families::Family& family : families::all())
        json.push_back({{"name", family.name},
                        {"title", family.title},
                        {"diffusers_class", family.diffusers_class},
                        {"latents", family.latents},
                        {"latent_channels", family.published.z_dim},
                        {"dim", family.published.dim},
                        {"space", family.rates.space.out},
                        {"time", family.rates.time.out},
                        {"one_latent_frame", family.one_latent_frame},
                        {"encodes", family.encoder != nullptr}});
    return json;
}

Result<void> list_families(const std::string& path) {
    if (path.empty()) return print(to_text());
    KG_TRY(auto out, TextOutput::create(path));
    return out.write(json_text(to_json()));
}

}  // namespace

void add_families(CLI::App& app, Action& action) {
    auto json = std::make_shared<std::string>();
    CLI::App* command =
        app.add_subcommand("families", "Kinds of VAE that can be decoded; each is synthetic:FAMILY too");
    command->add_option("--json", *json, "Write them here as JSON instead; -: to standard output")->type_name("FILE");
    command->final_callback([json, &action] { action = [json] { return list_families(*json); }; });
}

}  // namespace kinetograph::cli
