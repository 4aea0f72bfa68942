// Marks what libdynquant shows libdynquant_model: under a version of its own, by src/exports.map.in.
#pragma once

#define DYNQUANT_PRIVATE_API __attribute__((visibility("default")))
