"""The shared library's functions, with Python's types and exceptions.

ctypes releases the interpreter lock while a function runs.
"""

import ctypes
import os
import re

DONE, FAILED, LIMIT_MISSED, DIFFERENT = 0, 1, 3, 4


class HloError(Exception):
  """An error and its place: file, line and column, or None."""

  def __init__(self, message):
    super().__init__(message)
    self.message = message
    place = re.match(r"(?P<file>[^\n]*?):(?P<line>\d+):(?P<column>\d+): ",
                     message)
    self.file = place["file"] if place else None
    self.line = int(place["line"]) if place else None
    self.column = int(place["column"]) if place else None


_lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libhlo_c.so"))
_Handle = ctypes.c_void_p
_Text = ctypes.POINTER(ctypes.c_char)


def _declare(name, *arguments, result=ctypes.c_int):
  function = getattr(_lib, name)
  function.argtypes = arguments
  function.restype = result
  return function


_error = ctypes.POINTER(_Text)
_out = ctypes.POINTER(_Text)
_made = ctypes.POINTER(_Handle)
_read = _declare("hlo_read", ctypes.c_char_p, ctypes.c_int64, _made, _error)
_parse = _declare("hlo_parse", ctypes.c_char_p, ctypes.c_size_t,
                  ctypes.c_char_p, ctypes.c_int64, _made, _error)
_release = _declare("hlo_release", _Handle, result=None)
_free = _declare("hlo_free", _Text, result=None)
_print = _declare("hlo_print", _Handle, ctypes.c_char_p, _out,
                  ctypes.POINTER(ctypes.c_size_t), _error)
_describe = _declare("hlo_describe", _Handle, _out, _error)
_opt = _declare("hlo_opt", _Handle, ctypes.c_char_p, _made, _error)
_explain = _declare("hlo_explain", _Handle, ctypes.c_char_p, _made, _out, _out,
                    _error)
_diff = _declare("hlo_diff", _Handle, _Handle, ctypes.c_char_p, _out, _error)
_run = _declare("hlo_run", ctypes.c_char_p, ctypes.c_char_p, _out, _error)


class Handle:
  """A module of the library, released with its last reference."""

  def __init__(self, pointer):
    self.pointer = pointer

  def __del__(self, release=_release):
    release(self.pointer)


def _take(text, size=None):
  """The bytes of a text that a function returned."""
  if not text:
    return b""
  data = (ctypes.string_at(text) if size is None
          else ctypes.string_at(text, size))
  _free(text)
  return data


def _string(text):
  return _take(text).decode("utf-8", "replace")


def _options(options):
  """Lines `name=value`; None leaves an option out, `_` in names is `-`."""
  lines = []
  for name, value in options.items():
    if value is None:
      continue
    value = str(value).lower() if isinstance(value, bool) else str(value)
    if "\n" in value:
      raise ValueError(f"{name} holds a line break")
    lines.append(f"{name.rstrip('_').replace('_', '-')}={value}")
  return "\n".join(lines).encode()


def _check(status, error, *fine):
  if status == DONE:
    return
  message = _string(error)
  if status not in fine:
    raise HloError(message)


def read(path, num_partitions=0):
  made, error = _Handle(), _Text()
  _check(_read(os.fsencode(path), num_partitions, made, error), error)
  return Handle(made)


def parse(data, name, num_partitions=0):
  made, error = _Handle(), _Text()
  _check(_parse(data, len(data), name.encode(), num_partitions, made, error),
         error)
  return Handle(made)


def print_(handle, form):
  text, size, error = _Text(), ctypes.c_size_t(), _Text()
  _check(_print(handle.pointer, form.encode(), text, size, error), error)
  return _take(text, size.value)


def describe(handle):
  text, error = _Text(), _Text()
  _check(_describe(handle.pointer, text, error), error)
  return _string(text)


def opt(handle, options):
  """The module after passes, and whether they met their limits."""
  made, error = _Handle(), _Text()
  status = _opt(handle.pointer, _options(options), made, error)
  _check(status, error, LIMIT_MISSED)
  return Handle(made), status == DONE


def explain(handle, options):
  """Report, JSON, the explained module, and whether it met its limit."""
  made, text, json, error = _Handle(), _Text(), _Text(), _Text()
  status = _explain(handle.pointer, _options(options), made, text, json, error)
  _check(status, error, LIMIT_MISSED)
  return _string(text), _string(json), Handle(made), status == DONE


def diff(before, after, options):
  text, error = _Text(), _Text()
  status = _diff(before.pointer, after.pointer, _options(options), text, error)
  _check(status, error, DIFFERENT)
  return _string(text), status == DONE


def run(path, options):
  text, error = _Text(), _Text()
  status = _run(os.fsencode(path), _options(options), text, error)
  report = _string(text)
  _check(status, error)
  return report
