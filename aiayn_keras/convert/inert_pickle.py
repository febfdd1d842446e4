"""Pickles read without running anything: dictionaries, lists, numbers, text and stand-ins.

Python's own `pickle` calls what a file names and makes what it describes. Here an object is only
noted down, with its class's name; whoever reads the file says what becomes of the few that are
wanted. `pickletools` cuts the file into operations, whose number is bounded, and each adds at most
one object: no pickle asks for much more memory than that.
"""

import pickletools
from dataclasses import dataclass, field

MAX_OPERATIONS = 300_000
"""Bound on the operations of a pickle; a tensor takes about 30."""

# fmt: off
LITERALS = frozenset((
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
    "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
))
# fmt: on
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
NEW = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": list}
LAST_AS_TUPLE = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
NOTHING = frozenset(("PROTO", "FRAME"))

DICTIONARIES = frozenset(("collections.OrderedDict", "collections.defaultdict", "builtins.dict"))
"""Classes that are read as dictionaries."""

MAX_NAME = 500
MAX_KEY_BITS = 64
"""Bound on the integers that are keys: greater ones may all have one hash."""


@dataclass(frozen=True, eq=False)
class Name:
    """A function or class that a pickle names; it is not looked up."""

    text: str


@dataclass(eq=False)
class StandIn:
    """An object that a pickle describes and that was not made.

    Attributes:
        class_name: Full name of its class, or of the function that would make it.
        state: What would become its attributes, usually a dictionary.
    """

    class_name: str
    state: object = field(default=None, repr=False)


def stand_in(name, arguments):
    """Takes no heed of the arguments, see `read_pickle`."""
    return StandIn(name)


def read_pickle(file, make=stand_in, load=None):
    """Reads the next pickle of a file.

    Args:
        file: Open binary file; it stands behind the pickle afterwards. Its size bounds the length
            of text in it.
        make: Function of a full name and a tuple of arguments, both from the file: it returns what
            is taken for the object that this would make.
        load: Function that returns the object of a persistent identifier, which may be anything.

    Returns:
        The object: dictionaries, lists (sets too), tuples, numbers, strings, bytes, Booleans, None,
        `Name`s, `StandIn`s and what the two functions return. Sets are lists.

    Raises:
        ValueError: If it is damaged, is longer than `MAX_OPERATIONS`, or does what no file of
            numbers does.
    """
    reader = _Reader(make, load)
    try:
        for number, (operation, argument, _) in enumerate(pickletools.genops(file)):
            if number > MAX_OPERATIONS:
                raise ValueError(f"more than {MAX_OPERATIONS:,} operations")
            reader.run(operation.name, argument)
        return reader.stack.pop()
    except (IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError("its operations do not go together") from error


class _Reader:
    """The stack and the memory of a pickle that is being read."""

    def __init__(self, make, load):
        self.make = make
        self.load = load
        self.stack = []
        self.outer = []  # the stacks below each open mark
        self.memo = {}

    def run(self, name, argument):
        """Does one operation."""
        if name in LITERALS:
            self.stack.append(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in NEW:
            self.stack.append(NEW[name]())
        elif name in LAST_AS_TUPLE:
            count = LAST_AS_TUPLE[name]
            self.stack[-count:] = [tuple(self.stack[i] for i in range(-count, 0))]
        elif name not in NOTHING:
            method = getattr(self, f"do_{name.lower()}", None)
            if method is None:
                raise ValueError(f"the operation {name} is in no file of numbers")
            method(argument)

    def since_mark(self):
        """Takes the objects since the last mark, and the mark, from the stack."""
        items, self.stack = self.stack, self.outer.pop()
        return items

    # === Stack and memory ===
    def do_mark(self, _):
        self.outer.append(self.stack)
        self.stack = []

    def do_stop(self, _):
        if self.outer or len(self.stack) != 1:
            raise ValueError("it does not end with one object")

    def do_pop(self, _):
        if self.stack:
            self.stack.pop()
        else:
            self.since_mark()

    def do_pop_mark(self, _):
        self.since_mark()

    def do_dup(self, _):
        self.stack.append(self.stack[-1])

    def do_memoize(self, _):
        self.memo[len(self.memo)] = self.stack[-1]

    def do_put(self, index):
        self.memo[index] = self.stack[-1]

    def do_get(self, index):
        self.stack.append(self.memo[index])

    do_binput = do_long_binput = do_put
    do_binget = do_long_binget = do_get

    # === Containers ===
    def do_tuple(self, _):
        items = self.since_mark()
        self.stack.append(tuple(items))

    def do_list(self, _):
        items = self.since_mark()
        self.stack.append(items)

    do_frozenset = do_list

    def do_dict(self, _):
        items = self.since_mark()
        self.stack.append({})
        self._set_items(items)

    def do_append(self, _):
        self._extend([self.stack.pop()])

    def do_appends(self, _):
        self._extend(self.since_mark())

    do_additems = do_appends

    def do_setitem(self, _):
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def do_setitems(self, _):
        self._set_items(self.since_mark())

    def _extend(self, items):
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)
        elif not isinstance(self.stack[-1], StandIn):
            raise ValueError("it appends to what is no list")

    def _set_items(self, items):
        target = self.stack[-1]
        if isinstance(target, StandIn):
            return
        if not isinstance(target, dict):
            raise ValueError("it sets items of what is no dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not _is_key(key):
                raise ValueError("a key of a dictionary is no text and no number of usual size")
            target[key] = value

    # === Objects ===
    def do_global(self, name):
        self._push_name(*name.split(" ", 1))

    def do_stack_global(self, _):
        name, module = self.stack.pop(), self.stack.pop()
        self._push_name(module, name)

    def _push_name(self, module, name):
        if len(module) + len(name) > MAX_NAME:
            raise ValueError("a name in it is too long")
        self.stack.append(Name(f"{module}.{name}"))

    def do_reduce(self, _):
        arguments, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, Name) or not isinstance(arguments, tuple):
            raise ValueError("it calls what is no function")
        is_dictionary = function.text in DICTIONARIES
        self.stack.append({} if is_dictionary else self.make(function.text, arguments))

    do_newobj = do_reduce

    def do_newobj_ex(self, _):
        self.stack.pop()
        self.do_reduce(None)

    def do_build(self, _):
        state = self.stack.pop()
        if isinstance(self.stack[-1], StandIn):
            self.stack[-1].state = state

    def do_binpersid(self, _):
        if self.load is None:
            raise ValueError("it refers to something outside itself")
        self.stack.append(self.load(self.stack.pop()))


def _is_key(value):
    if isinstance(value, int):
        return value.bit_length() <= MAX_KEY_BITS
    return value is None or isinstance(value, str | bytes | float | Name | StandIn)
