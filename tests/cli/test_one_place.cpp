// One base has one score: every verb that scores a base puts it at the same place of its window, reads the
// same strands by default, and an insertion or deletion is one however a file writes it.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/io/genome/fasta.h"
#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

class OnePlace : public VariantsFixture {
 protected:
  using Row = std::map<std::string, std::string>;

  static void SetUpTestSuite() {
    VariantsFixture::SetUpTestSuite();
    TinyClassifier promoter;
    promoter.problem = ProblemType::single_label;
    promoter.profiles = {{"promoter", "."}};
    promoter.labels = 2;
    promoter.window = {"promoter", 100, 70, 1};
    write_tiny_classifier(path("promoter"), promoter);
    TinyClassifier odd;
    odd.window = {"chromatin", 99, 40, 21};
    write_tiny_classifier(path("odd"), odd);
    TinyClassifier silent;  // its folder does not tell a window
    write_tiny_classifier(path("silent"), silent);
    std::filesystem::remove(path("silent/window.json"));
    std::string text = header();
    for (const std::int64_t position : positions) {
      const std::string ref = reference("chr1", position);
      text += line("chr1", position, ref, other(ref) + "," + other(ref, 2) + "," + other(ref, 3));
    }
    write_text(path("snvs.vcf"), text);
  }

  // Where its window begins, by the model's window.json alone.
  struct Kind {
    std::string model;
    std::vector<std::string> options;
    std::size_t profiles;
    std::int64_t length;
    std::int64_t place;
  };
  static std::vector<Kind> kinds() {
    return {{"model", {}, 3, 100, 49},
            {"promoter", {}, 1, 100, 70},
            {"odd", {}, 3, 99, 50},
            {"silent", {"--window", "100"}, 3, 100, 49}};
  }

  static std::vector<std::string> words(const std::vector<std::string>& verb, const Kind& kind,
                                        const std::vector<std::string>& more) {
    std::vector<std::string> all = verb;
    for (const std::string& word :
         {std::string("-m"), path(kind.model), std::string("-@"), std::string("1"), std::string("-q")})
      all.push_back(word);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::vector<Row> variants(const Kind& kind, const std::string& file,
                                   const std::vector<std::string>& more = {}) {
    std::vector<std::string> rest = {"-f", path("genome.fa"), path(file), "-O", "tsv", "--profiles", "all"};
    rest.insert(rest.end(), kind.options.begin(), kind.options.end());
    rest.insert(rest.end(), more.begin(), more.end());
    return read_table(must(words({"variants"}, kind, rest)).out);
  }
  static std::vector<Row> ism(const Kind& kind, const std::vector<std::string>& more) {
    std::vector<std::string> rest = {"-f", path("genome.fa")};
    rest.insert(rest.end(), kind.options.begin(), kind.options.end());
    rest.insert(rest.end(), more.begin(), more.end());
    return read_table(must(words({"ism"}, kind, rest)).out);
  }
  // Of a table of `variants`.
  static std::string columns_of(const Kind& kind, std::size_t profile) {
    return kind.model == "promoter" ? "p_promoter_" : VariantsFixture::columns_of(profile);
  }
  static double number(const std::string& text) { return std::stod(text); }
  // Printed digits of two verbs.
  static void expect_equal(const std::string& one, const std::string& other, const std::string& what) {
    EXPECT_NEAR(number(one), number(other), 1e-5 * std::abs(number(one)) + 1e-9) << what;
  }
  static std::string window_at(std::int64_t position, const Kind& kind) {
    return genome().at("chr1").substr(static_cast<std::size_t>(position - 1 - kind.place),
                                      static_cast<std::size_t>(kind.length));
  }

  static constexpr std::int64_t positions[] = {95, 417, 1500, 3001, 5890};
};

// Rows of a table by chrom, pos, ref, alt.
std::map<std::string, std::map<std::string, std::string>> by_allele(
    const std::vector<std::map<std::string, std::string>>& rows) {
  std::map<std::string, std::map<std::string, std::string>> found;
  for (const auto& row : rows)
    found[row.at("chrom") + " " + row.at("pos") + " " + row.at("ref") + " " + row.at("alt")] = row;
  return found;
}

// Of the chromatin model two profiles have one name, which then has the number; others have one profile.
std::string profile_column(const std::map<std::string, std::string>& row, std::size_t profile) {
  for (const auto& [name, value] : row) {
    if (name.ends_with(":" + std::to_string(profile))) return value;
  }
  for (const char* name : {"K562|DNase", "promoter"}) {
    if (const auto found = row.find(name); found != row.end()) return found->second;
  }
  return {};
}

TEST_F(OnePlace, IsmAndVariantsGiveOneNumber) {
  std::string bed;
  for (const std::int64_t position : positions)
    bed += "chr1\t" + std::to_string(position - 1) + "\t" + std::to_string(position) + "\n";
  write_text(path("bases.bed"), bed);
  for (const Kind& kind : kinds()) {
    for (const std::string strands : {"", "both", "+", "-", "auto"}) {
      const std::vector<std::string> chosen =
          strands.empty() ? std::vector<std::string>() : std::vector<std::string>{"--strands", strands};
      const auto scored = by_allele(variants(kind, "snvs.vcf", chosen));
      ASSERT_EQ(scored.size(), 15u);
      for (const std::string value : {"diff", "lfc"}) {
        std::vector<std::string> more = {"-R", path("bases.bed"), "--value", value};
        more.insert(more.end(), chosen.begin(), chosen.end());
        const auto substituted = by_allele(ism(kind, more));
        ASSERT_EQ(substituted.size(), 15u);
        for (const auto& [allele, row] : scored) {
          EXPECT_EQ(row.at("skip"), "NA") << allele;
          for (std::size_t k = 0; k < kind.profiles; ++k)
            expect_equal(row.at(columns_of(kind, k) + value), profile_column(substituted.at(allele), k),
                         kind.model + " " + strands + " " + allele + " " + value);
        }
      }
    }
    // A window for each base of a longer region, and one base typed.
    const auto scored = by_allele(variants(kind, "snvs.vcf"));
    const auto each = by_allele(ism(kind, {"-r", "chr1:415-419", "--window-at", "base"}));
    const auto one = by_allele(ism(kind, {"-r", "chr1:417-417"}));
    int compared = 0;
    for (const auto& [allele, row] : scored) {
      if (!allele.starts_with("chr1 417 ")) continue;
      ++compared;
      expect_equal(row.at(columns_of(kind, 0) + "diff"), profile_column(each.at(allele), 0), allele);
      expect_equal(row.at(columns_of(kind, 0) + "diff"), profile_column(one.at(allele), 0), allele);
    }
    EXPECT_EQ(compared, 3);
  }
}

TEST_F(OnePlace, PredictionsOfTheWindowAreThoseOfTheAllele) {
  for (const Kind& kind : kinds()) {
    const auto scored = variants(kind, "snvs.vcf");
    std::string windows, bed;
    for (const Row& row : scored) {
      const std::int64_t position = std::stoll(row.at("pos"));
      std::string cut = window_at(position, kind);
      windows += ">r" + std::to_string(windows.size()) + "\n" + cut + "\n";
      EXPECT_EQ(cut.substr(static_cast<std::size_t>(kind.place), 1), row.at("ref"));
      cut[static_cast<std::size_t>(kind.place)] = row.at("alt")[0];
      windows += ">a" + std::to_string(windows.size()) + "\n" + cut + "\n";
      const std::int64_t begin = position - 1 - kind.place;
      bed += "chr1\t" + std::to_string(begin) + "\t" + std::to_string(begin + kind.length) + "\tx\t0\t+\n";
    }
    const std::string fasta = path(kind.model + ".windows.fa");
    write_text(fasta, windows);
    write_text(path("windows.bed"), bed);
    std::vector<Row> of_fasta, of_bed;
    std::string score = "p0";
    if (kind.model == "promoter") {
      of_fasta = read_table(must(words({"promoter", "predict"}, kind, {fasta})).out);
      of_bed = read_table(
          must(words({"promoter", "predict"}, kind, {"-f", path("genome.fa"), "-R", path("windows.bed")}))
              .out);
      score = "score";
    } else if (kind.model != "silent") {
      of_fasta = read_table(must(words({"chromatin", "predict"}, kind, {fasta})).out);
      of_bed = read_table(
          must(words({"chromatin", "predict"}, kind, {"-f", path("genome.fa"), "-R", path("windows.bed")}))
              .out);
      score = "K562|CTCF:0";
    } else {
      continue;
    }
    ASSERT_EQ(of_fasta.size(), 2 * scored.size()) << kind.model;
    ASSERT_EQ(of_bed.size(), scored.size()) << kind.model;
    for (std::size_t i = 0; i < scored.size(); ++i) {
      ASSERT_EQ(of_bed[i].count(score), 1u) << of_bed[i].begin()->first;
      expect_equal(scored[i].at(columns_of(kind, 0) + "ref"), of_fasta[2 * i].at(score), kind.model);
      expect_equal(scored[i].at(columns_of(kind, 0) + "alt"), of_fasta[2 * i + 1].at(score), kind.model);
      expect_equal(scored[i].at(columns_of(kind, 0) + "ref"), of_bed[i].at(score), kind.model);
    }
  }
}

// The scan of a position on the strand + is REF's prediction of a variant that stands there.
TEST_F(OnePlace, AScanOfAPositionIsThatOfItsVariant) {
  const Kind kind = kinds()[1];
  const auto scored = variants(kind, "snvs.vcf", {"--strands", "+"});
  for (std::size_t i = 0; i < scored.size(); i += 3) {
    const std::string region = "chr1:" + scored[i].at("pos") + "-" + scored[i].at("pos");
    const RunResult scan = must(
        words({"promoter", "scan"}, kind,
              {"-f", path("genome.fa"), "-r", region, "--step", "1", "--strands", "+", "--no-provenance"}));
    const auto rows = read_table(scan.out);
    ASSERT_EQ(rows.size(), 1u) << scan.out;
    expect_equal(scored[i].at(columns_of(kind, 0) + "ref"), rows[0].at("value"), region);
  }
}

// Whether each verb scores the window of chr1:1000, whose first bases are so many N, by its own default.
TEST_F(OnePlace, AWindowRichInNIsScoredByAllOrByNone) {
  const std::int64_t position = 1000;
  for (const auto& [n_bases, is_scored] : {std::pair{10, true}, std::pair{11, false}}) {
    for (const Kind& kind : {kinds()[0], kinds()[1]}) {
      const std::string what = kind.model + " " + std::to_string(n_bases);
      const std::int64_t begin = position - 1 - kind.place;
      std::string bases = genome().at("chr1");
      bases.replace(static_cast<std::size_t>(begin), static_cast<std::size_t>(n_bases),
                    static_cast<std::size_t>(n_bases), 'N');
      const std::string genome_of_n = path(kind.model + std::to_string(n_bases) + ".fa");
      write_text(genome_of_n, ">chr1\n" + bases + "\n");
      write_text(path("window.fa"),
                 ">w\n" +
                     bases.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(kind.length)) +
                     "\n");
      const std::string ref = reference("chr1", position), place = "chr1:1000-1000";
      write_text(path("one.vcf"), header() + line("chr1", position, ref, other(ref)));
      const RunResult scored =
          run_bigbird(words({"variants"}, kind, {"-f", genome_of_n, path("one.vcf"), "-O", "tsv"}));
      EXPECT_EQ(scored.status, is_scored ? 0 : 1) << what << scored.err;
      EXPECT_EQ(scored.err.find("none of 1 alleles was scored (too_many_n 1)") == std::string::npos,
                is_scored);
      const RunResult substituted = run_bigbird(words({"ism"}, kind, {"-f", genome_of_n, "-r", place}));
      EXPECT_EQ(substituted.status, is_scored ? 0 : 1) << what << substituted.err;
      if (kind.model == "model") {
        const RunResult predicted = run_bigbird(words({"chromatin", "predict"}, kind, {path("window.fa")}));
        EXPECT_EQ(predicted.status, is_scored ? 0 : 1) << what << predicted.err;
        continue;
      }
      const auto predicted = read_table(must(words({"promoter", "predict"}, kind, {path("window.fa")})).out);
      EXPECT_EQ(predicted.at(0).at("score") != "NA", is_scored) << what;
      const RunResult scanned = run_bigbird(words(
          {"promoter", "scan"}, kind, {"-f", genome_of_n, "-r", place, "--step", "1", "--strands", "+"}));
      EXPECT_EQ(scanned.status, is_scored ? 0 : 1) << what << scanned.err;
    }
  }
}

// What `attribute` spreads is the logit of the same window: its values are those of the window's middle base.
TEST_F(OnePlace, IntegratedGradientsAreOfTheSameWindow) {
  const Kind kind = kinds()[0];
  const RunResult run = run_bigbird({"attribute", "-m", path("model"), "-f", path("genome.fa"), "-r",
                                     "chr1:417-417", "--profiles", "0", "--method", "ig", "--strands", "+"});
  ASSERT_EQ(run.status, 0) << run.err;
  // "mean logit of the baseline B; the windows' differences from it, D in the mean": B + D is the logit.
  const auto after = [&](const std::string& text) {
    const std::size_t at = run.err.find(text);
    EXPECT_NE(at, std::string::npos) << run.err;
    return at == std::string::npos ? 0.0 : std::stod(run.err.substr(at + text.size()));
  };
  const double logit = after("mean logit of the baseline ") + after("differences from it, ");
  const auto row = by_allele(variants(kind, "snvs.vcf", {"--strands", "+"})).lower_bound("chr1 417 ")->second;
  const double p = number(row.at(columns_of(kind, 0) + "ref"));
  EXPECT_NEAR(logit, std::log(p / (1 - p)), 2e-3) << run.err;
}

// Pictures of a page, as SVG.
std::vector<std::string> pictures(const std::string& page) {
  const std::string mark = "src=\"data:image/svg+xml,";
  std::vector<std::string> found;
  for (std::size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
    std::string svg;
    const std::size_t end = page.find('"', at + mark.size());
    for (std::size_t i = at + mark.size(); i < end; ++i) {
      if (page[i] == '%') {
        svg += static_cast<char>(std::stoi(page.substr(i + 1, 2), nullptr, 16));
        i += 2;
      } else {
        svg += page[i];
      }
    }
    found.push_back(svg);
  }
  return found;
}

// A logo without the box around the variant; empty where it has none.
std::string without_mark(std::string svg) {
  const std::size_t at = svg.find("<rect class=\"variant\"");
  if (at == std::string::npos) return {};
  return svg.erase(at, svg.find('\n', at) + 1 - at);
}

TEST_F(OnePlace, LogosOfAReportAreOfTheTablesQuantity) {
  const std::string ref = reference("chr1", 1500);
  write_text(path("one.vcf"),
             header() + line("chr1", 1500, ref, other(ref)) +
                 line("chr1", 1499, reference("chr1", 1499) + ref, reference("chr1", 1499) + other(ref)));
  for (const Kind& kind : kinds()) {
    if (kind.model == "silent") continue;
    for (const std::string strands : {"", "+", "-"}) {
      for (const std::string place : {"", "20"}) {
        std::vector<std::string> chosen;
        if (!strands.empty()) chosen = {"--strands", strands};
        if (!place.empty()) chosen.insert(chosen.end(), {"--offset", place});
        std::vector<std::string> rest = {"-f", path("genome.fa"), path("one.vcf"), "-o", path("one.tsv")};
        rest.insert(rest.end(), chosen.begin(), chosen.end());
        must(words({"variants"}, kind, rest));
        must(words({"report"}, kind,
                   {"-f", path("genome.fa"), path("one.tsv"), "-o", path("one.html"), "--logo-bases", "9"}));
        const std::string page = file("one.html");
        for (const char* cell : {">1500</td>", ">1499</td>"})
          EXPECT_NE(page.find(cell), std::string::npos) << "positions are the file's POS";
        const std::vector<std::string> drawn = pictures(page);
        ASSERT_EQ(drawn.size(), 2u);
        const std::string profile = read_table(file("one.tsv"))[0].at("profile");
        std::vector<std::string> region = {"-f",
                                           path("genome.fa"),
                                           "-r",
                                           "chr1:1496-1504",
                                           "-o",
                                           path("ism.tsv"),
                                           "--svg",
                                           path("ism.svg"),
                                           "--svg-profile",
                                           profile};
        region.insert(region.end(), chosen.begin(), chosen.end());
        must(words({"ism"}, kind, region));
        EXPECT_TRUE(without_mark(drawn[0]) == file("ism.svg"))
            << kind.model << " " << strands << " " << place;
        EXPECT_TRUE(drawn[1] == drawn[0]) << "with a base before it, it is the same allele";
      }
    }
  }
}

// What every verb of the family makes of one change that is written in several ways.
TEST_F(OnePlace, AnIndelIsOneHoweverItIsWritten) {
  // A stretch with repeats in front of which and behind which indels can be written.
  std::string bases = genome().at("chr1").substr(0, 200) + "TCACACACACAGGGGGGATTATTATTACCG" +
                      genome().at("chr1").substr(200, 300);
  write_text(path("repeats.fa"), ">chr1\n" + bases + "\n");
  const auto text = [&](std::int64_t from, std::int64_t size) {
    return bases.substr(static_cast<std::size_t>(from - 1), static_cast<std::size_t>(size));
  };
  struct Change {
    std::string what;
    std::int64_t place;  // 0-based, where it is done
    std::int64_t removed;
    std::string added;
  };
  const std::vector<Change> changes = {{"CA less", 201, 2, ""},  {"CA more", 201, 0, "CA"},
                                       {"GG less", 211, 2, ""},  {"GGG more", 211, 0, "GGG"},
                                       {"ATT less", 217, 3, ""}, {"ATT more", 217, 0, "ATT"}};
  for (const Kind& kind : {kinds()[0], kinds()[1]}) {
    for (const Change& change : changes) {
      std::string changed = bases;
      changed.replace(static_cast<std::size_t>(change.place), static_cast<std::size_t>(change.removed),
                      change.added);
      const auto difference =
          static_cast<std::int64_t>(changed.size()) - static_cast<std::int64_t>(bases.size());
      // Each in a file of its own, and all in one, with an ALT more in some.
      std::string all = header();
      std::vector<std::string> rows;
      for (std::int64_t from = 190; from < 230; ++from) {
        for (const std::int64_t size : {std::int64_t{1}, std::int64_t{4}, std::int64_t{15}}) {
          if (size + difference < 1) continue;
          const std::string ref = text(from, size);
          const std::string alt =
              changed.substr(static_cast<std::size_t>(from - 1), static_cast<std::size_t>(size + difference));
          std::string whole = bases;
          whole.replace(static_cast<std::size_t>(from - 1), ref.size(), alt);
          if (whole != changed) continue;
          rows.push_back(line("chr1", from, ref, alt));
          all += rows.back();
        }
      }
      ASSERT_GT(rows.size(), 6u) << change.what;
      write_text(path("all.vcf"), all);
      const auto table = read_table(
          must(words({"variants"}, kind, {"-f", path("repeats.fa"), path("all.vcf"), "-O", "tsv"})).out);
      ASSERT_EQ(table.size(), rows.size());
      std::size_t aligned = 0;
      for (const Row& row : table) {
        for (const auto& [column, value] : row) {
          if (column == "pos" || column == "ref" || column == "alt" || column == "flags") continue;
          EXPECT_EQ(value, table[0].at(column)) << change.what << " " << row.at("pos") << " " << column;
        }
        aligned += row.at("flags").find("aligned") != std::string::npos ? 1U : 0U;
      }
      EXPECT_GT(aligned, 0u);
      must(words({"variants"}, kind, {"-f", path("repeats.fa"), path("all.vcf"), "-o", path("all.tsv")}));
      const auto summary = nlohmann::json::parse(file("all.tsv.summary.json"));
      EXPECT_EQ(summary.at("flags").at("aligned"), aligned);
      // A file with the first of them, and one with the last: the same backgrounds and evaluations.
      std::vector<std::string> sizes;
      for (const std::string& row : {rows.front(), rows.back()}) {
        write_text(path("alone.vcf"), header() + row);
        const RunResult run = run_bigbird(words({"variants", "background"}, kind,
                                                {"-f", path("repeats.fa"), path("alone.vcf"), "-o",
                                                 path("alone.safetensors"), "--no-provenance"}));
        ASSERT_EQ(run.status, 0) << run.err;
        sizes.push_back(
            file("alone.safetensors").substr(file("alone.safetensors").size() - 4 * kind.profiles));
      }
      EXPECT_EQ(sizes[0], sizes[1]) << change.what;
    }
  }
}

}  // namespace
}  // namespace bigbird::testing
