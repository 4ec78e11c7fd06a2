#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::accel {

std::string_view to_string(Kind kind) {
    switch (kind) {
        case Kind::Cpu:
            return "cpu";
        case Kind::Cuda:
            return "cuda";
        case Kind::Hip:
            return "hip";
    }
    return "?";
}

}  // namespace kinetograph::accel
