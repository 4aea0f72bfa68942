// Reads and writes NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace npy {

/// A dense tensor; strides in elements, row-major or, in Fortran order, column-major.
template <typename T>
struct tensor {
    std::vector<std::int64_t> dims, strides;
    bool fortran_order = false;
    std::int64_t volume = 0;
    std::shared_ptr<const T> data;
};

/// The bits of a float16.
enum class float16 : std::uint16_t {};

/// T: float, double, float16, bool or an integer of 8 to 64 bits. Throws std::runtime_error with one line unless the
/// file is a complete .npy file of this type with at most 12 dims.
template <typename T>
tensor<T> read(const std::filesystem::path &file);

/// The bytes of a .npy file. T: as for read(). data: as many elements as dims have, dense in row-major order or, with
/// fortran_order, column-major.
template <typename T>
std::string bytes_of(const T *data, const std::vector<std::int64_t> &dims, bool fortran_order);

} // namespace npy
