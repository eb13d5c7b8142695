#!/usr/bin/env python3
"""Counts how `confab constrain --batch` does on published suites of JSON Schema.

    tests/tools/schema_survey.py [--maskbench FOLDER] [--suite FOLDER]

--maskbench is maskbench/data of guidance-ai/jsonschemabench, --suite is tests of
json-schema-org/JSON-Schema-Test-Suite.  Prints the rows of docs/schema-survey.md:

  passes       the schema compiles and every instance gets its mark, or nothing satisfies it and
               no instance is valid
  refused      the schema does not compile, which is said
  refuses      a valid instance is refused
  accepts      an invalid instance is accepted
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#", "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#", "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}  # fmt: skip


def verdict(answer, marks):
    how = answer.get("compile", "an error")
    if how.startswith("unsatisfiable"):
        return "refuses" if any(marks) else "passes"
    if how != "ok":
        return "refused"
    wrong = [mark for mark, result in zip(marks, answer["results"]) if mark != result]
    return "passes" if not wrong else "accepts" if False in wrong else "refuses"


def survey(cases):
    """Counts of (schema, [(data, is valid)]) by verdict."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as f:
        for i, (schema, tests) in enumerate(cases):
            line = {"name": str(i), "schema": schema, "tests": [{"data": data} for data, _ in tests]}
            f.write(json.dumps(line, ensure_ascii=False).replace("\u2028", "\\u2028") + "\n")
        f.flush()
        done = subprocess.run(["build/confab", "constrain", "--batch", f.name], capture_output=True, check=True)
    count = dict.fromkeys(("passes", "refused", "refuses", "accepts"), 0)
    for answer, (_, tests) in zip(map(json.loads, done.stdout.decode().split("\n")[:-1]), cases):
        count[verdict(answer, [mark for _, mark in tests])] += 1
    return count


def row(name, cases):
    c = survey(cases)
    n = len(cases)
    print(f"| {name} | {n:,} | {c['passes']:,} ({c['passes'] / n:.1%}) | {c['refused']:,} | {c['refuses']:,} | {c['accepts']:,} |")


def maskbench(folder):
    cases = []
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        try:
            case = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue  # a file that a partial copy has cut
        cases.append((case["schema"], [(t["data"], t["valid"]) for t in case.get("tests", [])]))
    row("MaskBench", cases)


def suite(folder):
    for draft, uri in DRAFTS.items():
        for kind, pattern in (("core", "*.json"), ("formats", "optional/format/*.json")):
            cases = []
            for path in sorted((pathlib.Path(folder) / draft).glob(pattern)):
                for group in json.loads(path.read_text(encoding="utf-8")):
                    schema = group["schema"]
                    if isinstance(schema, dict) and "$schema" not in schema:
                        schema = {"$schema": uri, **schema}
                    cases.append((schema, [(t["data"], t["valid"]) for t in group["tests"]]))
            if cases:
                row(f"{draft}, {kind}", cases)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--maskbench")
    options.add_argument("--suite")
    args = options.parse_args()
    print("| suite | schemas | pass | refused | valid refused | invalid accepted |\n| --- | --- | --- | --- | --- | --- |")
    if args.maskbench:
        maskbench(args.maskbench)
    if args.suite:
        suite(args.suite)


if __name__ == "__main__":
    main()
