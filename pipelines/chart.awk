# One chart of a page of `bigbird report` as a picture of its own: awk -v chart=LABEL -f chart.awk PAGE >PICTURE.svg
index($0, "<svg class=\"chart\"") && index($0, "aria-label=\"" chart "\"") {
  inside = 1
  sub(/<svg class="chart"/, "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"Helvetica, Arial, sans-serif\" fill=\"#222\"")
  print
  print "<style>.title{font-size:14px}.tick{font-size:11px}.grid{stroke:#ddd;fill:none}.line{fill:none;stroke-width:1.6;stroke-linejoin:round}"
  print ".faint{stroke-width:1;stroke-opacity:.35}.line-0{stroke:#1f83c4}.line-1{stroke:#e0681a}.dot{fill:#fff}</style>"
  print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
  next
}
inside { print }
inside && index($0, "</svg>") { whole = 1; exit }
END {
  if (!whole) { print "chart.awk: no chart " chart >"/dev/stderr"; exit 1 }
}
