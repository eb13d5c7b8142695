"""A PEP 517 build backend without dependencies: a wheel around the built library.

The library is build/dist/libconfab.so, which needs nothing but the C library
(`make wheel` links it), or else build/release/libconfab.so.0, which needs the
shared libraries of this machine (`make` links it).
"""

import base64
import hashlib
import os
import pathlib
import re
import sysconfig
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
SOURCES = ("__init__.py", "_library.py", "_model.py", "_reply.py", "_show.py", "_text.py", "py.typed")


def _version():
    header = (TOP / "core/base/version.h").read_text(encoding="utf-8")
    return re.search(r'define CF_VERSION\s+"([^"]+)"', header).group(1)


def _library():
    for place in ("build/dist/libconfab.so", "build/release/libconfab.so.0"):
        if (TOP / place).exists():
            return TOP / place
    raise SystemExit("the library is not built: run make at the top of the tree first")


def _tag():
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


def _metadata():
    description = (HERE / "README.md").read_text(encoding="utf-8")
    return (
        "Metadata-Version: 2.1\n"
        f"Name: confab\nVersion: {_version()}\n"
        "Summary: A debugger for prompts\nLicense: MIT\nRequires-Python: >=3.8\n"
        f"Description-Content-Type: text/markdown\n\n{description}"
    )


def _files():
    """Every file of the wheel: name, bytes."""
    info = f"confab-{_version()}.dist-info"
    for name in SOURCES:
        yield f"confab/{name}", (HERE / "confab" / name).read_bytes()
    yield "confab/libconfab.so.0", _library().read_bytes()
    yield f"{info}/METADATA", _metadata().encode()
    yield (
        f"{info}/WHEEL",
        f"Wheel-Version: 1.0\nGenerator: confab\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode(),
    )
    yield f"{info}/LICENSE", (TOP / "LICENSE").read_bytes()
    yield f"{info}/licences.md", (TOP / "docs/licences.md").read_bytes()
    for text in sorted((TOP / "build/dist/licences").glob("*.txt")):
        yield f"{info}/licences/{text.name}", text.read_bytes()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"confab-{_version()}-{_tag()}.whl"
    info = f"confab-{_version()}.dist-info"
    record = []
    with zipfile.ZipFile(
        os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED
    ) as wheel:
        for path, data in _files():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
            _add(wheel, path, data)
        record.append(f"{info}/RECORD,,")
        _add(wheel, f"{info}/RECORD", ("\n".join(record) + "\n").encode())
    return name


def _add(wheel, path, data):
    """With a fixed date, so that the same files give the same wheel."""
    entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
    entry.external_attr = (0o755 if path.endswith(".so.0") else 0o644) << 16
    wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)


def build_sdist(sdist_directory, config_settings=None):
    """The module without the library: it is built from the whole tree, or loaded from
    the system."""
    name = f"confab-{_version()}"
    path = os.path.join(sdist_directory, f"{name}.tar.gz")
    with tarfile.open(path, "w:gz") as sdist:
        for file in ("pyproject.toml", "README.md", "confab_backend.py"):
            sdist.add(HERE / file, f"{name}/{file}")
        for file in SOURCES:
            sdist.add(HERE / "confab" / file, f"{name}/confab/{file}")
    return f"{name}.tar.gz"


if __name__ == "__main__":
    import sys

    print(build_wheel(sys.argv[1]))
