"""A bill of materials (SPDX 2.3, JSON) of a relocatable archive: what packaging/tarball.sh wrote into it of its libraries,
their packages, versions, sources and licences.

    python3 packaging/sbom.py ARCHIVE.tar.xz > sbom.spdx.json

SOURCE_DATE_EPOCH is the time in it (the archive's own time where it is not set): equal archives give equal bytes.
"""
import datetime
import hashlib
import json
import os
import re
import sys
import tarfile
from pathlib import Path
from urllib.parse import quote

LICENSES = "share/doc/bigbird/licenses/"


def spdx_id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def license_names(text):
    """The short names in a copyright file of Debian's format, in its order; none where it is free text."""
    if "copyright-format" not in text.split("\n\n", 1)[0]:
        return []
    return list(dict.fromkeys(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE)))


def main():
    path = Path(sys.argv[1])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:  # in its order: to go back would unpack it again
            name, _, inside = member.name.partition("/")
            time = int(os.environ.get("SOURCE_DATE_EPOCH") or member.mtime)
            if member.isfile() and inside.startswith(LICENSES):
                files[inside[len(LICENSES):]] = archive.extractfile(member).read().decode("utf-8", "replace")
    version = re.fullmatch(r"bigbird-([0-9.]+)-linux-\w+", name).group(1)
    rows = files["libraries.tsv"].splitlines()
    if rows[0] != "#library\tpackage\tversion\tsource":
        sys.exit(f"error: {path}: libraries.tsv has other columns: {rows[0]}")
    packages = {}
    for row in rows[1:]:
        library, package, release, source = row.split("\t")
        one = packages.setdefault(package, {"version": release, "source": source, "libraries": []})
        one["libraries"].append(library)
    for package, one in packages.items():
        # A file, or of conda a folder of them.
        one["text"] = "\n".join(text for file, text in sorted(files.items()) if file == package or file.startswith(package + "/"))
        if not one["text"]:
            sys.exit(f"error: {path}: {package} has no licence in it")

    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    program = {
        "SPDXID": "SPDXRef-bigbird", "name": "bigbird", "versionInfo": version, "packageFileName": path.name,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "downloadLocation": "NOASSERTION",
        "supplier": "Organization: The bigbird authors", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
    }
    entries, licenses, relations = [program], [], [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-bigbird")]
    for package, one in sorted(packages.items()):
        of_debian = "://" not in one["source"]
        reference = "LicenseRef-" + spdx_id(package)[len("SPDXRef-"):]
        names = license_names(one["text"])
        entry = {
            "SPDXID": spdx_id(package), "name": package, "versionInfo": one["version"], "sourceInfo": f"source: {one['source']}",
            "downloadLocation": "NOASSERTION" if of_debian else one["source"], "filesAnalyzed": False,
            "supplier": "Organization: Debian" if of_debian else "NOASSERTION", "licenseConcluded": "NOASSERTION",
            "licenseDeclared": reference, "copyrightText": "NOASSERTION", "primaryPackagePurpose": "LIBRARY",
            "comment": "in the archive as " + ", ".join(sorted(one["libraries"])),
        }
        if names:
            entry["licenseComments"] = "named in it: " + ", ".join(names)
        if of_debian:
            purl = f"pkg:deb/debian/{quote(package)}@{quote(one['version'])}"
            entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
        entries.append(entry)
        licenses.append({"licenseId": reference, "name": f"licences of {package}", "extractedText": one["text"]})
        relations.append(("SPDXRef-bigbird", "CONTAINS", entry["SPDXID"]))
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest}",
        "creationInfo": {"created": created, "creators": ["Organization: The bigbird authors", f"Tool: bigbird-sbom-{version}"]},
        "packages": entries, "hasExtractedLicensingInfos": licenses,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }, sys.stdout, indent=1, ensure_ascii=False)
    print()


main()
