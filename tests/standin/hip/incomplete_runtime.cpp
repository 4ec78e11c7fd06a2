// A library that looks like the HIP runtime but lacks most of it, like one from before ROCm 6.0.
extern "C" __attribute__((visibility("default"))) int hipInit(unsigned /*flags*/) { return 0; }
extern "C" __attribute__((visibility("default"))) int hipRuntimeGetVersion(int* version) {
    *version = 50200000;
    return 0;
}
extern "C" __attribute__((visibility("default"))) int hipGetDeviceCount(int* count) {
    *count = 1;
    return 0;
}
extern "C" __attribute__((visibility("default"))) int hipSetDevice(int /*device*/) { return 0; }
