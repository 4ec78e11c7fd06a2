#include <kinetograph/compute/conv/direct/convolution.hpp>
#include <kinetograph/compute/conv/direct/tiled_convolution.hpp>

#include <omp.h>

#include <algorithm>

namespace kinetograph::conv::direct {
namespace {

constexpr std::int64_t kMaxRows = 16;            // output rows that a thread takes at a time
constexpr std::int64_t kInputBytes = 768 << 10;  // of input rows under the taps of a task: most of a 1 MiB cache
constexpr std::int64_t kSumsBytes = 256 << 10;   // of a thread, when sums wait for the next chunk of taps
constexpr std::int64_t kNormBytes = 128 << 10;   // of output rows that wait in the cache to be normed

class DirectConvolution final : public TiledConvolution {
  public:
    DirectConvolution(accel::Device& device, const ConvProblem& problem, Weights& weights)
        : TiledConvolution(device, problem, problem,
                           problem.dtype == tensor::DType::BF16 ? "blocks of bf16" : "blocks of f32", weights) {
        // Enough tasks to balance the threads, but few enough rows per task that the last frame's input is still in the
        // cache.
        const std::int64_t even = problem.n * problem.h_out() / (8 * threads());
        const std::int64_t cached = kInputBytes / (problem.filter.q * input_row_bytes()) - problem.filter.r + 1;
        rows_a_task_ = std::clamp<std::int64_t>(std::min(even, cached), 1, kMaxRows);
        if (problem.norm != Norm::None) {
            rows_a_task_ = std::clamp<std::int64_t>(kNormBytes / output_row_bytes(), 1, rows_a_task_);
        }
        if (blocking().chunks > 1) {
            rows_a_task_ = std::clamp<std::int64_t>(kSumsBytes / row_sums_bytes(), 1, rows_a_task_);
        }
    }

    std::string_view backend() const override { return "direct-cpu"; }
    std::uint64_t workspace_bytes() const override { return static_cast<std::uint64_t>(threads() * thread_bytes()); }

  private:
    /// Rows [first, last) of an output frame, and the thread's buffers for them.
    struct Rows {
        std::int64_t frame, first, last;
        float* sums;      ///< with more than one chunk
        std::byte* bare;  ///< of OutputRow, for every row
    };

    OutputRow output_row(const Rows& task, std::int64_t y) const {
        const bool stored = problem().norm != Norm::Instead;
        return {task.frame, y, stored ? nullptr : task.bare + (y - task.first) * output_row_bytes()};
    }

    /// Of the workspace: sums, then bare rows.
    std::int64_t sums_bytes() const { return blocking().chunks > 1 ? rows_a_task_ * row_sums_bytes() : 0; }
    std::int64_t thread_bytes() const {
        const std::int64_t bare = problem().norm == Norm::Instead ? rows_a_task_ * output_row_bytes() : 0;
        return sums_bytes() + (bare + 63) / 64 * 64;
    }

    /// Tiles of one output row, for the block whose tiles are narrowest.
    std::int64_t row_sums_bytes() const {
        std::int64_t most = 0;
        for (const ChannelBlock& block : blocking().blocks) {
            const std::int64_t pixels = kernel(block).pixels;
            const std::int64_t tiles = (problem().w_out() + pixels - 1) / pixels;
            most = std::max<std::int64_t>(most, tiles * kTileElements * 4);
        }
        return most;
    }

    std::vector<float> product_filter(std::span<const float> filter) const override {
        return {filter.begin(), filter.end()};
    }

    void run(const Frames& frames) const override {
        const ConvProblem& p = problem();
#pragma omp parallel num_threads(threads())
        {
            std::vector<TapRow> taps(p.filter.q * p.filter.r);
            std::byte* own = frames.workspace + omp_get_thread_num() * thread_bytes();
            // A task is the same rows of all frames of a sample: each next frame finds most of its input in the cache.
            const std::int64_t tasks = (p.h_out() + rows_a_task_ - 1) / rows_a_task_;
#pragma omp for schedule(dynamic)
            for (std::int64_t task = 0; task < p.n * tasks; ++task) {
                const std::int64_t first = task % tasks * rows_a_task_;
                const std::int64_t last = std::min(first + rows_a_task_, p.h_out());
                for (std::int64_t t = 0; t < p.d_out(); ++t) {
                    run_rows(
                        frames,
                        {task / tasks * p.d_out() + t, first, last, reinterpret_cast<float*>(own), own + sums_bytes()},
                        taps);
                }
            }
        }
    }

    void run_rows(const Frames& frames, const Rows& task, std::vector<TapRow>& taps) const {
        for (const ChannelBlock& block : blocking().blocks) {
            if (blocking().chunks == 1) {
                run_whole(frames, task, block, taps);
            } else {
                run_chunks(frames, task, block, taps);
            }
        }
        if (problem().norm == Norm::None) return;
        for (std::int64_t y = task.first; y < task.last; ++y) norm_row(frames, output_row(task, y));
    }

    /// For filters whose blocks fit the cache: every tile is finished while its sums are in registers.
    void run_whole(const Frames& frames, const Rows& task, const ChannelBlock& block, std::vector<TapRow>& taps) const {
        alignas(64) float sums[kTileElements];
        const TileKernel tile_kernel = kernel(block);
        for (std::int64_t y = task.first; y < task.last; ++y) {
            Tile tile = tile_over(frames, output_row(task, y), block, 0, taps);
            tile.sums = sums;
            for (std::int64_t x = 0; x < problem().w_out(); x += tile_kernel.pixels) {
                run_tile(tile_kernel, tile, x);
                finish_tile(frames, output_row(task, y), x, block, tile);
            }
        }
    }

    /// For filters cut into chunks of taps: each chunk stays in the cache while all rows of the task are processed.
    void run_chunks(const Frames& frames, const Rows& task, const ChannelBlock& block,
                    std::vector<TapRow>& taps) const {
        const TileKernel tile_kernel = kernel(block);
        for (std::int64_t chunk = 0; chunk < blocking().chunks; ++chunk) {
            for (std::int64_t y = task.first; y < task.last; ++y) {
                Tile tile = tile_over(frames, output_row(task, y), block, chunk, taps);
                tile.sums = task.sums + (y - task.first) * row_sums_bytes() / 4;
                tile.add = chunk > 0;
                for (std::int64_t x = 0; x < problem().w_out(); x += tile_kernel.pixels, tile.sums += kTileElements) {
                    run_tile(tile_kernel, tile, x);
                    if (chunk + 1 == blocking().chunks) finish_tile(frames, output_row(task, y), x, block, tile);
                }
            }
        }
    }

    /// The tile of a row, over those input rows and filter rows of a chunk that are inside the input.
    Tile tile_over(const Frames& frames, const OutputRow& row, const ChannelBlock& block, std::int64_t chunk,
                   std::vector<TapRow>& taps) const {
        const ConvProblem& p = problem();
        const std::int64_t t = row.frame % p.d_out(), sample = row.frame / p.d_out();
        const std::int64_t first = chunk * blocking().rows_a_chunk;
        const std::int64_t last = std::min(first + blocking().rows_a_chunk, p.filter.q * p.filter.r);
        std::int64_t count = 0;
        for (std::int64_t i = first; i < last; ++i) {
            const std::int64_t t_in = input_frame(p, t, i / p.filter.r);
            const std::int64_t y_in = row.y * p.stride.h + i % p.filter.r * p.dilation.h - p.pad.top;
            if (t_in < 0 || t_in >= p.d || y_in < 0 || y_in >= p.h) continue;
            taps[count++] = {frames.input[sample * p.d + t_in] + y_in * input_row_bytes(),
                             packed().filter + block.filter_offset + i * block.row_bytes};
        }
        Tile tile = tile_of_row();
        tile.rows = taps.data();
        tile.row_count = count;
        return tile;
    }

    std::int64_t rows_a_task_ = 1;
};

}  // namespace

Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights) {
    return std::make_unique<DirectConvolution>(device, problem, weights);
}

}  // namespace kinetograph::conv::direct
