#include "targets/avx2.hpp"

#include "layers/isa/multiply_words.hpp"

namespace dynquant::layers {

constinit const panel_kind avx2_panels = kind_of<by_bytes<simd::avx2, 2>, 6>();
constinit const panel_kind avx2_word_panels = kind_of<by_words<simd::avx2, 2>, 6>();

} // namespace dynquant::layers
