#include <kinetograph/compute/vae/step_list.hpp>

namespace kinetograph::vae {

namespace {

/// The item of a convolution in one of its parts; none of a head that computes nothing.
class ConvItems {
  public:
    ConvItems(const StepList& list, std::size_t begin, std::span<const std::int64_t> heights, StepItems& made)
        : list_(list), begin_(begin), heights_(heights), made_(made) {}

    void add(std::size_t at, Part part) {
        const auto* pass = std::get_if<nn::ConvPass>(&list_.passes[at]);
        if (pass == nullptr) return made_.items.push_back({at, part});
        if (pass->conv == list_.summed.conv) return part == Part::Head ? void() : add_summed(at, part, *pass);
        const std::int64_t all = list_.extents[pass->input].frames, tail = made_.tail_frames;
        const std::int64_t frames = part == Part::Whole ? all : part == Part::Tail ? tail : all - tail;
        conv::ConvProblem problem = problem_of(at, *pass, frames);
        problem.filter.k /= pass->shuffle;
        made_.items.push_back({at, part, std::vector(static_cast<std::size_t>(pass->shuffle), problem)});
    }

  private:
    void add_summed(std::size_t at, Part part, const nn::ConvPass& pass) {
        const std::int64_t history = pass.conv->history(), frames = list_.extents[pass.output].frames;
        const conv::ConvProblem whole = problem_of(at, pass, frames);
        StepItem item{at, part, {}, summed_runs(frames, list_.frames_of_latent, history, list_.summed.in_groups)};
        for (const SummedRun& run : item.runs) item.launches.push_back(summed_problem(whole, run, history));
        made_.items.push_back(std::move(item));
    }

    conv::ConvProblem problem_of(std::size_t at, const nn::ConvPass& pass, std::int64_t frames) const {
        conv::ConvProblem problem = list_.problem_of(pass, frames);
        if (!heights_.empty()) problem.h = heights_[at - begin_];
        return problem;
    }

    const StepList& list_;
    std::size_t begin_;
    std::span<const std::int64_t> heights_;  ///< [pass - begin_]
    StepItems& made_;
};

}  // namespace

conv::ConvProblem StepList::problem_of(const nn::ConvPass& pass, std::int64_t frames) const {
    nn::Extent x = extents[pass.input];
    x.frames = frames;
    conv::ConvProblem problem = nn::conv_problem(pass, x, stored);
    problem.residual = pass.residual.has_value();
    if (pass.norm) {
        problem.norm = pass.stored;
        problem.norm_activation = pass.norm->activation;
    }
    return problem;
}

StepItems StepList::items(std::size_t begin, std::size_t end, bool in_parts,
                          std::span<const std::int64_t> heights) const {
    const NetworkEnd parts = in_parts ? find_end(passes, extents, begin, summed.conv) : NetworkEnd{.first = end};
    StepItems made{.tail_frames = parts.tail_frames};
    ConvItems items(*this, begin, heights, made);
    for (std::size_t i = begin; i < parts.first; ++i) items.add(i, Part::Whole);
    for (std::size_t i = parts.first; i < end; ++i) {
        if (i == parts.first) items.add(i, Part::Head);
        if (i + 1 < end) items.add(i + 1, Part::Head);
        items.add(i, Part::Tail);
    }
    return made;
}

Result<StepList> list_step(const NetworkDesc& network, LatentSize size, StepKind kind,
                           const std::function<std::string_view(const conv::ConvProblem&)>& method_of) {
    const auto extents = [&](std::int64_t frames, bool first) {
        return nn::extents(network.network, {frames, size.height, size.width, network.network.input_channels()}, first);
    };
    StepList list{.extents = extents(kind.frames, kind.first),
                  .stored = nn::storages(network.network, network.dtype),
                  .one_step = network.one_step};
    KG_TRY(list.passes, nn::fuse(network.network, {.first_step = kind.first}));
    for (const nn::ByteLayer& layer : network.bytes) list.stored[layer.value] = layer.input;
    if (network.one_step) return list;
    // The same convolution in every kind of step, because a step reads the sums that the step before has kept.
    const auto later = extents(nn::rates(network.network).time.in, false);
    list.summed = find_summed(list.passes, later, list.stored, method_of);
    list.frames_of_latent = later.back().frames;
    return list;
}

}  // namespace kinetograph::vae
