// Marks what libdynquant exports; everything else is hidden.
#pragma once

#if defined(_WIN32)
#error "dynquant is built and tested on Linux only"
#else
#define DYNQUANT_API __attribute__((visibility("default")))
#endif
