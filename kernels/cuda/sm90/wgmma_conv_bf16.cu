#include "conv_entry.cuh"

namespace kinetograph::sm90 {

KG_SM90_BF16_TILES(KG_SM90_CONV_ENTRY)

}  // namespace kinetograph::sm90
