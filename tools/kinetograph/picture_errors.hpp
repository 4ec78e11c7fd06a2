// How much pictures differ from others: PSNR and SSIM.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kinetograph::cli {

class PictureErrors {
  public:
    /// Adds a picture and its reference, [height, width, 3] float32 in [-1, 1].
    void add(std::span<const float> picture, std::span<const float> reference, std::int64_t height, std::int64_t width);

    /// Of all pictures together, in dB for a range of 2; 140 for the same values.
    double psnr() const;
    double worst_psnr() const;  ///< of a single picture
    /// Mean of all pixels and channels. Source: Wang et al. 2004, with windows of 11 x 11 and a deviation of 1.5; only
    /// windows inside the picture.
    double ssim() const;

  private:
    std::vector<double> mean_squares_, ssims_;  ///< of each picture
};

}  // namespace kinetograph::cli
