"""Names that headers declare and no other code of the project's own uses.

A name is public where it is declared in a namespace, or in the public part of a
class there: a type, function, method, alias or constant. It has a user where the
word occurs in another header, source file or table (.def) that is not for tests, or,
in its own family (foo.h, foo.cc, foo_*.cc), beyond its declaration and definition. Words are
not resolved: a common one has users too easily, so that the count is a lower bound.
Most of these names are OpenXLA's interface, which outside code is written against.
"""

import collections
import os
import re

WORD = re.compile(r"[A-Za-z_]\w*")
TOKEN = re.compile(r"[{};]|\b(?:public|private|protected)\s*:|"
                   r"[^{};]+?(?=[{};]|\b(?:public|private|protected)\s*:)", re.S)
TYPE = re.compile(r"\b(class|struct|enum class|enum struct|enum|union)\s+"
                  r"(?:ABSL_\w+(?:\([^)]*\))?\s*)*(\w+)(?!\s*\()")
NO_NAMES = set("if for while switch return sizeof decltype static_assert operator defined "
               "alignof noexcept explicit default delete template typename const constexpr "
               "auto void bool int int64_t double float char CHECK".split())


def code_of(text):
  """Without comments, strings and the preprocessor's lines."""
  text = re.sub(r"//[^\n]*", "", text)
  text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
  return re.sub(r"^\s*#.*(?:\\\n.*)*", "", text, flags=re.M)


def declared(statement):
  """The name that a declaration without a body declares, or None."""
  match = re.match(r"using\s+(\w+)\s*=", re.sub(r"^template\s*<[^>]*>\s*", "", statement))
  if match:
    return match.group(1)
  if re.match(r"(using|friend|typedef|extern template|static_assert|return)\b", statement):
    return None
  match = (re.search(r"(~?\w+)\s*\(", statement) or
           re.search(r"constexpr\s+[\w:<>]+\s+(k\w+)", statement))
  return match.group(1) if match else None


def public_names(header_text):
  names, scopes, before = set(), [], ""  # scopes: whether names in them are public
  for match in TOKEN.finditer(code_of(header_text)):
    token = match.group(0)
    if token == "{":
      statement, before = before.strip(), ""
      a_type = TYPE.search(statement)
      if re.match(r"(inline )?namespace\b|extern", statement):
        scopes.append(True)
      elif a_type and "(" not in statement[a_type.start():].split(":")[0]:
        if all(scopes):
          names.add(a_type.group(2))
        scopes.append(a_type.group(1) != "class")
      else:
        function = re.search(r"(~?\w+)\s*\(", statement)
        if all(scopes) and function:
          names.add(function.group(1))
        scopes.append(False)
    elif token == "}":
      before = ""
      if scopes:
        scopes.pop()
    elif token == ";":
      name = declared(before.strip()) if all(scopes) else None
      before = ""
      if name:
        names.add(name)
    elif re.fullmatch(r"(public|private|protected)\s*:", token):
      before = ""
      if scopes:
        scopes[-1] = token.startswith("public")
    else:
      before += token
  return {name for name in names if name not in NO_NAMES and not name.startswith("~")}


def tables(root):
  """The words of all .def files."""
  words = set()
  for folder, _, names in os.walk(os.path.join(root, "xla")):
    for name in names:
      if name.endswith(".def"):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
          words.update(WORD.findall(f.read()))
  return words


def without_a_user(root, files):
  """({header: its names without a user}, how many names there are) of house.File objects."""
  in_tables = tables(root)
  words = {f.path: collections.Counter(WORD.findall(code_of(f.text))) for f in files}
  where = collections.defaultdict(set)
  for path, counts in words.items():
    for word in counts:
      where[word].add(path)
  found, total = {}, 0
  for f in files:
    if not f.path.endswith(".h") or not f.path.startswith("xla/"):
      continue
    stem = os.path.basename(f.path)[:-2]
    family = {p for p in words if p == f.path or (
        p.endswith(".cc") and os.path.basename(p).startswith(stem))}
    names = public_names(f.text)
    total += len(names)
    unused = [name for name in names - in_tables if not where[name] - family and
              words[f.path][name] <= 1 and
              sum(words[p][name] for p in family) <= 2]
    if unused:
      found[f.path] = sorted(unused)
  return found, total
