"""Runs the tests of a Galaxy tool without Galaxy: Cheetah renders the command, bash runs it, and Galaxy's own
assertions read the outputs.

    python run_tests.py TOOL.xml     where pip has galaxy-tool-util and CT3, and bigbird is in PATH

It knows the kinds of parameters that the tools of this folder have: data, text, select, boolean, conditionals.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from Cheetah.Template import Template
from galaxy.tool_util.parser import get_tool_source
from galaxy.tool_util.verify.asserts import verify_assertions


class Data:
    """A dataset: in a command its path, whose name has no type, as in Galaxy."""

    def __init__(self, path, kind):
        self.path, self.kind = path, kind

    def is_of_type(self, *kinds):
        return self.kind in kinds

    def __str__(self):
        return str(self.path)


def default_of(param):
    if param.get("type") == "select":
        options = param.findall("option")
        return next((one for one in options if one.get("selected") == "true"), options[0]).get("value") if options else ""
    if param.get("type") == "boolean":
        return param.get("truevalue") if param.get("checked") == "true" else param.get("falsevalue")
    return None if param.get("optional") == "true" else ""


def values_of(inputs, given, work, test_data, prefix=""):
    """The command's names: what a test gives, else the defaults of the form."""
    values = {}
    for node in inputs:
        if node.tag == "conditional":
            name = node.get("name")
            chooser = node.find("param")
            chosen = given.pop(f"{prefix}{name}|{chooser.get('name')}", {}).get("value", default_of(chooser))
            when = next(one for one in node.findall("when") if one.get("value") == chosen)
            values[name] = {chooser.get("name"): chosen, **values_of(when, given, work, test_data, f"{prefix}{name}|")}
        elif node.tag == "param":
            name = node.get("name") or node.get("argument").lstrip("-").replace("-", "_")
            one = given.pop(prefix + name, None)
            values[name] = default_of(node) if one is None else one["value"]
            if one is not None and node.get("type") == "data":
                path = Path(work, f"dataset_{len(list(Path(work).iterdir()))}.dat")
                path.symlink_to((test_data / one["value"]).resolve())
                values[name] = Data(path, one["attributes"]["ftype"])
    return values


def main():
    path = Path(sys.argv[1])
    tool = get_tool_source(str(path))
    tree = tool.xml_tree.getroot()
    tests = tool.parse_tests_to_dict()["tests"]
    assert tests, f"{path} has no test"
    for number, test in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as files:
            given = {one["name"]: one for one in test["inputs"]}
            names = values_of(tree.find("inputs"), given, files, path.parent / "test-data")
            assert not given, f"the form has no {', '.join(given)}"
            outputs = {node.get("name"): node for node in tree.find("outputs")}
            names.update({name: Path(files, name) for name in outputs})
            command = " ".join(str(Template(tool.parse_command(), searchList=[names])).split("\n"))
            subprocess.run(["bash", "-c", command], cwd=work, check=True)
            assert int(test["expect_num_outputs"]) == len(outputs)
            for output in test["outputs"]:
                where = outputs[output["name"]].get("from_work_dir")
                data = (Path(work, where) if where else names[output["name"]]).read_bytes()
                verify_assertions(data, output["attributes"]["assert_list"], decompress=data[:2] == b"\x1f\x8b")
        print(f"{path.name}: test {number} of {len(tests)}, {len(test['outputs'])} outputs as promised")


main()
