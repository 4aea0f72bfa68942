#include "targets/avx512_vbmi.hpp"

#include "layers/epilogue/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {

extern const look_up_function avx512_vbmi_look_up;
constinit const look_up_function avx512_vbmi_look_up = look_up_by<by_registers<simd::avx512_vbmi>>;

} // namespace dynquant::lookup
