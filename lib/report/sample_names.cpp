// Names of samples; see sample_names.h.
#include "lib/report/sample_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace bigbird {
namespace {

namespace fs = std::filesystem;

// Suffixes of what verbs write, the outermost first.
constexpr std::array<std::string_view, 16> suffixes = {
    ".shards", ".gz", ".zst",      ".vcf", ".bcf", ".tsv", ".csv", ".json",
    ".jsonl",  ".bw", ".bedgraph", ".bed", ".npy", ".h5",  ".svg", ".txt"};

std::string without_suffixes(std::string name) {
  for (const std::string_view suffix : suffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name;
}

// MultiQC (fn_clean_exts of its config_defaults.yaml, 1.35) cuts a name where one of these stands, at the end
// or not, and at words behind a dot (".bam", ".log").
constexpr std::array<std::string_view, 21> cut_words = {
    "_tophat",     "_star_aligned", "_fastqc",   "_counts",     "_slamdunk", "_bismark",  "_peaks",
    "_duprate",    "_vep",          "_NanoStat", "_gopeaks",    "_overall",  "_coverage", "_Summary",
    "_mapq_table", "_strand_table", "_isize",    "_dup_report", "_cv_table", "_qual",     "_trimmer"};

// The same without what MultiQC cuts at: dots that are not of a number, and the "_" of these words.
std::string uncut(std::string name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool number = i + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[i + 1])) != 0;
    if (name[i] == '.' && !number) name[i] = '_';
    const std::string_view rest = std::string_view(name).substr(i);
    const auto begins = [&](std::string_view word) { return rest.starts_with(word); };
    if (std::any_of(cut_words.begin(), cut_words.end(), begins)) name[i] = ' ';
  }
  return name;
}

std::vector<std::string> parts_of(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path.relative_path()) {
    if (!part.empty() && part != ".") parts.push_back(part.string());
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string name;
  for (const std::string& part : parts) {
    if (!name.empty()) name += ' ';
    name += uncut(part);
  }
  return multiqc_text(name);
}

std::string sample_name(const std::string& path, bool whole) {
  std::error_code ignored;
  const fs::path here = fs::current_path(ignored);
  const fs::path absolute = (here / path).lexically_normal();
  std::vector<std::string> parts = parts_of(absolute);
  if (parts.empty()) return multiqc_text(path);
  if (whole) return joined(parts);
  const std::vector<std::string> above = parts_of(here);
  const bool below = parts.size() > above.size() && std::equal(above.begin(), above.end(), parts.begin());
  if (below) {
    const std::size_t kept = std::min(parts.size(), std::max<std::size_t>(parts.size() - above.size(), 2));
    parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(kept));
  }
  parts.back() = without_suffixes(std::move(parts.back()));
  return joined(parts);
}

}  // namespace

std::string multiqc_text(const std::string& text) {
  std::string plain;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        plain += "\u2039";
        break;
      case '>':
        plain += "\u203A";
        break;
      case '&':
        plain += "\uFF06";
        break;
      case '"':
        plain += "\u201D";
        break;
      case '\'':
        plain += "\u2019";
        break;
      default:
        plain += std::iscntrl(static_cast<unsigned char>(letter)) != 0 ? ' ' : letter;
    }
  }
  return plain;
}

std::map<std::string, std::string> sample_names(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> names;
  std::map<std::string, int> uses;
  for (const std::string& path : paths) {
    if (const auto [entry, is_new] = names.emplace(path, sample_name(path, false)); is_new) {
      ++uses[entry->second];
    }
  }
  for (auto& [path, name] : names) {
    if (uses[name] > 1) name = sample_name(path, true);
  }
  return names;
}

}  // namespace bigbird
