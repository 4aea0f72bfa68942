// A lower bound for a model's time: its weights must be read.
#pragma once

#include <cstddef>
#include <span>

namespace dqmodel {

/// The median time of `repeat` runs in which threads only read the bytes. threads: 0 is all of the machine.
double microseconds_to_read(std::span<const std::byte> bytes, int threads, int repeat);

} // namespace dqmodel
