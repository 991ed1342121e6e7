process BIGBIRD_CHROMATINPREDICT {
    tag "${meta.id}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    // No registry has an image yet: docker build -f packaging/Dockerfile -t localhost/bigbird:0.1.0 .
    container "localhost/bigbird:0.1.0"

    input:
    tuple val(meta), path(bed)
    tuple val(meta2), path(fasta), path(fai), path(gzi)
    tuple val(meta3), path(model, stageAs: "?/*")

    output:
    tuple val(meta), path("${prefix}.{tsv,npy,h5,tracks}"), emit: predictions
    tuple val(meta), path("${prefix}.rows.tsv"), emit: rows, optional: true
    tuple val("${task.process}"), val('bigbird'), eval("bigbird --version-only"), topic: versions, emit: versions_bigbird

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def type = args.find(/(?:^|\s)(?:-O|--output-type)[ =]*(\w+)/) { words -> words[1] } ?: 'tsv'
    def suffix = type in ['bedgraph', 'bigwig'] ? 'tracks' : type
    def models = [model].flatten().collect { folder -> "--model ${folder}" }.join(' ')
    """
    bigbird chromatin predict \\
        ${models} \\
        --fasta-ref ${fasta} \\
        --regions-file ${bed} \\
        --threads ${task.cpus} \\
        ${args} \\
        --output ${prefix}.${suffix}
    """

    stub:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def type = args.find(/(?:^|\s)(?:-O|--output-type)[ =]*(\w+)/) { words -> words[1] } ?: 'tsv'
    def suffix = type in ['bedgraph', 'bigwig'] ? 'tracks' : type
    """
    echo "${args}"
    ${suffix == 'tracks' ? 'mkdir' : 'touch'} ${prefix}.${suffix}
    """
}
