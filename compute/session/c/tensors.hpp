// Frames as DLPack tensors, for packages of arrays in any language.
#pragma once

#include "clip.hpp"

namespace kinetograph::c {

/// A DLManagedTensor of an acquired frame, whose deleter calls Clip::drop(). `layout` is a kg_layout. Errors:
/// InvalidArgument (no such layout, a frame that is not acquired), Unsupported (an image, a format that does not have
/// the layout).
Result<void*> export_frame(std::shared_ptr<Clip> clip, std::shared_ptr<const Root> root, std::uint64_t id,
                           std::uint32_t layout);

}  // namespace kinetograph::c
