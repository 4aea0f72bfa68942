// Arrays of Python as the core sees tensors. Nothing is copied.
#pragma once

#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "dynquant/quantization.hpp"

namespace exactquant {

namespace nb = nanobind;

/// A type by its name ("int8"), NumPy's or ml_dtypes' type, or torch's. what: for the message of the error.
dynquant::data_type type_of(nb::handle given, const char *what);
/// NumPy's and ml_dtypes' name of it.
const char *name_of(dynquant::data_type type);
/// Bits of an element.
int bits_of(dynquant::data_type type);
/// NumPy's type of elements of the type, whose codes it may not know.
dynquant::data_type held_as(dynquant::data_type type);

/// A buffer of Python's, given back at the end, also where what takes it throws.
class held_buffer {
  public:
    held_buffer() = default;
    held_buffer(held_buffer &&other) noexcept
        : view(other.view)
        , is_held(std::exchange(other.is_held, false)) {}
    held_buffer &operator=(held_buffer &&) = delete;
    ~held_buffer() {
        if (is_held) PyBuffer_Release(&view);
    }

    Py_buffer view = {};
    bool is_held = false;
};

/// A view of memory that is another's, which this keeps alive.
class array {
  public:
    /// what: "x", for messages. Throws TypeError for what is no array, ValueError for one that the core cannot take.
    array(nb::handle from, const char *what, bool is_written = false);

    std::byte *data = nullptr;
    dynquant::tensor of; // strides empty where it is dense
    std::int64_t elements = 0;

    /// Bytes from the first of its elements to behind the last.
    std::int64_t extent() const;

  private:
    bool take_buffer(nb::handle from, const char *what, bool is_written);
    void take_interface(nb::handle from, const char *what, bool is_written);
    void take_dlpack(nb::handle from, const char *what, bool is_written);
    void set_strides(const std::int64_t *bytes, std::int64_t item, const char *what);

    held_buffer buffer_;
    nb::object kept_;
};

/// A new NumPy array of the type, or of uint8 where NumPy has none of it: then of packed bytes.
nb::object make(dynquant::data_type type, const dynquant::dims &extents);

} // namespace exactquant
