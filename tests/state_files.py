"""Edit state files and keep their checksums right, to test what is checked beyond damage."""

import io
import json

import numpy as np

from tailproof.storage import HEADER, read_members, write_members


def contents(path):
    """Return the header and the arrays of a state file."""
    members = read_members(path)
    header = json.loads(members.pop(HEADER))
    arrays = {
        name.removesuffix(".npy"): np.load(io.BytesIO(content)) for name, content in members.items()
    }
    return header, arrays


def write(path, header, arrays):
    """Write a state file with a checksum of what it holds."""
    members = {HEADER: json.dumps(header).encode()}
    for name, array in arrays.items():
        stream = io.BytesIO()
        np.save(stream, array)
        members[f"{name}.npy"] = stream.getvalue()
    write_members(path, members)
