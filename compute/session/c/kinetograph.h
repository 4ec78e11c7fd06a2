/* kinetograph.h: decoding of video-VAE latents, and encoding of pictures to them, for C and every language that can
 * call C. docs/c.md shows it in use. */

/* Structures: the first member is `size`, which the caller sets to the sizeof of the type. Members that a shorter
 * structure (of an older header) lacks count as zero, and zero is always the default. A longer structure is accepted if
 * the members that the library does not know are zero; otherwise the call fails with KG_ERROR_UNSUPPORTED. */

/* Errors: calls that can fail return a kg_result. Negative values are errors; kg_last_error returns a sentence that
 * describes the error. No exception leaves the library. Values that a member or an argument cannot have are
 * KG_ERROR_INVALID_ARGUMENT, and nothing is done: those beyond their enum, other numbers than 0 and 1 for a choice of
 * yes or no, and anything but 0 in a member called `unused`. */

/* Handles: a handle is a number in the place of a pointer, which the library looks up and never follows. No two handles
 * of a process have the same, nor have two frames.
 * Detected, KG_ERROR_INVALID_ARGUMENT: a handle that was destroyed, also a second time, whatever was made after it; one
 * of another type, also inside a structure; a pointer that is no handle; NULL, except for destroying; a frame that was
 * returned, is another clip's, or whose clip was destroyed.
 * Not detected, and undefined: memory behind a pointer that is not what the call says it is (a string without an end, a
 * structure shorter than its `size`, latents shorter than their shape and strides where `bytes` is 0, an allocation of
 * a GPU that ends before them); a frame's pixels, image or buffer after kg_clip_release; a string, an array or an
 * address after its handle was destroyed; a DLPack tensor after its deleter was called; objects of Vulkan, CUDA and HIP
 * that are invalid or destroyed; kg_vulkan_unlock without kg_vulkan_lock. */

/* Threads: every call may be made by any thread, and by several at a time, with two exceptions. One thread at a time
 * pushes latents to a clip or pictures to an encoder (a second one gets KG_ERROR_BUSY), and a handle is destroyed after
 * all other calls with it have returned. A call that has not is neither detected nor ended: it keeps what it uses,
 * which is released when it returns. Callbacks run on any thread, several at a time; they must return soon and call no
 * function of this header. */

/* Lifetimes: a handle keeps what it was made from, so an instance, a model, its weights and its Vulkan device may be
 * destroyed in any order. Returned strings and arrays live as long as the handle that was passed to the call. In a
 * child of fork() every call with a handle of the parent fails, and destroying one does nothing. The child makes an
 * instance of its own and decodes on the CPU: GPU drivers do not work in a child of a process that has used them. */

/* Numbers: values of an enum are passed as uint32_t, times in nanoseconds, Vulkan's handles as void* (dispatchable) or
 * uint64_t. */
#ifndef KINETOGRAPH_H
#define KINETOGRAPH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KG_VERSION_MAJOR 0u
#define KG_VERSION_MINOR 1u
#define KG_VERSION ((KG_VERSION_MAJOR << 16) | KG_VERSION_MINOR)

#if defined(__GNUC__)
#define KG_API __attribute__((visibility("default")))
#else
#define KG_API
#endif

typedef enum kg_status {
    KG_OK = 0,
    KG_TIMEOUT = 1, /* the time given has passed; nothing has happened but what kg_clip_push counts in `pushed` */
    KG_END = 2,     /* the clip is decoded to its end, and all of its frames were acquired */
    KG_ERROR_INVALID_ARGUMENT = -1,
    KG_ERROR_NOT_FOUND = -2,   /* a file, tensor, device or library */
    KG_ERROR_CORRUPT = -3,     /* data breaks its own format */
    KG_ERROR_UNSUPPORTED = -4, /* this machine, build or version cannot do it */
    KG_ERROR_OUT_OF_RANGE = -5,
    KG_ERROR_OUT_OF_MEMORY = -6,
    KG_ERROR_IO = -7,
    KG_ERROR_DEVICE_LOST = -8,
    KG_ERROR_CANCELLED = -9, /* kg_clip_cancel, or a kg_stop */
    KG_ERROR_BUSY = -10      /* another thread is in a call that one thread makes at a time, or frames are held */
} kg_status;
typedef int32_t kg_result; /* a kg_status */

typedef struct kg_instance kg_instance;
typedef struct kg_vulkan kg_vulkan;       /* a Vulkan device, the library's or the application's */
typedef struct kg_weights kg_weights;     /* a checkpoint */
typedef struct kg_model kg_model;         /* weights on a device */
typedef struct kg_memory kg_memory;       /* memory of another API that a model's device can address */
typedef struct kg_clip kg_clip;           /* latents go in, frames come out */
typedef struct kg_state kg_state;         /* what a clip remembers between two latent frames */
typedef struct kg_encoder kg_encoder;     /* pictures go in, latents come out */
typedef struct kg_reencoder kg_reencoder; /* latents go in, the latents of their frames come out */
typedef struct kg_stop kg_stop;           /* ends long calls */

#define KG_FOREVER UINT64_MAX

/* A sentence on the calling thread's last error; "" before the first. Valid until the thread's next error. */
KG_API const char* kg_last_error(void);
/* KG_VERSION of the library, which may be newer than the header's. */
KG_API uint32_t kg_version(void);

/* ---- Instance ---------------------------------------------------------------------------------------------------- */

typedef enum kg_log_level { KG_LOG_INFO = 0, KG_LOG_WARNING = 1, KG_LOG_ERROR = 2 } kg_log_level;

typedef struct kg_instance_desc {
    uint32_t size;
    uint32_t header_version; /* KG_VERSION; 0 for a caller without the header */
    /* Takes messages that no call returns: a lost device, work that was given up. NULL: warnings and errors go to
     * standard error. */
    void (*log)(void* user, uint32_t level, const char* message);
    void* log_user;
    /* Allocate and release large buffers of the host: contents of checkpoints, what the CPU decodes with. `bytes` is a
     * multiple of `alignment`, a power of two; `allocate` returns NULL if it has no memory. Set both or neither. */
    void* (*allocate)(void* user, uint64_t bytes, uint64_t alignment);
    void (*release)(void* user, void* memory, uint64_t bytes);
    void* allocator_user;
} kg_instance_desc;

/* Errors: UNSUPPORTED (the header is of a newer version than the library). */
KG_API kg_result kg_instance_create(const kg_instance_desc* desc, kg_instance** instance);
/* Destroying NULL does nothing. Errors of every destroying call: INVALID_ARGUMENT (no handle of its type). */
KG_API kg_result kg_instance_destroy(kg_instance* instance);

/* A stop ends calls that read files or put weights on a device. They check it between pieces of their work (16 MiB of a
 * file, a layer) and return KG_ERROR_CANCELLED once kg_stop_request was called, or `timeout_ns` after the stop was
 * created; KG_FOREVER: only once kg_stop_request was called. What they have made until then is released, except packed
 * weights, which stay with their model. A call in a driver is not interrupted. One stop serves any number of calls. */
KG_API kg_result kg_stop_create(kg_instance* instance, uint64_t timeout_ns, kg_stop** stop);
KG_API kg_result kg_stop_request(kg_stop* stop);
KG_API kg_result kg_stop_destroy(kg_stop* stop);

/* ---- Devices that decode ----------------------------------------------------------------------------------------- */

typedef struct kg_device_info {
    uint32_t size;
    uint32_t ordinal;   /* among the devices of its kind */
    uint32_t available; /* 0: there is none of this kind, `situation` says why */
    uint32_t unused;
    const char* kind;      /* the API that serves it: "cpu", "cuda", "hip"; libraries may have more */
    const char* name;      /* what kg_model_desc.device takes: "cuda:1" */
    const char* product;   /* "NVIDIA H200"; "" if not available */
    const char* situation; /* what serves it, or what is missing, in a sentence */
    uint64_t memory_bytes;
    uint8_t uuid[16]; /* VkPhysicalDeviceIDProperties::deviceUUID of the same GPU; zero for the CPU */
} kg_device_info;

/* Calls `each` for every device of every kind, the CPU first, and once for a kind of which there is none. The structure
 * is valid during the call of `each`. */
KG_API kg_result kg_list_devices(kg_instance* instance, void (*each)(void* user, const kg_device_info* device),
                                 void* user);

/* ---- Vulkan ------------------------------------------------------------------------------------------------------ */

typedef struct kg_queue {
    void* queue; /* VkQueue; NULL: the graphics queue */
    uint32_t family;
    uint32_t unused; /* 0 */
} kg_queue;

typedef enum kg_queue_kind { KG_QUEUE_GRAPHICS = 0, KG_QUEUE_COMPUTE = 1, KG_QUEUE_TRANSFER = 2 } kg_queue_kind;

/* A device of the application, which stays its owner. The device must outlive everything made with it. A model on
 * "vulkan" computes in it too, if device_create_chain has the features that docs/vulkan-lane.md lists. */
typedef struct kg_vulkan_desc {
    uint32_t size;
    uint32_t extension_count;
    void* instance;                       /* VkInstance, made for Vulkan 1.3 or newer */
    void (*get_instance_proc_addr)(void); /* PFN_vkGetInstanceProcAddr */
    void* physical_device;                /* VkPhysicalDevice */
    void* device;                         /* VkDevice with timeline semaphores, synchronization2, dynamic rendering,
                                             maintenance4 and host query reset */
    kg_queue graphics;                    /* serves graphics and compute */
    kg_queue compute, transfer;           /* queues of their own keep copies out of the way of drawing */
    const void* device_create_chain;      /* VkDeviceCreateInfo::pNext, to check features; NULL: they are not checked */
    const char* const* extensions;        /* the device extensions that are enabled */
} kg_vulkan_desc;

typedef struct kg_vulkan_info {
    uint32_t size;
    uint32_t unused;
    void* instance;
    void (*get_instance_proc_addr)(void);
    void* physical_device;
    void* device;
    kg_queue queues[3]; /* by kg_queue_kind; some may be the same */
    const char* name;   /* of the device */
} kg_vulkan_info;

/* A device of the library's own: the best one, or the best whose name contains `name`. Errors: NOT_FOUND (no loader, no
 * device), UNSUPPORTED (every device and why it was declined). */
KG_API kg_result kg_vulkan_create(kg_instance* instance, const char* name, kg_vulkan** vulkan);
/* The application's device. Errors: INVALID_ARGUMENT (no graphics queue), UNSUPPORTED (a feature that is not enabled).
 */
KG_API kg_result kg_vulkan_adopt(kg_instance* instance, const kg_vulkan_desc* desc, kg_vulkan** vulkan);
KG_API kg_result kg_vulkan_describe(kg_vulkan* vulkan, kg_vulkan_info* info);
/* The library submits to these queues on threads of its own: an application that uses one of them must hold its lock
 * while it does. Kinds that share a VkQueue share the lock. */
KG_API kg_result kg_vulkan_lock(kg_vulkan* vulkan, uint32_t queue_kind);
KG_API kg_result kg_vulkan_unlock(kg_vulkan* vulkan, uint32_t queue_kind);
KG_API kg_result kg_vulkan_destroy(kg_vulkan* vulkan);

/* ---- Weights ----------------------------------------------------------------------------------------------------- */

typedef struct kg_weights_info {
    uint32_t size;
    uint32_t channels; /* of latents */
    const char* name;
    const char* family; /* "wan2.1" */
    uint64_t parameters;
    uint64_t content_hash;     /* XXH3-64 of the file */
    const float* latents_mean; /* [statistics]: z * std + mean undoes the normalisation of latents */
    const float* latents_std;
    /* 2: normalised latents have 2 x 2 pixels as channels, value (c, dy, dx) as channel 4 c + 2 dy + dx (FLUX.2), and
     * kg_clip_push takes raw ones of pixels; kg_clip_open takes both. Else 1. */
    uint32_t latent_patch;
    uint32_t statistics; /* channels * latent_patch * latent_patch */
} kg_weights_info;

typedef struct kg_weights_desc {
    uint32_t size;
    uint32_t unused;
    /* A checkpoint (docs/families.md: files of any format, folders), "FILE:PREFIX" for the decoder whose keys begin
     * with "PREFIX." in a file of several, or "synthetic:FAMILY[,dim=N]". */
    const char* path;
    const char* family; /* "lighttaew2.1"; NULL: by tensors, class, name and widths */
    /* Of latents: "none", the name of a family, or a JSON file with latents_mean and latents_std. NULL: the
     * checkpoint's, else its latent space's. */
    const char* statistics;
    kg_stop* stop; /* NULL: none */
    /* Instead of the file, its contents in memory, `bytes` of them; `path` is then a name for messages. They must stay
     * unchanged until `release` is called with `user`: when nothing uses them any more, or before the call returns an
     * error. `release` may be NULL. */
    const void* contents;
    uint64_t bytes;
    void (*release)(void* user);
    void* user;
} kg_weights_desc;

/* Opens a checkpoint; the log gets what was assumed about it. Errors: NOT_FOUND (file, tensors), CORRUPT,
 * INVALID_ARGUMENT (another VAE, several decoders, wrong shapes or types, values that are not finite), CANCELLED. */
KG_API kg_result kg_weights_create(kg_instance* instance, const kg_weights_desc* desc, kg_weights** weights);
/* The same for a path. */
KG_API kg_result kg_weights_open(kg_instance* instance, const char* path, kg_weights** weights);
/* The same with a stop, which may be NULL. */
KG_API kg_result kg_weights_open_until(kg_instance* instance, const char* path, kg_stop* stop, kg_weights** weights);
/* The contents, in memory, of a checkpoint of one file. They must stay unchanged until `release` is called with `user`:
 * when nothing uses them any more, or before this returns an error. `release` may be NULL. `name` is for messages. */
KG_API kg_result kg_weights_parse(kg_instance* instance, const void* contents, uint64_t bytes, const char* name,
                                  void (*release)(void* user), void* user, kg_weights** weights);
KG_API kg_result kg_weights_describe(kg_weights* weights, kg_weights_info* info);
KG_API kg_result kg_weights_destroy(kg_weights* weights);

/* ---- Models ------------------------------------------------------------------------------------------------------ */

typedef enum kg_precision {
    KG_PRECISION_BF16 = 0,
    KG_PRECISION_FP16 = 1,
    KG_PRECISION_FP32 = 2,
    KG_PRECISION_FP8 = 3 /* UNSUPPORTED: no device decodes in it */
} kg_precision;
typedef enum kg_sums {
    KG_SUMS_EXACT = 0,
    KG_SUMS_FAST = 1,
    KG_SUMS_INT8 = 2 /* with KG_PRECISION_BF16: most layers multiply 8-bit integers, as `kinetograph calibrate` found */
} kg_sums;
typedef enum kg_latent_scale {
    KG_LATENTS_AUTO = 0,      /* normalised, but a file that says that it is raw is read as raw */
    KG_LATENTS_RAW = 1,       /* already what the decoder takes */
    KG_LATENTS_NORMALIZED = 2 /* as a diffusion model makes them: z * std + mean is applied */
} kg_latent_scale;

typedef struct kg_model_desc {
    uint32_t size;
    uint32_t precision;
    uint32_t sums;
    uint32_t latent_scale;
    uint32_t unclamped; /* 1: frames of floats are not clamped to [-1, 1]; halves beyond 65504 become infinite */
    uint32_t unused;
    const char*
        device;        /* "cpu", "cuda", "hip:1", "cuda:GPU-..."; NULL or "auto": a GPU that can decode, else the CPU */
    kg_vulkan* vulkan; /* frames may be images of this device; NULL: they cannot */
    /* Bytes of the device that the model and its clips may hold; 0: what it has. OUT_OF_MEMORY, with the bytes that are
     * needed, if not even latents of one pixel can be decoded with so many. */
    uint64_t memory_budget;
    /* Called when an allocation is about to be refused. Returns 1 if it has released memory: the allocation is then
     * tried once more. */
    uint32_t (*on_memory_pressure)(void* user, const char* name, uint64_t bytes, uint64_t free_bytes);
    void* memory_pressure_user;
    kg_stop* stop; /* of kg_model_create; NULL: none */
} kg_model_desc;

typedef struct kg_model_info {
    uint32_t size;
    uint32_t device_ordinal;
    uint32_t channels;          /* of latents */
    uint32_t spatial_scale;     /* pixels of a frame for one pixel of a latent, in each direction */
    uint32_t frames_of_a_step;  /* the most frames that one latent frame becomes; a clip's first becomes one frame */
    uint32_t encodes;           /* 1: the checkpoint has an encoder that the device can run, for kg_encoder_create */
    const char* device_kind;    /* kg_device_info.kind */
    const char* description;    /* "vae.safetensors · bf16 · NVIDIA H200" */
    const char* device_product; /* "NVIDIA H200" */
} kg_model_info;

/* Puts weights on a device, where any number of clips share them. Errors: NOT_FOUND (the device; the sentence names
 * what is missing), UNSUPPORTED (precision, architecture), OUT_OF_MEMORY (also of the budget), CANCELLED. */
KG_API kg_result kg_model_create(kg_weights* weights, const kg_model_desc* desc, kg_model** model);
KG_API kg_result kg_model_describe(kg_model* model, kg_model_info* info);
KG_API kg_result kg_model_destroy(kg_model* model);

/* Imports memory that another API of the same GPU has exported as an opaque file descriptor, which the library owns
 * once this has succeeded. `bytes` is the size of the whole allocation; `dedicated` is 1 if it was made with
 * VkMemoryDedicatedAllocateInfo. Errors: UNSUPPORTED (the device cannot import). */
KG_API kg_result kg_memory_import(kg_model* model, int fd, uint64_t bytes, uint32_t dedicated, kg_memory** memory);
/* The memory's address on the model's device: for kg_latents.data, or for kernels. */
KG_API kg_result kg_memory_address(kg_memory* memory, void** address);
/* Call it after all work on the memory has ended: that is not detected. */
KG_API kg_result kg_memory_destroy(kg_memory* memory);

/* ---- Moments ----------------------------------------------------------------------------------------------------- */

typedef enum kg_moment_kind {
    KG_MOMENT_PAST = 0,
    KG_MOMENT_SEMAPHORE = 1, /* `semaphore`, a timeline of the model's Vulkan device, reaches `value` */
    KG_MOMENT_STREAM = 2     /* `stream` is done with what it was given before the call */
} kg_moment_kind;

/* When work of another API is done. A stream is a CUstream of the device's primary context (cudaStream_t) or a
 * hipStream_t; NULL is the default stream. It may be destroyed once the frames that are read on it have been returned
 * to the clip. While a stream is being captured, pushing and waiting with it fail (INVALID_ARGUMENT: they would become
 * part of the graph), and frames released on it are returned by the clip's first call after the capture. */
typedef struct kg_moment {
    uint32_t kind;
    uint32_t unused;
    uint64_t semaphore; /* VkSemaphore */
    uint64_t value;
    void* stream;
} kg_moment;

/* ---- Clips ------------------------------------------------------------------------------------------------------- */

typedef enum kg_storage {
    KG_STORAGE_HOST = 0,   /* memory of the host */
    KG_STORAGE_DEVICE = 1, /* memory of the model's device, and a Vulkan buffer if the model has a Vulkan device */
    KG_STORAGE_IMAGE = 2   /* images of the model's Vulkan device */
} kg_storage;

/* R, G and B are those of a display: sRGB-encoded, primaries of BT.709. */
typedef enum kg_format {
    KG_FORMAT_RGBA8 = 0,   /* [height, width, 4] uint8, alpha 255; the one format of images */
    KG_FORMAT_RGB32F = 1,  /* [height, width, 3] float in [-1, 1] */
    KG_FORMAT_RGBA16F = 2, /* [height, width, 4] half in [0, 1], alpha 1; in KG_STORAGE_HOST only, like 3 and 4 */
    KG_FORMAT_NV12 = 3,    /* Y [height, width] uint8, then UV [height / 2, width / 2, 2]: BT.709, limited range */
    KG_FORMAT_P010 = 4,    /* the same with 10 bits, at the top of uint16 */
    KG_FORMAT_RGB16F = 5   /* [height, width, 3] half in [-1, 1]: RGB32F rounded once */
} kg_format;

/* Clips of one model that share have one queue and one working memory: a further clip takes its state and its frames.
 * Their steps go in the order in which they are due, at each clip's fps. Not for frames that Vulkan sees. */
typedef enum kg_sharing {
    KG_SHARING_NONE = 0,
    KG_SHARING_VISIBLE = 1,
    KG_SHARING_BACKGROUND = 2 /* with an eighth of its weight, and what others leave */
} kg_sharing;

typedef struct kg_clip_desc {
    uint32_t size;
    uint32_t storage;
    uint32_t format;
    uint32_t slots;      /* the most frames that are ready or acquired at a time, up to 65536; 0: 12, three steps */
    uint32_t loop;       /* 1: the clip of a file starts over at its end */
    uint32_t batch_item; /* of a file with a batch of clips, the one to decode, from 1; 0: there is one */
    double fps;          /* 0.01 to 1000, for kg_frame.presentation_ns; 0: the file's, else the family's */
    kg_stop* stop;       /* of kg_clip_create and kg_clip_open; NULL: none */
    const char* tensor;  /* of a file, the one with the latents; NULL: by the usual names, or the only one that fits */
    const char* axes;    /* their order in it, "BTChw"; NULL: that which has the checkpoint's channels */
    uint32_t
        rewind_steps; /* latent frames by which kg_clip_rewind can go back, up to 64: each takes the state's bytes */
    uint32_t sharing; /* a kg_sharing */
    double weight;    /* above 0, the clip's part of the device among those that share; 0: 1 */
    uint32_t passes;  /* 1: the times of its passes are recorded, for kg_clip_passes; not of a clip that shares */
    /* 1, of a clip that shares: where kg_model_admission says that it does not fit, creating it fails with
     * OUT_OF_MEMORY and a sentence that has both figures and what to do. */
    uint32_t only_if_fits;
} kg_clip_desc;

/* A clip whose latents the application pushes: frames of latent_height x latent_width latent pixels. Errors:
 * INVALID_ARGUMENT (the size, a format that the storage does not support), OUT_OF_MEMORY (stating what is needed),
 * UNSUPPORTED (images, and frames cannot reach the model's Vulkan device, or it has none), CANCELLED. */
KG_API kg_result kg_clip_create(kg_model* model, uint32_t latent_height, uint32_t latent_width,
                                const kg_clip_desc* desc, kg_clip** clip);
/* The clip of a latents file (docs/latents.md: any format, name and order of axes), which is decoded ahead of its
 * reader on a thread of the library. The log gets what was assumed about it. Errors also: those of the file. */
KG_API kg_result kg_clip_open(kg_model* model, const char* path, const kg_clip_desc* desc, kg_clip** clip);
/* Cancels the clip for good, and waits up to `timeout_ns` for the steps that are being decoded and for the moments with
 * which frames were released. KG_OK: kg_clip_destroy has nothing to wait for; KG_TIMEOUT: it would wait. Errors: BUSY
 * (another thread pushes). */
KG_API kg_result kg_clip_close(kg_clip* clip, uint64_t timeout_ns);
/* Cancels the clip and waits for the steps that are being decoded and for the moments with which frames were released,
 * as long as these make progress. What has made none for some seconds (half a minute if a device's work waits for no
 * moment of the application) is given up: the log says so, and the memory that it may use is leaked instead of
 * released. Tensors of the clip's frames may be deleted later. They keep the memory of all frames, the model and its
 * device, which the deleter of the last one releases, waiting in the same way. A thread that must not wait so long
 * calls kg_clip_close, which has a time-out, first. Errors: BUSY (frames are acquired and not released; the clip
 * stays). */
KG_API kg_result kg_clip_destroy(kg_clip* clip);

typedef enum kg_dtype { KG_FLOAT32 = 0, KG_FLOAT16 = 1, KG_BFLOAT16 = 2 } kg_dtype;
typedef enum kg_memory_kind { KG_MEMORY_HOST = 0, KG_MEMORY_DEVICE = 1 } kg_memory_kind;

/* [channels, frames, height, width] */
typedef struct kg_latents {
    uint32_t size;
    uint32_t memory; /* KG_MEMORY_DEVICE: `data` is an address of the model's device */
    uint32_t dtype;
    uint32_t unused;
    const void* data;
    int64_t shape[4];
    /* In elements. All 0: the latents are contiguous. A stride below 1 for an extent above 1, as in latents that are
     * broadcast or reversed, is an error: copy such latents first. In KG_MEMORY_DEVICE each [height, width] must be
     * contiguous. */
    int64_t strides[4];
    /* When the values are there. With KG_MOMENT_STREAM they are copied in the stream's order: its later work may
     * overwrite them, and nothing waits on the host. With KG_MOMENT_SEMAPHORE or KG_MOMENT_PAST in KG_MEMORY_DEVICE
     * they must be one contiguous frame. It is read in place and must not change until a frame of its step is ready. In
     * KG_MEMORY_HOST it is KG_MOMENT_PAST. */
    kg_moment ready;
    uint64_t bytes; /* from `data` on, to check shape and strides against; 0: not stated, and not checked */
    /* When the input came for which they were made, by CLOCK_MONOTONIC, for kg_clip_info.input_latency_ns; 0: none. */
    int64_t input_ns;
} kg_latents;

/* Takes the latent frames, one after the other, to decode them, and returns before they are decoded; if frames are
 * images of a Vulkan device with one queue, only once they are. As many as the clip's slots hold frames of are taken at
 * once; then it waits up to `timeout_ns`. `pushed` (may be NULL) is how many were taken; fewer than given unless KG_OK
 * is returned. Errors: INVALID_ARGUMENT (shape, dtype, strides that leave `bytes` or the address space, latents of
 * another VAE, in KG_MEMORY_DEVICE a first or last byte in ordinary host memory or in another device's, a value that is
 * not finite), which leaves the clip as it was before
 * that frame; CANCELLED; BUSY; DEVICE_LOST and those of the decoder, which end the clip until kg_clip_reset and which a
 * later call may return. */
KG_API kg_result kg_clip_push(kg_clip* clip, const kg_latents* latents, uint64_t timeout_ns, uint32_t* pushed);

typedef enum kg_finite {
    KG_FINITE_NO = 0, /* the step that made the frame made infinities or NaN */
    KG_FINITE_YES = 1,
    KG_FINITE_UNKNOWN = 2 /* the frame is still being decoded */
} kg_finite;

typedef enum kg_acquire_flags {
    /* Also returns a frame that is still being decoded. Waits at most until its step is enqueued. */
    KG_ACQUIRE_AHEAD = 1
} kg_acquire_flags;

typedef struct kg_frame {
    uint32_t size;
    uint32_t format;
    uint64_t id; /* for kg_clip_release; no two frames of a process have the same */
    uint32_t width, height;
    int64_t index;           /* in the clip, from 0 */
    int64_t presentation_ns; /* from the clip's start */
    uint64_t generation;     /* grows with kg_clip_reset */
    uint32_t storage;
    uint32_t finite; /* a kg_finite; unknown only with KG_ACQUIRE_AHEAD, see kg_clip_finite */
    /* Memory of the host or the device: rows, `row_bytes` apart; the second plane is that of NV12 and P010. */
    const void* planes[2];
    uint64_t row_bytes[2];
    /* Vulkan: the image and a view of all of it, or the buffer of KG_STORAGE_DEVICE. 0 elsewhere. */
    uint64_t image, image_view, buffer;
    uint32_t image_format; /* VkFormat */
    uint32_t image_layout; /* VkImageLayout once the frame is complete; the reader may leave it in any other */
    /* Vulkan: complete once `semaphore` has reached `value`; 0: see kg_clip_wait. */
    uint64_t semaphore, value;
} kg_frame;

/* Acquires the next frame, which is the caller's until kg_clip_release. Without KG_ACQUIRE_AHEAD it is complete;
 * KG_TIMEOUT after `timeout_ns` without one, KG_END at the end of a file's clip. Errors: CANCELLED; those of the
 * decoder, once all frames before the error are acquired. */
KG_API kg_result kg_clip_acquire(kg_clip* clip, uint32_t flags, uint64_t timeout_ns, kg_frame* frame);
/* Makes later work of `stream` wait for the frame, on the device. Waits on the host only if the frame is decoded on
 * another device than the one that shows it. Errors: CANCELLED (from such a wait). */
KG_API kg_result kg_clip_wait(kg_clip* clip, uint64_t frame_id, void* stream);

/* The kg_finite, as known now, of a frame that is acquired or that its tensors keep. It is known once the frame is
 * complete, so at the latest when the reader has waited for work that followed kg_clip_wait. Errors: INVALID_ARGUMENT
 * (the frame has been returned to the clip). */
KG_API kg_result kg_clip_finite(kg_clip* clip, uint64_t frame_id, uint32_t* finite);

typedef enum kg_layout {
    KG_LAYOUT_HWC = 0, /* [height, width, 3] */
    KG_LAYOUT_CHW = 1, /* [3, height, width] */
    KG_LAYOUT_HWC4 = 2 /* [height, width, 4], contiguous: of RGBA8 and RGBA16F */
} kg_layout;

/* A frame of KG_STORAGE_HOST or KG_STORAGE_DEVICE as a DLPack tensor without a copy: `tensor` is a DLManagedTensor*,
 * whose deleter any thread may call, also after kg_clip_destroy. The frame is returned to the clip once it was released
 * and all of its tensors are deleted, in the order of the stream that kg_clip_wait was given. Errors: UNSUPPORTED (an
 * image, a format of two planes). */
KG_API kg_result kg_clip_export(kg_clip* clip, uint64_t frame_id, uint32_t layout, void** tensor);
/* Returns the frame to the clip once `done` is reached; NULL: the caller has read it. Errors: INVALID_ARGUMENT
 * (released before, or not a frame of this clip; an invalid moment), after which the frame is still the caller's; those
 * of the stream that `done` names, after which it has been returned. */
KG_API kg_result kg_clip_release(kg_clip* clip, uint64_t frame_id, const kg_moment* done);

/* Starts over with a clip's first latent frame: drops the frames that were not acquired, and all that the decoder
 * remembers. Acquired frames stay the caller's. */
KG_API kg_result kg_clip_reset(kg_clip* clip);
/* Ends the waits of other threads in kg_clip_push, kg_clip_acquire and kg_clip_wait, within 50 ms. Pushing and
 * acquiring fail with KG_ERROR_CANCELLED until kg_clip_reset. */
KG_API kg_result kg_clip_cancel(kg_clip* clip);

/* How a clip in the background is held back where its device is overloaded: the stages of docs/streams.md. */
typedef enum kg_held_back {
    KG_HELD_BACK_NO = 0,
    KG_HELD_BACK_SKIPPED = 1, /* a step goes when no visible clip's step waits */
    KG_HELD_BACK_HALF = 2,    /* and at half of the clip's rate at most */
    KG_HELD_BACK_QUARTER = 3,
    KG_HELD_BACK_EIGHTH = 4
} kg_held_back;

typedef struct kg_clip_info {
    uint32_t size;
    uint32_t width, height; /* of frames, pixels */
    uint32_t slots;
    uint32_t frames_of_a_step;
    uint32_t held_back; /* a kg_held_back; of a clip that shares */
    int64_t frames;     /* of the clip of a file; 0 if latents are pushed */
    double fps;
    const char* route;       /* how frames reach the device that shows them, in a sentence */
    uint64_t frames_waiting; /* decoded or being decoded, not acquired */
    uint64_t frames_acquired;
    uint64_t steps;
    int64_t last_step_ns, average_step_ns; /* on the device; 0 while none is known */
    /* Memory in bytes. The clip's does not grow with the number of steps; it includes all latents of a file's clip. */
    uint64_t state_bytes;  /* what the decoder remembers from step to step, with the copies of rewind_steps */
    uint64_t clip_bytes;   /* state_bytes, working memory, latents and frames; in host memory: staging and frames */
    uint64_t model_bytes;  /* weights, shared by all clips of the model */
    uint64_t device_bytes; /* allocated on the device by everything made with the model */
    uint64_t device_free;  /* what is free on the device, or left of the model's budget */
    /* For a watchdog: for how long, as seen by the calls of kg_clip_describe, work has made no progress; 0 while it
     * makes progress or there is none. */
    int64_t unmoved_ns;
    /* Of a clip that shares: steps that were done after they were due; waits of its steps for their turn, in sum and at
     * most. */
    uint64_t due_misses;
    int64_t waited_ns, longest_wait_ns;
    uint64_t steps_held_back; /* that overload skipped or put off */
    /* Until the first frame of a step was acquired: since a clip's first latents were pushed, since the latents were,
     * and since their kg_latents.input_ns. 0: not known. */
    int64_t first_frame_ns;
    int64_t latency_ns, average_latency_ns, longest_latency_ns;
    int64_t input_latency_ns, average_input_latency_ns, longest_input_latency_ns;
} kg_clip_info;

/* Facts and statistics, at any time. */
KG_API kg_result kg_clip_describe(kg_clip* clip, kg_clip_info* info);

typedef struct kg_pass_info {
    uint32_t size;
    uint32_t calls;                 /* among the clip's newest 2048 */
    const char* name;               /* the checkpoint's: "decoder.up_blocks.2.resnets.0.conv1" */
    const char* track;              /* where it ran: "accelerator", "host" */
    int64_t average_ns, longest_ns; /* of those calls */
    double share; /* of the time in which any pass of the clip ran; the shares of all passes add up to 1 */
} kg_pass_info;

/* Calls `each` for every pass of the clip that ran lately, the dearest first, at any time. The structure is valid
 * during the call of `each`. Errors: INVALID_ARGUMENT (a clip without kg_clip_desc.passes). */
KG_API kg_result kg_clip_passes(kg_clip* clip, void (*each)(void* user, const kg_pass_info* pass), void* user);

/* ---- The state of a clip ----------------------------------------------------------------------------------------- */

/* Calls on a clip of kg_clip_create, made by the thread that pushes its latents. They take effect after the latents
 * that were pushed so far, and wait up to `timeout_ns` for these to be decoded, for which readers must leave room:
 * KG_TIMEOUT, and nothing is done. Errors of all: those of kg_clip_push. */

/* What a clip with these latents would take if it were made now, in the members for bytes of `info`; allocates nothing.
 * state_bytes is what the clip's state then takes of the device, exactly. Errors: those of kg_clip_create. */
KG_API kg_result kg_model_declare_clip(kg_model* model, uint32_t latent_height, uint32_t latent_width,
                                       const kg_clip_desc* desc, kg_clip_info* info);

typedef enum kg_known {
    KG_KNOWN_NOT = 0,       /* no step of the model was measured */
    KG_KNOWN_ESTIMATED = 1, /* from steps of another size, by their pixels */
    KG_KNOWN_MEASURED = 2
} kg_known;

typedef struct kg_admission {
    uint32_t size;
    uint32_t fits;                     /* in bytes and in seconds: 1 or 0 */
    uint64_t needed_bytes, free_bytes; /* of the device; free: or left of the budget */
    /* Of the device a second, among the clips that share: wanted by this one, and by the visible ones that are open. A
     * visible clip fits up to 1 in sum; one in the background takes what is left. */
    double needed_seconds, taken_seconds;
    uint32_t known; /* a kg_known: what needed_seconds is from */
    uint32_t visible_clips;
} kg_admission;

/* Whether a further clip that shares, with these latents and at kg_clip_desc.fps, fits now. Errors: those of
 * kg_clip_create, but not OUT_OF_MEMORY. */
KG_API kg_result kg_model_admission(kg_model* model, uint32_t latent_height, uint32_t latent_width,
                                    const kg_clip_desc* desc, kg_admission* admission);
/* Calls `take` with the figures of the model's clips that share as text for Prometheus, which is valid meanwhile. */
KG_API kg_result kg_model_metrics(kg_model* model, void (*take)(void* user, const void* text, uint64_t bytes),
                                  void* user);
/* Makes a clip that continues where `clip` is; each goes on with latents of its own. Errors: also those of
 * kg_clip_create. */
KG_API kg_result kg_clip_fork(kg_clip* clip, const kg_clip_desc* desc, uint64_t timeout_ns, kg_clip** fork);
/* Copies the state to the host's memory. */
KG_API kg_result kg_clip_save(kg_clip* clip, uint64_t timeout_ns, kg_state** state);
/* The next latents continue the clip that the state was saved from; frames that were not acquired are dropped, as by
 * kg_clip_reset. The state stays the caller's. Errors: INVALID_ARGUMENT (it is of other weights, another size or
 * precision, or of a device that keeps other frames); a new clip has then begun. */
KG_API kg_result kg_clip_load(kg_clip* clip, kg_state* state, uint64_t timeout_ns);
/* Goes back to before the last `steps` latent frames; frames that were not acquired are dropped. Errors:
 * INVALID_ARGUMENT (fewer are kept: kg_clip_desc.rewind_steps). */
KG_API kg_result kg_clip_rewind(kg_clip* clip, uint32_t steps, uint64_t timeout_ns);
/* Moves the state from the device to pinned memory of the host, and back. In between the clip takes no latents
 * (INVALID_ARGUMENT). What kg_clip_rewind could go back to is forgotten. Errors: OUT_OF_MEMORY, which leaves the clip
 * as it is. */
KG_API kg_result kg_clip_park(kg_clip* clip, uint64_t timeout_ns);
KG_API kg_result kg_clip_resume(kg_clip* clip, uint64_t timeout_ns);

typedef struct kg_state_info {
    uint32_t size;
    uint32_t latent_height, latent_width;
    uint32_t unused;
    int64_t latent_frames, frames; /* taken and made before it was saved */
    uint64_t bytes;
    uint64_t content_hash; /* kg_weights_info.content_hash of the clip's weights */
} kg_state_info;

KG_API kg_result kg_state_describe(kg_state* state, kg_state_info* info);
/* Writes a file, which appears complete or not at all. Errors: IO. */
KG_API kg_result kg_state_write(kg_state* state, const char* path);
/* Errors: NOT_FOUND, IO; CORRUPT (a file that is truncated or was altered), INVALID_ARGUMENT (another file),
 * UNSUPPORTED (a later version of the format): the sentence names the file. */
KG_API kg_result kg_state_read(kg_instance* instance, const char* path, kg_state** state);
/* Calls `take` with the bytes of such a file, piece by piece and in order; each piece is valid during its call. */
KG_API kg_result kg_state_pack(kg_state* state, void (*take)(void* user, const void* piece, uint64_t bytes),
                               void* user);
/* Reads the bytes of such a file, which stay the caller's. Errors: those of kg_state_read except NOT_FOUND and IO; the
 * sentence names `name`, NULL: "the state". */
KG_API kg_result kg_state_parse(kg_instance* instance, const void* contents, uint64_t bytes, const char* name,
                                kg_state** state);
KG_API kg_result kg_state_destroy(kg_state* state);

/* ---- Encoding ---------------------------------------------------------------------------------------------------- */

typedef enum kg_encoded {
    KG_ENCODED_MEAN = 0,
    KG_ENCODED_SAMPLE = 1, /* mean + deviation * noise of a normal distribution, by kg_encoder_desc.seed */
    KG_ENCODED_MOMENTS = 2 /* means, then logarithms of variances, of raw latents: twice the channels */
} kg_encoded;

typedef struct kg_encoder_desc {
    uint32_t size;
    uint32_t encoded;     /* a kg_encoded */
    uint32_t one_picture; /* 1: a clip is one picture, as for image to video: it takes no state, and less memory */
    uint32_t ahead;       /* latent frames that are encoded ahead of their reader, 2 to 64; 0: 4 */
    uint64_t seed;
    kg_stop* stop; /* of kg_encoder_create; NULL: none */
} kg_encoder_desc;

/* The encoder of the model's checkpoint, for pictures of width x height pixels, multiples of
 * kg_model_info.spatial_scale. Its latents are those that the model's clips take: normalised, unless the model's
 * latent_scale is KG_LATENTS_RAW. kg_encoder_info.first_pictures become the first latent frame, each later one is made
 * of kg_encoder_info.pictures_of_a_latent. Errors: NOT_FOUND (a checkpoint without an encoder), UNSUPPORTED (a family
 * of which the decoder alone is built, a device without the convolutions), INVALID_ARGUMENT (the size), OUT_OF_MEMORY,
 * CANCELLED. */
KG_API kg_result kg_encoder_create(kg_model* model, uint32_t height, uint32_t width, const kg_encoder_desc* desc,
                                   kg_encoder** encoder);
/* Cancels the encoder, and waits for what is being encoded. */
KG_API kg_result kg_encoder_destroy(kg_encoder* encoder);

typedef enum kg_picture_type {
    KG_PICTURE_UINT8 = 0,   /* 0 to 255: value / 127.5 - 1 */
    KG_PICTURE_FLOAT32 = 1, /* in [-1, 1], as the next two */
    KG_PICTURE_FLOAT16 = 2,
    KG_PICTURE_BFLOAT16 = 3
} kg_picture_type;

/* Red, green and blue in the host's memory, [pictures, height, width, 3] by any strides. */
typedef struct kg_pictures {
    uint32_t size;
    uint32_t type; /* a kg_picture_type */
    const void* data;
    int64_t shape[4];
    int64_t strides[4]; /* in elements; all 0: the pictures are contiguous */
} kg_pictures;

/* Takes the pictures, one after the other, copies them, and returns before they are encoded. Waits up to `timeout_ns`
 * for room, which kg_encoder_take makes. `pushed` (may be NULL) is how many were taken; fewer than given unless KG_OK
 * is returned. Errors: INVALID_ARGUMENT (shape, type, a value that is not finite, a second picture of a clip that is
 * one), which leaves the clip as it was before that picture; CANCELLED; BUSY; those of the encoder, which end the clip
 * until kg_encoder_reset. */
KG_API kg_result kg_encoder_push(kg_encoder* encoder, const kg_pictures* pictures, uint64_t timeout_ns,
                                 uint32_t* pushed);
/* No more pictures come: kg_encoder_take returns KG_END after the last latent frame. `left_over` (may be NULL) is how
 * many of the last pictures make no latent frame; with kg_encoder_info.first_pictures above 1 none, since the last
 * latent frame is filled up with copies of the last picture. Errors: BUSY. */
KG_API kg_result kg_encoder_finish(kg_encoder* encoder, uint32_t* left_over);

typedef struct kg_encoded_frame {
    uint32_t size;
    uint32_t finite; /* a kg_finite, never KG_FINITE_UNKNOWN */
    int64_t index;   /* of the latent frame in the clip, from 0 */
} kg_encoded_frame;

/* Writes the next latent frame, [channels, height, width] of kg_encoder_info, to `latents`, which has room for `count`
 * values; `frame` may be NULL. KG_TIMEOUT after `timeout_ns` without one, KG_END at the end. Errors: INVALID_ARGUMENT
 * (too little room), CANCELLED; those of the encoder, once all latent frames before the error are taken. */
KG_API kg_result kg_encoder_take(kg_encoder* encoder, uint64_t timeout_ns, float* latents, uint64_t count,
                                 kg_encoded_frame* frame);
/* Starts over with a clip's first picture: drops pictures and latent frames. Errors: BUSY (another thread pushes). */
KG_API kg_result kg_encoder_reset(kg_encoder* encoder);
/* Ends the waits of other threads within 50 ms. Pushing and taking fail with KG_ERROR_CANCELLED until
 * kg_encoder_reset. */
KG_API kg_result kg_encoder_cancel(kg_encoder* encoder);

typedef struct kg_encoder_info {
    uint32_t size;
    uint32_t channels, height, width; /* of what kg_encoder_take gives */
    uint32_t pictures_of_a_latent;    /* of later latent frames than a clip's first */
    uint32_t first_pictures;          /* of the first: 1, or as many as of later ones; then the last is filled up */
    uint64_t state_bytes;             /* what the encoder remembers from step to step */
    uint64_t encoder_bytes;           /* state_bytes, working memory, pictures and latents */
    uint64_t weights_bytes;           /* of the encoder's, shared by all encoders of the model */
} kg_encoder_info;

KG_API kg_result kg_encoder_describe(kg_encoder* encoder, kg_encoder_info* info);

typedef struct kg_reencoder_desc {
    uint32_t size;
    uint32_t encoded; /* a kg_encoded */
    uint32_t frames;  /* 1: kg_reencode gives the frames, too */
    uint32_t unused;  /* 0 */
    uint64_t seed;    /* of KG_ENCODED_SAMPLE */
    kg_stop* stop;    /* of kg_reencoder_create; NULL: none */
} kg_reencoder_desc;

/* Decodes latents of latent_width x latent_height pixels and encodes the frames, which do not leave the device: they go
 * from one to the other as float32, not rounded to 8 bits. The latents are bit for bit those that an encoder makes of
 * the frames of a clip of KG_FORMAT_RGB32F. Streaming state is kept on both sides, whatever latents a call takes. One
 * thread at a time uses a reencoder. Errors: those of kg_encoder_create and kg_clip_create; UNSUPPORTED (a model on
 * several devices; a family whose normalised latents have patches as channels, with another latent_scale than
 * KG_LATENTS_RAW). */
KG_API kg_result kg_reencoder_create(kg_model* model, uint32_t latent_height, uint32_t latent_width,
                                     const kg_reencoder_desc* desc, kg_reencoder** reencoder);
KG_API kg_result kg_reencoder_destroy(kg_reencoder* reencoder);

/* Where a call puts what it makes. */
typedef struct kg_reencoded {
    uint32_t size;
    uint32_t latent_frames;  /* that the call has made */
    uint32_t frames;         /* that the call has made; 0 unless kg_reencoder_desc.frames is 1 */
    uint32_t finite;         /* a kg_finite of the latents, never KG_FINITE_UNKNOWN */
    float* latents;          /* [latent frames, channels, height, width] of kg_encoder_info */
    uint64_t latents_count;  /* values that there is room for: as many latent frames as go in, or 1 */
    float* pictures;         /* [frames, height, width, 3], in [-1, 1]; NULL without frames */
    uint64_t pictures_count; /* for kg_model_info.frames_of_a_step times the latent frames that go in */
} kg_reencoded;

/* Decodes and encodes the next latents of a clip, in the host's memory, and returns when both are done. A latent frame
 * is made of kg_encoder_info.first_pictures or pictures_of_a_latent frames: where the first takes several, a clip's
 * first call makes one fewer than it takes. `stop` (may be NULL) ends the call. Errors: INVALID_ARGUMENT (latents,
 * room), which leaves the clip as it was; BUSY; OUT_OF_RANGE (frames that are not finite), CANCELLED and those of both
 * directions, which end the clip until kg_reencoder_reset. */
KG_API kg_result kg_reencode(kg_reencoder* reencoder, const kg_latents* latents, kg_stop* stop, kg_reencoded* made);
/* No more latents come: frames that are left over are filled up with copies of the last one. Errors: as kg_reencode. */
KG_API kg_result kg_reencoder_finish(kg_reencoder* reencoder, kg_stop* stop, kg_reencoded* made);
/* The next latents are a clip's first. Errors: BUSY; those of the device. */
KG_API kg_result kg_reencoder_reset(kg_reencoder* reencoder);
/* Of the latents that come out, and the bytes of both directions. */
KG_API kg_result kg_reencoder_describe(kg_reencoder* reencoder, kg_encoder_info* info);

#ifdef __cplusplus
}
#endif
#endif
