// A form of a statement in pieces, which tasks are made of.
#pragma once

#include "kernels/native/plan.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::kernels::native {

/// The pieces of all forms of a statement are numbered one form after the other.
class row_part {
  public:
    row_part(const layout &shape, direction dir, std::int64_t first_piece);

    /// The number after that of its last piece.
    std::int64_t end() const { return first_piece_ + pieces_; }
    std::int64_t elements() const { return rows_ * columns_; }
    const layout &shape() const { return shape_; }

    /// Whether no two pieces write to one byte, which those of less than 8 bits may share with the next columns of
    /// their piece only. If all forms may be split, so do the pieces of different forms not meet.
    bool may_split(data_type dst) const;

    /// Computes those of its pieces that are among these, by a call of its shape.
    void run(row_function function, const call &c, parallel::range pieces) const;

  private:
    layout shape_;
    std::int64_t rows_, columns_;             // of the form
    std::int64_t piece_rows_, piece_columns_; // of a piece
    std::int64_t first_piece_, pieces_across_, pieces_;
};

} // namespace dynquant::kernels::native
