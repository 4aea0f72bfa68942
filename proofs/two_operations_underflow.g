# The products of two_part are normal numbers for every scale inside the guard, so that scaling by powers of two changes
# no bit of their significands. For positive x and l; others mirror it. g is at least 2^-47 by two_operations.g, or 0.
@rn = float<ieee_32, ne>;
s = rn(s_);
x = rn(x_);
h = rn(1 / s);
g = 1 - h * s;
l = rn(g / s);
t = x / s;

{ s in [1b-75, 1b75] /\ t in [1b-28, 1b127] /\ g in [1b-47, 1b-24] ->
  h in [1b-75, 1b75] /\ l >= 1b-126 /\ x * l >= 1b-126 }

x * l -> t * g * (1 + (l - g / s) / (g / s)) { s <> 0, g <> 0 };
