"""Refuses to replace a built model's layers and settings: one rule of two models."""

from typing import ClassVar


class FixedParts:
    """Base of functional models that also call their layers by name.

    `fit` and `__call__` follow the graph, which is made of the layers that a model is built with; a
    search calls the layers that its attributes name. So a layer that is replaced, or a stack that
    is cut, would change the search but not the graph, without a warning.

    The same holds for a setting: the layers keep the value that they were built with, but a saved
    model would contain the new one.

    Attributes:
        parts: Names of the attributes that hold layers, or tuples of layers, of the graph.
        settings: Names of the arguments that its layers were built with.
    """

    parts: ClassVar[tuple] = ()
    settings: ClassVar[frozenset] = frozenset()

    def __setattr__(self, name, value):
        """Sets an attribute.

        Raises:
            AttributeError: If it is one of `parts`, and the graph is there, or one of `settings`
                that has another value.
        """
        if name in type(self).parts and getattr(self, "built", False):
            raise AttributeError(
                f"`{name}` cannot be replaced: the graph of this {type(self).__name__} is made of "
                "it. Build a model of a subclass with other parts (docs/change_a_part.md), or of "
                "another depth, and take over the weights that fit."
            )
        if name in type(self).settings and value != getattr(self, name, value):
            raise AttributeError(
                f"`{name}` cannot be changed: the layers of this {type(self).__name__} were built "
                f"with {getattr(self, name)!r}. Build or load it with a different value, such as "
                f"`{type(self).__name__}.from_preset(..., {name}={value!r})`."
            )
        super().__setattr__(name, value)
