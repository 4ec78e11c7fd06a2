#include <kinetograph/compute/conv/direct/convolution.hpp>
#include <kinetograph/compute/conv/direct/tiled_convolution.hpp>
#include <kinetograph/kernels/conv/sub_pixel.hpp>

#include <omp.h>

#include <algorithm>

namespace kinetograph::conv::direct {
namespace {

constexpr std::int64_t kMaxRows = 16;            // output rows that a thread takes at a time
constexpr std::int64_t kInputBytes = 768 << 10;  // of input rows under the taps of a task: most of a 1 MiB cache
constexpr std::int64_t kSumsBytes = 256 << 10;   // of a thread, when sums wait for the next chunk of taps
constexpr std::int64_t kNormBytes = 128 << 10;   // of output rows that wait in the cache to be normed

constexpr std::int64_t kParities = 4;  // of an output row and column

/// The problem with the filter as it is packed. If the input is doubled, there is a filter of Q x 2 x 2 taps for each
/// parity of output row and column: Q x 3 x 3 taps become 4Q x 2 x 2.
ConvProblem packed_problem(ConvProblem problem) {
    if (problem.upsample) {
        problem.filter.q *= kParities;
        problem.filter.r = problem.filter.s = 2;
    }
    return problem;
}

const char* layout_of(const ConvProblem& problem) {
    const bool bf16 = problem.input.element == tensor::DType::BF16;
    if (problem.multiplies_integers()) return "blocks of u8";
    if (problem.upsample) return bf16 ? "sub-pixel blocks of bf16" : "sub-pixel blocks of f32";
    return bf16 ? "blocks of bf16" : "blocks of f32";
}

class DirectConvolution final : public TiledConvolution {
  public:
    DirectConvolution(accel::Device& device, const ConvProblem& problem, Weights& weights)
        : TiledConvolution(device, problem, packed_problem(problem),
                           problem.filter.q * (problem.upsample ? 2 : problem.filter.r), layout_of(problem), weights),
          parities_(problem.upsample ? kParities : 1),
          step_(problem.upsample ? 2 : 1),
          tap_rows_(problem.upsample ? 2 : problem.filter.r) {
        // Enough tasks to balance the threads, but few enough rows per task that the last frame's input is still in the
        // cache.
        const std::int64_t even = problem.n * problem.h_out() / (8 * threads());
        const std::int64_t cached = step_ * (kInputBytes / (problem.filter.q * input_row_bytes()) - tap_rows_ + 1);
        rows_a_task_ = std::clamp<std::int64_t>(std::min(even, cached), 1, kMaxRows);
        if (problem.norm != Norm::None) {
            rows_a_task_ = std::clamp<std::int64_t>(kNormBytes / output_row_bytes(), 1, rows_a_task_);
        }
        if (blocking().chunks > 1) {
            rows_a_task_ = std::clamp<std::int64_t>(kSumsBytes / row_sums_bytes(), 1, rows_a_task_);
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
        float* sums;      ///< used only with more than one chunk
        std::byte* bare;  ///< OutputRow::bare of the task's rows, one after another
    };
    /// A thread's lists.
    struct Lists {
        std::vector<TapRow> taps;
        std::vector<std::int32_t> offsets;  ///< OutputRow::offsets
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

    /// A thread's part of the workspace: sums, then bare rows.
    std::int64_t sums_bytes() const { return blocking().chunks > 1 ? rows_a_task_ * row_sums_bytes() : 0; }
    std::int64_t thread_bytes() const {
        const std::int64_t bare = problem().norm == Norm::Instead ? rows_a_task_ * output_row_bytes() : 0;
        return sums_bytes() + (bare + 63) / 64 * 64;
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
#pragma omp parallel num_threads(threads())
        {
            Lists lists{std::vector<TapRow>(p.filter.q * tap_rows_), {}};
            std::byte* own = frames.workspace + omp_get_thread_num() * thread_bytes();
            // A task is the same rows of all frames of a sample: each frame after the first finds most of its input in
            // the cache.
            const std::int64_t tasks = (p.h_out() + rows_a_task_ - 1) / rows_a_task_;
#pragma omp for schedule(dynamic)
            for (std::int64_t task = 0; task < p.n * tasks; ++task) {
                const std::int64_t first = task % tasks * rows_a_task_;
                const std::int64_t last = std::min(first + rows_a_task_, p.h_out());
                for (std::int64_t t = 0; t < p.d_out(); ++t) {
                    run_rows(
                        frames,
                        {task / tasks * p.d_out() + t, first, last, reinterpret_cast<float*>(own), own + sums_bytes()},
                        lists);
                }
            }
        }
    }

    void run_rows(const Frames& frames, const Rows& task, Lists& lists) const {
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
            Tile tile = tile_over(frames, row, block, parity, 0, lists.taps);
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
                Tile tile = tile_over(frames, row, block, parity, chunk, lists.taps);
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
    Tile tile_over(const Frames& frames, const OutputRow& row, const ChannelBlock& block, std::int64_t parity,
                   std::int64_t chunk, std::vector<TapRow>& taps) const {
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
            taps[count++] = {frames.input[sample * p.d + t_in] + y_in * input_row_bytes(),
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
};

}  // namespace

Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights) {
    return std::make_unique<DirectConvolution>(device, problem, weights);
}

}  // namespace kinetograph::conv::direct
