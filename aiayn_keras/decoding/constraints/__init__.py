"""Rules that every hypothesis of a search keeps: `SearchOptions.constraint`.

| file | content |
|---|---|
| `constraint` | `Constraint` and `Rules`, the two protocols, and constraints by name |
| `balanced_brackets`, `bracket_rules` | trees: their options, and their rules as tensors |
| `token_automaton`, `automaton_rules` | finite automata over tokens, the same way |

The options are imported here, without Keras, which the rules alone need: the command reads them.
"""

from aiayn_keras.decoding.constraints.balanced_brackets import BalancedBrackets
from aiayn_keras.decoding.constraints.constraint import Constraint, Rules
from aiayn_keras.decoding.constraints.named_constraints import CONSTRAINTS, as_constraint
from aiayn_keras.decoding.constraints.token_automaton import TokenAutomaton

__all__ = [
    "CONSTRAINTS",
    "BalancedBrackets",
    "Constraint",
    "Rules",
    "TokenAutomaton",
    "as_constraint",
]
