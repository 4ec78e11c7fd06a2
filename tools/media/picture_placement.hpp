// PicturePlacement: moves complete pictures out of a folder to their names, all of them or none.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/tools/media/picture_names.hpp>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

namespace kinetograph::media {

/// Pictures 0.png, 1.png, ... of `folder`. Those whose places they take become 0.older, 1.older, ... in it until the
/// folder is removed. The file "names" says where they go and which they are, so that another process can take back
/// what one that was killed has moved.
class PicturePlacement {
  public:
    PicturePlacement(std::filesystem::path folder, PictureNames names, std::int64_t count);
    /// What an ended process that had called record() has begun in `folder`. Errors: those of PictureNames::parse.
    static Result<PicturePlacement> resume(const std::filesystem::path& folder);

    /// Before the first picture is moved. Errors: Io.
    Result<void> record();
    /// Moves all to their names. After an Error everything is taken back; what cannot be is counted in stranded().
    Result<void> put_in_place();
    /// Moves one of them. After an Error the older picture may be in the folder, until take_back().
    Result<void> put_in_place(std::int64_t index);
    /// Takes back all that is in place. A file that is no longer the one that was put there is left as it is.
    void take_back();
    bool is_complete() const;                            ///< all are in place
    std::int64_t stranded() const { return stranded_; }  ///< older pictures that exist only in the folder
    std::filesystem::path target_of(std::int64_t index) const {
        return count_ == 1 ? names_.only() : names_.path(index);
    }
    /// Where picture `index` lies until it is in place.
    static std::filesystem::path pending(const std::filesystem::path& folder, std::int64_t index);

  private:
    std::filesystem::path older(std::int64_t index) const;
    bool is_own(const std::filesystem::path& target, std::int64_t index) const;

    std::filesystem::path folder_;
    PictureNames names_;
    std::int64_t count_;
    using Identity = std::pair<std::uint64_t, std::int64_t>;
    std::vector<Identity> identities_;  ///< [count] of the pictures, by record()
    std::int64_t stranded_ = 0;
};

/// Ends what killed processes have begun beside `target`: sequences of which all pictures are in place stay, of others
/// nothing does and the older pictures are back; both is said on standard error. Errors: Io naming a folder with older
/// pictures that cannot be put back.
Result<void> settle_abandoned(const std::filesystem::path& target);

}  // namespace kinetograph::media
