version 1.1
# Scores the variants of a VCF in shards and merges them to the bytes that one run gives.
# Try it without a scheduler:  miniwdl run variants.wdl vcf=... fasta=... model=... model_name=...

workflow bigbird_variants {
  meta {
    description: "Scores variants with a BigBird model, in shards: how each ALT changes what the model predicts."
  }
  parameter_meta {
    vcf: "VCF, VCF.gz or BCF"
    fasta: "genome of the variants, BGZF allowed"
    model: "tar archive of a model folder; else a model that comes with the program is taken"
    model_name: "one that comes with the program, such as yeast-r64/tracks"
    background: "file of `bigbird variants background`, for E-values"
    output_name: "its suffix tells the type: .vcf.gz, .bcf, .vcf, .tsv"
    options: "further words of the verb, such as [\"--pass-only\"]; the same for all shards"
  }
  input {
    File vcf
    File fasta
    File? model
    String model_name = "human/tracks"
    File? background
    String output_name = "scored.vcf.gz"
    Array[String] options = []
    Int shards = 8
    Int threads = 2
    Int memory_gb = 4
    String container = "localhost/bigbird:0.1.0"
  }

  scatter (index in range(shards)) {
    call score {
      input:
        vcf, fasta, model, model_name, background, output_name, options, threads, memory_gb, container,
        shard = "~{index + 1}/~{shards}"
    }
  }
  call merge {
    input:
      scores = score.scores,
      skipped = score.skipped,
      summaries = score.summary,
      output_name, memory_gb, container
  }

  output {
    File scores = merge.merged
    File skipped = merge.merged_skipped
    File summary = merge.merged_summary
  }
}

task score {
  input {
    File vcf
    File fasta
    File? model
    String model_name
    File? background
    String output_name
    Array[String] options
    String shard
    Int threads
    Int memory_gb
    String container
  }

  command <<<
    set -euo pipefail
    # Links of one name in every shard: shards whose command lines differ are not merged. The genome's index is made
    # beside its link.
    ln -s '~{fasta}' '~{basename(fasta)}'
    ln -s '~{vcf}' '~{basename(vcf)}'
    if [ -n '~{background}' ]; then ln -s '~{background}' background; fi
    folder='~{model_name}'
    if [ -n '~{model}' ]; then
      mkdir model
      tar -xf '~{model}' -C model
      config=$(find model -name config.json | sort | head -n 1)
      [ -n "$config" ] || { echo 'the archive holds no model folder: no config.json' >&2; exit 1; }
      folder=$(dirname "$config")
    fi
    mkdir shard
    bigbird variants --model "$folder" --fasta-ref '~{basename(fasta)}' ~{if defined(background) then "--background background" else ""} \
      ~{sep(" ", squote(options))} --shard ~{shard} --threads ~{threads} --output 'shard/~{output_name}' '~{basename(vcf)}'
  >>>

  output {
    File scores = "shard/~{output_name}"
    File skipped = "shard/~{output_name}.skipped.tsv"
    File summary = "shard/~{output_name}.summary.json"
  }
  runtime {
    container: container
    cpu: threads
    memory: "~{memory_gb} GiB"
    maxRetries: 2
  }
}

task merge {
  input {
    Array[File] scores
    Array[File] skipped
    Array[File] summaries
    String output_name
    Int memory_gb
    String container
  }

  command <<<
    set -euo pipefail
    # A shard and the two files beside it lie in one folder again, whatever a runner did with them.
    number=0
    while IFS=$'\t' read -r one two three; do
      number=$((number + 1))
      mkdir -p "shards/$number"
      ln -s "$one" "$two" "$three" "shards/$number/"
    done < <(paste '~{write_lines(scores)}' '~{write_lines(skipped)}' '~{write_lines(summaries)}')
    bigbird merge shards/*/'~{output_name}' --output '~{output_name}'
  >>>

  output {
    File merged = output_name
    File merged_skipped = "~{output_name}.skipped.tsv"
    File merged_summary = "~{output_name}.summary.json"
  }
  runtime {
    container: container
    cpu: 1
    memory: "~{memory_gb} GiB"
  }
}
