// The script or the stub of a module without Nextflow: Groovy evaluates the block, bash runs it in a folder, and
// every output that is not optional has to be there.
//   groovy run_module.groovy MAIN.NF script|stub FOLDER ARGS [NAME=VALUE...]
// NAME=VALUE: what the module calls its inputs; meta is [id: 'test']. VALUE may be empty, as a path of [] is.
def (file, block, folder, extra) = args[0..3]
def text = new File(file).text
def part = { from, to -> text.substring(text.indexOf(from) + from.size(), to ? text.indexOf(to) : text.lastIndexOf('}')) }
def source = block == 'stub' ? part('\n    stub:\n', null) : part('\n    script:\n', '\n    stub:\n')

def binding = new Binding(meta: [id: 'test'], meta2: [:], meta3: [:], moduleDir: new File(file).parent,
                          task: [cpus: 2, process: 'TEST', ext: [args: extra]])
args.drop(4).each { word ->
    def (name, value) = word.split('=', 2) as List
    binding.setVariable(name, value.contains(',') ? value.split(',') as List : value)
}
def command = new GroovyShell(binding).evaluate(source).toString()
def where = new File(folder)
where.mkdirs()
def script = new File(where, '.command.sh')
script.text = command
def run = new ProcessBuilder('bash', '-euo', 'pipefail', script.name).directory(where).inheritIO().start()
if (run.waitFor() != 0) {
    System.err.println("error: the ${block} of ${file} ended in status ${run.exitValue()}:\n${command}")
    System.exit(1)
}

def found = 0
part('\n    output:\n', '\n    when:\n').eachLine { line ->
    def glob = line.find(/path\((".*?")\)/) { all, quoted -> new GroovyShell(binding).evaluate(quoted).toString() }
    if (glob == null || line.contains('optional: true')) return
    def matcher = java.nio.file.FileSystems.default.getPathMatcher('glob:' + glob)
    def names = where.list().findAll { name -> matcher.matches(java.nio.file.Paths.get(name)) }
    if (names.size() != 1) {
        System.err.println("error: ${names.size()} files are ${glob}, in the ${block} of ${file}")
        System.exit(1)
    }
    found++
}
println "${file}: the ${block} ran, and wrote the ${found} outputs that it promises"
