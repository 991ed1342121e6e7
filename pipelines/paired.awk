# Models of pipelines/attention_study.sh against their reference, sample by sample: awk -v facts=FACTS [-v draws=N] -f paired.awk INPUT >TABLE
# INPUT: of every model and seed the two lines of its .run.tsv, then lines `sample <tab> model <tab> seed <tab> reference <tab>` and those of
# its samples: number, nats and bases outside the copy, distance of the copy, nats and bases of the copy. FACTS: the study's facts.tsv.
# Intervals are bootstraps (Efron 1979) of `draws` draws, 95 %: over samples, the same of all seeds; and over seeds too.
function below(n) { state = (state * 16807) % 2147483647; return int(state / 2147483647 * n) } # Park and Miller: any awk draws the same
# The value below which `part` of the sorted draws lie.
function quantile(values, count, part,    at) { at = int(part * (count - 1) + 0.5); return values[at + 1] }
function sort(values, count,    gap, i, j, value) { # Shell
  for (gap = int(count / 2); gap > 0; gap = int(gap / 2))
    for (i = gap + 1; i <= count; i++) {
      value = values[i]
      for (j = i - gap; j > 0 && values[j] > value; j -= gap) values[j + gap] = values[j]
      values[j + gap] = value
    }
}
function per(nats, bases) { return bases > 0 ? nats / bases / log(2) : 0 }
function format(value,    text) { text = sprintf("%.4f", value); return text == "-0.0000" ? "0.0000" : text }
# Mean over the chosen seeds of what a model has more than its reference, or (copy) of copies more than the rest, over the drawn samples.
function difference(model, other, copy, seed_list, seed_count,    k, s, i, d, sum, a, b, m, n) {
  for (k = 1; k <= seed_count; k++) {
    s = seed_list[k]; a = b = m = n = 0
    for (i = 1; i <= samples; i++) {
      d = drawn[i]
      if (copy) { a += copy_nats[model, s, d]; m += copy_bases[model, s, d] } else { a += nats[model, s, d]; m += bases[model, s, d] }
      b += nats[other, s, d]; n += bases[other, s, d]
    }
    sum += per(a, m) - per(b, n)
  }
  return sum / seed_count
}
BEGIN { FS = OFS = "\t"; state = 20240229; if (draws < 1) draws = 1000 }
$1 == "model" { next }
$1 != "sample" { runs[$1]++; tokens[$1] += $4; cpu[$1] += $5; if ($6 > peak[$1]) peak[$1] = $6; evaluation[$1] += $7; span[$1] = $8 == "-" ? "-" : span[$1] + $8; next }
{
  if (!($2 in reference)) { models[++model_count] = $2; reference[$2] = $4 }
  if (!(($2, $3) in has)) { has[$2, $3] = 1; if (!($3 in known)) { known[$3] = 1; seeds[++seed_total] = $3 } }
  nats[$2, $3, $5] = $6; bases[$2, $3, $5] = $7; distance[$5] = $8; copy_nats[$2, $3, $5] = $9; copy_bases[$2, $3, $5] = $10
  if ($5 + 1 > samples) samples = $5 + 1
  outside[$2, $3] += $6; outside_bases[$2, $3] += $7
  far[$2, $8] += $9; far_bases[$2, $8] += $10
}
END {
  while ((getline line <facts) > 0) { split(line, field, "\t"); objective[field[1]] = field[2]; keys[field[1]] = field[4]; parameters[field[1]] = field[3]; work[field[1]] = field[6] }
  print "model", "objective", "seeds", "parameters", "keys", "multiply_adds", "bits", "lowest_seed", "highest_seed", "less_full", "low_samples", "high_samples", "low_both",
    "high_both", "cpu_seconds", "tokens_a_cpu_second", "peak_mib", "copy_less_rest", "copy_low", "copy_high", "copy_256", "copy_512", "copy_1024", "copy_1536", "mean_span"
  for (r = 1; r <= model_count; r++) {
    model = models[r]; other = reference[model]; own = both = sum = 0
    for (k = 1; k <= seed_total; k++) if ((model, seeds[k]) in has) {
      s = seeds[k]; bits = per(outside[model, s], outside_bases[model, s]); sum += bits
      own_seeds[++own] = s
      if (own == 1 || bits < low) low = bits
      if (own == 1 || bits > high) high = bits
      if ((other, s) in has) both_seeds[++both] = s
    }
    for (i = 1; i <= samples; i++) drawn[i] = i - 1
    less = both ? format(difference(model, other, 0, both_seeds, both)) : "-"
    gain = difference(model, model, 1, own_seeds, own)
    state = 20240229 # the same draws for all
    for (draw = 1; draw <= draws; draw++) {
      for (i = 1; i <= samples; i++) drawn[i] = below(samples)
      if (both) {
        over_samples[draw] = difference(model, other, 0, both_seeds, both)
        for (k = 1; k <= both; k++) some[k] = both_seeds[below(both) + 1]
        over_both[draw] = difference(model, other, 0, some, both)
      }
      of_copy[draw] = difference(model, model, 1, own_seeds, own)
    }
    sort(of_copy, draws)
    if (both) { sort(over_samples, draws); sort(over_both, draws) }
    print model, objective[model], own, parameters[model], keys[model], work[model], format(sum / own), format(low), format(high), less,
      both ? format(quantile(over_samples, draws, 0.025)) : "-", both ? format(quantile(over_samples, draws, 0.975)) : "-",
      (both > 1) ? format(quantile(over_both, draws, 0.025)) : "-", (both > 1) ? format(quantile(over_both, draws, 0.975)) : "-",
      sprintf("%.1f", cpu[model] / runs[model]), sprintf("%.0f", cpu[model] > 0 ? tokens[model] / cpu[model] : 0), peak[model], format(gain), format(quantile(of_copy, draws, 0.025)),
      format(quantile(of_copy, draws, 0.975)), format(per(far[model, 256], far_bases[model, 256])), format(per(far[model, 512], far_bases[model, 512])),
      format(per(far[model, 1024], far_bases[model, 1024])), format(per(far[model, 1536], far_bases[model, 1536])),
      span[model] == "-" ? "-" : sprintf("%.1f", span[model] / runs[model])
  }
}
