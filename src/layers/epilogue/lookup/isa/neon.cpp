#include "targets/neon.hpp"

#include "layers/epilogue/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {

extern const look_up_function neon_look_up;
constinit const look_up_function neon_look_up = look_up_by<by_registers<simd::neon>>;

} // namespace dynquant::lookup
