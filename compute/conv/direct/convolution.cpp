#include <kinetograph/compute/conv/direct/convolution.hpp>
#include <kinetograph/compute/conv/direct/tiled_convolution.hpp>
#include <kinetograph/compute/conv/widen.hpp>
#include <kinetograph/engine/base/processor.hpp>
#include <kinetograph/engine/base/workers.hpp>
#include <kinetograph/kernels/conv/sub_pixel.hpp>

#include <algorithm>

namespace kinetograph::conv::direct {
namespace {

constexpr std::int64_t kMaxRows = 16;  // output rows that a thread takes at a time

// Parts of a core's second-level cache.
constexpr std::int64_t input_part(std::int64_t cache) { return cache / 4 * 3; }  // of input rows under a task's taps
constexpr std::int64_t sums_part(std::int64_t cache) { return cache / 4; }  // when sums wait for the next chunk of taps
constexpr std::int64_t norm_part(std::int64_t cache) { return cache / 8; }  // of output rows that wait to be normed

constexpr std::int64_t kParities = 4;  // of an output row and column

/// The problem with the filter as it is packed. If the input is doubled, there is a filter of Q x 2 x 2 taps for each
/// parity of output row and column: Q x 3 x 3 taps become 4Q x 2 x 2.
ConvProblem packed_problem(ConvProblem problem) {
    problem.input.element = multiplied_element(problem.input.element, problem.c_in);
    if (problem.upsample) {
        problem.filter.q *= kParities;
        problem.filter.r = problem.filter.s = 2;
    }
    return problem;
}

class DirectConvolution final : public TiledConvolution {
  public:
    DirectConvolution(accel::Device& device, const ConvProblem& problem, Weights& weights)
        : TiledConvolution(device, problem, packed_problem(problem),
                           problem.filter.q * (problem.upsample ? 2 : problem.filter.r),
                           problem.upsample ? "sub-pixel blocks" : "blocks", weights),
          parities_(problem.upsample ? kParities : 1),
          step_(problem.upsample ? 2 : 1),
          tap_rows_(problem.upsample ? 2 : problem.filter.r) {
        // Enough tasks to balance the threads, but few enough rows per task that the last frame's input is still in the
        // cache.
        const std::int64_t cache = processor().cache_bytes;
        const std::int64_t even = problem.n * problem.h_out() / (8 * threads());
        const std::int64_t cached =
            step_ * (input_part(cache) / (problem.filter.q * multiplied_row_bytes()) - tap_rows_ + 1);
        rows_a_task_ = std::clamp<std::int64_t>(std::min(even, cached), 1, kMaxRows);
        if (problem.norm != Norm::None) {
            rows_a_task_ = std::clamp<std::int64_t>(norm_part(cache) / output_row_bytes(), 1, rows_a_task_);
        }
        if (blocking().chunks > 1) {
            rows_a_task_ = std::clamp<std::int64_t>(sums_part(cache) / row_sums_bytes(), 1, rows_a_task_);
        }
        for (std::int64_t first = 0; first < problem.h_out(); first += rows_a_task_) {
            const InputRows rows = input_rows(first, std::min(first + rows_a_task_, problem.h_out()));
            most_input_rows_ = std::max(most_input_rows_, rows.last - rows.first);
        }
    }

    std::string_view backend() const override {
        return problem().multiplies_integers() ? "direct-bytes-cpu" : "direct-cpu";
    }
    std::uint64_t workspace_bytes() const override { return static_cast<std::uint64_t>(threads() * thread_bytes()); }

  private:
    /// Rows [first, last) of an output frame, and the thread's buffers for them.
    struct Rows {
        std::int64_t frame, first, last;
        float* sums;         ///< used only with more than one chunk
        std::byte* bare;     ///< OutputRow::bare of the task's rows, one after another
        std::byte* widened;  ///< rows of input frames, used only if widens(): widened_row()
    };
    /// Rows of an input frame.
    struct InputRows {
        std::int64_t first = 0, last = 0;
    };
    /// A thread's lists.
    struct Lists {
        std::vector<TapRow> taps{};
        std::vector<std::int32_t> offsets{};  ///< OutputRow::offsets
        /// The input frame, counted in all samples, whose rows of the task are in each place for widened rows.
        std::vector<std::int64_t> widened{};
    };

    OutputRow output_row(const Rows& task, std::int64_t y) const {
        const bool stored = problem().norm != Norm::Instead;
        return {task.frame, y, stored ? nullptr : task.bare + (y - task.first) * output_row_bytes()};
    }
    /// The same with its offsets, which are valid until the next row's are made.
    OutputRow output_row(const Rows& task, std::int64_t y, Lists& lists) const {
        OutputRow row = output_row(task, y);
        const ConvProblem& p = problem();
        if (!p.multiplies_integers()) return row;
        lists.offsets.assign(static_cast<std::size_t>(p.filter.k), 0);
        for (std::int64_t i = 0; i < p.filter.q * tap_rows_; ++i) {
            if (!is_inside(row, i)) continue;
            const std::int32_t* added = packed().offsets.data() + i * p.filter.k;
            for (std::int64_t k = 0; k < p.filter.k; ++k) lists.offsets[k] += added[k];
        }
        row.offsets = lists.offsets.data();
        return row;
    }

    // ---- a thread's part of the workspace: sums, bare rows, widened rows --------------------------------------------

    std::int64_t sums_bytes() const { return blocking().chunks > 1 ? rows_a_task_ * row_sums_bytes() : 0; }
    std::int64_t bare_bytes() const {
        return problem().norm == Norm::Instead ? aligned(rows_a_task_ * output_row_bytes()) : 0;
    }
    std::int64_t widened_bytes() const {
        return widens() ? frames_spanned() * most_input_rows_ * aligned(multiplied_row_bytes()) : 0;
    }
    std::int64_t thread_bytes() const { return sums_bytes() + bare_bytes() + widened_bytes(); }
    Rows rows_of(std::int64_t frame, std::int64_t first, std::int64_t last, std::byte* own) const {
        std::byte* const bare = own + sums_bytes();
        return {frame, first, last, reinterpret_cast<float*>(own), bare, bare + bare_bytes()};
    }

    // ---- widened rows ----------------------------------------------------------------------------------------------

    /// Input frames from an output frame's first tap to its last.
    std::int64_t frames_spanned() const { return (problem().filter.q - 1) * problem().dilation.d + 1; }
    /// Inside the input, under output rows [first, last).
    InputRows input_rows(std::int64_t first, std::int64_t last) const {
        const std::int64_t begin = std::clamp<std::int64_t>(input_row(first, 0), 0, problem().h);
        return {begin, std::clamp<std::int64_t>(input_row(last - 1, tap_rows_ - 1) + 1, begin, problem().h)};
    }
    /// Row `y` of an input frame, which is in the place of its number.
    std::byte* widened_row(const Rows& task, std::int64_t t, std::int64_t y) const {
        const std::int64_t row = y - input_rows(task.first, task.last).first;
        return task.widened + (t % frames_spanned() * most_input_rows_ + row) * aligned(multiplied_row_bytes());
    }
    /// Makes the widened rows under the task that are not there from the task's frame before.
    void widen_rows(const Frames& frames, const Rows& task, Lists& lists) const {
        const ConvProblem& p = problem();
        const InputRows rows = input_rows(task.first, task.last);
        for (std::int64_t q = 0; q < p.filter.q; ++q) {
            const std::int64_t t = input_frame(p, task.frame % p.d_out(), q);
            if (t < 0 || t >= p.d) continue;
            const std::int64_t frame = task.frame / p.d_out() * p.d + t;
            std::int64_t& held = lists.widened[static_cast<std::size_t>(t % frames_spanned())];
            if (held == frame) continue;
            held = frame;
            for (std::int64_t y = rows.first; y < rows.last; ++y)
                widen(frames.input[frame] + y * input_row_bytes(), reinterpret_cast<float*>(widened_row(task, t, y)),
                      p.w * p.c_in);
        }
    }

    /// Bytes of the sums of one output row's tiles, for the block that needs most.
    std::int64_t row_sums_bytes() const {
        std::int64_t most = 0;
        for (const ChannelBlock& block : blocking().blocks) {
            const std::int64_t pixels = kernel(block).pixels;
            const std::int64_t tiles = (columns_of(0).count + pixels - 1) / pixels;
            most = std::max<std::int64_t>(most, tiles * kTileElements * 4);
        }
        return most;
    }

    std::vector<float> product_filter(std::span<const float> filter) const override {
        if (!problem().upsample) return {filter.begin(), filter.end()};
        std::vector<float> folded;
        folded.reserve(filter.size() / 9 * 4 * kParities);
        const ConvProblem& p = problem();
        SubPixelTap tap;
        for (tap.k = 0; tap.k < p.filter.k; ++tap.k)
            for (tap.c = 0; tap.c < p.c_in; ++tap.c)
                for (tap.parity = 0; tap.parity < kParities; ++tap.parity)
                    for (tap.q = 0; tap.q < p.filter.q; ++tap.q)
                        for (tap.r = 0; tap.r < 2; ++tap.r)
                            for (tap.s = 0; tap.s < 2; ++tap.s) folded.push_back(sub_pixel_weight(p, filter, tap));
        return folded;
    }

    // ---- the pixels of a parity: all of them, where the input is not doubled ---------------------------------------

    Columns columns_of(std::int64_t parity) const {
        if (!problem().upsample) return all_columns();
        return {.first_tap = parity % 2 - 1, .first = parity % 2, .step = 2, .count = problem().w};
    }
    /// The first of the task's rows of that parity; every step_-th row after it is of the same parity.
    std::int64_t first_row(const Rows& task, std::int64_t parity) const {
        return task.first + (task.first + parity / 2) % step_;
    }
    /// The input row under row `r` of the taps of output row `y`; negative or at least h in the padding.
    std::int64_t input_row(std::int64_t y, std::int64_t r) const {
        const ConvProblem& p = problem();
        return p.upsample ? (y + 1) / 2 - 1 + r : y * p.stride.h + r * p.dilation.h - p.pad.top;
    }

    /// Whether row `i` of the taps (q * tap_rows_ + r) meets the input.
    bool is_inside(const OutputRow& row, std::int64_t i) const {
        const ConvProblem& p = problem();
        const std::int64_t t = input_frame(p, row.frame % p.d_out(), i / tap_rows_);
        const std::int64_t y = input_row(row.y, i % tap_rows_);
        return t >= 0 && t < p.d && y >= 0 && y < p.h;
    }

    void run(const Frames& frames) const override {
        const ConvProblem& p = problem();
        std::vector<Lists> lists(static_cast<std::size_t>(threads()));
        // A task is the same rows of all frames of a sample: each frame after the first finds most of its input in the
        // cache.
        const std::int64_t tasks = (p.h_out() + rows_a_task_ - 1) / rows_a_task_;
        for_tasks(p.n * tasks, [&](std::int64_t task, int worker) {
            Lists& own = lists[static_cast<std::size_t>(worker)];
            own.taps.resize(static_cast<std::size_t>(p.filter.q * tap_rows_));
            own.widened.assign(static_cast<std::size_t>(frames_spanned()), -1);
            std::byte* const workspace = frames.workspace + worker * thread_bytes();
            const std::int64_t first = task % tasks * rows_a_task_;
            const std::int64_t last = std::min(first + rows_a_task_, p.h_out());
            for (std::int64_t t = 0; t < p.d_out(); ++t)
                run_rows(frames, rows_of(task / tasks * p.d_out() + t, first, last, workspace), own);
        });
    }

    void run_rows(const Frames& frames, const Rows& task, Lists& lists) const {
        if (widens()) widen_rows(frames, task, lists);
        for (const ChannelBlock& block : blocking().blocks) {
            for (std::int64_t parity = 0; parity < parities_; ++parity) {
                if (blocking().chunks == 1) {
                    run_whole(frames, task, block, parity, lists);
                } else {
                    run_chunks(frames, task, block, parity, lists);
                }
            }
        }
        if (problem().norm == Norm::None) return;
        for (std::int64_t y = task.first; y < task.last; ++y) norm_row(frames, output_row(task, y));
    }

    /// For filters whose blocks fit the cache: every tile is finished while its sums are in registers.
    void run_whole(const Frames& frames, const Rows& task, const ChannelBlock& block, std::int64_t parity,
                   Lists& lists) const {
        alignas(64) float sums[kTileElements];
        const TileKernel tile_kernel = kernel(block);
        const Columns columns = columns_of(parity);
        for (std::int64_t y = first_row(task, parity); y < task.last; y += step_) {
            const OutputRow row = output_row(task, y, lists);
            Tile tile = tile_over(frames, task, row, block, parity, 0, lists.taps);
            tile.sums = sums;
            for (std::int64_t x = 0; x < columns.count; x += tile_kernel.pixels) {
                run_tile(tile_kernel, tile, columns, x);
                finish_tile(frames, row, columns, x, block, tile);
            }
        }
    }

    /// For filters cut into chunks of taps: each chunk stays in the cache while all rows of the task are processed.
    void run_chunks(const Frames& frames, const Rows& task, const ChannelBlock& block, std::int64_t parity,
                    Lists& lists) const {
        const TileKernel tile_kernel = kernel(block);
        const Columns columns = columns_of(parity);
        for (std::int64_t chunk = 0; chunk < blocking().chunks; ++chunk) {
            for (std::int64_t y = first_row(task, parity); y < task.last; y += step_) {
                const OutputRow row = output_row(task, y, lists);
                Tile tile = tile_over(frames, task, row, block, parity, chunk, lists.taps);
                tile.sums = task.sums + (y - task.first) * row_sums_bytes() / 4;
                tile.add = chunk > 0;
                for (std::int64_t x = 0; x < columns.count; x += tile_kernel.pixels, tile.sums += kTileElements) {
                    run_tile(tile_kernel, tile, columns, x);
                    if (chunk + 1 == blocking().chunks) finish_tile(frames, row, columns, x, block, tile);
                }
            }
        }
    }

    /// The tile of a row, over those input rows and filter rows of a chunk that are inside the input.
    Tile tile_over(const Frames& frames, const Rows& task, const OutputRow& row, const ChannelBlock& block,
                   std::int64_t parity, std::int64_t chunk, std::vector<TapRow>& taps) const {
        const ConvProblem& p = problem();
        const std::int64_t t = row.frame % p.d_out(), sample = row.frame / p.d_out();
        const std::int64_t rows = p.filter.q * tap_rows_;
        const std::int64_t first = chunk * blocking().rows_a_chunk;
        const std::int64_t last = std::min(first + blocking().rows_a_chunk, rows);
        const std::byte* filter = packed().filter + block.filter_offset + parity * rows * block.row_bytes;
        std::int64_t count = 0;
        for (std::int64_t i = first; i < last; ++i) {
            if (!is_inside(row, i)) continue;
            const std::int64_t t_in = input_frame(p, t, i / tap_rows_), y_in = input_row(row.y, i % tap_rows_);
            taps[count++] = {
                widens() ? widened_row(task, t_in, y_in) : frames.input[sample * p.d + t_in] + y_in * input_row_bytes(),
                filter + i * block.row_bytes};
        }
        Tile tile = tile_of_row();
        tile.rows = taps.data();
        tile.row_count = count;
        return tile;
    }

    std::int64_t parities_;  ///< 4 if the input is doubled, else 1; each has its own filter
    std::int64_t step_;      ///< from one output row (or column) of a parity to the next
    std::int64_t tap_rows_;  ///< rows of taps in one temporal tap
    std::int64_t rows_a_task_ = 1;
    std::int64_t most_input_rows_ = 0;  ///< under the rows of a task
};

}  // namespace

Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights) {
    return std::make_unique<DirectConvolution>(device, problem, weights);
}

}  // namespace kinetograph::conv::direct
