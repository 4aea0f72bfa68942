// The version of dynquant. CMakeLists.txt reads it from here.
#pragma once

#define DYNQUANT_VERSION_MAJOR 0
#define DYNQUANT_VERSION_MINOR 4
#define DYNQUANT_VERSION_PATCH 0
