/* What _relay.py calls of CUDA's driver, on memory that processes share: an IPC handle is the name of a file. Work is
 * done when it is enqueued, and events do nothing. relay_test.py compiles it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    char name[64];
} handle;
typedef struct allocation {
    char* base;
    size_t bytes;
    char name[64];
    int mapped; /* of another process */
    struct allocation* next;
} allocation;
static allocation* allocations;

static int map(const char* name, size_t bytes, int flags, allocation** made) {
    int fd = open(name, O_RDWR | flags, 0600);
    struct stat facts;
    if (fd < 0 || ((flags & O_CREAT) && ftruncate(fd, (off_t)bytes) != 0) || fstat(fd, &facts) != 0) return 2;
    *made = calloc(1, sizeof(allocation));
    (*made)->bytes = (size_t)facts.st_size;
    (*made)->base = mmap(NULL, (*made)->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    snprintf((*made)->name, sizeof((*made)->name), "%s", name);
    (*made)->next = allocations;
    allocations = *made;
    close(fd);
    return 0;
}

static int unmap(uint64_t address, int mapped) {
    for (allocation** at = &allocations; *at; at = &(*at)->next) {
        allocation* found = *at;
        if (found->base != (char*)address || found->mapped != mapped) continue;
        if (!mapped) unlink(found->name);
        munmap(found->base, found->bytes);
        *at = found->next;
        free(found);
        return 0;
    }
    return 1;
}

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGet(int* device, int ordinal) { return (*device = ordinal) != 0 ? 101 : 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = &allocations + device;
    return 0;
}
int cuCtxPushCurrent_v2(void* context) { return context == &allocations ? 0 : 201; }
int cuCtxPopCurrent_v2(void** context) { return (*context = &allocations) == NULL; }
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
    static int count;
    char name[64];
    allocation* made;
    snprintf(name, sizeof(name), "%s/%d.%d", getenv("IPC_STANDIN_FOLDER"), (int)getpid(), count++);
    if (map(name, bytes, O_CREAT, &made) != 0) return 2;
    *address = (uint64_t)made->base;
    return 0;
}
int cuMemFree_v2(uint64_t address) { return unmap(address, 0); }
int cuIpcGetMemHandle(handle* made, uint64_t address) {
    if (getenv("IPC_STANDIN_REFUSES")) return 801; /* CUDA_ERROR_NOT_SUPPORTED */
    for (allocation* at = allocations; at; at = at->next)
        if (at->base == (char*)address) return memcpy(made->name, at->name, sizeof(made->name)) == NULL;
    return 1;
}
int cuIpcOpenMemHandle_v2(uint64_t* address, handle from, unsigned flags) {
    allocation* made;
    if (flags != 1 || map(from.name, 0, 0, &made) != 0) return 1;
    made->mapped = 1;
    *address = (uint64_t)made->base;
    return 0;
}
int cuIpcCloseMemHandle(uint64_t address) { return unmap(address, 1); }
int cuEventCreate(void** event, unsigned flags) {
    *event = &allocations;
    return flags != 6;
}
int cuEventDestroy_v2(void* event) { return event == NULL; }
int cuEventRecord(void* event, void* stream) { return event == NULL || stream != NULL; }
int cuEventSynchronize(void* event) { return event == NULL; }
int cuIpcGetEventHandle(handle* made, void* event) { return memset(made->name, 1, sizeof(made->name)) == event; }
int cuIpcOpenEventHandle(void** event, handle from) {
    *event = &allocations;
    return from.name[0] != 1;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
    return stream != NULL || memcpy((void*)to, (const void*)from, bytes) == NULL;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) { return memcpy(to, (const void*)from, bytes) == NULL; }
