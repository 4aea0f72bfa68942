// What a convolution costs by each algorithm, so that the cheapest computes it: what the algorithm does on one thread,
// counted here, times what each of it takes on a class of processors (cost.cpp).
#pragma once

#include <array>

#include "layers/conv/integer_convolution.hpp"

namespace dynquant::layers {

/// Vectors have the lanes of the processor's loops.
enum class unit {
    run,
    task,     // a block of sums that the epilogue takes at once
    product,  // a vector of products that is added to sums
    load,     // a vector or a broadcast that serves several products
    copy,     // of adjacent elements of x
    cells,    // a vector of them is made
    byte,     // of x that is copied
    permuted, // a byte of x, to channels last
    tile,     // a call of the loop, or a tile of rows in it
    line,     // a line of y or x that is set up
    zero_sum, // of elements of x, that a zero point of weights multiplies; and a vector of sums that it is subtracted
              // from
    sum,      // that is stored, and finished by the epilogue
};
inline constexpr std::size_t units = 12;
using unit_counts = std::array<double, units>;

/// p: of one shape. Infinite where the algorithm would take memory out of proportion, or computes no such convolution.
unit_counts counts_of(algorithm a, const integer_convolution &p);

/// Nanoseconds, roughly.
double cost_of(algorithm a, const integer_convolution &p);
double least_cost(const integer_convolution &p);

} // namespace dynquant::layers
