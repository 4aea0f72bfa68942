// Loads and unloads a library several times; a plug-in computes in between. Threads that it started outlive the
// unloading, so that what contains dynquant, and oneTBB's library, must stay. This program loads neither by itself.
// usage: plug_in_host LIBRARY [WHAT_STAYS]
#include <chrono>
#include <cstdio>
#include <thread>

#include <dlfcn.h>

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) return 2;
    for (int round = 0; round < 5; ++round) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            std::printf("%s\n", dlerror());
            return 1;
        }
        if (void *const computes = dlsym(library, "plug_in_quantizes_right");
                computes && !reinterpret_cast<bool (*)()>(computes)()) {
            std::printf("%s: wrong results in round %d\n", argv[1], round);
            return 1;
        }
        dlclose(library);
        std::this_thread::sleep_for(std::chrono::milliseconds(50)); // workers fall asleep, or die
        if (argc == 2) continue;
        void *const left = dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD);
        if (!left) {
            std::printf("%s: expected to stay loaded after dlclose\n", argv[2]);
            return 1;
        }
        dlclose(left);
    }
    std::printf("%s: %s\n", argv[argc - 1], argc == 2 ? "comes and goes" : "stays loaded");
}
