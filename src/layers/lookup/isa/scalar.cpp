#include "layers/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {

constinit const look_up_function scalar_look_up = look_up_each;

} // namespace dynquant::lookup
