# The three operations of corrected_quotient overflow on the way only where x / s >= 2^127. For positive x; negative
# ones mirror it. The scale s is inside the guard, x is any finite float; rn has no largest number.
@rn = float<ieee_32, ne>;
s = rn(s_);
x = rn(x_);
z = rn(1 / s);
q = rn(x * z);   # the estimate
r = x - q * s;   # the remainder, before its rounding
t = x / s;
a = (z - 1 / s) / (1 / s);
b = (q - x * z) / (x * z);

{ s in [1b-75, 1b75] /\ t in [1b-28, 1b127] /\ x in [0, 1b128] ->
  q <= 0x1.00001p127 /\ |r| <= 1b106 }

x * z -> t * (1 + a) { s <> 0 };
r -> - x * (a + b + a * b) { x * z <> 0 };
