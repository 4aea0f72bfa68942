(* Division by three operations gives the nearest float for every scale inside the guard. README.md has the theorems in
   words, and the idea of the proof. Floats and their rounding are those of Flocq (https://flocq.gitlabpages.inria.fr).
   T, V and Q are in units of the last place of the quotient, in which its floats are the integers from 2^23 to 2^24. *)
Require Import ZArith Reals Psatz Znumtheory.
From Flocq Require Import Core Relative.
Open Scope R_scope.

Notation pow := (bpow radix2).
(* binary32 with subnormal numbers, without a largest number; ties to even. *)
Definition fexp := FLT_exp (-149) 24.
Definition RN := round radix2 fexp ZnearestE.
Definition is_float := generic_format radix2 fexp.

(* ---- Quotients of reals ---- *)

Lemma le_quotient a b c : 0 < c -> a * c <= b -> a <= b / c.
Proof. intros Hc H. apply Rmult_le_reg_r with c. exact Hc. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. Qed.
Lemma lt_quotient a b c : 0 < c -> a * c < b -> a < b / c.
Proof. intros Hc H. apply Rmult_lt_reg_r with c. exact Hc. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. Qed.
Lemma quotient_le a b c : 0 < c -> a <= b * c -> a / c <= b.
Proof. intros Hc H. apply Rmult_le_reg_r with c. exact Hc. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. Qed.
Lemma quotient_lt a b c : 0 < c -> a < b * c -> a / c < b.
Proof. intros Hc H. apply Rmult_lt_reg_r with c. exact Hc. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. Qed.

(* ---- Rounding ---- *)

Lemma pow_succ e : pow (e + 1) = 2 * pow e.
Proof. rewrite bpow_plus, bpow_1. simpl. ring. Qed.

Lemma pow_integer n : (0 <= n)%Z -> IZR (2 ^ n) = pow n.
Proof. exact (IZR_Zpower radix2 n). Qed.
Lemma pow_23 : pow 23 = 8388608. Proof. reflexivity. Qed.
Lemma pow_24 : pow 24 = 16777216. Proof. reflexivity. Qed.

(* Rounding of W 2^e, W in [2^23, 2^24). *)
Lemma RN_scaled W e : 8388608 <= W < 16777216 -> (-149 <= e)%Z -> RN (W * pow e) = IZR (ZnearestE W) * pow e.
Proof.
intros HW He.
assert (Hc : cexp radix2 fexp (W * pow e) = e).
{ unfold cexp. rewrite (mag_unique_pos radix2 _ (e + 24)).
  - unfold fexp, FLT_exp. lia.
  - replace (e + 24 - 1)%Z with (23 + e)%Z by ring. rewrite bpow_plus, pow_23.
    rewrite (Z.add_comm e 24), bpow_plus, pow_24.
    assert (0 < pow e) by apply bpow_gt_0. split. nra. nra. }
unfold RN, round, scaled_mantissa. rewrite Hc.
unfold F2R. simpl.
replace (W * pow e * pow (- e)) with W. reflexivity.
rewrite Rmult_assoc, <- bpow_plus. replace (e + - e)%Z with 0%Z by ring. simpl. ring.
Qed.

Lemma ZnearestE_error W : Rabs (W - IZR (ZnearestE W)) <= / 2.
Proof. apply Znearest_half. Qed.

(* An integer of up to 24 bits times 2^e is a float. *)
Lemma float_of_integer n e : (Z.abs n <= 2 ^ 24)%Z -> (-149 <= e)%Z -> is_float (IZR n * pow e).
Proof.
intros Hn He.
destruct (Z.eq_dec (Z.abs n) (2^24)) as [E|E].
- assert (n = 2 ^ 24 \/ n = - 2 ^ 24)%Z as [-> | ->] by lia.
  + replace (IZR (2 ^ 24) * pow e) with (F2R (Float radix2 (2^23) (e + 1))).
    apply generic_format_FLT. exists (Float radix2 (2^23) (e+1)); simpl; try reflexivity; lia.
    unfold F2R; simpl. rewrite pow_succ. change (Z.pow_pos 2 24) with 16777216%Z. lra.
  + replace (IZR (- 2 ^ 24) * pow e) with (F2R (Float radix2 (-2^23) (e + 1))).
    apply generic_format_FLT. exists (Float radix2 (-2^23) (e+1)); simpl; try reflexivity; lia.
    unfold F2R; simpl. rewrite pow_succ. change (Z.pow_pos 2 24) with 16777216%Z. lra.
- apply generic_format_FLT. exists (Float radix2 n e); simpl; try reflexivity; lia.
Qed.

(* Rounds an r below 2^25 units of 2^e with an error of at most one unit. *)
Lemma RN_error r e : Rabs r < 33554432 * pow e -> (-149 <= e)%Z -> Rabs (RN r - r) <= pow e.
Proof.
intros Hr He.
apply Rle_trans with (/2 * ulp radix2 fexp r).
{ apply error_le_half_ulp. apply FLT_exp_valid. reflexivity. }
assert (Hu : ulp radix2 fexp r <= pow (e + 1)).
{ destruct (Req_dec r 0) as [Z0|Z0].
  - subst r. unfold fexp. rewrite ulp_FLT_0 by reflexivity. apply bpow_le. lia.
  - rewrite ulp_neq_0 by assumption. apply bpow_le. unfold cexp, fexp, FLT_exp.
    assert (mag radix2 r <= e + 25)%Z.
    { apply mag_le_bpow. assumption. rewrite Z.add_comm, bpow_plus. exact Hr. }
    lia. }
rewrite pow_succ in Hu. lra.
Qed.

Lemma ZnearestE_is W n : Rabs (W - IZR n) < / 2 -> ZnearestE W = n.
Proof. apply Znearest_imp. Qed.

(* Beyond the binade, up to half a unit: W 2^e is rounded to 2^24 2^e. *)
Lemma RN_above W e : 16777216 <= W < 16777217 -> (-149 <= e)%Z -> RN (W * pow e) = 16777216 * pow e.
Proof.
intros HW He. replace (W * pow e) with (W / 2 * pow (e + 1)) by (rewrite pow_succ; field).
rewrite RN_scaled by (lra || lia). rewrite (ZnearestE_is _ 8388608) by (apply Rabs_def1; lra).
rewrite pow_succ. lra.
Qed.

(* Just below 2^23, where floats are half a unit apart. *)
Lemma RN_below W e : 8388607 + 7 / 8 <= W < 8388608 -> (-148 <= e)%Z -> RN (W * pow e) = 8388608 * pow e.
Proof.
intros HW He. replace (pow e) with (2 * pow (e - 1)) by (rewrite <- pow_succ; f_equal; ring).
replace (W * (2 * pow (e - 1))) with (2 * W * pow (e - 1)) by ring.
rewrite RN_scaled by (lra || lia). rewrite (ZnearestE_is _ 16777216) by (apply Rabs_def1; lra). lra.
Qed.

(* No midpoint is between T and V, or where V is: both round to the same float. *)
Lemma same_float T V e : 8388608 + / 2 < T < 16777216 -> (-149 <= e)%Z ->
  (forall m : Z, Rabs (V - T) < Rabs (T - (IZR m + / 2))) -> RN (V * pow e) = RN (T * pow e).
Proof.
intros HT He Hm. rewrite (RN_scaled T) by (lra || lia). set (F := ZnearestE T).
assert (HF := ZnearestE_error T). fold F in HF. apply Rabs_le_inv in HF.
assert (Hlow := Hm (F - 1)%Z). assert (Hhigh := Hm F). rewrite minus_IZR in Hlow.
assert (HV : IZR F - / 2 < V < IZR F + / 2).
{ rewrite (Rabs_pos_eq (T - _)) in Hlow by lra. rewrite (Rabs_left1 (T - _)) in Hhigh by lra.
  apply Rabs_lt_inv in Hlow. apply Rabs_lt_inv in Hhigh. lra. }
assert (HT' : IZR F - / 2 < T < IZR F + / 2).
{ split; apply Rnot_le_lt; intro H.
  - replace T with (IZR F - / 2) in Hlow by lra.
    replace (IZR F - / 2 - (IZR F - 1 + / 2)) with 0 in Hlow by lra. rewrite Rabs_R0 in Hlow.
    assert (0 <= Rabs (V - (IZR F - / 2))) by apply Rabs_pos. lra.
  - replace T with (IZR F + / 2) in Hhigh by lra.
    replace (IZR F + / 2 - (IZR F + / 2)) with 0 in Hhigh by lra. rewrite Rabs_R0 in Hhigh.
    assert (0 <= Rabs (V - (IZR F + / 2))) by apply Rabs_pos. lra. }
assert (F_low : (8388609 <= F)%Z). { assert (8388608 < F)%Z. apply lt_IZR. lra. lia. }
assert (F_high : (F <= 16777216)%Z). { assert (F < 16777217)%Z. apply lt_IZR. lra. lia. }
apply IZR_le in F_low.
destruct (Rlt_or_le V 16777216) as [H|H].
- rewrite RN_scaled by (lra || lia). rewrite (ZnearestE_is V F). reflexivity. apply Rabs_def1; lra.
- assert (F = 16777216)%Z as E. { assert (16777215 < F)%Z. apply lt_IZR. lra. lia. }
  rewrite E in *. rewrite RN_above by (lra || lia). reflexivity.
Qed.

(* ---- s = S 2^es and x = X 2^ex, by their significands ---- *)

Section Mantissas.

Variables S es : Z.
Hypothesis HS : (8388608 <= S < 16777216)%Z.
Hypothesis Hes : (-98 <= es <= 52)%Z.
Let s := IZR S * pow es.
Let z := RN (1 / s).

Lemma S_real : 8388608 <= IZR S <= 16777215.
Proof. split; apply IZR_le; lia. Qed.
Lemma s_positive : 0 < s.
Proof. unfold s. assert (H := S_real). assert (0 < pow es) by apply bpow_gt_0. nra. Qed.

(* 1 - s z *)
Let epsilon := 1 - s * z.

Lemma epsilon_bound : Rabs epsilon <= IZR S / 281474976710656.
Proof.
assert (H := S_real). assert (H1 : 0 < pow es) by apply bpow_gt_0.
unfold epsilon, z.
destruct (Z.eq_dec S 8388608) as [E|E].
- assert (E1 : 1 / s = pow (- es - 23)).
  { unfold s. rewrite E. replace (- es - 23)%Z with (- es + - 23)%Z by ring.
    rewrite bpow_plus, bpow_opp. change (pow (-23)) with (/ 8388608). field. lra. }
  unfold RN. rewrite round_generic.
  + replace (1 - s * (1 / s)) with 0. rewrite Rabs_R0. lra. unfold s. field. nra.
  + apply valid_rnd_N.
  + rewrite E1. apply generic_format_bpow. unfold fexp, FLT_exp. lia.
- assert (HS' : 8388609 <= IZR S). { apply IZR_le. lia. }
  set (W := 140737488355328 / IZR S).
  assert (HW : 8388608 <= W < 16777216).
  { unfold W. split. apply le_quotient; lra. apply quotient_lt; lra. }
  assert (E1 : 1 / s = W * pow (- es - 47)).
  { unfold s, W. replace (- es - 47)%Z with (- es + - 47)%Z by ring.
    rewrite bpow_plus, bpow_opp. change (pow (-47)) with (/ 140737488355328). field. lra. }
  rewrite E1, RN_scaled by (lra || lia).
  assert (HN := ZnearestE_error W).
  replace (1 - s * (IZR (ZnearestE W) * pow (- es - 47))) with ((W - IZR (ZnearestE W)) * (IZR S / 140737488355328)).
  { rewrite Rabs_mult, (Rabs_pos_eq (IZR S / _)) by lra. nra. }
  unfold s, W. replace (- es - 47)%Z with (- es + - 47)%Z by ring.
  rewrite bpow_plus, bpow_opp. change (pow (-47)) with (/ 140737488355328). field. lra.
Qed.

Lemma epsilon_small : Rabs epsilon <= 16777215 / 281474976710656.
Proof. assert (H := epsilon_bound). assert (H1 := S_real). lra. Qed.

Variables X k ex : Z.
Hypothesis HX : (8388608 <= X < 16777216)%Z.
Hypothesis Hk : (k = 23 \/ k = 24)%Z.
Let eu := (ex - es - k)%Z.
Hypothesis Heu : (-51 <= eu)%Z.
Let x := IZR X * pow ex.
Let T := IZR X * pow k / IZR S. (* the quotient in units of its last place *)
Hypothesis HT : 8388608 <= T < 16777216.
Let q := RN (x * z).
Let r := x - q * s.
Let v := q + RN r * z.

Lemma X_real : 8388608 <= IZR X <= 16777215.
Proof. split; apply IZR_le; lia. Qed.
Lemma pow_k : pow k = 8388608 \/ pow k = 16777216.
Proof. destruct Hk as [-> | ->]; [left | right]; reflexivity. Qed.

Lemma quotient_scaled : x / s = T * pow eu.
Proof.
unfold x, s, T, eu. replace (ex - es - k)%Z with (ex + - es + - k)%Z by ring.
rewrite 2!bpow_plus, 2!bpow_opp.
assert (H := S_real). assert (0 < pow es) by apply bpow_gt_0. assert (0 < pow k) by apply bpow_gt_0.
field. lra.
Qed.

(* The error of x z before its rounding, in units. *)
Lemma T_epsilon : Rabs (T * epsilon) <= IZR X * pow k / 281474976710656.
Proof.
assert (H := epsilon_bound). assert (HS' := S_real). assert (HX' := X_real).
rewrite Rabs_mult, (Rabs_pos_eq T) by lra.
replace (IZR X * pow k) with (T * IZR S). nra. unfold T. field. lra.
Qed.

Lemma product_scaled : x * z = T * (1 - epsilon) * pow eu.
Proof.
replace (x * z) with (x / s * (s * z)). rewrite quotient_scaled. unfold epsilon. ring.
field. assert (H := s_positive). lra.
Qed.

(* The sum before its rounding. *)
Lemma sum_scaled Q eta : q = Q * pow eu -> RN r = r + eta ->
  v = (T + (Q - T) * epsilon + eta * z / pow eu) * pow eu.
Proof.
intros HQ He. unfold v. rewrite He. unfold r.
assert (E : x = T * pow eu * s). { rewrite <- quotient_scaled. field. assert (H := s_positive). lra. }
rewrite E, HQ. unfold epsilon. field. assert (0 < pow eu) by apply bpow_gt_0. lra.
Qed.

Lemma remainder_scaled Q : q = Q * pow eu -> r = (T - Q) * IZR S * pow (eu + es).
Proof.
intros HQ. unfold r.
assert (E : x = T * pow eu * s). { rewrite <- quotient_scaled. field. assert (H := s_positive). lra. }
rewrite E, HQ. unfold s. rewrite bpow_plus. ring.
Qed.

(* A remainder below 2 units is rounded by at most 2^(eu + es), which moves the sum by little. *)
Lemma rounding_of_remainder Q : q = Q * pow eu -> Rabs (Q - T) <= 2 ->
  exists delta, Rabs delta <= (1 + / 16777216) / IZR S /\ v = (T + (Q - T) * epsilon + delta) * pow eu.
Proof.
intros HQ HD. exists ((RN r - r) * z / pow eu). split.
2: { apply sum_scaled. exact HQ. ring. }
assert (HS' := S_real). assert (Hs := s_positive). assert (He := epsilon_small).
assert (H0 : 0 < pow eu) by apply bpow_gt_0. assert (H1 : 0 < pow es) by apply bpow_gt_0.
assert (HR : Rabs (RN r - r) <= pow (eu + es)).
{ apply RN_error; [|lia]. rewrite (remainder_scaled Q HQ).
  assert (0 < pow (eu + es)) by apply bpow_gt_0.
  rewrite 2!Rabs_mult, (Rabs_pos_eq (IZR S)), (Rabs_pos_eq (pow (eu + es))), Rabs_minus_sym by lra.
  assert (0 <= Rabs (Q - T)) by apply Rabs_pos.
  apply Rmult_lt_compat_r. lra. nra. }
replace ((RN r - r) * z / pow eu) with ((RN r - r) * ((1 - epsilon) / (IZR S * pow es * pow eu))).
2: { unfold epsilon, s. field. lra. }
rewrite Rabs_mult. rewrite bpow_plus in HR.
apply Rabs_le_inv in He.
assert (0 < IZR S * pow es * pow eu) by (repeat apply Rmult_lt_0_compat; lra).
rewrite (Rabs_pos_eq (_ / _)) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]).
apply Rle_trans with (pow eu * pow es * ((1 - epsilon) / (IZR S * pow es * pow eu))).
{ apply Rmult_le_compat_r. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]. exact HR. }
replace (pow eu * pow es * ((1 - epsilon) / (IZR S * pow es * pow eu))) with ((1 - epsilon) / IZR S) by (field; lra).
apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; lra. lra.
Qed.

(* ---- The quotient is a power of two ---- *)

Lemma power_of_two : T = 8388608 -> RN v = RN (x / s).
Proof.
intros E. rewrite quotient_scaled, E, (RN_scaled 8388608) by (lra || lia).
rewrite (ZnearestE_is 8388608 8388608) by (rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; lra).
assert (HS' := S_real). assert (He := epsilon_small). apply Rabs_le_inv in He.
assert (H0 : 0 < pow eu) by apply bpow_gt_0.
set (Q := q / pow eu). assert (HQ : q = Q * pow eu) by (unfold Q; field; lra).
assert (HD : Rabs (Q - T) <= 2).
{ assert (HR : Rabs (q - x * z) <= pow eu).
  { apply RN_error; [|lia]. rewrite product_scaled, E. rewrite Rabs_pos_eq by nra. nra. }
  rewrite HQ, product_scaled in HR.
  replace (Q * pow eu - T * (1 - epsilon) * pow eu) with ((Q - T * (1 - epsilon)) * pow eu) in HR by ring.
  rewrite Rabs_mult, (Rabs_pos_eq (pow eu)) in HR by lra.
  assert (H1 : Rabs (Q - T * (1 - epsilon)) <= 1) by nra.
  apply Rabs_le_inv in H1. apply Rabs_le. rewrite E in *. lra. }
destruct (rounding_of_remainder Q HQ HD) as (delta & Hd & ->).
assert (H1 : Rabs delta <= / 1000).
{ apply Rle_trans with (1 := Hd). apply quotient_le; lra. }
assert (H2 : Rabs ((Q - T) * epsilon) <= / 1000).
{ rewrite Rabs_mult. assert (Rabs epsilon <= / 2000) by (apply Rabs_le; lra).
  assert (H3 := Rabs_pos epsilon). nra. }
apply Rabs_le_inv in H1. apply Rabs_le_inv in H2. rewrite E in *.
destruct (Rlt_or_le (8388608 + (Q - 8388608) * epsilon + delta) 8388608) as [H|H].
- apply RN_below. lra. lia.
- rewrite RN_scaled by (lra || lia). rewrite (ZnearestE_is _ 8388608) by (apply Rabs_def1; lra). reflexivity.
Qed.

(* ---- The quotient is no power of two ---- *)

Hypothesis no_power : T <> 8388608.

(* T = 2^23 (1 + j / S) with an integer j. *)
Let j := if Z.eq_dec k 23 then (X - S)%Z else (2 * X - S)%Z.

Lemma T_of_j : T = 8388608 * (1 + IZR j / IZR S).
Proof.
assert (HS' := S_real). unfold T, j. destruct (Z.eq_dec k 23) as [E|E].
- rewrite E, pow_23, minus_IZR. field. lra.
- replace k with 24%Z by lia. rewrite pow_24, minus_IZR, mult_IZR. field. lra.
Qed.

Lemma j_positive : 1 <= IZR j.
Proof.
assert (HS' := S_real). assert (H := T_of_j).
apply IZR_le. assert (0 < j)%Z; [|lia]. apply lt_IZR. apply Rnot_le_lt. intro Hj.
assert (IZR j / IZR S <= 0) by (apply quotient_le; lra).
lra.
Qed.

Lemma T_low : 8388608 + / 2 < T.
Proof.
assert (HS' := S_real). assert (Hj := j_positive). rewrite T_of_j.
assert (/ 16777216 < IZR j / IZR S) by (apply lt_quotient; lra).
lra.
Qed.

(* The product is in the binade of the quotient, or above it. *)
Lemma product_low : 8388608 <= T * (1 - epsilon).
Proof.
assert (HS' := S_real). assert (Hj := j_positive). assert (He := epsilon_bound). apply Rabs_le_inv in He.
apply Rle_trans with (T * (1 - IZR S / 281474976710656)).
2: { apply Rmult_le_compat_l; lra. }
rewrite T_of_j.
assert (0 <= (281474976710656 * IZR j - IZR S * (IZR S + IZR j)) / (IZR S * 281474976710656)).
{ apply Rmult_le_pos. nra. left. apply Rinv_0_lt_compat. lra. }
replace (8388608 * (1 + IZR j / IZR S) * (1 - IZR S / 281474976710656)) with
  (8388608 + 8388608 * ((281474976710656 * IZR j - IZR S * (IZR S + IZR j)) / (IZR S * 281474976710656))).
lra. field. lra.
Qed.

Lemma T_epsilon_below_1 : Rabs (T * epsilon) < 1.
Proof.
assert (H := T_epsilon). assert (HX' := X_real). destruct pow_k as [E|E]; rewrite E in H; lra.
Qed.

(* The estimate is an integer of units, less than 3/2 of them from the quotient. *)
Lemma estimate : exists Q : Z, q = IZR Q * pow eu /\ Rabs (IZR Q - T) <= / 2 + Rabs (T * epsilon).
Proof.
assert (Hlow := product_low). assert (H1 := T_epsilon_below_1).
assert (Hp := Rabs_pos (T * epsilon)). unfold q. rewrite product_scaled.
destruct (Rlt_or_le (T * (1 - epsilon)) 16777216) as [H|H].
- exists (ZnearestE (T * (1 - epsilon))). split. { apply RN_scaled. lra. lia. }
  assert (HN := ZnearestE_error (T * (1 - epsilon))). rewrite Rabs_minus_sym in HN.
  replace (IZR (ZnearestE (T * (1 - epsilon))) - T)
    with (IZR (ZnearestE (T * (1 - epsilon))) - T * (1 - epsilon) + - (T * epsilon)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra.
- assert (H2 : T * epsilon <= 0) by lra. rewrite Rabs_left1 in * by lra.
  exists 16777216%Z. split. { apply RN_above. lra. lia. }
  rewrite Rabs_pos_eq by lra. lra.
Qed.

(* No quotient is a midpoint, and the distance to one is a multiple of 1 / (2 S). *)
Lemma midpoints_are_apart m : / (2 * IZR S) <= Rabs (T - (IZR m + / 2)).
Proof.
assert (HS' := S_real).
set (c := (2 ^ (k + 1) * X - (2 * m + 1) * S)%Z).
assert (E : T - (IZR m + / 2) = IZR c / (2 * IZR S)).
{ unfold T, c. rewrite minus_IZR, 2!mult_IZR, plus_IZR, mult_IZR.
  rewrite (pow_integer (k + 1)) by lia. rewrite pow_succ. field. lra. }
assert (Hc : c <> 0%Z).
{ unfold c. intro H0. assert (D : (2 ^ 24 | S * (2 * m + 1))%Z).
  { exists (X * 2 ^ (k + 1 - 24))%Z. replace (2 ^ (k + 1))%Z with (2 ^ (k + 1 - 24) * 2 ^ 24)%Z in H0.
    lia. rewrite <- Z.pow_add_r by lia. f_equal. ring. }
  rewrite Z.mul_comm in D. apply Gauss in D.
  - apply Z.divide_pos_le in D; lia.
  - apply rel_prime_sym, Zpow_facts.rel_prime_Zpower_r. lia.
    apply rel_prime_sym. apply prime_rel_prime. apply prime_2.
    intros [d Hd]. lia. }
rewrite E. unfold Rdiv. rewrite Rabs_mult.
rewrite (Rabs_pos_eq (/ _)) by (left; apply Rinv_0_lt_compat; lra).
assert (1 <= Rabs (IZR c)). { rewrite <- abs_IZR. apply IZR_le. lia. }
assert (0 < / (2 * IZR S)) by (apply Rinv_0_lt_compat; lra). nra.
Qed.

(* Midpoints are far away if the estimate is not one half of a unit from the quotient, nor three halves. *)
Lemma distance_near Q m : Rabs (IZR Q - T) <= 1 ->
  Rabs (Rabs (IZR Q - T) - / 2) <= Rabs (T - (IZR m + / 2)).
Proof.
intros H. apply Rabs_le_inv in H.
assert (C : (Q <= m - 1 \/ Q = m \/ Q = m + 1 \/ m + 2 <= Q)%Z) by lia.
destruct C as [C|[C|[C|C]]];
  [apply IZR_le in C | apply (f_equal IZR) in C | apply (f_equal IZR) in C | apply IZR_le in C];
  rewrite ?plus_IZR, ?minus_IZR in C; unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.

Lemma distance_far Q m : 1 < Rabs (IZR Q - T) <= 3 / 2 -> 3 / 2 - Rabs (IZR Q - T) <= Rabs (T - (IZR m + / 2)).
Proof.
intros [H H']. apply Rabs_le_inv in H'. revert H.
assert (C : (Q <= m - 1 \/ Q = m \/ Q = m + 1 \/ m + 2 <= Q)%Z) by lia.
destruct C as [C|[C|[C|C]]];
  [apply IZR_le in C | apply (f_equal IZR) in C | apply (f_equal IZR) in C | apply IZR_le in C];
  rewrite ?plus_IZR, ?minus_IZR in C; unfold Rabs; repeat destruct Rcase_abs; lra.
Qed.

(* Within one unit of the quotient the remainder is exact. *)
Lemma near_estimate Q : q = IZR Q * pow eu -> Rabs (IZR Q - T) <= 1 -> RN v = RN (x / s).
Proof.
intros HQ HD. assert (HS' := S_real). assert (H0 : 0 < pow eu) by apply bpow_gt_0.
assert (Hr : RN r = r).
{ apply round_generic. apply valid_rnd_N.
  assert (E : r = IZR (X * 2 ^ k - Q * S) * pow (eu + es)).
  { rewrite (remainder_scaled _ HQ). unfold T. rewrite minus_IZR, 2!mult_IZR, (pow_integer k) by lia.
    f_equal. field. lra. }
  rewrite E. apply float_of_integer; [|lia]. apply le_IZR. rewrite abs_IZR.
  replace (IZR (X * 2 ^ k - Q * S)) with (- (IZR Q - T) * IZR S).
  2: { unfold T. rewrite minus_IZR, 2!mult_IZR, (pow_integer k) by lia. field. lra. }
  rewrite Rabs_mult, Rabs_Ropp, (Rabs_pos_eq (IZR S)) by lra. change (IZR (2 ^ 24)) with 16777216. nra. }
assert (Hv := sum_scaled (IZR Q) 0 HQ). rewrite Hr in Hv. rewrite Hv by ring. rewrite quotient_scaled.
apply same_float. { assert (H := T_low). lra. } lia.
intro m. apply Rnot_le_lt. intro H.
replace (T + (IZR Q - T) * epsilon + 0 * z / pow eu - T) with ((IZR Q - T) * epsilon) in H by (field; lra).
rewrite Rabs_mult in H. assert (He := epsilon_bound). assert (Hs := epsilon_small).
assert (Hd := distance_near Q m HD). assert (Hm := midpoints_are_apart m).
set (A := Rabs (IZR Q - T)) in *. set (M := Rabs (T - (IZR m + / 2))) in *.
assert (HA : 0 <= A) by apply Rabs_pos. assert (Hp := Rabs_pos epsilon).
assert (H1 : M <= / 16777216) by nra.
apply Rabs_le_inv in Hd. assert (H2 : A <= / 2 + / 16777216) by lra.
assert (H3 : M <= (/ 2 + / 16777216) * (IZR S / 281474976710656)) by nra.
assert (H4 : / (2 * IZR S) <= (/ 2 + / 16777216) * (IZR S / 281474976710656)) by lra.
apply Rmult_le_compat_r with (r := 2 * IZR S) in H4; [|lra]. rewrite Rinv_l in H4 by lra. nra.
Qed.

(* Otherwise the remainder may be rounded, but midpoints are far away. *)
Lemma far_estimate Q : q = IZR Q * pow eu -> 1 < Rabs (IZR Q - T) <= / 2 + Rabs (T * epsilon) -> RN v = RN (x / s).
Proof.
intros HQ [HD HD']. assert (HS' := S_real). assert (H0 : 0 < pow eu) by apply bpow_gt_0.
assert (Ht := T_epsilon). assert (HX' := X_real).
assert (Ek : pow k = 16777216). { destruct pow_k as [E|E]; rewrite E in *; [exfalso|reflexivity]; lra. }
rewrite Ek in Ht.
assert (HXS : (X + 1 <= S)%Z).
{ assert (X < S)%Z; [|lia]. apply lt_IZR. apply Rmult_lt_reg_r with (16777216 / IZR S).
  apply Rmult_lt_0_compat. lra. apply Rinv_0_lt_compat. lra.
  replace (IZR X * (16777216 / IZR S)) with T by (unfold T; rewrite Ek; field; lra).
  replace (IZR S * (16777216 / IZR S)) with 16777216 by (field; lra). lra. }
assert (HXS' : IZR X + 1 <= IZR S). { rewrite <- plus_IZR. apply IZR_le. lia. }
destruct (rounding_of_remainder (IZR Q) HQ) as (delta & Hd & ->).
{ assert (H := T_epsilon_below_1). lra. }
rewrite quotient_scaled. apply same_float. { assert (H := T_low). lra. } lia.
intro m. assert (He := epsilon_small).
replace (T + (IZR Q - T) * epsilon + delta - T) with ((IZR Q - T) * epsilon + delta) by ring.
apply Rle_lt_trans with (1 := Rabs_triang _ _). rewrite Rabs_mult.
assert (Hb : Rabs (IZR Q - T) * Rabs epsilon <= 3 / 2 / 16777216).
{ assert (Hp := Rabs_pos epsilon). assert (Hp' := Rabs_pos (IZR Q - T)). nra. }
assert (Hf : 1 - IZR X / 16777216 <= Rabs (T - (IZR m + / 2))).
{ assert (H := T_epsilon_below_1). apply Rle_trans with (2 := distance_far Q m ltac:(lra)). lra. }
assert (H1 : 0 < / IZR S) by (apply Rinv_0_lt_compat; lra).
destruct (Z.eq_dec X 16777214) as [E|E].
- assert (ES : S = 16777215%Z) by lia.
  assert (ET : T = 16777215 - / 16777215) by (unfold T; rewrite Ek, E, ES; field).
  assert (Hd' : Rabs delta <= / 1000) by (rewrite ES in Hd; lra).
  assert (Hm : / 4 <= Rabs (T - (IZR m + / 2))).
  { rewrite ET. assert (C : (m <= 16777214 \/ 16777215 <= m)%Z) by lia. destruct C as [C|C]; apply IZR_le in C.
    rewrite Rabs_pos_eq; lra. rewrite Rabs_left; lra. }
  lra.
- assert (HX3 : IZR X <= 16777213) by (apply IZR_le; lia).
  assert (H2 : (1 + / 16777216) / IZR S < 1 - IZR X / 16777216 - 3 / 2 / 16777216).
  { apply quotient_lt. lra. destruct (Rlt_or_le (IZR X) 12582912); nra. }
  lra.
Qed.

Lemma no_power_of_two : RN v = RN (x / s).
Proof.
destruct estimate as (Q & HQ & HD).
destruct (Rle_or_lt (Rabs (IZR Q - T)) 1) as [H|H].
- apply (near_estimate Q HQ H).
- apply (far_estimate Q HQ). lra.
Qed.

End Mantissas.

(* ---- Floats ---- *)

Lemma mantissa_of y : is_float y -> pow (-126) <= y ->
  exists Y e : Z, y = IZR Y * pow e /\ (8388608 <= Y < 16777216)%Z /\ pow (e + 23) <= y < pow (e + 24).
Proof.
intros Fy Hy. assert (Hp : 0 < y) by (apply Rlt_le_trans with (2 := Hy); apply bpow_gt_0).
assert (Hm := bpow_mag_le radix2 y ltac:(lra)). assert (Hm' := bpow_mag_gt radix2 y).
rewrite Rabs_pos_eq in * by lra.
assert (H : (-126 < mag radix2 y)%Z) by (apply lt_bpow with radix2; lra).
set (e := (mag radix2 y - 24)%Z). set (Y := Ztrunc (scaled_mantissa radix2 fexp y)).
assert (E : y = IZR Y * pow e).
{ unfold is_float, generic_format in Fy. rewrite Fy at 1. unfold F2R; simpl. unfold Y. do 2 f_equal.
  unfold cexp, fexp, FLT_exp, e. lia. }
exists Y, e. replace (e + 23)%Z with (mag radix2 y - 1)%Z by (unfold e; ring).
replace (e + 24)%Z with (mag radix2 y : Z) by (unfold e; ring). split; [exact E | split; [|lra]].
replace (mag radix2 y - 1)%Z with (23 + e)%Z in Hm by (unfold e; ring).
replace (mag radix2 y : Z) with (24 + e)%Z in Hm' by (unfold e; ring).
rewrite E, bpow_plus, pow_23 in Hm. rewrite E, bpow_plus, pow_24 in Hm'.
assert (H0 : 0 < pow e) by apply bpow_gt_0.
split; [apply le_IZR | apply lt_IZR]; nra.
Qed.

Definition three_operations x s :=
  let z := RN (1 / s) in let q := RN (x * z) in RN (q + RN (x - q * s) * z).

Lemma positive_quotient x s : is_float x -> is_float s -> pow (-75) <= s <= pow 75 -> pow (-28) <= x / s ->
  three_operations x s = RN (x / s).
Proof.
intros Fx Fs Hs Ht.
assert (Hp : 0 < s) by (apply Rlt_le_trans with (2 := proj1 Hs); apply bpow_gt_0).
assert (Hx : pow (-103) <= x).
{ replace x with (x / s * s) by (field; lra). change (pow (-103)) with (pow (-28 + -75)). rewrite bpow_plus.
  apply Rmult_le_compat; try apply bpow_ge_0; lra. }
destruct (mantissa_of s Fs) as (S & es & Es & HS & Hes). { apply Rle_trans with (2 := proj1 Hs). apply bpow_le. lia. }
destruct (mantissa_of x Fx) as (X & ex & Ex & HX & _). { apply Rle_trans with (2 := Hx). apply bpow_le. lia. }
assert (H1 : (-98 <= es)%Z). { assert (-75 < es + 24)%Z; [apply lt_bpow with radix2; lra | lia]. }
assert (H2 : (es <= 52)%Z). { apply (Zplus_le_reg_r _ _ 23). apply le_bpow with radix2. simpl (52 + 23)%Z. lra. }
assert (HX' : 8388608 <= IZR X <= 16777215) by (split; apply IZR_le; lia).
assert (HS' : 8388608 <= IZR S <= 16777215) by (split; apply IZR_le; lia).
assert (Hk : exists k, (k = 23 \/ k = 24)%Z /\ 8388608 <= IZR X * pow k / IZR S < 16777216).
{ destruct (Z_le_gt_dec S X) as [C|C].
  - exists 23%Z. rewrite pow_23. apply IZR_le in C. split. lia. split.
    + apply le_quotient; lra.
    + apply quotient_lt; lra.
  - exists 24%Z. rewrite pow_24. apply Z.gt_lt, IZR_lt in C. split. lia. split.
    + apply le_quotient; lra.
    + apply quotient_lt; lra. }
destruct Hk as (k & Hk & HT).
assert (H3 : (-51 <= ex - es - k)%Z).
{ assert (-28 < 24 + (ex - es - k))%Z; [|lia]. apply lt_bpow with radix2. apply Rle_lt_trans with (1 := Ht).
  rewrite Ex, Es, (quotient_scaled S es HS X k ex). rewrite bpow_plus, pow_24.
  apply Rmult_lt_compat_r. apply bpow_gt_0. lra. }
unfold three_operations. rewrite Ex, Es.
destruct (Req_dec (IZR X * pow k / IZR S) 8388608) as [E|E].
- exact (power_of_two S es HS (conj H1 H2) X k ex H3 HT E).
- exact (no_power_of_two S es HS (conj H1 H2) X k ex HX Hk H3 HT E).
Qed.

Theorem three_operations_divide x s : is_float x -> is_float s -> pow (-75) <= s <= pow 75 ->
  pow (-28) <= Rabs (x / s) -> three_operations x s = RN (x / s).
Proof.
intros Fx Fs Hs Ht.
destruct (Rle_or_lt 0 (x / s)) as [H|H].
- rewrite Rabs_pos_eq in Ht by exact H. exact (positive_quotient x s Fx Fs Hs Ht).
- assert (Hn : three_operations (- x) s = RN (- x / s)).
  { apply positive_quotient; try assumption. apply generic_format_opp. exact Fx.
    rewrite Rabs_left in Ht by exact H. replace (- x / s) with (- (x / s)). exact Ht. unfold Rdiv. ring. }
  assert (opp : forall y, RN (- y) = - RN y) by (intro y; apply round_NE_opp).
  replace (- x / s) with (- (x / s)) in Hn by (unfold Rdiv; ring). rewrite opp in Hn.
  apply Ropp_eq_compat in Hn. rewrite Ropp_involutive in Hn. rewrite <- Hn.
  unfold three_operations.
  replace (- x * RN (1 / s)) with (- (x * RN (1 / s))) by ring. rewrite opp.
  replace (- x - - RN (x * RN (1 / s)) * s) with (- (x - RN (x * RN (1 / s)) * s)) by ring. rewrite opp.
  rewrite <- opp. f_equal. ring.
Qed.

(* RN as a relative error, and an absolute one below the normal numbers. *)
Lemma RN_errors y : exists c n, Rabs c <= / 16777216 /\ Rabs n <= pow (-150) /\ RN y = y * (1 + c) + n.
Proof.
destruct (error_N_FLT radix2 (-149) 24 ltac:(reflexivity) (fun n => negb (Z.even n)) y) as (c & n & Hc & Hn & _ & E).
exists c, n. split; [|split; [|exact E]].
- apply Rle_trans with (1 := Hc). change (/ 2 * / 8388608 <= / 16777216). lra.
- apply Rle_trans with (1 := Hn). change (pow (-150)) with (pow (-1 + -149)). rewrite bpow_plus.
  change (pow (-1)) with (/ 2). lra.
Qed.

Theorem small_quotients_stay_small x s : is_float s -> pow (-75) <= s <= pow 75 ->
  Rabs (x / s) <= pow (-28) -> Rabs (three_operations x s) <= pow (-27).
Proof.
intros Fs Hs Ht.
assert (Hp : 0 < s) by (apply Rlt_le_trans with (2 := proj1 Hs); apply bpow_gt_0).
destruct (mantissa_of s Fs) as (S & es & Es & HS & Hes). { apply Rle_trans with (2 := proj1 Hs). apply bpow_le. lia. }
assert (H1 : (-98 <= es)%Z). { assert (-75 < es + 24)%Z; [apply lt_bpow with radix2; lra | lia]. }
assert (H2 : (es <= 52)%Z). { apply (Zplus_le_reg_r _ _ 23). apply le_bpow with radix2. simpl (52 + 23)%Z. lra. }
assert (He := epsilon_small S es HS (conj H1 H2)). rewrite <- Es in He.
unfold three_operations. set (z := RN (1 / s)) in *. set (epsilon := 1 - s * z) in *.
assert (Ez : z = (1 - epsilon) / s) by (unfold epsilon; field; lra).
set (t := x / s) in *. assert (Ex : x = t * s) by (unfold t; field; lra).
destruct (RN_errors (x * z)) as (b & n & Hb & Hn & Eq). rewrite Eq.
set (q := x * z * (1 + b) + n) in *.
destruct (RN_errors (x - q * s)) as (c & n' & Hc & Hn' & Er). rewrite Er.
apply abs_round_le_generic. apply FLT_exp_valid; reflexivity. apply valid_rnd_N.
{ apply generic_format_bpow. unfold fexp, FLT_exp. lia. }
set (w := t * epsilon - t * (1 - epsilon) * b - n).
replace (q + ((x - q * s) * (1 + c) + n') * z)
  with (t - w + w * (1 + c) * (1 - epsilon) + n' * / s * (1 - epsilon)).
2: { unfold w, q. rewrite Ez, Ex. field. lra. }
assert (Hz : Rabs (n' * / s) <= pow (-75)).
{ rewrite Rabs_mult. change (pow (-75)) with (pow (-150 + 75)). rewrite bpow_plus.
  apply Rmult_le_compat; try apply Rabs_pos. exact Hn'. rewrite Rabs_pos_eq by (left; apply Rinv_0_lt_compat; lra).
  change 75%Z with (- - 75)%Z. rewrite bpow_opp. apply Rinv_le. apply bpow_gt_0. apply Hs. }
assert (Hw : Rabs w <= pow (-28) / 1000).
{ unfold w.
  assert (A1 : Rabs (t * epsilon) <= pow (-28) * / 16777216).
  { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; lra. }
  assert (A2 : Rabs (t * (1 - epsilon) * b) <= pow (-28) * 2 * / 16777216).
  { rewrite 2!Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; try lra.
    apply Rmult_le_pos; apply Rabs_pos. apply Rmult_le_compat; try apply Rabs_pos; try lra.
    apply Rabs_le. apply Rabs_le_inv in He. lra. }
  assert (A3 : pow (-150) <= pow (-28) / 16777216).
  { change (pow (-28) / 16777216) with (pow (-28) * pow (-24)). rewrite <- bpow_plus. apply bpow_le. lia. }
  assert (A4 : 0 < pow (-28)) by apply bpow_gt_0.
  apply Rabs_le_inv in A1. apply Rabs_le_inv in A2. apply Rabs_le_inv in Hn. apply Rabs_le. lra. }
assert (A5 : pow (-75) <= pow (-28) / 16777216).
{ change (pow (-28) / 16777216) with (pow (-28) * pow (-24)). rewrite <- bpow_plus. apply bpow_le. lia. }
assert (A6 : pow (-27) = 2 * pow (-28)) by (rewrite <- pow_succ; reflexivity).
assert (A7 : 0 < pow (-28)) by apply bpow_gt_0.
assert (A8 : Rabs (w * (1 + c) * (1 - epsilon)) <= pow (-28) / 1000 * 2 * 2).
{ rewrite 2!Rabs_mult. apply Rabs_le_inv in He. apply Rabs_le_inv in Hc.
  apply Rmult_le_compat. apply Rmult_le_pos; apply Rabs_pos. apply Rabs_pos.
  apply Rmult_le_compat; try apply Rabs_pos. exact Hw. apply Rabs_le; lra. apply Rabs_le; lra. }
assert (A9 : Rabs (n' * / s * (1 - epsilon)) <= pow (-75) * 2).
{ rewrite Rabs_mult. apply Rabs_le_inv in He. apply Rmult_le_compat; try apply Rabs_pos. exact Hz. apply Rabs_le; lra. }
apply Rabs_le_inv in Ht. apply Rabs_le_inv in Hw. apply Rabs_le_inv in A8. apply Rabs_le_inv in A9. apply Rabs_le. lra.
Qed.

Print Assumptions three_operations_divide.
Print Assumptions small_quotients_stay_small.
