// kinetograph weights: the contents of a checkpoint, and what is wrong with it.
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/recognition.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/table.hpp>
#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace kinetograph::cli {
namespace {

/// [tensor's name] -> its type, of tensors whose type cannot be read.
using Unreadable = std::map<std::string, std::string>;

/// One tensor as the file stores it.
struct TensorRow {
    std::string name;
    tensor::DType dtype = tensor::DType::F32;
    tensor::Shape shape;
    double rms = 0, largest = 0;  ///< of the absolute values; NaN for types that are not floating point
    std::size_t not_finite = 0;   ///< elements
};

TensorRow measure(std::string name, tensor::DType dtype, tensor::Shape shape,
                  const Result<std::vector<float>>& values) {
    TensorRow row{std::move(name), dtype, std::move(shape), NAN, NAN, 0};
    if (!values) return row;
    double squares = 0;
    row.largest = 0;
    for (const float value : *values) {
        if (!std::isfinite(value)) {
            ++row.not_finite;
            continue;
        }
        squares += double(value) * double(value);
        row.largest = std::max(row.largest, std::abs(double(value)));
    }
    row.rms = values->empty() ? 0 : std::sqrt(squares / static_cast<double>(values->size()));
    return row;
}

std::vector<TensorRow> rows_of(const formats::TensorSource& file) {
    std::vector<TensorRow> rows;
    for (const auto& [name, view] : file.tensors()) {
        rows.push_back(measure(name, view.dtype, view.shape, tensor::to_f32(view, name)));
    }
    return rows;
}

std::vector<TensorRow> rows_of(const vae::Checkpoint& checkpoint) {
    std::vector<TensorRow> rows;
    for (const std::string& name : checkpoint.tensor_names()) {
        rows.push_back(measure(name, checkpoint.dtype(), *checkpoint.shape(name), checkpoint.load(name)));
    }
    return rows;
}

std::string_view to_string(vae::KeyNaming naming) {
    return naming == vae::KeyNaming::Original ? "original" : "diffusers";
}

nlohmann::ordered_json to_json(const std::vector<TensorRow>& rows, const Unreadable& unreadable,
                               const Result<vae::Checkpoint>& checkpoint) {
    nlohmann::ordered_json json;
    if (checkpoint) {
        json["architecture"] = checkpoint->family().name;
        json["dim"] = checkpoint->dim();
        json["z_dim"] = checkpoint->z_dim();
        json["encoder"] = checkpoint->has_encoder();
        json["naming"] = to_string(checkpoint->naming());
        json["dtype"] = tensor::to_string(checkpoint->dtype());
        json["parameters"] = checkpoint->parameters();
        json["hash"] = fmt::format("{:016x}", checkpoint->content_hash());
        json["latents_mean"] = checkpoint->latents_mean();
        json["latents_std"] = checkpoint->latents_std();
    }
    json["error"] = checkpoint ? nlohmann::ordered_json() : nlohmann::ordered_json(checkpoint.error().message);
    for (const TensorRow& row : rows) {
        json["tensors"].push_back({{"name", row.name},
                                   {"dtype", tensor::to_string(row.dtype)},
                                   {"shape", row.shape},
                                   {"rms", row.rms},
                                   {"largest", row.largest},
                                   {"not_finite", row.not_finite}});
    }
    if (!unreadable.empty()) json["unreadable"] = unreadable;
    return json;
}

std::string to_text(const std::vector<TensorRow>& rows, const Unreadable& unreadable,
                    const Result<vae::Checkpoint>& checkpoint) {
    Table table({"tensor", "dtype", "shape", ">elements", ">rms", ">largest", "finite"});
    for (const TensorRow& row : rows) {
        table.add({row.name, std::string(tensor::to_string(row.dtype)), tensor::to_string(row.shape),
                   fmt::format("{}", tensor::element_count(row.shape).value_or(0)), fmt::format("{:.4g}", row.rms),
                   fmt::format("{:.4g}", row.largest),
                   row.not_finite == 0 ? "yes" : fmt::format("{} are not", row.not_finite)});
    }
    std::string text = table.to_string();
    for (const auto& [name, type] : unreadable) text += fmt::format("{} is {}, which cannot be read\n", name, type);
    if (!checkpoint) return text;
    const auto list = [](const std::vector<float>& values) { return fmt::format("{:.4g}", fmt::join(values, " ")); };
    text += fmt::format("\n{}\n", checkpoint->name());
    text += fmt::format("  decoder     {}, dim {}, z_dim {}\n", checkpoint->family().name, checkpoint->dim(),
                        checkpoint->z_dim());
    text += fmt::format("  encoder     {}\n", checkpoint->has_encoder()                 ? "yes"
                                              : checkpoint->family().encoder == nullptr ? "not built for this family"
                                                                                        : "not in the file");
    text += fmt::format("  names       {}\n", to_string(checkpoint->naming()));
    text += fmt::format("  parameters  {} in the decoder, conv weights {}\n", checkpoint->parameters(),
                        tensor::to_string(checkpoint->dtype()));
    text += fmt::format("  hash        {:016x} (XXH3-64)\n", checkpoint->content_hash());
    text += fmt::format("  mean        {}\n", list(checkpoint->latents_mean()));
    text += fmt::format("  std         {}\n", list(checkpoint->latents_std()));
    return text;
}

Result<void> run(const std::string& spec, const std::string& json) {
    KG_CHECK(check_distinct(std::array{NamedFile{"CHECKPOINT", spec, NamedFile::Use::Read},
                                       NamedFile{"--json", json, NamedFile::Use::Written}}));
    const Result<vae::Checkpoint> checkpoint = vae::Checkpoint::open(spec);
    std::vector<TensorRow> rows;
    Unreadable unreadable;
    if (spec.starts_with("synthetic:")) {
        KG_CHECK(checkpoint);
        rows = rows_of(*checkpoint);
    } else {
        // A file that is not a usable checkpoint is shown anyway: its tensors tell what it is.
        KG_TRY(auto file, formats::open(vae::split_prefix(spec).first));
        rows = rows_of(file);
        unreadable = file.unreadable();
    }
    if (json.empty()) {
        KG_CHECK(print(to_text(rows, unreadable, checkpoint)));
    } else {
        KG_TRY(auto out, TextOutput::create(json));
        KG_CHECK(out.write(json_text(to_json(rows, unreadable, checkpoint))));
    }
    KG_CHECK(checkpoint);
    return {};
}

}  // namespace

void add_weights(CLI::App& app, Action& action) {
    struct Arguments {
        std::string spec, json;
    };
    auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand("weights", "Inspect a checkpoint: tensors, names, hash, what is wrong");
    command->add_option("checkpoint", arguments->spec, "Checkpoint: " + weights_help())
        ->required()
        ->check(check_name)
        ->type_name("CHECKPOINT");
    command->add_option("--json", arguments->json, "Write all of it here instead; -: to standard output")
        ->type_name("FILE");
    command->final_callback(
        [arguments, &action] { action = [arguments] { return run(arguments->spec, arguments->json); }; });
}

}  // namespace kinetograph::cli
