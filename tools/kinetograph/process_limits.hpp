// Limits of the process under which libraries end it instead of returning an error.
#pragma once

#include <kinetograph/engine/base/result.hpp>

namespace kinetograph::cli {

/// The C library ends the process if it cannot load libgcc_s when a thread ends or an exception is thrown: loads it.
void load_unwinder();

/// Errors: OutOfMemory, naming the limit: of the stack (ulimit -s), or fewer threads can be started than OpenMP, which
/// ends the process where it cannot start one, and the program itself need.
Result<void> check_process_limits();

}  // namespace kinetograph::cli
