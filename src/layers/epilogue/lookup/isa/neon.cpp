#include "targets/neon.hpp"

#include "layers/epilogue/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {
namespace {

/// The table is in sixteen registers.
class by_tables {
  public:
    using V = simd::neon;
    static constexpr std::int64_t width = 4 * V::lanes;

    explicit by_tables(const table &values)
        : values_(V::load_table(values.data())) {}

    V::integers look_up(const std::uint8_t *src) const { return V::look_up(values_, V::load_bits(src)); }
    static void store(std::uint8_t *dst, V::integers result) { V::store(dst, result); }

  private:
    V::table_of_256 values_;
};

} // namespace

extern const look_up_function neon_look_up;
constinit const look_up_function neon_look_up = look_up_by<by_tables>;

} // namespace dynquant::lookup
