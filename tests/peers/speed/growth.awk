# The figure of benchmarks/speed.md from the table that growth.py writes, or with -v form=table its
# numbers as Markdown:
#   awk -f growth.awk docs/pictures/growth.tsv >docs/pictures/growth.svg
# An exponent is the slope of the straight line of least squares through the logarithms of a series' upper points (`fitted` of
# them). Memory is what a length takes beyond a sequence of one block in the same program.
BEGIN {
  FS = "\t"
  fitted = 4
  split("sparse full", attentions, " "); split("bigbird transformers", programs, " "); split("forward step", passes, " ")
  colour["bigbird"] = "#0072b2"; colour["transformers"] = "#d55e00" # Okabe and Ito: told apart by every eye
  label["sparse"] = "BigBird attention"; label["full"] = "full attention"
  words["forward"] = "Forward pass"; words["step"] = "Training step"
  dashed = " stroke-dasharray=\"6 3\""
  wide = 270; high = 215 # of a panel
}
/^# / {
  at = index($0, ": ")
  fact[substr($0, 3, at - 3)] = substr($0, at + 2)
  next
}
/^program\t/ || NF < 12 { next }
$8 == "-" {
  left_out[++left_out_count] = $1 ", " label[$2] ", " $3 ", " thousands($4) ": " substr($12, 11)
  next
}
$3 == "update" {
  # Processes of one thread, and threads of one process; one of one is both.
  if ($6 == 1) add("ranks", "seconds", $5, $8)
  if ($5 == 1) add("threads", "seconds", $6, $8)
  update[$5, $6] = $8; update_peak[$5, $6] = $11; settings[++setting_count] = $5 SUBSEP $6
  next
}
$4 == fact["one block"] { base[$3, $2, $1] = $11; next }
{
  add($3 SUBSEP $2 SUBSEP $1, "seconds", $4, $8)
  if ($11 > base[$3, $2, $1]) add($3 SUBSEP $2 SUBSEP $1, "gigabytes", $4, $11 - base[$3, $2, $1])
  if (!($4 in known)) { known[$4] = 1; lengths[++length_count] = $4 }
}
function add(series, what, x, y,    n) {
  n = ++count[series, what]
  xs[series, what, n] = log(x); ys[series, what, n] = log(y); value[series, what, x] = y
}
function thousands(n) { return n >= 1000 ? sprintf("%d,%03d", n / 1000, n % 1000) : n "" }
# The exponent of a series; - with fewer than two points.
function exponent(series, what,    n, i, first, mean_x, mean_y, over, under) {
  n = count[series, what] + 0
  first = n > fitted ? n - fitted + 1 : 1
  if (n < 2) return "-"
  for (i = first; i <= n; i++) { mean_x += xs[series, what, i]; mean_y += ys[series, what, i] }
  mean_x /= n - first + 1; mean_y /= n - first + 1
  for (i = first; i <= n; i++) {
    over += (xs[series, what, i] - mean_x) * (ys[series, what, i] - mean_y)
    under += (xs[series, what, i] - mean_x) ^ 2
  }
  return sprintf("%.2f", over / under)
}
function cell(series, x,    text) {
  if (!((series, "seconds", x) in value)) return "-"
  text = sprintf("%.3g s", value[series, "seconds", x])
  if ((series, "gigabytes", x) in value) text = text sprintf(", %.2g GB", value[series, "gigabytes", x])
  return text
}
function print_tables(    p, a, g, i, series, line, rule) {
  if (fact["trial"] != "") print "**A trial, not the measurement: " fact["trial"] ".**\n"
  print fact["machine"] "; " fact["threads"] " threads; " fact["versions"] "; " fact["date"] ". " fact["model"] "."
  for (a = 1; a <= 2; a++) if (fact["agreement, " attentions[a] " attention"] != "")
    print "Agreement of both programs, " label[attentions[a]] ": " fact["agreement, " attentions[a] " attention"] "."
  print ""
  line = "| pass | attention | program |"; rule = "|---|---|---|"
  for (i = 1; i <= length_count; i++) if (i == length_count || i % 3 == 1) {
    line = line " " thousands(lengths[i]) " tokens |"; rule = rule "---|"
  }
  print line " exponent of time, upper " fitted " | of memory |"; print rule "---|---|"
  for (p = 1; p <= 2; p++) for (a = 1; a <= 2; a++) for (g = 1; g <= 2; g++) {
    series = passes[p] SUBSEP attentions[a] SUBSEP programs[g]
    if (!count[series, "seconds"]) continue
    line = "| " words[passes[p]] " | " label[attentions[a]] " | " programs[g] " |"
    for (i = 1; i <= length_count; i++) if (i == length_count || i % 3 == 1) line = line " " cell(series, lengths[i]) " |"
    print line " **" exponent(series, "seconds") "** | " exponent(series, "gigabytes") " |"
  }
  for (i = 1; i <= left_out_count; i++) print (i == 1 ? "\n" : "") "Left out: " left_out[i] "." (i < left_out_count ? "<br>" : "")
  if (!setting_count) return
  print "\n| processes x threads | seconds of an update | times as fast as one of one | memory of a process |\n|---|---|---|---|"
  for (i = 1; i <= setting_count; i++) {
    split(settings[i], p_, SUBSEP)
    line = "| " p_[1] " x " p_[2] " | " sprintf("%.2f", update[p_[1], p_[2]]) " | "
    line = line ((1, 1) in update ? sprintf("%.2f", update[1, 1] / update[p_[1], p_[2]]) : "-")
    print line " | " (update_peak[p_[1], p_[2]] == "-" ? "-" : sprintf("%.2f GB", update_peak[p_[1], p_[2]])) " |"
  }
}
function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
function write(x, y, anchor, text, more) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, more, escaped(text)
}
function across(x) { return panel_x + (x - x_low) / (x_high - x_low) * wide }
function down(y) { return panel_y + high - (y - y_low) / (y_high - y_low) * high }
function widen(series, what,    i) {
  for (i = 1; i <= count[series, what]; i++) {
    if (!seen++) { x_low = x_high = xs[series, what, i]; y_low = y_high = ys[series, what, i] }
    if (xs[series, what, i] < x_low) x_low = xs[series, what, i]
    if (xs[series, what, i] > x_high) x_high = xs[series, what, i]
    if (ys[series, what, i] < y_low) y_low = ys[series, what, i]
    if (ys[series, what, i] > y_high) y_high = ys[series, what, i]
  }
}
# The frame of the values that `widen` has seen.
function frame(title, x_label,    power, k, y, step, tick, ticks, of_ten) {
  if (x_high - x_low < 0.01) x_high = x_low + 1
  if (y_high - y_low < 0.01) y_high = y_low + 1
  step = (y_high - y_low) * 0.04; y_low -= step; y_high += step
  step = (x_high - x_low) * 0.03; x_low -= step; x_high += step
  write(panel_x, panel_y - 10, "start", title, " font-size=\"13\"")
  ticks = split(y_high - y_low > 5 ? "1" : y_high - y_low > 1.5 ? "1 2 5" : "1 1.5 2 3 4 5 6 7 8 9", of_ten, " ")
  for (power = -6; power <= 6; power++) for (k = 1; k <= ticks; k++) {
    y = log(of_ten[k] * 10 ^ power)
    if (y < y_low || y > y_high) continue
    printf "<path d=\"M%.1f %.1fh%d\" stroke=\"#ddd\"/>\n", panel_x, down(y), wide
    write(panel_x - 6, down(y) + 4, "end", sprintf("%g", of_ten[k] * 10 ^ power), "")
  }
  step = x_high - x_low > 3.6 ? 2 : 1 # every second of many
  for (k = 0; k <= 20; k++) {
    tick = 2 ^ k
    if (log(tick) < x_low - 1e-9 || log(tick) > x_high + 1e-9) continue
    printf "<path d=\"M%.1f %.1fv%d\" stroke=\"#ddd\"/>\n", across(log(tick)), panel_y, high
    if (k % step == (step == 2)) write(across(log(tick)), panel_y + high + 16, "middle", thousands(tick), "")
  }
  write(panel_x + wide, panel_y + high + 32, "end", x_label, "")
}
function draw(series, what, hue, dash,    i, path, slope, y, corner) {
  if (!count[series, what]) return
  for (i = 1; i <= count[series, what]; i++) path = path sprintf("%s%.1f %.1f", i == 1 ? "M" : "L", across(xs[series, what, i]), down(ys[series, what, i]))
  printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", path, hue, dash
  for (i = 1; i <= count[series, what]; i++) printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"/>\n", across(xs[series, what, i]), down(ys[series, what, i]), hue
  slope = exponent(series, what)
  corner = falling ? panel_x + wide - 70 : panel_x + 6 # where no line of a panel goes
  y = panel_y + 14 + 16 * corner_rows++
  sample(corner, y, hue, dash, slope)
}
function sample(x, y, hue, dash, words_) {
  printf "<path d=\"M%.1f %.1fh24\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", x, y - 4, hue, dash
  write(x + 30, y, "start", words_, "")
}
function panel(p, what, title,    a, g, i) {
  corner_rows = 0; falling = 0; seen = 0
  # One scale for both passes.
  for (i = 1; i <= 2; i++) for (a = 1; a <= 2; a++) for (g = 1; g <= 2; g++) widen(passes[i] SUBSEP attentions[a] SUBSEP programs[g], what)
  if (!seen) return
  frame(title, "tokens")
  for (a = 1; a <= 2; a++) for (g = 1; g <= 2; g++)
    draw(passes[p] SUBSEP attentions[a] SUBSEP programs[g], what, colour[programs[g]], a == 2 ? dashed : "")
}
# A paragraph at the height note_y, as wide as a panel.
function note(text,    n, i, word, line) {
  n = split(text, word, " ")
  for (i = 1; i <= n; i++) {
    if (line != "" && length(line) + 1 + length(word[i]) > 50) { write(panel_x, note_y, "start", line, " font-size=\"11\""); note_y += 14; line = "" }
    line = line (line == "" ? "" : " ") word[i]
  }
  write(panel_x, note_y, "start", line, " font-size=\"11\""); note_y += 20
}
END {
  if (!length_count && !setting_count) { print "growth.awk: no points" >"/dev/stderr"; exit 1 }
  if (form == "table") { print_tables(); exit 0 }
  height = 640 + (left_out_count ? 18 + 15 * left_out_count : 0)
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1040 " height "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">"
  print "<rect width=\"1040\" height=\"" height "\" fill=\"#fff\"/>"
  write(520, 24, "middle", "How cost grows with length and with ranks" (fact["trial"] == "" ? "" : " (trial: " fact["trial"] ")"), " font-size=\"15\"")
  panel_y = 68
  panel_x = 60; panel(1, "seconds", "Forward pass: seconds")
  panel_x = 400; panel(2, "seconds", "Training step: seconds")
  if (setting_count) {
    panel_x = 740; corner_rows = 0; falling = 1; seen = 0
    widen("ranks", "seconds"); widen("threads", "seconds")
    if (y_high - y_low < log(2)) { y_low -= log(2) / 4; y_high += log(2) / 4 }
    frame("One update of training: seconds", "processes, or threads")
    draw("ranks", "seconds", "#009e73", "")
    draw("threads", "seconds", "#cc79a7", dashed)
  }
  panel_y = 368
  panel_x = 60; panel(1, "gigabytes", "Forward pass: GB beyond one block's")
  panel_x = 400; panel(2, "gigabytes", "Training step: GB beyond one block's")
  panel_x = 740; note_y = 368
  for (a = 1; a <= 2; a++) for (g = 1; g <= 2; g++) {
    sample(panel_x, note_y, colour[programs[g]], a == 2 ? dashed : "", programs[g] ", " label[attentions[a]]); note_y += 17
  }
  if (setting_count) {
    sample(panel_x, note_y, "#009e73", "", "bigbird, processes of one thread"); note_y += 17
    sample(panel_x, note_y, "#cc79a7", dashed, "bigbird, threads of one process"); note_y += 17
  }
  note_y += 6
  note("In the corners: fitted exponents, of the upper " fitted " points of each line.")
  note(fact["model"] ".")
  note("transformers: BigBird block_sparse; full attention is BERT with sdpa." (fact["update"] == "" ? "" : " An update: " fact["update"] "."))
  note(fact["machine"] "; " fact["threads"] " threads; " fact["versions"] "; " fact["date"] ".")
  for (i = 1; i <= left_out_count; i++) write(60, 648 + 15 * i, "start", "Left out: " left_out[i] ".", " font-size=\"11\"")
  print "</svg>"
}
