// fork() beside threads.
#pragma once

#include "parallel/private_api.hpp"

namespace dynquant::parallel {

/// Whether the threads of TBB or OpenMP may run work. Every use of them asks first, which is remembered: false in a
/// child of fork() whose parent has asked, and in the child's children. The threads do not exist there, and a lock that
/// one of them held at fork() stays locked. The calling thread then runs everything.
DYNQUANT_PRIVATE_API bool may_use_threads();

} // namespace dynquant::parallel
