"""Golden safetensors files, the same bytes on every run."""

import json
import struct

from safetensors.numpy import save_file


def save(tensors, path, metadata):
    """save_file, with the metadata in order: the library writes it in a random one."""
    save_file(tensors, path, metadata)
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] = metadata
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    assert len(text) <= length
    path.write_bytes(content[:8] + text.ljust(length) + content[8 + length :])
    path.chmod(0o644)
