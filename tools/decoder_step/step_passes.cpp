#include <kinetograph/tools/decoder_step/step_passes.hpp>

#include <kinetograph/compute/vae/step_list.hpp>

#include <algorithm>

namespace kinetograph::vae {
namespace {

using MethodOf = std::function<std::string_view(const conv::ConvProblem&)>;

/// What planners and benches read of a step's items.
class ListedPasses {
  public:
    ListedPasses(const NetworkDesc& network, const StepList& list)
        : network_(network), list_(list), extents_(list.extents) {}

    StepPasses run() {
        const nn::Value begin = nn::stored_input(network_.network), end = extents_.size() - 1;
        move("latents in", "unpack_latents", extents_[begin].frames, elements(begin) * sizeof(float) + bytes_of(begin));
        for (const StepItem& item : list_.items().items)
            std::visit([&](const auto& pass) { add(pass, item); }, list_.passes[item.pass]);
        move("frames out", "write_frames", extents_[end].frames, elements(end) * sizeof(float) + bytes_of(end));
        return std::move(step_);
    }

  private:
    void move(const char* kind, const std::string& name, std::int64_t launches, std::uint64_t bytes) {
        step_.others.emplace_back(StepMove{kind, name, launches, bytes});
        step_.passes.push_back({name});
    }
    std::uint64_t elements(nn::Value value) const { return static_cast<std::uint64_t>(extents_[value].elements()); }
    std::uint64_t bytes_of(nn::Value value) const {
        return elements(value) * element_bytes(list_.stored[value].element);
    }

    void add(const nn::NormPass& pass, const StepItem&) {
        move("norms", pass.norm.norm->key, 1, bytes_of(pass.input) + bytes_of(pass.norm.output));
    }
    void add(const nn::OperatorPass& pass, const StepItem&) {
        const char* const kind = pass.has_parameters() ? "norms" : "moved pixels";
        const std::uint64_t readings = pass.reads_picture() ? 2 : 1;
        move(kind, pass.key(), 1, readings * bytes_of(pass.input) + bytes_of(pass.output));
    }
    void add(const nn::DropPass&, const StepItem&) {}
    void add(const nn::KeepPass&, const StepItem&) {}

    void add(const nn::AttentionPass& pass, const StepItem&) {
        const nn::Extent qkv = extents_[pass.input], out = extents_[pass.output];
        const StepAttention attention{pass.attention->key, out.frames, qkv.height * qkv.width, out.channels,
                                      pass.norm.has_value()};
        step_.passes.push_back({attention.key, attention.operations()});
        step_.others.emplace_back(attention);
    }

    void add(const nn::ConvPass& pass, const StepItem& item) {
        const nn::Extent x = extents_[pass.input];
        const std::string& key = pass.conv->key;
        const bool summed = !item.runs.empty();
        const std::string name = item.part == Part::Tail && !summed ? key + ".tail" : key;
        double operations = 0;
        for (const conv::ConvProblem& problem : item.launches) {
            step_.launches.push_back({.pass = name,
                                      .key = key,
                                      .layer = list_.problem_of(pass, x.frames),
                                      .problem = problem,
                                      .frame_step = pass.shuffle});
            operations += problem.flops();
        }
        step_.passes.push_back({name, operations});
        const std::int64_t history = pass.conv->history();
        if (summed || item.part != Part::Whole || history == 0 || network_.one_step) return;
        const std::int64_t copies = x.frames < history ? 2 : 1;  // the frames that stay move up, then the new ones
        move("kept frames", key + ".keep", copies,
             2 * static_cast<std::uint64_t>(history) * bytes_of(pass.input) / static_cast<std::uint64_t>(x.frames));
    }

    const NetworkDesc& network_;
    const StepList& list_;
    std::span<const nn::Extent> extents_;
    StepPasses step_;
};

}  // namespace

double StepAttention::operations() const {
    return 4.0 * static_cast<double>(tokens) * static_cast<double>(tokens) * static_cast<double>(channels * frames);
}

StepMove StepAttention::sum_and_norm() const {
    constexpr std::int64_t kElementBytes = 2;
    return {"norms", key, frames, static_cast<std::uint64_t>(4 * frames * tokens * channels * kElementBytes)};
}

std::vector<StepConvolution> StepPasses::convolutions() const {
    std::vector<StepConvolution> found;
    for (const StepLaunch& launch : launches) {
        const auto same = std::ranges::find(found, launch.problem, &StepConvolution::problem);
        if (same != found.end())
            ++same->launches;
        else
            found.push_back({launch.key, launch.problem, 1});
    }
    return found;
}

Result<StepPasses> step_passes(const NetworkDesc& network, LatentSize size, const MethodOf& method_of, StepKind kind) {
    kind.first = kind.first || network.one_step;
    KG_TRY(const StepList list, list_step(network, size, kind, method_of));
    return ListedPasses(network, list).run();
}

}  // namespace kinetograph::vae
