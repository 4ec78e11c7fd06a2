// The mean and deviation that undo the normalisation of latents, as a file or a person states them.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/engine/base/call_limits.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <map>
#include <string>
#include <string_view>

namespace kinetograph::vae {

/// Reads `latents_mean` and `latents_std`: `z_dim` numbers each, separated by commas, in brackets or not; where there
/// is a `scaling_factor`, deviations are divided by it. With that alone, means are the `shift_factor`, or 0, and
/// deviations 1 / scaling_factor. Returns empty vectors if the metadata has none of them; null is nothing. Errors:
/// InvalidArgument, naming `file`: only one of the two, text that is not a list of numbers, or no number, the wrong
/// count, a value that is not finite, a deviation or factor that is not above 0.
Result<families::LatentStatistics> statistics_from_metadata(const std::map<std::string, std::string>& metadata,
                                                            std::int64_t z_dim, std::string_view file);

/// The running mean and variance of the batch norm `prefix` + "bn" over `channels`: the deviation is the root of the
/// variance and the metadata's batch_norm_eps, or 1e-4. Returns empty vectors if the file has neither. Errors:
/// InvalidArgument: only one of the two, another number of values or type, a value that is not finite, a variance that
/// gives no deviation above 0, no number in the metadata.
Result<families::LatentStatistics> statistics_of_batch_norm(const formats::TensorSource& file,
                                                            const std::string& prefix, std::int64_t channels);

/// 0 and 1: latents stay as they are.
families::LatentStatistics no_statistics(std::int64_t z_dim);

/// What a person has chosen: "none", the name of a family, or a JSON file with latents_mean and latents_std, such as a
/// config.json. Errors: InvalidArgument (another word, another number of channels, a family whose checkpoints have
/// statistics of their own), those of formats::read_object and of statistics_from_metadata.
Result<families::LatentStatistics> chosen_statistics(const std::string& choice, std::int64_t z_dim,
                                                     const CallLimits& limits = {});

}  // namespace kinetograph::vae
