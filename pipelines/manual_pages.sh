#!/usr/bin/env bash
# Manual pages of two Debian packages as data for text tasks: documents, texts with classes, questions. What
# pipelines/demo_text.sh runs on; needs no root but for groff itself.
#   bash pipelines/manual_pages.sh FOLDER
# Environment: MAN (a folder with man2, man3 ... as /usr/share/man has them, to read in place of the packages; anywhere
# but on Debian), CACHE (build/manual-pages: packages and rendered pages, kept for the next time), PAGES (3: pages in the
# context of a question), WORDS (5: of each page's description in it), ROUNDS (32: questions about each page of the
# training side, among other pages every time).
#
# FOLDER/train/*.txt, FOLDER/held-out/*.txt      a page a file, a paragraph a line
# FOLDER/{train,valid,test}.jsonl                {"id", "label", "text"}: a page and the section of the manual that it is
#                                                of; its header, footer and NAME are left out because they tell
# FOLDER/words.{train,test}.conll                 a word a line with its label: names of pages as read(2), errors as EINTR, paths of
#                                                files, found by rule; sentences that have one
# FOLDER/questions.{train,test}.json             SQuAD's layout: "What does NAME do?", answered by the words behind the dash in
#                                                that page's NAME, in a context of several pages in random order
# FOLDER/questions.exchanged.json                the contexts and answers of the test, each with the next one's question
# FOLDER/asked.tsv                               three questions of the test: question, answer, context
# FOLDER/counts.tsv                              pages by section and side
# A page is of the test for 2 of 10 values of a hash of its name, of the validation for 1, and both sides are held-out. The
# same pages give the same bytes everywhere.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,22s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
export LC_ALL=C

out=${1:?the folder to write: bash pipelines/manual_pages.sh FOLDER}
cache=${CACHE:-$root/build/manual-pages}
packages=(manpages manpages-dev)
[ ! -e "$out" ] || [ -e "$out/counts.tsv" ] || fail "$out exists and holds no manual pages" "give another folder"
command -v groff >/dev/null || ensure_packages groff-base
mkdir -p "$cache"

# The packages are opened, not installed: images of containers are told to leave /usr/share/man out.
unpack_packages() {
  command -v apt-get >/dev/null || fail "apt-get was not found" "MAN=/usr/share/man, or another folder of manual pages"
  rm -rf "$cache/packages" "$cache/root"
  mkdir -p "$cache/packages"
  local get=(apt-get -q -o APT::Sandbox::User=root download "${packages[@]}") package
  say "fetching ${packages[*]}"
  if ! (cd "$cache/packages" && "${get[@]}" >&2); then
    [ "$(id -u)" -ne 0 ] || apt-get update >&2
    (cd "$cache/packages" && "${get[@]}" >&2) ||
      fail "${packages[*]} could not be fetched" "apt-get update as root, or MAN=FOLDER with manual pages"
  fi
  for package in "$cache"/packages/*.deb; do dpkg-deb -x "$package" "$cache/root"; done
}

# A paragraph becomes a line: pages are rendered on a line without an end, so that nothing is filled or hyphenated.
render_pages() { # render_pages MAN
  rm -rf "$cache/text"
  mkdir -p "$cache/text"
  say "rendering the pages of $1"
  # White space is one blank, and a rule of a table (as wide as the line) three signs.
  export cache tidy='/grotty:/ { next }
    { gsub(/[[:cntrl:] ]+/, " "); gsub(/---+/, "---"); gsub(/___+/, "___"); sub(/ $/, "") }
    !/^$/'
  # shellcheck disable=SC2016
  find "$1"/man[234578]* -type f \( -name '*.[234578]*.gz' -o -name '*.[234578]' \) | sort |
    xargs -P "$jobs" -n 20 bash -c '
      for page; do
        name=${page##*/}
        name=${name%.gz}
        case $page in *.gz) gzip -dc "$page" ;; *) cat "$page" ;; esac |
          groff -t -man -Tascii -P-cbou -rLL=20000n -rHY=0 2>/dev/null | awk "$tidy" >"$cache/text/$name"
      done' bash
}

source_of_pages=${MAN:-${packages[*]}}
if [ "$(cat "$cache/source" 2>/dev/null)" != "$source_of_pages" ]; then
  if [ -n "${MAN:-}" ]; then
    render_pages "$MAN"
  else
    unpack_packages
    render_pages "$cache/root/usr/share/man"
  fi
  printf '%s\n' "$source_of_pages" >"$cache/source"
fi

rm -rf "$out"
mkdir -p "$out/train" "$out/held-out"
say "writing $out"
find "$cache/text" -type f | sort |
  awk -v out="$out" -v in_context="${PAGES:-3}" -v words="${WORDS:-5}" -v rounds="${ROUNDS:-32}" '
  function json(text) {
    gsub(/["\\]/, "\\\\&", text)
    return "\"" text "\""
  }
  # 0 to 9, of a name.
  function hash(name, i, value) {
    value = 0
    for (i = 1; i <= length(name); i++) value = (value * 257 + ordinal[substr(name, i, 1)]) % 65537
    return value % 10
  }
  # A word with its punctuation apart, and labels by rule; joined to `said`, whose words are counted.
  function label_word(word, tail) {
    tail = ""
    while (word ~ /[.,;:]$/) {
      tail = substr(word, length(word)) "\tO\n" tail
      word = substr(word, 1, length(word) - 1)
    }
    if (match(word, /^[a-z_][a-z0-9_]*\([1-8]\)$/)) {
      said = said substr(word, 1, length(word) - 3) "\tB-PAGE\n" substr(word, length(word) - 2) "\tI-PAGE\n"
      found++
    } else if (word ~ /^E[A-Z0-9][A-Z0-9]+$/) {
      said = said word "\tB-ERROR\n"
      found++
    } else if (word ~ /^\/[a-z][^ ]*$/) {
      said = said word "\tB-PATH\n"
      found++
    } else if (word != "") {
      said = said word "\tO\n"
    }
    said = said tail
  }
  # The sentences of a page that have a labelled word, three of a page at most.
  function add_words(side, page, lines, list, n, m, i, j, taken) {
    if (side == "valid") return
    n = split(page, lines, "\n")
    for (i = 1; i <= n && taken < 3; i++) {
      m = split(lines[i], list, " ")
      if (m < 5 || m > 40) continue
      said = ""
      found = 0
      for (j = 1; j <= m; j++) label_word(list[j])
      if (!found) continue
      taken++
      printf "%s\n", said > (out "/words." side ".conll")
    }
  }
  # 0 to n - 1, the same numbers in every awk (Park and Miller).
  function draw(n) {
    state = state * 16807 % 2147483647
    return int(state / 2147483647 * n)
  }
  function first_words(text, count, list, i, n, result) {
    n = split(text, list, " ")
    result = ""
    for (i = 1; i <= n && i <= count; i++) result = result (i > 1 ? " " : "") list[i]
    return result
  }
  # name[] and what[] are the NAME line at its dash, body the rest of the page. Headings are the lines that are not indented;
  # the first is the header, the last the footer.
  function read_page(path, line, lines, i, kept, n, heading) {
    n = 0
    while ((getline line < path) > 0) lines[++n] = line
    close(path)
    title = body = about = document = ""
    heading = ""
    for (i = 2; i < n; i++) {
      line = lines[i]
      if (line !~ /^ /) heading = line
      sub(/^ /, "", line)
      document = document line "\n"
      if (heading == "NAME") {
        if (lines[i] ~ /^ /) title = title (title == "" ? "" : " ") line
        continue
      }
      body = body (body == "" ? "" : " ") line
      if (heading == "DESCRIPTION" && lines[i] ~ /^ / && about == "") about = line
    }
    return title ~ / - / && body != "" && about != ""
  }
  # One of the names that a page is of ("acos, acosf, acosl - arc cosine function").
  function any_name(page, list, n, name) {
    n = split(substr(title_line[page], 1, length(title_line[page]) - length(title_answer[page]) - 3), list, ", *")
    name = list[1 + draw(n)]
    return name ~ /^[^ ]+$/ ? name : title_name[page]
  }
  # A question about `name` and page `asked` of `side`, among `in_context` - 1 others of the same side in random order.
  function question(side, asked, id, name, chosen, used, count, i, other, place, context, start, text) {
    count = 1
    chosen[1] = asked
    split("", used)
    used[title_name[asked]] = 1
    for (i = 0; count < in_context && i < 1000; i++) {
      other = member[side, draw(members[side])]
      if (title_name[other] in used) continue
      used[title_name[other]] = 1
      chosen[++count] = other
    }
    place = 1 + draw(count)
    chosen[1] = chosen[place]
    chosen[place] = asked
    context = ""
    for (i = 1; i <= count; i++) {
      if (i > 1) context = context " "
      if (chosen[i] == asked) start = length(context) + length(title_line[asked]) - length(title_answer[asked])
      context = context title_line[chosen[i]] ". " excerpt[chosen[i]]
    }
    last_context = context
    text = "{\"title\": " json(page_name[asked]) ", \"paragraphs\": [{\"context\": " json(context)
    text = text ", \"qas\": [{\"id\": " json(id)
    return text ", \"question\": " json("What does " name " do?") ", \"answers\": [{\"text\": " \
      json(title_answer[asked]) ", \"answer_start\": " start "}]}]}]}"
  }
  # Puts an article into a file of questions.
  function add(set, article) {
    printf "%s%s", added[set]++ ? ",\n" : "{\"version\": \"1.1\", \"data\": [\n", article > (out "/questions." set ".json")
  }
  BEGIN {
    state = 20
    for (i = 1; i < 256; i++) ordinal[sprintf("%c", i)] = i
  }
  {
    path = $0
    if (!read_page(path)) next
    file = path
    sub(/^.*\//, "", file)
    # NAME.SECTION: the last of the dots, and of "3type" the number.
    section = file
    sub(/^.*\./, "", section)
    section = substr(section, 1, 1)
    value = hash(file)
    side = value < 2 ? "test" : value < 3 ? "valid" : "train"
    folder = side == "train" ? "train" : "held-out"
    printf "%s", document > (out "/" folder "/" file ".txt")
    close(out "/" folder "/" file ".txt")
    print "{\"id\": " json(file) ", \"label\": \"" section "\", \"text\": " json(body) "}" > (out "/" side ".jsonl")
    counted[section, side]++
    add_words(side, document)

    dash = index(title, " - ")
    name = substr(title, 1, dash - 1)
    sub(/[, ].*/, "", name)
    if (name == "" || length(title) > 160) next
    pages++
    page_name[pages] = file
    title_line[pages] = title
    title_name[pages] = name
    title_answer[pages] = substr(title, dash + 3)
    excerpt[pages] = first_words(about, words)
    member[side, members[side]++] = pages
  }
  END {
    for (k = 0; k < rounds * members["train"]; k++) {
      asked = member["train", k % members["train"]]
      add("train", question("train", asked, page_name[asked] "/" k, any_name(asked)))
    }
    for (k = 0; k < members["test"]; k++) {
      asked = member["test", k]
      before = state
      add("test", question("test", asked, page_name[asked], title_name[asked]))
      if (k == int(members["test"] / 4) || k == int(members["test"] / 2) || k == int(3 * members["test"] / 4))
        print "What does " title_name[asked] " do?\t" title_answer[asked] "\t" last_context > (out "/asked.tsv")
      after = state
      state = before
      next_page = member["test", (k + 1) % members["test"]]
      add("exchanged", question("test", asked, page_name[asked], title_name[next_page]))
      state = after
    }
    for (set in added) print "\n]}" > (out "/questions." set ".json")
    print "#section\ttrain\tvalid\ttest" > (out "/counts.tsv")
    for (s = 2; s <= 8; s++)
      if (counted[s, "train"])
        print s "\t" counted[s, "train"] + 0 "\t" counted[s, "valid"] + 0 "\t" counted[s, "test"] + 0 > (out "/counts.tsv")
  }'
