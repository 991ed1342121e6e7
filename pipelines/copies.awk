# Documents with a planted copy out of FASTA records, for pipelines/attention_study.sh:
#   awk -v seed=N -v side=train|held-out -v held_out=RECORD -v places=TABLE -f copies.awk FASTA >LINES
# A document has 2,046 bases, which with its two special tokens are a sample of 2,048: a line for each sentence of 33 bases, a blank line
# behind it. A random stretch of 64 bases is written again 256, 512, 1,024 or 1,536 later, over what is there. train: all records but
# held_out, both strands. held-out: that record, + only, every `every`-th document (1: all). Documents with more than a
# tenth of N are left out. TABLE: document, first base of the copy (0-based), distance.
function below(n) { state = (state * 16807) % 2147483647; return int(state / 2147483647 * n) } # Park and Miller: any awk draws the same
function reversed(text,    i, result) {
  for (i = length(text); i > 0; i--) result = result complement[substr(text, i, 1)]
  return result
}
function document(text,    distance, from, to, i) {
  distance = distances[below(4) + 1]
  from = below(size - piece - distance + 1)
  to = from + distance
  text = substr(text, 1, to) substr(text, from + 1, piece) substr(text, to + piece + 1)
  print number++ "\t" to "\t" distance >places
  for (i = 1; i <= size; i += sentence) print substr(text, i, sentence)
  print ""
}
# The next stretch of a record: a document, on both strands in training, or nothing.
function stretch(text,    bare) {
  if (stretches++ % every > 0) return
  bare = text
  if (gsub(/N/, "", bare) > size / 10) return
  document(text)
  if (side == "train") document(reversed(text))
}
BEGIN {
  size = 2046; sentence = 33; piece = 64
  if (every < 1) every = 1
  state = 20240229 + seed
  split("256 512 1024 1536", distances, " ")
  split("A C G T N", letters, " "); split("T G C A N", others, " ")
  for (i = 1; i <= 5; i++) complement[letters[i]] = others[i]
  print "document\tcopy\tdistance" >places
}
/^>/ { wanted = (substr($1, 2) == held_out) == (side == "held-out"); sequence = ""; stretches = 0; next }
wanted {
  line = toupper($0)
  gsub(/[^ACGT]/, "N", line)
  sequence = sequence line
  while (length(sequence) >= size) { stretch(substr(sequence, 1, size)); sequence = substr(sequence, size + 1) }
}
