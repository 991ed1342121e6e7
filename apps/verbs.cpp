// The table of verbs, with group titles as rows of their own; see verbs.h.
#include "apps/verbs.h"

#include <fmt/format.h>

namespace bigbird::apps {
namespace {

constexpr VerbRow verb_rows[] = {
    {"Use a model", nullptr, nullptr},
    {"demo", "score real variants with a model that comes with the program", cmd_demo},
    {"variants", "score the variants of a VCF, as annotated VCF, table or matrices", cmd_variants},
    {"variants background", "collect the effects of ordinary variants, for E-values",
     cmd_variants_background},
    {"promoter scan", "score every step of a genome with a promoter model and call promoters",
     cmd_promoter_scan},
    {"promoter predict", "score windows with a fine-tuned promoter model", cmd_promoter_predict},
    {"chromatin predict", "predict chromatin profiles: table, matrix or genome tracks",
     cmd_chromatin_predict},
    {"ism", "predict every substitution of a region: matrix and sequence logo", cmd_ism},
    {"attribute", "spread a logit over the bases of a region, by its gradients", cmd_attribute},
    {"embed", "turn sequences into vectors, pooled by sequence, token or bin", cmd_embed},
    {"fill-mask", "mask tokens of a text or a region and show what the model puts there", cmd_fill_mask},
    {"text embed", "turn texts into vectors, as sentence-transformers does", cmd_text_embed},
    {"text classify predict", "classify texts with a fine-tuned model", cmd_text_classify_predict},
    {"text tag predict", "give a class to each word of sentences", cmd_text_tag_predict},
    {"text qa predict", "answer questions with a fine-tuned model", cmd_text_qa_predict},
    {"text summarize predict", "write summaries of documents with BigBird-Pegasus or LED",
     cmd_text_summarize_predict},
    {"text hibert predict", "extract summaries with a fine-tuned HIBERT", cmd_text_hibert_predict},
    {"text generate", "continue a text or a region with a model that reads left to right", cmd_text_generate},
    {"text glue predict", "write the submission file of a GLUE task", cmd_text_glue_predict},
    {"Make a model", nullptr, nullptr},
    {"chunk", "cut a genome into documents of sentences, for pretraining", cmd_chunk},
    {"train-bpe", "train a byte-pair vocabulary on a sample of sentences", cmd_train_bpe},
    {"tokenize", "turn sentences into token ids: shards, or lines on stdout", cmd_tokenize},
    {"pretrain", "train an encoder on token shards: masked tokens and next sentences", cmd_pretrain},
    {"promoter build", "cut windows around transcription start sites, with a negative for each",
     cmd_promoter_build},
    {"promoter finetune", "fine-tune a pretrained encoder on promoter examples", cmd_promoter_finetune},
    {"promoter calibrate",
     "fit a promoter model's scores to the fractions of promoters among labelled windows",
     cmd_promoter_calibrate},
    {"chromatin build", "label the bins of a genome by the peaks of many tracks", cmd_chromatin_build},
    {"chromatin import-deepsea", "DeepSEA's published matrices as a chromatin data set",
     cmd_chromatin_import_deepsea},
    {"chromatin finetune", "fine-tune a pretrained encoder on chromatin profiles", cmd_chromatin_finetune},
    {"chromatin calibrate", "fit a model's profiles to the fractions of positives among labelled bins",
     cmd_chromatin_calibrate},
    {"text vocabulary", "train a SentencePiece vocabulary with BigBird's special pieces",
     cmd_text_vocabulary},
    {"text pretrain-data", "tokenize documents into shards for pretrain and evaluate",
     cmd_text_pretrain_data},
    {"text classify finetune", "fine-tune a pretrained encoder on texts with labels",
     cmd_text_classify_finetune},
    {"text tag finetune", "fine-tune a pretrained encoder on words with labels", cmd_text_tag_finetune},
    {"text qa finetune", "fine-tune a pretrained encoder on questions about texts", cmd_text_qa_finetune},
    {"text summarize finetune", "fine-tune BigBird-Pegasus or LED on documents and summaries",
     cmd_text_summarize_finetune},
    {"text hibert pretrain", "pretrain HIBERT on documents, by masked sentences", cmd_text_hibert_pretrain},
    {"text hibert finetune", "fine-tune HIBERT to extract summaries", cmd_text_hibert_finetune},
    {"text glue finetune", "fine-tune a pretrained encoder on a task of GLUE", cmd_text_glue_finetune},
    {"Measure", nullptr, nullptr},
    {"evaluate", "measure a pretrained model on held-out shards, compared with n-gram baselines",
     cmd_evaluate},
    {"promoter evaluate", "score promoter predictions against their labels", cmd_promoter_evaluate},
    {"chromatin evaluate", "score predicted profiles against their labels: AUROC, AUPRC, curves",
     cmd_chromatin_evaluate},
    {"variants evaluate", "hold scored variants against labels and scores of other tools",
     cmd_variants_evaluate},
    {"text classify evaluate", "score predicted classes against their labels", cmd_text_classify_evaluate},
    {"text tag evaluate", "score predicted classes of words as seqeval does", cmd_text_tag_evaluate},
    {"text qa evaluate", "score predicted answers as the data set's own script does", cmd_text_qa_evaluate},
    {"text summarize evaluate", "score predicted summaries against those that people wrote, by ROUGE",
     cmd_text_summarize_evaluate},
    {"text hibert evaluate", "score HIBERT's extracts by ROUGE, next to lead-3 and the oracle",
     cmd_text_hibert_evaluate},
    {"text glue evaluate", "score predictions of a GLUE task with its official metrics",
     cmd_text_glue_evaluate},
    {"Look at results and models", nullptr, nullptr},
    {"info", "describe what a path holds: model, data, run, scores, and any other output", cmd_info},
    {"report", "make a page of the files and folders that verbs have written", cmd_report},
    {"check", "check a model folder: tensors, numbers, tokenizer, files, self-test", cmd_check},
    {"convert", "write a model folder anew: weights format, number type, dialect, plan", cmd_convert},
    {"quantize", "write a model with int8 layers, measured against the one it is made of", cmd_quantize},
    {"attention", "print an attention plan, its degrees and path lengths, and draw it", cmd_attention},
    {"forward", "run a model once and write hidden states, logits, loss and gradients", cmd_forward},
    {"Genomes", nullptr, nullptr},
    {"simulate", "make a deterministic genome with promoters, peaks and variants", cmd_simulate},
    {"copies", "find what a held-out side of a genome has in near-copies on the other side", cmd_copies},
    {"liftover", "carry a BED or VCF to another assembly, with reasons for what does not lift", cmd_liftover},
    {"Theory", nullptr, nullptr},
    {"theory star-graph", "run the proof that attention with a star distinguishes all inputs",
     cmd_theory_star_graph},
    {"theory furthest-vector", "find furthest vectors by one full layer, and by many sparse ones",
     cmd_theory_furthest_vector},
    {"theory turing", "run a Turing machine by a decoder with sparse attention", cmd_theory_turing},
    {"theory graphs", "measure paths, clustering and gaps of random graphs and plans", cmd_theory_graphs},
    {"Work in parts", nullptr, nullptr},
    {"merge", "put the outputs of shards of any verb together", cmd_merge},
    {"cluster plan", "estimate what scoring a VCF costs, and into how many shards to cut it",
     cmd_cluster_plan},
    {"cluster sbatch", "print a script that has Slurm run a verb in shards and merge them",
     cmd_cluster_sbatch},
    {"Machine and shell", nullptr, nullptr},
    {"devices", "list the devices to compute on, or the reason why there is no CUDA device", cmd_devices},
    {"bench", "measure what this machine does in a second, for planning work on it", cmd_bench},
    {"completion", "print a completion script for bash, zsh or fish", cmd_completion},
    {"man", "print the manual page of a verb", cmd_man},
};

}  // namespace

std::span<const VerbRow> verb_table() {
  return verb_rows;
}

const VerbRow* find_verb(const std::string& name) {
  if (name == "variants merge") return find_verb("merge");  // what it was called
  for (const VerbRow& row : verb_table()) {
    if (row.run != nullptr && name == row.name) return &row;
  }
  return nullptr;
}

std::vector<VerbRow> verbs_after(const std::string& words) {
  std::vector<VerbRow> rows;
  for (const VerbRow& row : verb_table()) {
    if (row.run != nullptr && std::string(row.name).rfind(words + " ", 0) == 0) rows.push_back(row);
  }
  return rows;
}

std::string verb_line(const VerbRow& row) {
  return fmt::format("  {:<26} {}\n", row.name, row.help);
}

}  // namespace bigbird::apps
