// Elements of tensors that are in other files than the model's: https://onnx.ai/onnx/repo-docs/ExternalData.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dynquant::models {

/// Reads `size` bytes at `offset` of the file `location`, a path within `folder`. A model from somebody else says these
/// three. So the path must not leave the folder, and no part of it may be a symbolic link, as in ONNX's checker. Memory
/// is allocated after the file's size is known to suffice. Throws error, whose message `where` begins.
std::vector<std::byte> external_bytes(const std::string &folder, const std::string &location, std::int64_t offset,
        std::int64_t size, const std::string &where);

} // namespace dynquant::models
