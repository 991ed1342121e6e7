// The table of labels; see labels.h.
#include "lib/report/labels.h"

#include <algorithm>
#include <array>

namespace bigbird {
namespace {

struct LabelEntry {
  std::string_view name;
  std::string_view words;
};

constexpr LabelEntry known_labels[] = {
    {"accuracy_high", "accuracy, upper end"},
    {"accuracy_low", "accuracy, lower end"},
    {"alt", "ALT"},
    {"any_strand", "either strand"},
    {"auprc", "AUPRC"},
    {"auroc", "AUROC"},
    {"auroc_high", "AUROC, upper end"},
    {"auroc_low", "AUROC, lower end"},
    {"bases_covered", "bases under the masked tokens"},
    {"bases_scored", "bases scored"},
    {"best_f1", "best F1"},
    {"bits_per_base", "bits per base"},
    {"bits_per_base_definition", "bits per base are"},
    {"brier", "Brier score"},
    {"calls_confirmed", "calls near a TSS"},
    {"calls_excluded", "calls in excluded regions"},
    {"chrom", "contig"},
    {"class_accuracy", "accuracy"},
    {"class_loss", "loss of classes"},
    {"cpu_seconds", "CPU seconds"},
    {"diff", "difference"},
    {"e", "E-value"},
    {"ece", "calibration error"},
    {"exact_match", "exact matches"},
    {"f", "F"},
    {"f1", "F1"},
    {"f1_high", "F1, upper end"},
    {"f1_low", "F1, lower end"},
    {"fn", "false negatives"},
    {"fp", "false positives"},
    {"funsig", "functional significance"},
    {"id", "ID"},
    {"l2", "L2 penalty"},
    {"l2_from", "L2 penalty chosen by"},
    {"left_out", "without a score"},
    {"lfc", "log2 fold change"},
    {"lm_gain", "gain over frequencies"},
    {"lm_l2", "distance of vectors"},
    {"lm_llr", "log-likelihood ratio"},
    {"lr", "learning rate"},
    {"grad_norm", "norm of the gradient"},
    {"macro_f1", "macro F1"},
    {"max_auprc", "highest AUPRC"},
    {"max_auroc", "highest AUROC"},
    {"max_n", "largest fraction of N"},
    {"mcc", "MCC"},
    {"mean_auprc", "mean AUPRC"},
    {"mean_auroc", "mean AUROC"},
    {"mean_predicted", "mean prediction"},
    {"median_auprc", "median AUPRC"},
    {"median_auroc", "median AUROC"},
    {"median_share_positive", "median share of positives"},
    {"mfu", "share of the peak"},
    {"micro_f1", "micro F1"},
    {"min_auprc", "lowest AUPRC"},
    {"min_auroc", "lowest AUROC"},
    {"mlm_accuracy", "masked-token accuracy"},
    {"mlm_loss", "masked-token loss"},
    {"model_flops_per_second", "GFLOP/s of the model"},
    {"mse", "mean squared error"},
    {"n", "examples"},
    {"n_share", "fraction of N"},
    {"nsp_accuracy", "next-segment accuracy"},
    {"nsp_loss", "next-segment loss"},
    {"pearson", "Pearson correlation"},
    {"pos", "position"},
    {"positions_near_tss", "positions near a TSS"},
    {"profile_loss", "loss of profiles"},
    {"promoters_have", "of G and C promoters have"},
    {"ref", "REF"},
    {"rouge1", "ROUGE-1"},
    {"rouge2", "ROUGE-2"},
    {"rougeL", "ROUGE-L"},
    {"same_strand", "same strand"},
    {"seed", "random seed"},
    {"share_positive", "share of positives"},
    {"spearman", "Spearman correlation"},
    {"spearmanr", "Spearman correlation"},
    {"scan.step", "bases between positions"},
    {"step", "update"},
    {"tn", "true negatives"},
    {"tokens_per_second", "tokens a second"},
    {"tp", "true positives"},
    {"tss", "known TSS"},
    {"tss_excluded", "known TSS in excluded regions"},
    {"tss_found", "known TSS with a call"},
    {"tss_outside_regions", "known TSS outside of the regions"},
    {"tss_without_scored_position", "known TSS without a scored position"},
    {"valid_loss", "validation loss"},
    {"windows_beyond_contig", "windows beyond their contig"},
    {"windows_cut", "windows longer than the model takes"},
    {"windows_rich_in_n", "windows rich in N"},
};

// Of sets of predictions and baselines, which stand as names in JSON and in columns.
constexpr LabelEntry known_sets[] = {{"bigram", "pairs of tokens"}, {"gc", "G and C"},
                                     {"kmers", "6-mers"},           {"markov", "Markov chains"},
                                     {"rc", "both strands"},        {"single", "forward strand"},
                                     {"unigram", "single tokens"}};

constexpr LabelEntry known_reasons[] = {
    {"filtered", "FILTER is not PASS"},
    {"monomorphic", "there is no ALT"},
    {"spanning_deletion", "ALT is * of a deletion before it"},
    {"symbolic", "ALT is a symbol such as <DEL>"},
    {"breakend", "ALT is a breakend"},
    {"not_bases", "other letters than bases"},
    {"alt_is_ref", "ALT equals REF"},
    {"ambiguous_ref", "N or another code in REF"},
    {"ambiguous_alt", "N or another code in ALT"},
    {"unknown_contig", "the genome lacks the contig"},
    {"outside_contig", "beyond the contig's end"},
    {"ref_mismatch", "REF is not the genome's"},
    {"too_long", "longer than the window"},
    {"edge", "too near to a contig's end"},
    {"too_many_n", "too many N around it"},
};

constexpr LabelEntry known_flags[] = {
    {"ref_mismatch", "REF is not the genome's, and was used all the same"},
    {"swapped", "REF and ALT were exchanged, as the genome has ALT"},
    {"edge_padded", "the window passes the contig's end, and has N there"},
    {"edge_shifted", "the window was moved inwards from the contig's end"},
    {"trimmed", "REF and ALT shared bases, which were cut off"},
    {"aligned", "the insertion or deletion was moved to the left"},
    {"tokens_cut", "the window has more tokens than the model takes"},
};

template <std::size_t size>
std::string_view words_in(const LabelEntry (&table)[size], std::string_view name) {
  const auto* found = std::find_if(std::begin(table), std::end(table),
                                   [&](const LabelEntry& entry) { return entry.name == name; });
  return found == std::end(table) ? std::string_view() : found->words;
}

}  // namespace

std::string set_name(std::string_view name) {
  const std::string_view known = words_in(known_sets, name);
  return std::string(known.empty() ? name : known);
}

std::string label_of(std::string_view key) {
  for (const std::string_view known : {words_in(known_labels, key), words_in(known_sets, key)}) {
    if (!known.empty()) return std::string(known);
  }
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::vector<std::string> labels_of(const std::vector<std::string>& keys) {
  std::vector<std::string> texts;
  for (const std::string& key : keys) texts.push_back(label_of(key));
  return texts;
}

std::string reason_in_words(std::string_view reason) {
  return std::string(words_in(known_reasons, reason));
}

std::string flag_in_words(std::string_view flag) {
  return std::string(words_in(known_flags, flag));
}

std::string with_words(std::string_view name, const std::string& words) {
  return std::string(name) + (words.empty() ? "" : ": " + words);
}

}  // namespace bigbird
