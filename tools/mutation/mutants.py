"""Finds the mutants of C++ sources: small faults, one at a time.

A mutant is one operator, constant or condition changed in one place, or one
statement left out. No C++ is parsed: sources in Google style have blanks around
infix operators and none inside `vector<int>`, and what is mistaken all the same
does not compile. Each mutant comes with the edits that put it into the source
beside all others (see hlo_mutant.h and instrument.py).
"""

import bisect
import collections
import random
import re

# before, after: the line, as people read it. edits: see below. A source file's
# mutants at the same place (`<` that becomes `<=` or `>=`) share that place.
Mutant = collections.namedtuple("Mutant", "path line before after edits")
# Puts prefix before and suffix behind text[begin:end]; {} is the mutant's number.
Wrap = collections.namedtuple("Wrap", "begin end prefix suffix")
# Replaces text[begin:end]; {} are the numbers of all mutants there, by `slot`.
Replace = collections.namedtuple("Replace", "begin end text slot")

INFIX = {
    "<=": ("Le({}, {})", ["<", ">"]), ">=": ("Ge({}, {})", [">", "<"]),
    "<": ("Lt({}, {})", ["<=", ">="]), ">": ("Gt({}, {})", [">=", "<="]),
    "==": ("Eq({})", ["!="]), "!=": ("Ne({})", ["=="]),
    "+": ("Add({})", ["-"]), "-": ("Sub({})", ["+"]), "*": ("Mul({})", ["/"]),
    "/": ("Div({})", ["*"]), "%": ("Mod({})", ["/"]),
    "+=": ("AddTo({})", ["-="]), "-=": ("AddTo({})", ["+="]),
}
NAMES = {
    "std::min": ("Extreme<{}, true>::of", "std::max"),
    "std::max": ("Extreme<{}, false>::of", "std::min"),
    "std::any_of": ("Quantor<{}, true>::of", "std::all_of"),
    "std::all_of": ("Quantor<{}, false>::of", "std::any_of"),
    "absl::c_any_of": ("Quantor<{}, true>::of", "absl::c_all_of"),
    "absl::c_all_of": ("Quantor<{}, false>::of", "absl::c_any_of"),
}
VALUES = [
    (re.compile(r"\btrue\b"), ["false"]),
    (re.compile(r"\bfalse\b"), ["true"]),
    (re.compile(r"(?<=[\s(,])(?<!\) = )(?<!const = )(?<!override = )0(?=[;,)])"), ["1"]),
    (re.compile(r"(?<=[\s(,])1(?=[;,)])"), ["0", "2"]),
]
INFIX_PATTERN = re.compile(r"(?<=\s)(<=|>=|<|>|==|!=|\+=|-=|[+\-*/%])(?=\s)")
NAME_PATTERN = re.compile(r"(?<![\w:])(%s)\b" % "|".join(NAMES))
IF_PATTERN = re.compile(r"\bif \(")
# A call for its effect or an assignment, alone on its line; jumps.
STATEMENT = re.compile(r"^\s+((?!return\b|delete\b|throw\b|TF_ASSIGN_OR_RETURN\b)[A-Za-z_][\w.>()\[\]:-]*"
                       r"(\([^;{}]*\)| [+\-*/|&]?= [^;{}]*);)$")
JUMP = re.compile(r"\b(continue|break);")
# Lines whose change shows nothing or cannot compile: messages, checks of our own
# invariants, constant expressions.
NOT_CODE = re.compile(r"^\s*(#|using |template|static_assert|namespace |D?CHECK|VLOG|LOG|"
                      r"XLA_VLOG|case |default:)|\bconstexpr\b|\\$")
NOT_A_SOURCE = re.compile(r"(_test|_main|_fuzzer|_fuzz_target|benchmark|/random_\w+)\.cc$")


def without_texts(text):
  """text with blank comments and strings and characters of ~, of equal length and lines."""
  return re.sub(
      r'R"(\w*)\(.*?\)\1"|"(\\.|[^"\\\n])*"|(?<!\w)\'(\\.|[^\'\\\n])*\'|//[^\n]*',
      lambda m: re.sub(r"[^\n]", " " if m.group()[0] == "/" else "~", m.group()),
      text, flags=re.S)


def operand(code, position, step, operators):
  """Where the operand that position is beside ends, in direction `step`.

  It ends at the bracket around it or, between brackets, at what binds less:
  `operators`, separators, assignments and `return`.
  """
  opening, closing = ("([{", ")]}") if step > 0 else (")]}", "([{")
  stops, depth = operators + [",", ";", "?", "return "], 0
  while 0 <= position < len(code):
    c, length = code[position], 1
    if c in closing and depth == 0:
      break
    depth += (c in opening) - (c in closing)
    if depth == 0 and c not in closing:
      stop = next((s for s in stops if code.startswith(s, position)), None)
      if stop:
        length = len(stop)
        break
      before, after = code[position - 1], code[position + 1]
      if c == ":" and ":" not in before + after or (
          c == "=" and before not in "<>=!" and after != "="):
        break
    position += step
  if step > 0:
    return len(code[:position].rstrip())
  begin = position + length
  return begin + re.match(r"\s*", code[begin:]).end()


class Source:
  """The text of one file, and what is at which line."""

  def __init__(self, path, text):
    self.path, self.text, self.code = path, text, without_texts(text)
    self.lines = text.split("\n")
    self.starts = [0]
    for line in self.lines:
      self.starts.append(self.starts[-1] + len(line) + 1)
    self.skipped = {n for n, line in enumerate(self.code.split("\n")) if NOT_CODE.search(line)}

  def line_of(self, position):
    return bisect.bisect_right(self.starts, position) - 1

  def mutant(self, begin, end, after, edits):
    """The mutant that turns text[begin:end], within a line, into `after`."""
    n = self.line_of(begin)
    line, start = self.lines[n], self.starts[n]
    if n in self.skipped:
      return []
    changed = line[:begin - start] + after + line[end - start:]
    return [Mutant(self.path, n + 1, line, changed, edits)]

  def infix(self):
    for m in INFIX_PATTERN.finditer(self.code):
      name, alternatives = INFIX[m.group(1)]
      tag = "%s hlo_mutant::%s %s" % (m.group(1), name, m.group(1))
      for slot, after in enumerate(alternatives):
        yield from self.mutant(m.start(), m.end(), after,
                               [Replace(m.start(), m.end(), tag, slot)])

  def names(self):
    for m in NAME_PATTERN.finditer(self.code):
      text, after = NAMES[m.group(1)]
      yield from self.mutant(m.start(), m.end(), after,
                             [Replace(m.start(), m.end(), "hlo_mutant::" + text, 0)])

  def values(self):
    for pattern, alternatives in VALUES:
      for m in pattern.finditer(self.code):
        for after in alternatives:
          yield from self.mutant(m.start(), m.end(), after, [
              Wrap(m.start(), m.end(), "hlo_mutant::If({}, %s, " % after, ")")])

  def logical(self):
    # By De Morgan: A || B is !(!A && !B), and short-circuits as it should.
    for m in re.finditer(r"(?<=\s)(&&|\|\|)(?=\s)", self.code):
      is_and = m.group() == "&&"
      begin = operand(self.code, m.start() - 1, -1, ["||"] if is_and else [])
      end = operand(self.code, m.end(), 1, ["&&", "||"] if is_and else ["||"])
      left_end = len(self.code[:m.start()].rstrip())
      right_begin = m.end() + re.match(r"\s*", self.code[m.end():]).end()
      if begin < left_end and right_begin < end:
        yield from self.mutant(m.start(), m.end(), "||" if is_and else "&&", [
            Wrap(b, e, "hlo_mutant::Not({}, ", ")")
            for b, e in [(begin, end), (begin, left_end), (right_begin, end)]])

  def conditions(self):
    for m in IF_PATTERN.finditer(self.code):
      end = operand(self.code, m.end(), 1, [])
      if self.code[end:end + 1] == ";":  # if (declaration; condition)
        begin = end + 2
        end = operand(self.code, begin, 1, [])
      else:
        begin = m.end()
      # Stops at `=` of a declaration and at ?:, which stay as they are.
      if self.code[end:].lstrip()[:1] != ")":
        continue
      negated = self.code[begin] == "!" and not re.search(r"&&|\|\|", self.code[begin:end])
      n = self.line_of(begin)
      last = min(end, self.starts[n + 1] - 1)
      condition = self.text[begin:last]
      after = condition[1:] if negated else "!(" + condition + (")" if last == end else "")
      yield from self.mutant(begin, last, after,
                             [Wrap(begin, end, "hlo_mutant::Not({}, ", ")")])

  def statements(self):
    without = "if (hlo_mutant::On({})) {{}} else "
    for n, line in enumerate(self.code.split("\n")):
      for m in JUMP.finditer(line):
        begin, end = self.starts[n] + m.start(), self.starts[n] + m.end()
        yield from self.mutant(begin, end, ";", [Wrap(begin, end, without, "")])
      m = STATEMENT.match(line)
      # Only where a statement begins, not in the middle of one.
      if m and re.search(r"([;:{})]|\belse|^)\s*$", self.code[:self.starts[n]][-200:]):
        begin, end = self.starts[n] + m.start(1), self.starts[n] + m.end(1)
        for mutant in self.mutant(begin, end, "", [Wrap(begin, end, without, "")]):
          yield mutant._replace(after="")


def mutants_of(source):
  found = []
  for kind in (source.infix, source.names, source.values, source.logical,
               source.conditions, source.statements):
    found += kind()
  return found


def sample(mutants, seed):
  """All mutants in random order, at first one of each line, then the second ones …"""
  generator = random.Random(seed)
  by_line = collections.defaultdict(list)
  for mutant in mutants:
    by_line[mutant.path, mutant.line].append(mutant)
  ranked = []
  for key in sorted(by_line):
    generator.shuffle(by_line[key])
    ranked += [(rank, generator.random(), m) for rank, m in enumerate(by_line[key])]
  return [m for _, _, m in sorted(ranked, key=lambda r: r[:2])]
