process BIGBIRD_PROMOTERSCAN {
    tag "${meta.id}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    // No registry has an image yet: docker build -f packaging/Dockerfile -t localhost/bigbird:0.1.0 .
    container "localhost/bigbird:0.1.0"

    input:
    tuple val(meta), path(fasta), path(fai), path(gzi)
    tuple val(meta2), path(model, stageAs: "?/*")

    output:
    tuple val(meta), path("${prefix}.bw"), emit: track
    tuple val(meta), path("${prefix}.calls.bed"), emit: calls
    tuple val(meta), path("${prefix}.summary.json"), emit: summary
    tuple val("${task.process}"), val('bigbird'), eval("bigbird --version-only"), topic: versions, emit: versions_bigbird

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def models = [model].flatten().collect { folder -> "--model ${folder}" }.join(' ')
    """
    bigbird promoter scan \\
        ${models} \\
        --fasta-ref ${fasta} \\
        --threads ${task.cpus} \\
        ${args} \\
        --calls ${prefix}.calls.bed \\
        --summary ${prefix}.summary.json \\
        --output ${prefix}.bw
    """

    stub:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo "${args}"
    touch ${prefix}.bw
    touch ${prefix}.calls.bed
    echo '{}' > ${prefix}.summary.json
    """
}
