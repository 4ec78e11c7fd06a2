// Checkpoint: a decoder's or encoder's parameters under their original names, whatever file or rule they come from.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/compute/vae/model_options.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace kinetograph::vae {

enum class KeyNaming : std::uint8_t { Original, Diffusers };

/// The parameters of one network, the decoder where nothing else is said: read-only, names are the family's own
/// ("decoder.upsamples.3.time_conv.weight"). Copies share them.
class Checkpoint {
  public:
    /// Opens a file or folder of any format (formats::open; tensors of any floating-point type, of 8 bits with the
    /// factors beside them, original or diffusers key names) into memory, or makes
    /// `synthetic:FAMILY[,dim=N]` by rule. `FILE:PREFIX` is the decoder whose keys begin with `PREFIX.`, in a file of
    /// several. Widths are read from the shapes. Errors: those of formats::open; NotFound naming every missing tensor
    /// (at most ten, then a count); InvalidArgument for a tensor of the wrong shape, a wrong dtype, another VAE family,
    /// several decoders, a config.json of another decoder, or a value that is not finite; Cancelled.
    static Result<Checkpoint> open(std::string_view spec, const tensor::ReadOptions& options = {},
                                   const CheckpointChoices& choices = {});
    /// The same for a file's contents in memory, which the checkpoint keeps; `name` stands for the path.
    static Result<Checkpoint> parse(const formats::OwnedBytes& contents, const std::string& name,
                                    const tensor::ReadOptions& options = {}, const CheckpointChoices& choices = {});

    /// The encoder of the same file, with its widths, names and values; what is said of latents is the same. Errors:
    /// Unsupported (a family of which the decoder alone is built); NotFound (a file without an encoder, naming the
    /// first tensor, or with a part of one); InvalidArgument, as of open(); Cancelled.
    Result<Checkpoint> encoder(const CallLimits& limits = {}) const;
    bool has_encoder() const;  ///< all of its tensors are there, whatever they hold, and its family's is built

    const std::string& name() const;  ///< the path or the synthetic spec, for messages
    const families::Family& family() const;
    KeyNaming naming() const;
    bool synthetic() const;
    const formats::TensorSource* file() const;  ///< with all of its tensors and metadata; null of a synthetic one
    std::int64_t dim() const { return widths().dim; }      ///< 96 for the published Wan 2.1 decoder
    std::int64_t z_dim() const { return widths().z_dim; }  ///< latent channels, 16 there
    const families::Widths& widths() const;
    nn::Network network() const;
    bool one_latent_frame() const { return family().one_latent_frame || widths().pictures; }  ///< of a clip
    const std::vector<Note>& notes() const;  ///< what was assumed about the file
    std::uint64_t parameters() const;
    std::uint64_t content_hash() const;  ///< XXH3-64 of the files' bytes; of the spec for a synthetic checkpoint
    tensor::DType dtype() const;         ///< of the conv weights

    /// Per channel, z_dim of them, or those of patches: z * std + mean undoes the normalisation of latents. What was
    /// chosen, else the file's metadata or batch norm if it has them, else the family's, whatever the decoder's width;
    /// 0 and 1 for another number of latent channels and for a synthetic checkpoint.
    const families::LatentStatistics& statistics() const;
    const std::vector<float>& latents_mean() const;
    const std::vector<float>& latents_std() const;

    /// The parameter as float32, PyTorch shape order. Errors: NotFound, if it is none of tensor_names().
    Result<std::vector<float>> load(std::string_view name) const;
    /// Errors: NotFound.
    Result<tensor::Shape> shape(std::string_view name) const;
    /// Every tensor of the network, in the order of its primitives.
    const std::vector<std::string>& tensor_names() const;

  private:
    struct State;
    static Result<Checkpoint> read(formats::TensorSource file, const std::optional<std::string>& prefix,
                                   const CheckpointChoices& choices, const CallLimits& limits = {});
    explicit Checkpoint(std::shared_ptr<const State> state);
    std::shared_ptr<const State> state_;
};

/// The rule of synthetic tensors (golden README, section 1): value of flat index `i` of tensor `name`.
/// Kind is chosen by the last component of the name: weight, bias, gamma, or latents. Errors: InvalidArgument for any
/// other name; those of tensor::element_count.
Result<std::vector<float>> synthetic_tensor(std::string_view name, const tensor::Shape& shape);

}  // namespace kinetograph::vae
