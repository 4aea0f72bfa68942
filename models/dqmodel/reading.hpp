// What the memory allows: a model cannot be faster than its weights are read.
#pragma once

#include <string_view>

namespace dqmodel {

/// The median time, in microseconds, in which so many threads read the bytes and do nothing else. 0: as many as there
/// are.
double microseconds_to_read(std::string_view bytes, int threads, int repeat);

} // namespace dqmodel
