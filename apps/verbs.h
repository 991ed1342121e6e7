// The table of verbs: what `bigbird` alone prints, and where main looks a verb up.
// A new verb is one file apps/<module>/cmd_<verb>.cpp, its declaration here and its row in verbs.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace bigbird::apps {

struct VerbRow {
  const char* name;                   // as typed after `bigbird`; one to three words. For a group: its title.
  const char* help;                   // one line
  int (*run)(int argc, char** argv);  // argv[0] is the verb's last word; null for a group title
};

inline constexpr int most_verb_words = 3;  // "text classify finetune"

// In the order of the help: a group title, then its verbs. The title of a group without verbs is not shown.
std::span<const VerbRow> verb_table();

// The row of a verb by its full name, or null.
const VerbRow* find_verb(const std::string& name);

// The verbs of more words that begin with these, "text" or "text qa".
std::vector<VerbRow> verbs_after(const std::string& words);

// A verb as lists of verbs have it: its name and what it does, in one line.
std::string verb_line(const VerbRow& row);

// The verbs, one function in apps/<module>/cmd_<verb>.cpp each.
int cmd_attention(int argc, char** argv);
int cmd_attribute(int argc, char** argv);
int cmd_bench(int argc, char** argv);
int cmd_check(int argc, char** argv);
int cmd_chromatin_build(int argc, char** argv);
int cmd_chromatin_calibrate(int argc, char** argv);
int cmd_chromatin_evaluate(int argc, char** argv);
int cmd_chromatin_finetune(int argc, char** argv);
int cmd_chromatin_import_deepsea(int argc, char** argv);
int cmd_chromatin_predict(int argc, char** argv);
int cmd_chunk(int argc, char** argv);
int cmd_completion(int argc, char** argv);
int cmd_convert(int argc, char** argv);
int cmd_copies(int argc, char** argv);
int cmd_demo(int argc, char** argv);
int cmd_devices(int argc, char** argv);
int cmd_embed(int argc, char** argv);
int cmd_evaluate(int argc, char** argv);
int cmd_fill_mask(int argc, char** argv);
int cmd_forward(int argc, char** argv);
int cmd_info(int argc, char** argv);
int cmd_ism(int argc, char** argv);
int cmd_liftover(int argc, char** argv);
int cmd_man(int argc, char** argv);
int cmd_cluster_plan(int argc, char** argv);
int cmd_cluster_sbatch(int argc, char** argv);
int cmd_merge(int argc, char** argv);
int cmd_pretrain(int argc, char** argv);
int cmd_quantize(int argc, char** argv);
int cmd_report(int argc, char** argv);
int cmd_promoter_build(int argc, char** argv);
int cmd_promoter_finetune(int argc, char** argv);
int cmd_promoter_predict(int argc, char** argv);
int cmd_promoter_evaluate(int argc, char** argv);
int cmd_promoter_calibrate(int argc, char** argv);
int cmd_promoter_scan(int argc, char** argv);
int cmd_simulate(int argc, char** argv);
int cmd_text_classify_evaluate(int argc, char** argv);
int cmd_text_classify_finetune(int argc, char** argv);
int cmd_text_embed(int argc, char** argv);
int cmd_text_classify_predict(int argc, char** argv);
int cmd_text_generate(int argc, char** argv);
int cmd_text_glue_evaluate(int argc, char** argv);
int cmd_text_glue_finetune(int argc, char** argv);
int cmd_text_glue_predict(int argc, char** argv);
int cmd_text_hibert_evaluate(int argc, char** argv);
int cmd_text_hibert_finetune(int argc, char** argv);
int cmd_text_hibert_predict(int argc, char** argv);
int cmd_text_hibert_pretrain(int argc, char** argv);
int cmd_text_pretrain_data(int argc, char** argv);
int cmd_text_qa_evaluate(int argc, char** argv);
int cmd_text_qa_finetune(int argc, char** argv);
int cmd_text_qa_predict(int argc, char** argv);
int cmd_text_summarize_finetune(int argc, char** argv);
int cmd_text_summarize_predict(int argc, char** argv);
int cmd_text_summarize_evaluate(int argc, char** argv);
int cmd_text_tag_evaluate(int argc, char** argv);
int cmd_text_tag_finetune(int argc, char** argv);
int cmd_text_tag_predict(int argc, char** argv);
int cmd_text_vocabulary(int argc, char** argv);
int cmd_theory_furthest_vector(int argc, char** argv);
int cmd_theory_graphs(int argc, char** argv);
int cmd_theory_star_graph(int argc, char** argv);
int cmd_theory_turing(int argc, char** argv);
int cmd_tokenize(int argc, char** argv);
int cmd_train_bpe(int argc, char** argv);
int cmd_variants(int argc, char** argv);
int cmd_variants_background(int argc, char** argv);
int cmd_variants_evaluate(int argc, char** argv);

}  // namespace bigbird::apps
