#include <kinetograph/tests/standin/machine.hpp>

namespace kinetograph::standin {

PosedDevice posed_device() { return {.name = "Stand-in MI355X", .architecture = "gfx950:sramecc+:xnack-"}; }

}  // namespace kinetograph::standin
