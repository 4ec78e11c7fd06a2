#include "conv_entry.cuh"

KG_SM80_CONV_CONFIGS_BF16(KG_SM80_CONV_ENTRY)
