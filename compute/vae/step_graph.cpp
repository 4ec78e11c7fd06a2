#include <kinetograph/compute/vae/step_graph.hpp>

#include <kinetograph/compute/vae/pass_work.hpp>
#include <kinetograph/compute/vae/step_ends.hpp>
#include <kinetograph/compute/vae/step_list.hpp>

#include <optional>

namespace kinetograph::vae {

namespace {

using graph::Access;

class StepDeclaration {
  public:
    StepDeclaration(graph::FrameGraph& frame, const NetworkDesc& network, const StepList& list, const StackSize& size,
                    const StepResources& resources, std::span<TraceRequest> traces)
        : frame_(frame),
          network_(network),
          list_(list),
          size_(size),
          resources_(resources),
          placement_(resources.placement),
          operators_(&resources.operators),
          traces_(traces),
          extents_(list.extents),
          tensors_(extents_.size()),
          first_rows_(extents_.size()),
          tails_(extents_.size()),
          kept_for_(extents_.size()) {}

    Result<std::vector<graph::Buffer>> run(const InputBuffer& input, const StepOutput& output) {
        const nn::Value begin = nn::stored_input(network_.network);
        KG_TRY(const Tensor first,
               read_input(context(), input, tensor_of(extents_[nn::Network::input()], list_.stored[begin])));
        made(begin, first);
        KG_TRY(written_, begin_output(network_.network, extents_.back(), output));
        if (!resources_.shards.empty()) {
            KG_CHECK(declare_shards(output));
        } else if (size_.bands.count == 1) {
            declare(0, list_.passes.size(), in_parts());
            write(output);
        } else {
            KG_CHECK(declare_in_bands(output));
        }
        if (error_) return fail(std::move(*error_));
        return end_output(context(), output, std::move(written_));
    }

  private:
    bool in_parts() const { return traces_.empty() && !network_.one_step; }

    /// Declares the passes from `begin` on and before `end`.
    void declare(std::size_t begin, std::size_t end, bool in_parts, std::span<const std::int64_t> heights = {}) {
        const StepItems listed = list_.items(begin, end, in_parts, heights);
        tail_frames_ = listed.tail_frames;
        for (const StepItem& item : listed.items) {
            if (error_) return;
            if (band_) begin_pass(item.pass);
            std::visit([&](const auto& pass) { declare(pass, item); }, list_.passes[item.pass]);
        }
    }

    Result<void> declare_in_bands(const StepOutput& output) {
        const std::vector<nn::Pass>& passes = list_.passes;
        const auto cut = find_cut(passes, size_.bands.upsampling);
        if (!cut)
            return fail(ErrorCode::Unsupported, "the network cannot be cut into bands at its upsampling {}",
                        size_.bands.upsampling);
        declare(0, *cut, false);
        const Tensor before = tensors_[nn::input_of(passes[*cut])];
        const std::vector<Band> bands =
            BandCutter(passes, *cut, before.height, resources_.block).bands(size_.bands.count);
        for (std::size_t i = 0; i < bands.size() && !error_; ++i) {
            declare_band({bands[i], *cut, i}, rows_of(before, bands[i].read, 0));
            write(output);
        }
        return {};
    }

    /// The first device computes the passes before the cut and sends each of the others the rows that its band reads.
    Result<void> declare_shards(const StepOutput& output) {
        const std::vector<nn::Pass>& passes = list_.passes;
        const std::size_t cut = first_cut(network_.network, passes).value();
        declare(0, cut, false);
        if (error_) return {};
        const Tensor before = tensors_[nn::input_of(passes[cut])];
        const BandCutter cutter(passes, cut, before.height, resources_.block);
        std::vector<Band> bands;
        for (const Rows& made : resources_.shares) bands.push_back(cutter.band(made));
        std::vector<Tensor> inputs;
        for (const Band& band : bands) {
            const Tensor rows = rows_of(before, band.read, 0);
            inputs.push_back(inputs.empty() ? rows : send(rows, resources_.shards[inputs.size() - 1]));
        }
        for (std::size_t i = 0; i < bands.size() && !error_; ++i) {
            if (i > 0) {
                placement_ = resources_.shards[i - 1].placement;
                operators_ = &resources_.shards[i - 1].operators;
            }
            declare_band({bands[i], cut, i}, inputs[i]);
            if (i == 0 || writes_in_place(resources_.shards[i - 1], output))
                write(output);
            else
                write_by_way(output, resources_.shards[i - 1]);
        }
        return {};
    }

    /// Copies rows to the memory of another device.
    Tensor send(const Tensor& rows, const Shard& to) {
        const std::string name = fmt::format("rows for {}", graph::to_string(to.placement.lane));
        if (to.is_reached) return copy_rows(frame_, name, placement_.lane, rows, to.placement.memory);
        const Tensor met = copy_rows(frame_, name, placement_.lane, rows, graph::MemoryDomain::Host);
        return copy_rows(frame_, "rows from the host", to.placement.lane, met, to.placement.memory);
    }
    /// Whether the shard's kernels reach the frames' places.
    static bool writes_in_place(const Shard& shard, const StepOutput& output) {
        return shard.is_reached && output.domain == graph::MemoryDomain::Accelerator;
    }
    /// The shard writes its rows of the frames where the first device reaches them, which then puts them in place.
    void write_by_way(const StepOutput& output, const Shard& shard) {
        if (error_) return;
        StepOutput met = output;
        met.domain = shard.is_reached ? resources_.placement.memory : graph::MemoryDomain::Host;
        met.places = {};
        const Tensor rows = made_rows(tensors_.size() - 1);
        const PictureRows place = place_of(tensors_.size() - 1);
        Written made{.frames = {}, .not_finite = written_.not_finite};
        auto done = write_output(context(), rows, {0, rows.height}, met, made);
        if (!done) return note(std::move(done.error()), "");
        written_.not_finite = made.not_finite;
        const std::uint64_t row =
            static_cast<std::uint64_t>(rows.width) * bytes_per_pixel(output.format, rows.channels);
        put_rows(
            frame_, context().named("rows of the frames"), resources_.placement.lane,
            {made.frames, static_cast<std::uint64_t>(place.first) * row, static_cast<std::uint64_t>(rows.height) * row},
            written_);
    }

    struct DeclaredBand {
        Band band;
        std::size_t cut = 0;  ///< the pass that begins it
        std::size_t index = 0;
        Rows reads{};  ///< of the input of the pass that is being declared
    };
    /// Declares the passes of a band on the device of placement_, which begin with `rows` of the value at the cut.
    void declare_band(DeclaredBand band, const Tensor& rows) {
        tails_.assign(tails_.size(), {});
        kept_for_.assign(kept_for_.size(), {});
        std::vector<std::int64_t> heights;
        for (const Rows& reads : band.band.reads) heights.push_back(reads.count);
        const nn::Value begin = nn::input_of(list_.passes[band.cut]);
        tensors_[begin] = rows;
        first_rows_[begin] = band.band.read.first;
        band_ = std::move(band);
        declare(band_->cut, list_.passes.size(), in_parts(), heights);
    }
    /// What the pass makes has the rows on which it computes.
    void begin_pass(std::size_t pass) {
        band_->reads = band_->band.reads[pass - band_->cut];
        const nn::Value input = nn::input_of(list_.passes[pass]);
        for (const nn::Value output : nn::outputs_of(list_.passes[pass])) {
            const std::int64_t scale = list_.extents[output].height / list_.extents[input].height;
            extents_[output].height = scale * band_->reads.count;
            first_rows_[output] = scale * band_->reads.first;
        }
    }
    /// `rows`, in the picture's, of a tensor that begins with its row `first`.
    static Tensor rows_of(const Tensor& x, const Rows& rows, std::int64_t first) {
        return x.rows(rows.first - first, rows.count);
    }
    /// Of `x`, which is all or a part of `value`, what the pass that is being declared reads.
    Tensor read_of(nn::Value value, const Tensor& x) const {
        if (!band_ || !x.buffer) return x;
        return rows_of(x, band_->reads, first_rows_[value]);
    }

    void write(const StepOutput& output) {
        if (error_) return;
        auto done =
            write_output(context(), made_rows(tensors_.size() - 1), place_of(tensors_.size() - 1), output, written_);
        if (!done) note(std::move(done.error()), "");
    }

    /// Of what a band computes, the rows that it contributes to the picture.
    Tensor made_rows(nn::Value value) const {
        if (!band_) return tensors_[value];
        const PictureRows place = place_of(value);
        return rows_of(tensors_[value], {place.first, made_height(value)}, first_rows_[value]);
    }
    /// Where they lie in the whole value.
    PictureRows place_of(nn::Value value) const {
        if (!band_) return {0, tensors_[value].height};
        return {scale_of(value) * band_->band.made.first, list_.extents[value].height};
    }
    std::int64_t made_height(nn::Value value) const { return scale_of(value) * band_->band.made.count; }
    std::int64_t scale_of(nn::Value value) const {
        return list_.extents[value].height / list_.extents[nn::input_of(list_.passes[band_->cut])].height;
    }

    /// A pass's name, and the key of what it keeps.
    std::string named(const std::string& key) const { return context().named(key); }

    // ---- one method a pass -----------------------------------------------------------------------------------------

    void declare(const nn::NormPass& norm, const StepItem&) {
        const std::string name = named(norm.norm.norm->key);
        const Tensor x = read_of(norm.input, tensors_[norm.input]);
        const Operator op = bind(
            conv::NormProblem{x.pixels(), x.channels, x.stored, list_.stored[norm.norm.output], norm.norm.activation},
            name);
        struct Data {
            Tensor in, out;
        };
        const Data& data = frame_.add_pass<Data>(
            name, placement_.lane,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = create(pass, name, tensor_of(extents_[norm.norm.output], list_.stored[norm.norm.output]));
            },
            [op, gamma = value_or_note(placement_.parameters->gamma(norm.norm.norm->key))](const Data& d,
                                                                                           accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(lane, op->enqueue(lane.stream(), lane.pass_name(),
                                         {.input = input, .output = output, .parameters = gamma}));
            });
        made(norm.norm.output, data.out);
    }

    /// Named by its parameters' key. A time shuffle of factor n makes it n convolutions, each of which writes every
    /// n-th frame.
    void declare(const nn::ConvPass& fused, const StepItem& item) {
        if (!item.runs.empty()) return declare_summed(fused, item);
        const Part part = item.part;
        const std::string key = named(fused.conv->key);
        const Tensor x = part_of(fused.input, part);
        Tensor out = tensor_of(extents_[fused.output], list_.stored[fused.output]);
        if (part != Part::Whole) out.frames = x.frames;
        const std::vector<const conv::Convolution*> parts = convolutions(fused, item.launches);
        if (error_) return;
        const Tensor before = frames_before(fused, part);
        struct Data {
            Tensor before, in, residual, out, normed;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            part == Part::Tail ? key + ".tail" : key, placement_.lane,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                if (before.buffer) d.before = read(pass, before);
                if (fused.residual) {
                    d.residual = read(pass, part_of(*fused.residual, part));
                    d.out = part_of(*fused.residual, part);
                    d.out.buffer = pass.write(d.out.buffer, Access::KernelWrite);
                } else if (fused.stored != conv::Norm::Instead) {
                    d.out = place(pass, key, fused.output, part, out);
                }
                if (fused.norm) {
                    out.stored = list_.stored[fused.norm->output];
                    d.normed = place(pass, named(fused.norm->norm->key), fused.norm->output, part, out);
                }
                std::uint64_t bytes = 0;
                for (const conv::Convolution* each : parts) bytes = std::max(bytes, each->workspace_bytes());
                d.workspace = workspace(pass, key, bytes);
                pass.describe_work(work_of(parts));
            },
            [parts](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.before, d.in));
                const auto skip = read_only(addresses(lane, d.residual));
                const auto stored = addresses(lane, d.out), normed = addresses(lane, d.normed);
                std::byte* scratch = d.workspace ? lane.address(d.workspace) : nullptr;
                if (parts.size() == 1)
                    return report(lane, parts.front()->enqueue(lane.stream(), lane.pass_name(),
                                                               {input, stored, skip, scratch, normed}));
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    std::vector<std::byte*> shuffled;
                    for (std::size_t t = i; t < stored.size(); t += parts.size()) shuffled.push_back(stored[t]);
                    report(lane, parts[i]->enqueue(lane.stream(), lane.pass_name(), {input, shuffled, {}, scratch}));
                }
            });
        if (before.buffer && part == Part::Whole && !network_.one_step)
            keep(key, before.frames, tensors_[fused.input], before.buffer);
        if (fused.norm) made(fused.norm->output, part, data.normed);
        if (data.out.buffer) made(fused.output, part, data.out);
    }

    /// A convolution that keeps sums (kept_sums.hpp), whole: at a network's end after the tail of the pass before it.
    void declare_summed(const nn::ConvPass& fused, const StepItem& item) {
        const std::string key = named(fused.conv->key);
        const std::int64_t history = fused.conv->history();
        const Tensor x = read_of(fused.input, tensors_[fused.input]), tail = read_of(fused.input, tails_[fused.input]);
        const Tensor out = tensor_of(extents_[fused.output], list_.stored[fused.output]);
        Tensor kept = out;
        kept.frames = history;
        struct Run {
            SummedRun frames;
            const conv::Convolution* conv = nullptr;
        };
        std::vector<Run> runs;
        for (std::size_t i = 0; i < item.runs.size(); ++i)
            runs.push_back(
                {item.runs[i], convolution(*fused.conv, item.launches[i], list_.extents[fused.input].height, {}, {})});
        if (error_) return;
        kept.buffer = import_kept(key, history, kept);
        struct Data {
            Tensor in, tail, sums, out;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            key, placement_.lane,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                if (tail.buffer) d.tail = read(pass, tail);
                d.out = create(pass, key, out);
                d.sums = kept;
                d.sums.buffer = pass.write(pass.read(kept.buffer, Access::KernelRead), Access::KernelWrite);
                std::uint64_t bytes = 0;
                std::vector<const conv::Convolution*> convolutions;
                for (const Run& run : runs) {
                    bytes = std::max(bytes, run.conv->workspace_bytes());
                    convolutions.push_back(run.conv);
                }
                d.workspace = workspace(pass, key, bytes);
                pass.describe_work(work_of(convolutions));
            },
            [runs, history](const Data& d, accel::PassContext& lane) {
                using Kind = SummedRun::Kind;
                const auto input = read_only(addresses(lane, d.in, d.tail));
                const auto stored = addresses(lane, d.out), sums = addresses(lane, d.sums);
                const auto begun = read_only(sums);
                std::byte* scratch = d.workspace ? lane.address(d.workspace) : nullptr;
                for (const auto& [run, conv] : runs) {
                    const auto first = static_cast<std::size_t>(run.first), count = static_cast<std::size_t>(run.count);
                    const std::size_t reach = run.kind == Kind::Whole ? static_cast<std::size_t>(history) : 0;
                    std::vector<std::byte*> output;
                    if (run.kind != Kind::Keep)
                        output.assign(stored.begin() + run.first, stored.begin() + run.first + run.count);
                    if (run.kind == Kind::Keep || run.kind == Kind::Group)
                        output.insert(output.end(), sums.begin(), sums.end());
                    conv::ConvTensors tensors{.input = std::span(input).subspan(first - reach, count + reach),
                                              .output = output,
                                              .residual = {},
                                              .workspace = scratch};
                    if (run.kind == Kind::Begun) tensors.residual = std::span(begun).first(count);
                    if (run.kind == Kind::Group) tensors.residual = begun;
                    report(lane, conv->enqueue(lane.stream(), lane.pass_name(), tensors));
                }
            });
        frame_.export_contents(data.sums.buffer);
        made(fused.output, data.out);
    }

    /// The convolutions of a pass: one, or one for each part that a time shuffle stores as frames.
    std::vector<const conv::Convolution*> convolutions(const nn::ConvPass& fused,
                                                       std::span<const conv::ConvProblem> launches) {
        const std::string norm_key = fused.norm ? fused.norm->norm->key : "";
        std::vector<const conv::Convolution*> parts;
        for (const conv::ConvProblem& problem : launches) {
            const std::int64_t k = problem.filter.k, first = std::ssize(parts) * k;
            const OutputChannels channels = launches.size() == 1 ? OutputChannels{} : OutputChannels{first, k};
            parts.push_back(convolution(*fused.conv, problem, list_.extents[fused.input].height, channels, norm_key));
        }
        return parts;
    }

    void declare(const nn::AttentionPass& attention, const StepItem&) {
        const std::string& name = attention.attention->key;
        const Tensor& qkv = tensors_[attention.input];
        const Tensor out = tensor_of(extents_[attention.output], list_.stored[attention.output]);
        conv::AttentionProblem problem{qkv.pixels(), out.channels, qkv.stored, out.stored, attention.norm.has_value()};
        if (attention.norm) problem.norm_activation = attention.norm->activation;
        const Operator op = bind(problem, name);
        if (op == nullptr) return;
        const float* gamma =
            attention.norm ? value_or_note(placement_.parameters->gamma(attention.norm->norm->key)) : nullptr;
        struct Data {
            Tensor in, out, normed;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            name, placement_.lane,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, qkv);
                if (attention.norm) {
                    d.out = read(pass, tensors_[*attention.residual]);
                    d.out.buffer = pass.write(d.out.buffer, Access::KernelWrite);
                    d.normed = create(pass, attention.norm->norm->key, out);
                } else {
                    d.out = create(pass, name, out);
                }
                d.workspace = workspace(pass, name, op->workspace_bytes());
                pass.describe_work(work_of(*op, problem, out.frames));
            },
            [op, gamma, adds = problem.adds](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto made = addresses(lane, d.out), normed = addresses(lane, d.normed);
                report(lane, op->enqueue(lane.stream(), lane.pass_name(),
                                         {.input = input,
                                          .output = adds ? normed : made,
                                          .workspace = d.workspace ? lane.address(d.workspace) : nullptr,
                                          .sum = adds ? std::span(made) : std::span<std::byte* const>(),
                                          .parameters = gamma}));
            });
        if (attention.norm) made(attention.norm->output, data.normed);
        made(attention.output, data.out);
    }

    void declare(const nn::OperatorPass& own, const StepItem&) {
        const std::string name = named(own.key());
        const Tensor x = read_of(own.input, tensors_[own.input]);
        const Operator op = bind(own.problem({x.frames, x.height, x.width, x.channels}, x.stored), name);
        if (op == nullptr) return;
        const float* parameters =
            own.has_parameters() ? value_or_note(placement_.parameters->weight_and_bias(own.key())) : nullptr;
        struct Data {
            Tensor in, out;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            name, placement_.lane,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = create(pass, name, tensor_of(extents_[own.output], list_.stored[own.output]));
                d.workspace = workspace(pass, name, op->workspace_bytes());
            },
            [op, parameters, repeat = own.repeat](const Data& d, accel::PassContext& lane) {
                const auto input = repeated(read_only(addresses(lane, d.in)), repeat);
                const auto output = addresses(lane, d.out);
                report(lane, op->enqueue(lane.stream(), lane.pass_name(),
                                         {.input = input,
                                          .output = output,
                                          .workspace = d.workspace ? lane.address(d.workspace) : nullptr,
                                          .parameters = parameters}));
            });
        made(own.output, data.out);
    }

    void declare(const nn::DropPass& drop, const StepItem&) {
        Tensor rest = read_of(drop.input, tensors_[drop.input]);
        rest.first += drop.frames;
        rest.frames -= drop.frames;
        made(drop.output, rest);
    }

    void declare(const nn::KeepPass& skipped, const StepItem&) {
        if (network_.one_step) return;
        const std::string key = named(skipped.conv->key);
        const Tensor& x = tensors_[skipped.input];
        const std::int64_t history = skipped.conv->history();
        keep(key, history, x, kept_frames(key, history, x).buffer);
    }

    // ---- the end of a network, part by part ------------------------------------------------------------------------

    /// The frames of a value that belong to `part`; if the value was made whole, a view of it.
    Tensor part_of(nn::Value value, Part part) const {
        Tensor x = read_of(value, tensors_[value]);
        if (part == Part::Whole || (part == Part::Head && x.frames != extents_[value].frames)) return x;
        if (tails_[value].buffer && part == Part::Tail) return read_of(value, tails_[value]);
        x.frames -= tail_frames_;
        if (part == Part::Head) return x;
        x.first = x.frames;
        x.frames = tail_frames_;
        return x;
    }

    /// What the convolution reads before its input: the frames that it has kept, or the last of its head.
    Tensor frames_before(const nn::ConvPass& fused, Part part) {
        const std::int64_t history = fused.conv->history();
        if (history == 0) return {};
        if (part == Part::Tail) {
            Tensor x = part_of(fused.input, Part::Head);
            x.first += x.frames - history;
            x.frames = history;
            return x;
        }
        const Tensor kept = kept_frames(named(fused.conv->key), history, tensors_[fused.input]);
        if (part == Part::Head) kept_for_[fused.input] = kept.buffer;
        return read_of(fused.input, kept);
    }

    /// Where a pass writes `value`. The network's output stays in one piece.
    Tensor place(graph::PassBuilder& pass, const std::string& name, nn::Value value, Part part, Tensor out) {
        const bool is_output = value + 1 == tensors_.size();
        if (part == Part::Head && is_output) {
            const std::int64_t frames = out.frames;
            out.frames = extents_[value].frames;
            out = create(pass, name, out);
            out.frames = frames;
            return out;
        }
        if (part != Part::Tail) return create(pass, name, out);
        if (!is_output && !kept_for_[value]) return create(pass, name + ".tail", out);
        out.first = is_output ? tensors_[value].frames : 0;
        out.buffer = pass.write(is_output ? tensors_[value].buffer : kept_for_[value], Access::KernelWrite);
        return out;
    }

    void made(nn::Value value, Part part, const Tensor& tensor) {
        if (part == Part::Whole) return made(value, tensor);
        if (part == Part::Head) {
            tensors_[value] = tensor;
            return;
        }
        tails_[value] = tensor;
        if (kept_for_[value]) frame_.export_contents(tensor.buffer);
        if (value + 1 < tensors_.size()) return;
        tensors_[value].buffer = tensor.buffer;
        tensors_[value].frames += tensor.frames;
    }

    // ---- what they share -------------------------------------------------------------------------------------------

    StepContext context() const {
        return {frame_, network_, placement_, *operators_, band_ ? fmt::format(".band{}", band_->index) : ""};
    }

    Tensor create(graph::PassBuilder& pass, const std::string& name, const Tensor& tensor) const {
        return vae::create(pass, name, tensor, placement_.memory);
    }
    /// Reads a tensor. A band begins only when the band before it is written, so that values of one band at a time
    /// exist.
    Tensor read(graph::PassBuilder& pass, const Tensor& tensor) const {
        if (band_ && band_->index > 0 && resources_.shards.empty() &&
            tensor.buffer == tensors_[nn::input_of(list_.passes[band_->cut])].buffer)
            for (const graph::Buffer buffer : written_.frames) pass.read(buffer, Access::KernelRead);
        return vae::read(pass, tensor);
    }

    /// From here on passes that read `value` find it in `tensor`.
    void made(nn::Value value, const Tensor& tensor) {
        tensors_[value] = tensor;
        for (const auto& [which, module] : network_.network.modules())
            for (TraceRequest& trace : traces_) {
                if (which != value || trace.module != module || error_) continue;
                auto traced = write_trace(context(), made_rows(value), place_of(value), list_.extents[value], trace);
                if (!traced) note(std::move(traced.error()), "");
            }
    }

    /// The last frames that the convolution `key` has seen, kept from one step to the next: of a band all rows of `x`
    /// that were made, so that a tail can be made in their place.
    Tensor kept_frames(const std::string& key, std::int64_t history, Tensor x) {
        x.frames = history;
        x.first = x.top = x.frame_height = 0;
        x.buffer = import_kept(key, history, x);
        return x;
    }
    graph::Buffer import_kept(const std::string& key, std::int64_t history, const Tensor& x) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(history) * x.frame_bytes();
        const std::uint32_t device = placement_.memory.device();
        const bool is_zero = network_.one_step && x.stored.zero == 0;
        return frame_.import_buffer(
            key + ".kept", {bytes, 256, placement_.memory},
            resources_.find_kept(is_zero ? device == 0 ? ".zeros" : fmt::format(".zeros.band{}", device) : key, bytes,
                                 device));
    }

    /// Runs after the convolution, or where a step skips it: the newest frames of `x` replace the kept ones, which it
    /// has read.
    void keep(const std::string& key, std::int64_t history, const Tensor& x, graph::Buffer kept) {
        const Operator op =
            bind(conv::KeepFramesProblem{x.height * x.width * x.channels, x.stored, x.stored}, key + ".keep");
        struct Data {
            Tensor in;
            graph::Buffer out;
        };
        const Data& data = frame_.add_pass<Data>(
            key + ".keep", placement_.lane,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = pass.write(kept, Access::KernelWrite);
            },
            [history, op](const Data& d, accel::PassContext& lane) {
                const std::uint64_t bytes = d.in.frame_bytes();
                const std::vector<const std::byte*> made = read_only(addresses(lane, d.in));
                std::vector<std::byte*> slots;
                for (std::int64_t i = 0; i < history; ++i)
                    slots.push_back(lane.address(d.out) + static_cast<std::uint64_t>(i) * bytes);
                const std::size_t fresh = std::min(made.size(), slots.size());
                report(lane, op->enqueue(lane.stream(), lane.pass_name(),
                                         {.input = std::span(made).last(fresh), .output = slots}));
            });
        frame_.export_contents(data.out);
    }

    using Operator = std::shared_ptr<const nn::Operator>;
    /// Null after an error, which it notes.
    Operator bind(const conv::OpProblem& problem, const std::string& where) {
        auto found = operators_->get(problem);
        if (found) return std::move(*found);
        note(std::move(found.error()), where);
        return nullptr;
    }

    graph::Buffer workspace(graph::PassBuilder& pass, const std::string& name, std::uint64_t bytes) const {
        if (bytes == 0) return {};
        return pass.create(name + ".workspace", {bytes, 256, placement_.memory}, Access::KernelWrite);
    }

    const conv::Convolution* convolution(const nn::primitive::Conv& conv, const conv::ConvProblem& problem,
                                         std::int64_t whole_height, OutputChannels channels,
                                         const std::string& norm_key) {
        conv::ConvProblem whole = problem;
        whole.h = whole_height;
        auto found = placement_.parameters->convolution(conv, problem, whole, channels, norm_key);
        if (found) return *found;
        note(std::move(found.error()), "");
        return nullptr;
    }

    const float* value_or_note(Result<const float*> found) {
        if (found) return *found;
        note(std::move(found.error()), "");
        return nullptr;
    }

    void note(Error error, const std::string& where) {
        if (error_) return;
        if (!where.empty()) error.message = where + ": " + error.message;
        error_ = std::move(error);
    }

    graph::FrameGraph& frame_;
    const NetworkDesc& network_;
    const StepList& list_;
    const StackSize& size_;
    const StepResources& resources_;
    Placement placement_;             ///< of the passes that are being declared
    const nn::Operators* operators_;  ///< of their device
    std::span<TraceRequest> traces_;
    std::vector<nn::Extent> extents_;  ///< [nn::Value], of the band that is being declared
    std::vector<Tensor> tensors_;      ///< [nn::Value], of those that were made so far; heads of those made in parts
    std::vector<std::int64_t> first_rows_;  ///< [nn::Value], of a band: the picture's row that is the tensor's first
    std::vector<Tensor> tails_;             ///< [nn::Value], of those made in parts
    std::vector<graph::Buffer> kept_for_;   ///< [nn::Value], where a tail is kept for the next step
    std::int64_t tail_frames_ = 0;          ///< of the passes that are made in parts
    std::optional<DeclaredBand> band_;      ///< none: no band has begun
    Written written_;
    std::optional<Error> error_;
};

}  // namespace

nn::Extent output_shape(const NetworkDesc& network, const StackSize& size, StepKind kind) {
    return nn::extents(network.network, {kind.frames, size.height, size.width, network.network.input_channels()},
                       kind.first)
        .back();
}

std::byte fill_of_kept(const NetworkDesc& network, const std::string& key) {
    for (const nn::ByteLayer& layer : network.bytes)
        if (layer.owns(key)) return static_cast<std::byte>(layer.input.zero);
    return {};
}

std::uint64_t input_bytes(const NetworkDesc& network, const StackSize& size, std::int64_t frames, tensor::DType dtype) {
    return static_cast<std::uint64_t>(frames * network.network.input_channels() * size.height * size.width) *
           tensor::bytes_per_element(dtype);
}

Result<std::vector<graph::Buffer>> declare_step(graph::FrameGraph& frame, const NetworkDesc& network,
                                                const StackSize& size, StepKind kind, const StepResources& resources,
                                                const InputBuffer& input, const StepOutput& output) {
    const auto method_of = [&](const conv::ConvProblem& problem) {
        return resources.placement.parameters->method_of(problem);
    };
    KG_TRY(const StepList list, list_step(network, {size.height, size.width}, kind, method_of));
    return StepDeclaration(frame, network, list, size, resources, output.traces).run(input, output);
}

}  // namespace kinetograph::vae
