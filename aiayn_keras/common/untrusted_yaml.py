"""YAML from outside: plain values of bounded size, without aliases, each key only once.

PyYAML's safe loader executes nothing, but it expands aliases without limit, lets the last of
several equal keys win, and fails with all kinds of errors where a tag does not fit its value.
"""

import re

import yaml

MAX_YAML_BYTES = 100_000
"""Maximum size of a text; PyYAML takes some ten seconds for the worst text of this size."""


def parse_yaml(text, origin):
    r"""Parses YAML without anchors, aliases, tags or merges, with strings as keys.

    Args:
        text: A string, or bytes in UTF-8.
        origin: Name of the text in errors, such as its file.

    Returns:
        None, a boolean, number, string or date, or a list or dictionary of such values.

    Raises:
        ValueError: For anything else, with the line.

    Example:
    >>> parse_yaml("model: {num_layers: 2}", "mine.yaml")
    {'model': {'num_layers': 2}}
    >>> parse_yaml("a: 1\na: 2", "mine.yaml")
    Traceback (most recent call last):
    ...
    ValueError: mine.yaml, line 2: the key 'a' appears twice.
    """
    if len(text) > MAX_YAML_BYTES:
        raise ValueError(f"{origin}: YAML must have at most {MAX_YAML_BYTES:,} bytes; it has more.")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            raise ValueError(
                f"{origin}, line {line}: not valid UTF-8 (byte 0x{text[error.start]:02x}). "
                "Convert the file to UTF-8."
            ) from None
    try:
        return yaml.load(text, _Loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ValueError(f"{origin}, line {line}: not YAML: a control character.") from None
    except _RefusedError as error:
        raise ValueError(
            f"{origin}, line {error.problem_mark.line + 1}: {error.problem}."
        ) from None
    except yaml.MarkedYAMLError as error:
        line = (error.problem_mark or error.context_mark).line + 1
        is_indentation = "<block end>" in str(error.problem)
        hint = " Is it indented like the lines above?" if is_indentation else ""
        raise ValueError(f"{origin}, line {line}: not YAML: {error.problem}.{hint}") from None
    except RecursionError:
        raise ValueError(f"{origin}: values are nested too deeply.") from None
    except (ValueError, OverflowError) as error:  # a date or number that does not exist
        raise ValueError(f"{origin} holds an impossible value: {error}.") from None


def line_of_key(text, path):
    r"""Finds a key in YAML that `parse_yaml` reads.

    Args:
        text: A string, or bytes in UTF-8.
        path: The key, after those that it is nested in.

    Returns:
        Its line, counted from 1, or None if it is not there.

    Example:
    >>> line_of_key("model:\n  num_layers: 2", ["model", "num_layers"])
    2
    """
    text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    node, line = yaml.compose(text, _Loader), None
    for name in path:
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        key, node = next((pair for pair in pairs if pair[0].value == name), (None, None))
        if key is None:
            return None
        line = key.start_mark.line + 1
    return line


class _RefusedError(yaml.MarkedYAMLError):
    """YAML that is not allowed here."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which refuses aliases, tags and duplicate keys."""

    def compose_node(self, parent, index):
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            _refuse(event, "aliases and anchors are not allowed; write the value out")
        if event.tag is not None:
            _refuse(event, "tags are not allowed; write the value without")
        return super().compose_node(parent, index)

    def construct_yaml_int(self, node):
        """Refuses what only YAML takes as octal or in sixties: `010` is 8, and `1:30` is 90."""
        if re.search(r"^[+-]?0[0-9_]|:", node.value):
            value = self.construct_scalar(node)
            _refuse(node, f"write {value[:40]} without a leading zero, or as text in quotes")
        return super().construct_yaml_int(node)

    def compose_mapping_node(self, anchor):
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, value in node.value:
            if key.tag != "tag:yaml.org,2002:str":  # a merge would bring keys of its own
                is_half = key.tag.endswith(":int") and value.value == ""  # of {rate: 0,002}
                hint = "; write a decimal point, not a comma" if is_half else ""
                _refuse(key, f"a key must be a string{hint}")
            if key.value in seen:
                _refuse(key, f"the key {key.value[:80]!r} appears twice")
            seen.add(key.value)
        return node


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def _refuse(place, problem):
    raise _RefusedError(problem=problem, problem_mark=place.start_mark)
