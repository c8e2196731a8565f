#!/usr/bin/env python3
"""Compares what hlo-opt reads and prints with XLA's own parser and printer.

usage: texts.py --hlo-opt=BIN [--jobs=N] [--show=N] [--known=REGEX] FILE...

Each file may hold several modules, split at lines `// -----`. A module is

  same      printed alike by both
  names     printed alike but for the numbers behind names
  print     printed otherwise
  refused   by both
  verifier  read by both, then refused by our verifier; XLA's parser has none
  ours      read by hlo-opt alone
  theirs    read by XLA alone
  crashed   ended XLA's process
  failed    ended hlo-opt by a signal, or had no answer from it in time

Tables of stack frames are left out of the comparison, as XLA numbers frames by
another order. Prints the first --show differences of each kind and a table. The
exit status is 1 if a module whose name (file#number) --known does not match is
of one of the kinds names, print, ours and theirs, or if any is of kind failed.
XLA answers each module in a process of its own. If jaxlib is not installed, the
script says so and exits with status 0.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import threading

try:
  import jaxlib
  from jaxlib import _hlo
except ImportError as error:
  print(f"SKIPPED: jaxlib is not installed ({error}); pip install jax")
  sys.exit(0)

SECONDS = 60  # for one module
WRONG = ("names", "print", "ours", "theirs")
KINDS = ("same", *WRONG, "verifier", "refused", "crashed", "failed")


def modules_of(path):
  """[(name, text)] of the modules in a file."""
  with open(path, errors="replace") as file:
    parts = re.split(r"^// -----.*\n", file.read(), flags=re.M)
  return [(f"{path}#{number}", text) for number, text in enumerate(parts)
          if re.search(r"^(HloModule|ENTRY|%?[\w.-]+ .*\{)", text, re.M)]


def in_a_process(compute):
  """(what compute() returns, as JSON keeps it, None), or (None, how the process
  ended) where it did without an answer. For a process without threads, as a fork
  has none of them, but the locks that they held."""
  assert threading.active_count() == 1
  reader, writer = os.pipe()
  child = os.fork()
  if child == 0:
    try:
      os.close(reader)
      os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Whatever it logs.
      with os.fdopen(writer, "wb") as pipe:
        pipe.write(json.dumps(compute()).encode())
    finally:
      os._exit(1)  # Nothing of what the parent has still to do.
  os.close(writer)
  with os.fdopen(reader, "rb") as pipe:
    data = pipe.read()
  status = os.waitpid(child, 0)[1]
  return (json.loads(data), None) if data else (None, f"status {status}")


def answer_of_xla(text):
  """("read", what it prints), ("refused", why) or ("crashed", how)."""
  def compute():
    try:
      return "read", _hlo.hlo_module_from_text(text).to_string()
    except Exception as error:  # Whatever XLA raises is the answer.
      return "refused", str(error)
  answer, end = in_a_process(compute)
  return answer if end is None else ("crashed", end)


def answer_of_ours(hlo_opt, text):
  try:
    result = subprocess.run([hlo_opt, "-"], input=text, capture_output=True,
                            text=True, timeout=SECONDS)
  except subprocess.TimeoutExpired:
    return "failed", f"no answer in {SECONDS} s"
  if result.returncode == 0:
    return "read", result.stdout
  if result.returncode < 0:
    return "failed", f"signal {-result.returncode}: {result.stderr}"
  kind = "verifier" if re.search(r"\[V\d+\]", result.stderr) else "refused"
  return kind, result.stderr


def plain(text):
  """Without tables of stack frames and references to them."""
  text = re.sub(r"^(FileNames|FunctionNames|FileLocations|StackFrames)\n"
                r"(\d.*\n)*\n*", "", text, flags=re.M)
  text = re.sub(r",? ?stack_frame_id=\d+", "", text)
  return [line for line in text.split("\n") if line]


def without_numbers(lines):
  """x.3 and x.1 are both x; numbers with a point are kept."""
  return [re.sub(r"\b([A-Za-z_][\w-]*)(\.\d+)+\b", r"\1", line)
          for line in lines]


def first_line(text):
  return next((line for line in text.split("\n") if line), "")[:300]


def judge(ours, theirs):
  """(kind, what differs first)."""
  if ours[0] == "failed":
    return "failed", "\n  ours   " + first_line(ours[1])
  if theirs[0] == "crashed":
    return "crashed", theirs[1]
  if ours[0] == "read" and theirs[0] == "read":
    a, b = plain(ours[1]), plain(theirs[1])
    if a == b:
      return "same", ""
    kind = "names" if without_numbers(a) == without_numbers(b) else "print"
    pairs = [(p, q) for p, q in zip(a, b) if p != q]
    p, q = pairs[0] if pairs else (f"{len(a)} lines", f"{len(b)} lines")
    return kind, f"\n  ours   {p[:300]}\n  theirs {q[:300]}"
  if ours[0] == "read":
    # Its second line says what; the first, that it was parsing.
    return "ours", "\n  theirs " + first_line(theirs[1].partition("\n")[2])
  if theirs[0] == "read":
    kind = "verifier" if ours[0] == "verifier" else "theirs"
    return kind, "\n  ours   " + first_line(ours[1])
  return "refused", ""


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--hlo-opt", required=True)
  parser.add_argument("--jobs", type=int, default=os.cpu_count())
  parser.add_argument("--show", type=int, default=5)
  parser.add_argument("--known", default="(?!)")
  parser.add_argument("files", nargs="+")
  options = parser.parse_args()
  modules = [module for path in options.files for module in modules_of(path)]
  # Before there are threads, as each answer is that of a fork.
  theirs = [answer_of_xla(text) for _, text in modules]
  counts, failed = collections.Counter(), 0
  with concurrent.futures.ThreadPoolExecutor(max(options.jobs, 1)) as pool:
    ours = pool.map(lambda m: answer_of_ours(options.hlo_opt, m[1]), modules)
    for (name, _), our_answer, their_answer in zip(modules, ours, theirs):
      kind, difference = judge(our_answer, their_answer)
      counts[kind] += 1
      if kind not in (*WRONG, "crashed", "failed"):
        continue
      is_known = re.search(options.known, name)
      failed += kind == "failed" or (kind in WRONG and not is_known)
      if counts[kind] <= options.show:
        print(f"{name}: {kind}{' (known)' if is_known else ''}: {difference}",
              flush=True)
  print(f"\njaxlib {jaxlib.__version__}, {len(modules)} modules")
  for kind in KINDS:
    print(f"{kind:10}{counts[kind]:6}")
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
