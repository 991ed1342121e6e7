# The scatter, and the merge.


rule score:
    input:
        unpack(given),
        index=[ancient(file) for file in INDEX],
        checked=ancient("results/checked"),
    output:
        # temp(): gone once merged. Snakemake removes the outputs of a job that failed, but not OUT.parts, which it does not
        # know: the next attempt goes on from there.
        out=temp([f"results/shards/{{shard}}{suffix}" for *_, suffix in OUTPUTS]),
        beside=temp(
            [
                f"results/shards/{{shard}}{suffix}{beside}"
                for *_, suffix in OUTPUTS
                for beside in VERB["beside"]
            ]
        ),
    log:
        "results/logs/score.{shard}.log",
    conda:
        "../envs/bigbird.yaml"
    retries: config["retries"]
    threads: config["threads"]
    resources:
        # More for what ran out of memory or time.
        mem_mb=lambda wildcards, attempt: config["memory_mb"] * attempt,
        runtime=lambda wildcards, attempt: config["minutes"] * attempt,
    params:
        command=COMMAND,
        shard=lambda wildcards: f"{int(wildcards.shard)}/{N}",
        out=lambda wildcards, output: words_of(output.out),
    shell:
        # exec: signals reach bigbird. --resume auto: from what is finished, if it is of this run. >>: what a job said before
        # it was queued again stays.
        "exec {params.command:q} --shard {params.shard} --resume auto -@ {threads} {params.out:q} 2>> {log:q}"


for option, path, suffix in OUTPUTS:

    rule:
        name:
            "merge" if option == "-o" else f"merge_{option[2:].replace('-', '_')}"
        input:
            shards=expand(f"results/shards/{{shard}}{suffix}", shard=SHARDS),
            beside=expand(
                f"results/shards/{{shard}}{suffix}{{beside}}",
                shard=SHARDS,
                beside=VERB["beside"],
            ),
        output:
            out=path,
            said=report(
                f"{path}.merged.txt", caption="../report/merged.rst", category="Scores"
            ),
        log:
            f"results/logs/merge{'' if option == '-o' else option[1:]}.log",
        conda:
            "../envs/bigbird.yaml"
        resources:
            mem_mb=config["memory_mb"],
            runtime=config["minutes"],
        params:
            bigbird=config["bigbird"],
            options=MERGE_OPTIONS if option == "-o" else [],
        shell:
            "{params.bigbird:q} merge {input.shards:q} {params.options:q} -o {output.out:q} 2> {log:q} || "
            "{{ cat {log:q} >&2; exit 1; }}; {{ grep -v '^$' {log:q} || true; }} > {output.said:q}"
