# What is done once, before the scatter.


# The genome's index: tasks that start without one would all write it.
if GENOME:

    rule index:
        input:
            ancient(GENOME),
        output:
            INDEX,
        log:
            "results/logs/index.log",
        conda:
            "../envs/bigbird.yaml"
        resources:
            mem_mb=1000,
            runtime=30,
        params:
            bigbird=config["bigbird"],
        shell:
            "{params.bigbird:q} info {input:q} > /dev/null 2>> {log:q}"


# A shard behind the last chunk of any input: options, model and input are read, and nothing is computed. A wrong option
# stops the workflow here, not in every shard and with every retry.
rule check:
    input:
        unpack(given),
        index=[ancient(file) for file in INDEX],
    output:
        touch("results/checked"),
    log:
        "results/logs/check.log",
    conda:
        "../envs/bigbird.yaml"
    retries: 0
    resources:
        mem_mb=config["memory_mb"],
        runtime=config["minutes"],
    params:
        command=COMMAND,
        out=words_of([f"results/check/empty{suffix}" for *_, suffix in OUTPUTS]),
    shell:
        "mkdir -p results/check && "
        "{{ {params.command:q} --shard 100000/100000 --force {params.out:q} 2> {log:q} || "
        "{{ cat {log:q} >&2; exit 1; }}; }} && rm -r results/check"
