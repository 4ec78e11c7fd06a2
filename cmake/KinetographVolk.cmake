# volk defines variables named like Vulkan's functions (vkCreateInstance, ...). In a program that links libvulkan
# directly, or has its own volk, those names would collide and calls would jump into data. We need only volk's
# per-device table, so our copy of volk.c is compiled with every global renamed: kinetograph_vkCreateInstance, ...
file(STRINGS "${VOLK_INCLUDE_DIR}/volk.h" volk_lines REGEX "^(extern PFN_vk|[A-Za-z0-9_]+ volk[A-Z])")
set(volk_renames "")
foreach(line IN LISTS volk_lines)
    string(REGEX REPLACE "^(extern PFN_vk[A-Za-z0-9_]+|[A-Za-z0-9_]+) ([A-Za-z0-9_]+).*" "\\2" symbol "${line}")
    string(APPEND volk_renames "#pragma redefine_extname ${symbol} kinetograph_${symbol}\n")
endforeach()
set(KINETOGRAPH_VOLK_SYMBOLS "${PROJECT_BINARY_DIR}/volk_symbols.h")
file(CONFIGURE OUTPUT "${KINETOGRAPH_VOLK_SYMBOLS}" CONTENT "${volk_renames}" @ONLY)
