"""Puts many mutants into one source, to be turned on one at a time as it runs."""

import os

from mutants import Replace, Wrap

HEADER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "hlo_mutant.h")


def instrumented(path, text, numbered):
  """The source with all mutants of `numbered`, [(number, mutant)], at choice.

  Its lines keep their numbers, and compilers' messages name them by `path`.
  """
  insertions = []  # (position, order there, text)
  replaced = {}  # (begin, end) -> (text, [number of each slot])
  for rank, (number, mutant) in enumerate(numbered):
    for part, edit in enumerate(mutant.edits):
      if isinstance(edit, Replace):
        places = edit.text.count("{}")
        _, numbers = replaced.setdefault((edit.begin, edit.end), (edit.text, [0] * places))
        if places:
          numbers[min(edit.slot, places - 1)] = number
      elif isinstance(edit, Wrap):
        # At one place, what ends there stands before what begins; of two that
        # begin there the longer one is outside, and at their ends as well.
        length, tie = edit.end - edit.begin, (rank, part)
        insertions.append((edit.begin, (1, -length, tie), edit.prefix.format(number)))
        insertions.append((edit.end, (0, length, (-rank, -part)), edit.suffix.format(number)))
  pieces = [(position, order, position, piece) for position, order, piece in insertions]
  pieces += [(begin, (2,), end, piece.format(*numbers))
             for (begin, end), (piece, numbers) in replaced.items()]
  out, at = [], 0
  for begin, _, end, piece in sorted(pieces, key=lambda p: p[:2]):
    out += [text[at:begin], piece]
    at = end
  with open(HEADER) as f:
    header = f.read()
  # Bazel's own #line of the source stands before.
  return '#line 1 "hlo_mutant.h"\n%s\n#line 1 "%s"\n%s%s' % (header, path, "".join(out), text[at:])
