#include "conv_entry.cuh"

namespace kinetograph::sm90 {

KG_SM90_BYTE_TILES(KG_SM90_CONV_ENTRY)
KG_SM90_BYTE_NORM_TILES(KG_SM90_CONV_ENTRY)

}  // namespace kinetograph::sm90
