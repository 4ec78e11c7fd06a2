// Descriptors of ours stay clear of 0, 1 and 2, which stdio uses also where a process was started with them closed.
#pragma once

namespace kinetograph {

/// `fd`, or a duplicate of it above 2 (close-on-exec) in its place. Negative if `fd` is, or if none is left: errno.
int above_stdio(int fd);

/// Opens /dev/null on those of 0, 1 and 2 that are closed; reads of 0 and writes to 1 then fail as if it still were.
/// For a program, before it opens anything.
void occupy_closed_stdio();

}  // namespace kinetograph
