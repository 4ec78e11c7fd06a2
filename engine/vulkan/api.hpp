// Vulkan's types, and VolkDeviceTable with every device function. For sources: public headers include only
// vulkan_core.h, so that a host application may combine them with prototypes or its own volk.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>
