// How many threads a call uses at most.
#pragma once

namespace exactquant {

/// 0: as many as the process has processors.
void set_threads(int count);
int get_threads();

} // namespace exactquant
