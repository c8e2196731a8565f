"""Builds tests with Bazel, then runs what it built without it."""

import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time

MEMORY = 6 << 30  # Bytes of address space: some mutants allocate without end.


class Workspace:
  """A copy of the checkout, and the Bazel that builds in it."""

  def __init__(self, root, folder, bazel):
    self.root, self.folder, self.bazel = root, folder, bazel.split()

  def copy_checkout(self, sources):
    """Brings the tracked files, as they are now, here; not `sources`, which differ."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=self.root, check=True,
                             stdout=subprocess.PIPE).stdout.split(b"\0")
    wanted = {os.fsdecode(name) for name in tracked if name}
    for name in sorted(wanted - set(sources)):
      source = os.path.join(self.root, name)
      if os.path.isfile(source):
        with open(source, "rb") as f:
          self.write(name, f.read(), os.stat(source).st_mode)
    for folder, subfolders, files in os.walk(self.folder):
      subfolders[:] = [d for d in subfolders if d != ".cache" and not d.startswith("bazel-")]
      for name in files:
        path = os.path.relpath(os.path.join(folder, name), self.folder)
        if path not in wanted and path != "user.bazelrc":
          os.remove(os.path.join(self.folder, path))
    # What bazelw found and fetched, and what the user told Bazel.
    for name in (".cache", "user.bazelrc"):
      source, target = os.path.join(self.root, name), os.path.join(self.folder, name)
      if os.path.isdir(source) and not os.path.exists(target):
        shutil.copytree(source, target)
      elif os.path.isfile(source):
        shutil.copy2(source, target)

  def write(self, name, content, mode=0o644):
    """Writes a file, if that changes it: Bazel builds what is newer."""
    target = os.path.join(self.folder, name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.exists(target):
      with open(target, "rb") as f:
        if f.read() == content:
          return
    with open(target, "wb") as f:
      f.write(content)
    os.chmod(target, mode)

  def run_bazel(self, *arguments):
    """Returns (exit status, standard output, standard error)."""
    done = subprocess.run(self.bazel + list(arguments), cwd=self.folder, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr

  def query(self, *arguments):
    status, out, err = self.run_bazel(*arguments)
    if status != 0:
      raise RuntimeError(err[-2000:])
    return out


class Test:
  """One test target, as Bazel would run it."""

  def __init__(self, label, folder, command):
    self.label, self.folder, self.command = label, folder, command
    self.seconds = self.cpu = 0
    self.reaches = set()

  def run(self, mutant, cpu, seconds, reached=""):
    """Returns "passed", "failed" or "timeout", after `seconds` or `cpu` seconds of one process."""
    scratch = tempfile.mkdtemp(prefix="mutant-")
    environment = dict(
        os.environ, HLO_MUTANT=str(mutant), HLO_MUTANTS_REACHED=reached, GTEST_FAIL_FAST="1",
        TEST_TMPDIR=scratch, TEST_WORKSPACE=os.path.basename(self.folder), TEST_TARGET=self.label,
        TEST_SRCDIR=os.path.dirname(self.folder), RUNFILES_DIR=os.path.dirname(self.folder))
    if not reached:
      del environment["HLO_MUTANTS_REACHED"]

    def limit():
      resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
      resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
      resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen(
        self.command, cwd=self.folder, env=environment, start_new_session=True, preexec_fn=limit,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
      status = process.wait(timeout=seconds)
      if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timeout"
      return "failed" if status else "passed"
    except subprocess.TimeoutExpired:
      return "timeout"
    finally:
      try:
        os.killpg(process.pid, signal.SIGKILL)
      except ProcessLookupError:
        pass
      process.wait()
      shutil.rmtree(scratch, ignore_errors=True)

  def measure(self):
    """Runs without a mutant: how long, and which mutants' places it comes by."""
    with tempfile.TemporaryDirectory() as folder:
      used, started = children_cpu(), time.time()
      outcome = self.run(-1, 3600, 3600, os.path.join(folder, "reached"))
      self.seconds, self.cpu = time.time() - started, children_cpu() - used
      for path in glob.glob(os.path.join(folder, "reached.*")):
        with open(path) as f:
          self.reaches.update(int(number) for number in f)
    return outcome == "passed"

  def catches(self, mutant):
    """How the test tells mutant from the original, or None."""
    # Processor seconds count, so that a busy machine catches nothing; the clock
    # is for what waits.
    outcome = self.run(mutant, int(5 * self.cpu) + 5, 20 * self.seconds + 60)
    return None if outcome == "passed" else outcome


def children_cpu():
  usage = resource.getrusage(resource.RUSAGE_CHILDREN)
  return usage.ru_utime + usage.ru_stime


def find_tests(workspace, targets):
  """The built tests of the targets; `-TARGET` takes one away."""
  wanted = " ".join(t for t in targets if not t.startswith("-"))
  unwanted = " ".join(t[1:] for t in targets if t.startswith("-"))
  query = "tests(set(%s))" % wanted + (" except tests(set(%s))" % unwanted if unwanted else "")
  labels = workspace.query("query", "--noshow_progress", query).split()
  actions = json.loads(workspace.query(
      "aquery", "--noshow_progress", "--output=jsonproto", "--include_artifacts=false",
      'mnemonic("TestRunner", set(%s))' % " ".join(labels)))
  names = {t["id"]: t["label"] for t in actions["targets"]}
  bin_folder = os.path.realpath(os.path.join(workspace.folder, "bazel-bin"))
  tests = {}
  for action in actions["actions"]:
    label = names[action["targetId"]]
    arguments = action["arguments"]
    program = next(i for i, a in enumerate(arguments) if not a.endswith("-setup.sh"))
    runfiles = os.path.join(bin_folder, label[2:].replace(":", "/") + ".runfiles")
    folder = next(os.path.join(runfiles, d) for d in sorted(os.listdir(runfiles))
                  if os.path.exists(os.path.join(runfiles, d, arguments[program])))
    tests[label] = Test(label, folder, ["./" + arguments[program]] + arguments[program + 1:])
  return [tests[label] for label in sorted(tests)]
