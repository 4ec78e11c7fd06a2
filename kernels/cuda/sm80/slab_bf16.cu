#include "slab_entry.cuh"

KG_SM80_SLAB_CONFIGS_BF16(KG_SM80_SLAB_ENTRY)
