// Vulkan's types, and VolkDeviceTable with every device function. For sources: public headers include vulkan_core.h
// only, so that a host application may mix them with prototypes or a volk of its own.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>
