#include <kinetograph/compute/conv/direct/blocking.hpp>
#include <kinetograph/compute/conv/direct/convolution.hpp>
#include <kinetograph/compute/conv/direct/epilogue.hpp>
#include <kinetograph/compute/conv/direct/tile_kernels.hpp>
#include <kinetograph/compute/conv/row_norm.hpp>

#include <omp.h>

#include <algorithm>
#include <memory>

namespace kinetograph::conv::direct {
namespace {

using tensor::DType;

constexpr std::int64_t kMaxRows = 16;            // output rows that a thread takes at a time
constexpr std::int64_t kInputBytes = 768 << 10;  // of input rows under the taps of a task: most of a 1 MiB cache
constexpr std::int64_t kSumsBytes = 256 << 10;   // of a thread, when sums wait for the next chunk of taps
constexpr std::int64_t kNormBytes = 128 << 10;   // of output rows that wait in the cache to be normed
constexpr std::int64_t kTileElements = 24 * 16;  // sums of the largest tile

/// The parameters, which do not depend on the number of frames: convolutions over different numbers share them.
struct Packed {
    static Result<Packed> create(accel::Device& device, const ConvProblem& problem, const Blocking& blocking,
                                 const ConvParameters& parameters) {
        Packed packed;
        KG_TRY(packed.memory, device.allocate("filter", bytes(problem, blocking)));
        packed.filter = packed.memory->data();
        packed.zeros = packed.filter + filter_bytes(blocking);
        pack_filter(problem, blocking, parameters.filter.data(), packed.memory->data());
        packed.bias.assign(problem.filter.k, 0.0F);
        std::ranges::copy(parameters.bias, packed.bias.begin());
        packed.gamma.assign(parameters.gamma.begin(), parameters.gamma.end());
        return packed;
    }
    static std::uint64_t filter_bytes(const Blocking& blocking) {
        return static_cast<std::uint64_t>(blocking.filter_bytes + 63) / 64 * 64;
    }
    static std::uint64_t bytes(const ConvProblem& problem, const Blocking& blocking) {
        return filter_bytes(blocking) +
               static_cast<std::uint64_t>(problem.c_in) * tensor::bytes_per_element(problem.dtype);
    }
    std::unique_ptr<accel::Memory> memory;
    const std::byte* filter = nullptr;
    const std::byte* zeros = nullptr;  ///< of a pixel
    std::vector<float> bias, gamma;
};

class DirectConvolution final : public Convolution {
  public:
    DirectConvolution(accel::Device& device, const ConvProblem& problem, Weights& weights)
        : Convolution(problem),
          device_(device),
          weights_(&weights),
          blocking_(choose_blocking(problem)),
          threads_(omp_get_max_threads()) {
        weights.expect(layout(), Packed::bytes(problem, blocking_));
        // Enough tasks to balance the threads, but few enough rows per task that the last frame's input is still in the
        // cache.
        const std::int64_t even = problem.n * problem.h_out() / (8 * threads_);
        const std::int64_t input_row_bytes = problem.w * problem.c_in * tensor::bytes_per_element(problem.dtype);
        const std::int64_t cached = kInputBytes / (problem.filter.q * input_row_bytes) - problem.filter.r + 1;
        rows_a_task_ = std::clamp<std::int64_t>(std::min(even, cached), 1, kMaxRows);
        if (problem.norm != Norm::None) {
            rows_a_task_ = std::clamp<std::int64_t>(kNormBytes / output_row_bytes(), 1, rows_a_task_);
        }
        if (blocking_.chunks > 1) {
            rows_a_task_ = std::clamp<std::int64_t>(kSumsBytes / row_sums_bytes(), 1, rows_a_task_);
        }
    }

    std::string_view backend() const override { return "direct-cpu"; }
    std::uint64_t workspace_bytes() const override { return static_cast<std::uint64_t>(threads_ * thread_bytes()); }
    Result<void> pack() override {
        if (weights_ == nullptr) return {};
        KG_TRY(packed_, weights_->packed<Packed>(layout(), [&](const ConvParameters& parameters) {
            return Packed::create(device_, problem(), blocking_, parameters);
        }));
        weights_ = nullptr;
        return {};
    }

  private:
    const char* layout() const { return problem().dtype == DType::BF16 ? "blocks of bf16" : "blocks of f32"; }

    struct Frames {
        std::vector<const std::byte*> input;
        std::vector<std::byte*> output;
        std::vector<const std::byte*> residual;
        std::vector<std::byte*> normed;
        std::byte* workspace = nullptr;
    };
    /// Rows [first, last) of all output rows, counted through samples and frames, and the thread's buffers for them.
    struct Rows {
        std::int64_t first, last;
        float* sums;      ///< with more than one chunk
        std::byte* bare;  ///< output rows that are not stored, with Norm::Instead
    };

    std::int64_t output_row_bytes() const {
        return problem().w_out() * problem().filter.k * tensor::bytes_per_element(problem().output_dtype);
    }
    /// Of the workspace: sums, then bare rows.
    std::int64_t sums_bytes() const { return blocking_.chunks > 1 ? rows_a_task_ * row_sums_bytes() : 0; }
    std::int64_t thread_bytes() const {
        const std::int64_t bare = problem().norm == Norm::Instead ? rows_a_task_ * output_row_bytes() : 0;
        return sums_bytes() + (bare + 63) / 64 * 64;
    }

    /// Tiles of one output row, for the block whose tiles are narrowest.
    std::int64_t row_sums_bytes() const {
        std::int64_t most = 0;
        for (const ChannelBlock& block : blocking_.blocks) {
            const std::int64_t pixels = kernel(block).pixels;
            const std::int64_t tiles = (problem().w_out() + pixels - 1) / pixels;
            most = std::max<std::int64_t>(most, tiles * kTileElements * 4);
        }
        return most;
    }

    TileKernel kernel(const ChannelBlock& block) const {
        return tile_kernel(blocking_.arrangement, block.kernel_count, problem().dtype == DType::BF16);
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        Frames frames{{tensors.input.begin(), tensors.input.end()},
                      {tensors.output.begin(), tensors.output.end()},
                      {tensors.residual.begin(), tensors.residual.end()},
                      {tensors.normed.begin(), tensors.normed.end()},
                      tensors.workspace};
        if (problem().beta == 0) frames.residual.clear();
        stream.enqueue(pass_name, [this, frames = std::move(frames)]() -> Result<void> {
            run(frames);
            return {};
        });
        return {};
    }

    void run(const Frames& frames) const {
        const ConvProblem& p = problem();
#pragma omp parallel num_threads(threads_)
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
                    const std::int64_t start = (task / tasks * p.d_out() + t) * p.h_out();
                    run_rows(frames, {start + first, start + last, reinterpret_cast<float*>(own), own + sums_bytes()},
                             taps);
                }
            }
        }
    }

    void run_rows(const Frames& frames, Rows task, std::vector<TapRow>& taps) const {
        for (const ChannelBlock& block : blocking_.blocks) {
            if (blocking_.chunks == 1) {
                run_whole(frames, task, block, taps);
            } else {
                run_chunks(frames, task, block, taps);
            }
        }
        if (problem().norm != Norm::None) norm_rows(frames, task);
    }

    /// Runs while the task's output is still in the cache.
    void norm_rows(const Frames& frames, Rows task) const {
        const ConvProblem& p = problem();
        for (std::int64_t row = task.first; row < task.last; ++row) {
            rms_norm_pixels(output_row(frames, task, row),
                            frames.normed[row / p.h_out()] + row % p.h_out() * output_row_bytes(),
                            packed_->gamma.data(), p.w_out(), p.filter.k, p.output_dtype, p.norm_activation);
        }
    }

    std::byte* output_row(const Frames& frames, Rows task, std::int64_t row) const {
        if (problem().norm == Norm::Instead) return task.bare + (row - task.first) * output_row_bytes();
        return frames.output[row / problem().h_out()] + row % problem().h_out() * output_row_bytes();
    }

    /// For filters whose blocks fit the cache: every tile is finished while its sums are in registers.
    void run_whole(const Frames& frames, Rows task, const ChannelBlock& block, std::vector<TapRow>& taps) const {
        alignas(64) float sums[kTileElements];
        const TileKernel tile_kernel = kernel(block);
        for (std::int64_t row = task.first; row < task.last; ++row) {
            Tile tile = tile_of_row(frames, row, block, 0, taps);
            tile.sums = sums;
            for (std::int64_t x = 0; x < problem().w_out(); x += tile_kernel.pixels) {
                run_tile(tile_kernel, tile, x);
                finish_tile(frames, task, row, x, block, tile);
            }
        }
    }

    /// For filters cut into chunks of taps: each chunk stays in the cache while all rows of the task are processed.
    void run_chunks(const Frames& frames, Rows task, const ChannelBlock& block, std::vector<TapRow>& taps) const {
        const TileKernel tile_kernel = kernel(block);
        for (std::int64_t chunk = 0; chunk < blocking_.chunks; ++chunk) {
            for (std::int64_t row = task.first; row < task.last; ++row) {
                Tile tile = tile_of_row(frames, row, block, chunk, taps);
                tile.sums = task.sums + (row - task.first) * row_sums_bytes() / 4;
                tile.add = chunk > 0;
                for (std::int64_t x = 0; x < problem().w_out(); x += tile_kernel.pixels, tile.sums += kTileElements) {
                    run_tile(tile_kernel, tile, x);
                    if (chunk + 1 == blocking_.chunks) finish_tile(frames, task, row, x, block, tile);
                }
            }
        }
    }

    /// What the tiles of one output row share: those input rows and filter rows of a chunk that are inside the input.
    Tile tile_of_row(const Frames& frames, std::int64_t row, const ChannelBlock& block, std::int64_t chunk,
                     std::vector<TapRow>& taps) const {
        const ConvProblem& p = problem();
        const std::int64_t y = row % p.h_out(), frame = row / p.h_out();
        const std::int64_t t = frame % p.d_out(), sample = frame / p.d_out();
        const std::int64_t pixel_bytes = p.c_in * tensor::bytes_per_element(p.dtype);
        const std::int64_t first = chunk * blocking_.rows_a_chunk;
        const std::int64_t last = std::min(first + blocking_.rows_a_chunk, p.filter.q * p.filter.r);
        std::int64_t count = 0;
        for (std::int64_t i = first; i < last; ++i) {
            const std::int64_t t_in = t * p.stride.d + i / p.filter.r * p.dilation.d - p.pad.front;
            const std::int64_t y_in = y * p.stride.h + i % p.filter.r * p.dilation.h - p.pad.top;
            if (t_in < 0 || t_in >= p.d || y_in < 0 || y_in >= p.h) continue;
            taps[count++] = {frames.input[sample * p.d + t_in] + y_in * p.w * pixel_bytes,
                             packed_->filter + block.filter_offset + i * block.row_bytes};
        }
        Tile tile;
        tile.rows = taps.data();
        tile.row_count = count;
        tile.taps = p.filter.s;
        tile.tap_step = p.dilation.w;
        tile.pixel_step = p.stride.w;
        tile.width = p.w;
        tile.channel_bytes = pixel_bytes;
        tile.zeros = packed_->zeros;
        return tile;
    }

    void run_tile(const TileKernel& tile_kernel, Tile& tile, std::int64_t x) const {
        const ConvProblem& p = problem();
        tile.first_column = x * p.stride.w - p.pad.left;
        tile.pixels = std::min<std::int64_t>(tile_kernel.pixels, p.w_out() - x);
        tile_kernel.run(tile);
    }

    void finish_tile(const Frames& frames, Rows task, std::int64_t row, std::int64_t x, const ChannelBlock& block,
                     const Tile& tile) const {
        const ConvProblem& p = problem();
        const std::int64_t at = (x * p.filter.k + block.first) * tensor::bytes_per_element(p.output_dtype);
        const std::int64_t row_start = row % p.h_out() * output_row_bytes();
        const EpilogueSpan span{tile.sums,
                                block.sums_pitch,
                                tile.pixels,
                                block.count,
                                packed_->bias.data() + block.first,
                                frames.residual.empty() ? nullptr : frames.residual[row / p.h_out()] + row_start + at,
                                output_row(frames, task, row) + at,
                                p.filter.k,
                                p.beta,
                                p.activation};
        p.output_dtype == DType::F32 ? finish_f32(span) : finish_bf16(span);
    }

    accel::Device& device_;
    Weights* weights_;                      ///< until pack()
    std::shared_ptr<const Packed> packed_;  ///< from then on
    Blocking blocking_;
    int threads_;
    std::int64_t rows_a_task_ = 1;
};

}  // namespace

Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights) {
    return std::make_unique<DirectConvolution>(device, problem, weights);
}

}  // namespace kinetograph::conv::direct
