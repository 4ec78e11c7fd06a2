// A library that looks like the CUDA driver but lacks most of it, like one from before CUDA 12.0.
extern "C" __attribute__((visibility("default"))) int cuInit(unsigned /*flags*/) { return 0; }
extern "C" __attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
    *version = 11080;
    return 0;
}
extern "C" __attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
    *count = 1;
    return 0;
}
