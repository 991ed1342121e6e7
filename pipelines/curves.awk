# Curves as SVG: awk -v title=... -v x_label=... -v y_label=... -f curves.awk TABLE >PICTURE.svg
# TABLE: lines of `group <tab> run <tab> x <tab> y`. Runs of one group (seeds of one setting) have one colour; each is a line.
# The axes span what is there. -v marks=1: points with the names of their groups, in place of lines.
BEGIN {
  FS = "\t"
  split("#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #000000", colours, " ") # Okabe and Ito: told apart by every eye
  width = 760; height = 420; left = 70; right = 190; top = 40; bottom = 55
}
NF >= 4 && $1 !~ /^#/ {
  if (!($1 in colour_of)) { groups[++group_count] = $1; colour_of[$1] = colours[(group_count - 1) % 7 + 1] }
  line = $1 FS $2
  if (!(line in points)) { lines[++line_count] = line; group_of[line] = $1 }
  points[line] = points[line] " " $3 "," $4
  x = $3 + 0; y = $4 + 0
  if (!seen++) { x_low = x_high = x; y_low = y_high = y }
  if (x < x_low) x_low = x
  if (x > x_high) x_high = x
  if (y < y_low) y_low = y
  if (y > y_high) y_high = y
}
# The first of 1, 2, 5 times a power of ten that is not less than a sixth of the span.
function step_of(span,    unit) {
  for (unit = 1; unit > span / 6; unit /= 10) continue
  while (1) {
    if (unit >= span / 6) return unit
    if (2 * unit >= span / 6) return 2 * unit
    if (5 * unit >= span / 6) return 5 * unit
    unit *= 10
  }
}
function across(x) { return left + (x - x_low) / (x_high - x_low) * (width - left - right) }
function down(y) { return height - bottom - (y - y_low) / (y_high - y_low) * (height - top - bottom) }
function text(x, y, anchor, words) {
  gsub(/&/, "\\&amp;", words); gsub(/</, "\\&lt;", words)
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words
}
END {
  if (!seen) { print "curves.awk: no points" >"/dev/stderr"; exit 1 }
  if (x_high == x_low) x_high = x_low + 1
  if (y_high == y_low) y_high = y_low + 1
  y_margin = (y_high - y_low) * 0.04; y_low -= y_margin; y_high += y_margin
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n", width, height
  printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
  text(width / 2, 22, "middle", title)
  step = step_of(x_high - x_low)
  for (i = int(x_low / step); i * step <= x_high; i++) if (i * step >= x_low) {
    printf "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n", across(i * step), top, height - bottom
    text(across(i * step), height - bottom + 18, "middle", i * step)
  }
  step = step_of(y_high - y_low)
  for (i = int(y_low / step); i * step <= y_high; i++) if (i * step >= y_low) {
    printf "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n", left, down(i * step), width - right
    text(left - 6, down(i * step) + 4, "end", i * step)
  }
  text(left + (width - left - right) / 2, height - 14, "middle", x_label)
  printf "<text transform=\"translate(18 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n", top + (height - top - bottom) / 2, y_label
  if (marks) {
    for (i = 1; i <= line_count; i++) {
      split(substr(points[lines[i]], 2), at, ",")
      x = across(at[1])
      for (step = 0; step < 60; step++) { # where another name is, some lines lower or higher
        y = down(at[2]) + (step % 2 ? 6 : -6) * (step + step % 2)
        free = y > top && y < height - bottom - 4
        for (j = 1; j < i; j++) if (placed_y[j] - y < 12 && y - placed_y[j] < 12 && placed_x[j] - x < 110 && x - placed_x[j] < 110) free = 0
        if (free) break
      }
      placed_x[i] = x; placed_y[i] = y
      printf "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#bbb\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", across(at[1]), down(at[2]), x + 6, y, across(at[1]), down(at[2]), colour_of[group_of[lines[i]]]
      text(x + 8, y + 4, "start", group_of[lines[i]])
    }
    print "</svg>"
    exit
  }
  for (i = 1; i <= line_count; i++) {
    count = split(substr(points[lines[i]], 2), pairs, " "); path = ""
    for (j = 1; j <= count; j++) {
      split(pairs[j], at, ",")
      path = path (j == 1 ? "M" : "L") sprintf("%.1f %.1f", across(at[1]), down(at[2]))
    }
    printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", path, colour_of[group_of[lines[i]]]
  }
  for (i = 1; i <= group_count; i++) {
    y = top + 10 + 20 * i
    printf "<path d=\"M%d %dh24\" stroke=\"%s\" stroke-width=\"3\"/>\n", width - right + 14, y, colour_of[groups[i]]
    text(width - right + 44, y + 4, "start", groups[i])
  }
  print "</svg>"
}
