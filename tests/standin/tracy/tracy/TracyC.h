/* What ToolTracks uses of Tracy's C interface; a test implements it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ___tracy_gpu_time_data {
    int64_t gpuTime;
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_zone_begin_data {
    uint64_t srcloc;
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_zone_end_data {
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_new_context_data {
    int64_t gpuTime;
    float period;
    uint8_t context;
    uint8_t flags;
    uint8_t type;
};
struct ___tracy_gpu_context_name_data {
    uint8_t context;
    const char* name;
    uint16_t len;
};
struct ___tracy_gpu_time_sync_data {
    int64_t gpuTime;
    uint8_t context;
};

uint64_t ___tracy_alloc_srcloc_name(uint32_t line, const char* source, size_t source_size, const char* function,
                                    size_t function_size, const char* name, size_t name_size, uint32_t color);
void ___tracy_emit_gpu_zone_begin_alloc_serial(struct ___tracy_gpu_zone_begin_data data);
void ___tracy_emit_gpu_zone_end_serial(struct ___tracy_gpu_zone_end_data data);
void ___tracy_emit_gpu_time_serial(struct ___tracy_gpu_time_data data);
void ___tracy_emit_gpu_new_context_serial(struct ___tracy_gpu_new_context_data data);
void ___tracy_emit_gpu_context_name_serial(struct ___tracy_gpu_context_name_data data);
void ___tracy_emit_gpu_time_sync_serial(struct ___tracy_gpu_time_sync_data data);

#ifdef __cplusplus
}
#endif
