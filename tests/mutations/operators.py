"""Mutation operators: from a node of a syntax tree to the nodes that could stand there by mistake.

Each is a function that yields none for a node it does not apply to.
"""

import ast
import copy

ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_TWINS = (
    ("minimum", "maximum"),
    ("min", "max"),
    ("argmin", "argmax"),
    ("logical_and", "logical_or"),
    ("any", "all"),
    ("sum", "mean"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("equal", "not_equal"),
    ("less", "less_equal"),
    ("greater", "greater_equal"),
    ("sin", "cos"),
    ("softmax", "log_softmax"),
    ("tril", "triu"),
)
TWINS = dict(_TWINS) | {second: first for first, second in _TWINS}
# Calls that give a tensor like their first argument.
DROPPED = {
    "abs",
    "cast",
    "cumsum",
    "exp",
    "flip",
    "log",
    "rsqrt",
    "sqrt",
    "square",
    "stop_gradient",
}
DROPPED |= {"transpose", "swapaxes", "softmax", "log_softmax", "relu", "dropout"}


def _name(call):
    """Last part of the name of what is called."""
    function = call.func
    return getattr(function, "attr", getattr(function, "id", None))


def _changed(node, **fields):
    node = copy.copy(node)
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def arithmetic(node):
    """`+` for `-`, `*` for `/`, and so on."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield _changed(node, op=ARITHMETIC[type(node.op)]())


def comparison(node):
    """`<` for `<=`, `==` for `!=`."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield _changed(node, ops=[COMPARISONS[type(node.ops[0])](), *node.ops[1:]])


def boolean(node):
    """`and` for `or`; `True` for `False`."""
    if isinstance(node, ast.BoolOp):
        yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield _changed(node, value=not node.value)


def sign(node):
    """A minus or a `not` that is forgotten."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield node.operand


def constant(node):
    """A whole number greater by one; another one twice as great, or 1 for 0."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield _changed(node, value=node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        yield _changed(node, value=2.0 * node.value or 1.0)


def condition(node):
    """The other branch, but where `comparison` or `sign` takes it."""
    if getattr(node, "is_condition", False) and not isinstance(node, (ast.Compare, ast.UnaryOp)):
        yield ast.UnaryOp(ast.Not(), node)
    if isinstance(node, ast.IfExp):
        yield _changed(node, body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.Call) and _name(node) == "where" and len(node.args) == 3:
        test, then, otherwise = node.args
        yield _changed(node, args=[test, otherwise, then])


def twin(node):
    """`minimum` for `maximum`, `sin` for `cos`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        other = TWINS.get(node.func.attr)
        if other is not None:
            yield _changed(node, func=_changed(node.func, attr=other))


def dropped_call(node):
    """`x` for `cast(x, ...)`."""
    if isinstance(node, ast.Call) and _name(node) in DROPPED and node.args:
        yield node.args[0]


def forgotten_step(node):
    """`x = x` for `x = f(x)`; nothing for a call whose result is not used."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        target = ast.unparse(node.targets[0])
        if target in map(ast.unparse, node.value.args):
            yield _changed(node, value=node.targets[0])


def swapped_arguments(node):
    """`matmul(y, x)` for `matmul(x, y)`."""
    if isinstance(node, ast.Call) and _name(node) in {"matmul", "subtract", "divide"}:
        first, second, *others = node.args
        yield _changed(node, args=[second, first, *others])


OPERATORS = (
    arithmetic,
    comparison,
    boolean,
    sign,
    constant,
    condition,
    twin,
    dropped_call,
    forgotten_step,
    swapped_arguments,
)
