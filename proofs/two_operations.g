# The sum x h + RN(x l) of two_part misses x / s by at most 2^-48 before its one rounding, where s and x are from 1 to
# 2. The remainder g of h is a multiple of 2^-47 of at most 24 bits, so that the fused operation gives it exactly.
@rn = float<ieee_32, ne>;
s = rn(s_);
x = rn(x_);
h = rn(1 / s);
g = 1 - h * s;
l = rn(g / s);
p = rn(x * l);

{ s in [1, 0x1.fffffep0] /\ x in [1, 0x1.fffffep0] ->
  @FIX(g, -47) /\ |g| <= 1b-24 /\ |(x * h + p) - x / s| <= 1b-48 }

g / s -> 1 / s - h { s <> 0 };
(x * h + p) - x / s -> (p - x * l) - x * (g / s - l) { s <> 0 };
