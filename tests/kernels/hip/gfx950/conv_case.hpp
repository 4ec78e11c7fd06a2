#pragma once

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/kernels/host_model/wave_launch.hpp>
#include <string>
#include <vector>

/// One convolution with its data, run in the host model and compared with sums in fp64 over the same rounded numbers.
namespace kinetograph::gfx950 {

using conv::Activation;
using conv::ConvProblem;
using conv::Norm;

enum class Data : uint8_t {
    Random,   ///< uniform in [-1, 1], rounded to the element type
    Indexed,  ///< a value encodes its frame, row, column and channel; the filter picks one tap and channel
    Integer,  ///< integers in [-4, 4]: sums are exact, so the output must be exact
};

struct ConvCase {
    ConvProblem problem;
    ConvOverrides overrides = {};
    Data data = Data::Random;
    int64_t input_frames = 1;  ///< output frame t sees input frames t + 1 - q ... t; those before 0 are zeros
    bool dense = false;        ///< frames follow each other in memory: those of the input with gaps, all others without
};

/// For activations and filter of that element, with outputs of 16 bits.
inline void set_element(ConvProblem& problem, Element element) {
    problem.input = problem.weight = element;
    problem.output = problem.normed = element == Element::F16 ? Element::F16 : Element::BF16;
}
/// q taps in time over `frames` output frames, which each see themselves and the q - 1 frames before.
inline void set_time(ConvProblem& problem, int64_t q, int64_t frames) {
    problem.filter.q = q;
    problem.d = frames;
    problem.pad.front = q - 1;
}

/// "bf16 1x9x13x48 -> 64, taps 1x3x3, stride 2,2 dilation 1,1 pad 1,1,1,1 + bias, silu"
std::string describe(const ConvCase& conv);

class ConvRun {
  public:
    /// Makes the data. The plan must be valid.
    explicit ConvRun(const ConvCase& conv);

    /// Runs the planned kernel, or `kernel` instead.
    host_model::WaveOutcome run(uint64_t seed, const host_model::ModelKernel* kernel = nullptr);

    /// What is wrong with the last run's outputs: empty, or a sentence with the worst element.
    std::string compare() const;

    /// Of all output values, unrounded.
    double exact_sum() const;

    const FourWaveConvPlan& plan() const { return plan_; }
    /// Of the last run.
    uint32_t workgroups() const { return workgroups_; }
    /// For tests of wrong host code.
    std::vector<std::byte>& filter() { return filter_; }

  private:
    using Frame = std::vector<uint16_t>;
    void make_data();
    /// The input frames in one block, with gaps of NaNs.
    void place_images();
    const std::vector<double>& wanted() const;  ///< [frame][pixel][c_out], unrounded
    std::string compare_frames(const std::vector<Frame>& got, const std::vector<double>& want, const char* name) const;
    /// Adds the sums of the parts of K into output_.
    void add_parts(const std::vector<uint16_t>& parts);

    ConvCase case_;
    FourWaveConvPlan plan_;
    uint32_t workgroups_ = 0;
    std::vector<std::vector<float>> inputs_;      ///< as the kernel sees them, decoded
    std::vector<std::vector<std::byte>> images_;  ///< the same, as bytes in memory
    std::vector<std::byte> image_block_;          ///< dense: all of them
    std::vector<float> weights_;                  ///< [q][r][s][c][k], rounded
    std::vector<float> bias_, gamma_, scales_;
    std::vector<std::byte> filter_;
    std::vector<float> packed_bias_, packed_gamma_, packed_scales_;
    std::vector<Frame> source_, output_, normed_;
    mutable std::vector<double> wanted_, wanted_norm_;  ///< made by the first comparison
};

}  // namespace kinetograph::gfx950
