#include "attention_entry.cuh"

namespace kinetograph::sm100 {

KG_SM90_ATTENTION_WIDTHS(KG_SM100_ATTENTION_ENTRY, bf16, BF16)

}  // namespace kinetograph::sm100
