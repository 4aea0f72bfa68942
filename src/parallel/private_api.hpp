// Marks functions that libdynquant exports for libdynquant_model only, under a private symbol version
// (src/exports.map.in).
#pragma once

#define DYNQUANT_PRIVATE_API __attribute__((visibility("default")))
