# The scatter, and the merge.


rule score:
    input:
        unpack(given),
        index=[ancient(file) for file in INDEX],
        checked=ancient("results/checked"),
    output:
        # temp(): gone once merged. Snakemake removes the outputs of a job that failed, but not OUT.parts, which it does not
        # know: the next attempt goes on from there.
        out=temp(f"results/shards/{{shard}}{SUFFIX}"),
        beside=temp([f"results/shards/{{shard}}{SUFFIX}{suffix}" for suffix in BESIDE]),
    log:
        "results/logs/score.{shard}.log",
    retries: config["retries"]
    threads: config["threads"]
    resources:
        # More for what ran out of memory or time.
        mem_mb=lambda wildcards, attempt: config["memory_mb"] * attempt,
        runtime=lambda wildcards, attempt: config["minutes"] * attempt,
    params:
        command=COMMAND,
        shard=lambda wildcards: f"{int(wildcards.shard)}/{N}",
    shell:
        # exec: signals reach bigbird. --resume auto: from what is finished, if it is of this run. >>: what a job said before
        # it was queued again stays.
        "exec {params.command:q} --shard {params.shard} --resume auto -@ {threads} -o {output.out:q} 2>> {log:q}"


rule merge:
    input:
        shards=expand("results/shards/{shard}{suffix}", shard=SHARDS, suffix=SUFFIX),
        beside=expand(
            "results/shards/{shard}{suffix}{beside}",
            shard=SHARDS,
            suffix=SUFFIX,
            beside=BESIDE,
        ),
    output:
        out=OUT,
        said=report(
            f"{OUT}.merged.txt", caption="../report/merged.rst", category="Scores"
        ),
    log:
        "results/logs/merge.log",
    resources:
        mem_mb=config["memory_mb"],
        runtime=config["minutes"],
    params:
        merge=[config["bigbird"], *MERGE.split()],
        options=[str(word) for word in config["merge_options"]],
    shell:
        "{params.merge:q} {input.shards:q} {params.options:q} -o {output.out:q} 2> {log:q} || {{ cat {log:q} >&2; exit 1; }}; "
        "grep -v '^$' {log:q} > {output.said:q}"
