// A file of its own, so that a library with another default_executor() is linked without tbb.cpp.
#include "parallel/executor.hpp"

namespace dynquant::parallel {

const executor &default_executor() {
    return tbb_executor;
}

} // namespace dynquant::parallel
