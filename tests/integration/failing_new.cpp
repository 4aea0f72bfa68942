// For LD_PRELOAD: operator new fails from the allocation on that $FAIL_NEW_AT counts, 1 being the first in main(). What
// libraries allocate before main() is theirs.
#include <atomic>
#include <cstdlib>
#include <new>

#include <dlfcn.h>

namespace {

std::atomic<long> left {-1}; // allocations that succeed; negative: all

using main_function = int (*)(int, char **, char **);
main_function real_main;

int counted_main(int argc, char **argv, char **environment) {
    if (const char *at = std::getenv("FAIL_NEW_AT")) left = std::atol(at) - 1;
    const int status = real_main(argc, argv, environment);
    left = -1;
    return status;
}

} // namespace

void *operator new(std::size_t size) {
    auto now = left.load();
    while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
    }
    void *memory = now == 0 ? nullptr : std::malloc(size);
    if (!memory) throw std::bad_alloc();
    return memory;
}

extern "C" __attribute__((visibility("default"))) int __libc_start_main(main_function main, int argc, char **argv,
        void (*init)(), void (*fini)(), void (*linker_fini)(), void *stack_end) {
    real_main = main;
    using start_function = decltype(&__libc_start_main);
    return reinterpret_cast<start_function>(dlsym(RTLD_NEXT, "__libc_start_main"))(
            counted_main, argc, argv, init, fini, linker_fini, stack_end);
}
