process BIGBIRD_VARIANTS {
    tag "${meta.id}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    // No registry has an image yet: docker build -f packaging/Dockerfile -t localhost/bigbird:0.1.0 .
    container "localhost/bigbird:0.1.0"

    input:
    tuple val(meta), path(vcf), path(index)
    tuple val(meta2), path(fasta), path(fai), path(gzi)
    tuple val(meta3), path(model, stageAs: "?/*")
    path background

    output:
    tuple val(meta), path("${prefix}.{vcf,vcf.gz,bcf,tsv,npy,h5}"), emit: scores
    tuple val(meta), path("${prefix}.*.csi"), emit: index, optional: true
    tuple val(meta), path("${prefix}.rows.tsv"), emit: rows, optional: true
    tuple val(meta), path("${prefix}.skipped.tsv"), emit: skipped
    tuple val(meta), path("${prefix}.summary.json"), emit: summary
    tuple val("${task.process}"), val('bigbird'), eval("bigbird --version-only"), topic: versions, emit: versions_bigbird

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def type = args.find(/(?:^|\s)(?:-O|--output-type)[ =]*(\w+)/) { words -> words[1] } ?: 'z'
    def suffix = [v: 'vcf', z: 'vcf.gz', b: 'bcf'][type] ?: type
    if ("${vcf}" == "${prefix}.${suffix}") {
        error("Input and output names are the same, set prefix in module configuration to disambiguate!")
    }
    def models = [model].flatten().collect { folder -> "--model ${folder}" }.join(' ')
    """
    bigbird variants \\
        ${models} \\
        --fasta-ref ${fasta} \\
        ${background ? "--background ${background}" : ''} \\
        --threads ${task.cpus} \\
        ${args} \\
        --summary-prefix ${prefix} \\
        --output ${prefix}.${suffix} \\
        ${vcf}
    """

    stub:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def type = args.find(/(?:^|\s)(?:-O|--output-type)[ =]*(\w+)/) { words -> words[1] } ?: 'z'
    def suffix = [v: 'vcf', z: 'vcf.gz', b: 'bcf'][type] ?: type
    if ("${vcf}" == "${prefix}.${suffix}") {
        error("Input and output names are the same, set prefix in module configuration to disambiguate!")
    }
    """
    echo "${args}"
    ${suffix.endsWith('.gz') ? "echo '' | gzip >" : 'touch'} ${prefix}.${suffix}
    touch ${prefix}.skipped.tsv
    echo '{}' > ${prefix}.summary.json
    ${args.contains('--write-index') ? "touch ${prefix}.${suffix}.csi" : ''}
    """
}
