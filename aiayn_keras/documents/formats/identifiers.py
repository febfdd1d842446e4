"""Values that are for machines, such as `user_name`, `en-US` and `12px`, and that stay as they are.

They are single words without spaces. Ordinary words, also with a hyphen or in capitals (`Save`,
`check-in`, `OK`, `FAQ`), are not among them. Tables, JSON and catalogues share this one pattern.
"""

import re

_IDENTIFIER = re.compile(
    r"""(?x)
      (?=\w*[^\W_]) \w*_\w*                              # user_name MAX_SIZE _id
    | [a-z]+(?:[A-Z][a-z0-9]*)+                          # camelCase
    | (?:[A-Z][a-z0-9]+){2,}                             # PascalCase
    | [a-z][a-z0-9]*(?:-[a-z0-9]+){2,}(?<=\d) | [a-z0-9]+(?:--|__)[\w-]+   # col-md-6 btn--wide
    | [A-Za-z_$][\w$-]+(?:\.[A-Za-z_$][\w$-]+)+          # menu.file.open
    | [a-z][\w.-]*(?::[a-z][\w.-]*)+                     # user:read
    | [a-z]{2,3}(?:-[A-Z][a-z]{3})?[-_](?:[A-Z]{2}|\d{3}) | [a-z]{2,3}-[A-Z][a-z]{3}  # en-US
    | (?=[A-Fa-f]*\d)(?:0[xX])?[0-9A-Fa-f]{7,}           # 3f2a9c1
    | (?=\D*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/_-]{16,}={0,2}                       # base64
    | \#[0-9A-Fa-f]{3,8}                                 # a colour
    | [a-z][a-z-]*\([\d\s.,%/a-z-]*\)                    # rgb(0, 0, 0)
    | -?(?:\d+\.)?\d+(?:px|r?em|v[hwx]|pt|ms|fr|deg|dpi|[kKMGT]i?B)                   # 12px
    | (?:application|audio|font|image|message|model|multipart|text|video)/[\w.+*-]+(?:;.*)?
    | \d{4}-?\d\d-?\d\d[T\s]\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?    # a time
    | \d{4}-W\d\d(?:-\d)? | P(?=[T\d])(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?               # a period
    | (?=.*(?:yy|YY|MM|dd|DD|HH|hh|mm|h:m))                                           # YYYY-MM-DD
      (?:([yYMdDhHmsSaAEzZ])\1{0,4}(?:[-./:,]+|\Z|\s(?!\Z))){2,}
    | [~^<>=v]{0,2}\d+(?:\.[\dx*]+)+(?:[-+][\w.+-]+)?    # ^1.2.0-beta.1
    | (?=[A-Z/._-]*\d)(?=[\d/._-]*[A-Z])[A-Z0-9]+(?:[-_/.][A-Z0-9]+)*                 # SKU-123
    | @[\w.-]+/[\w.-]+ | [\w.-]+(?:/[\w.-]+){2,}         # @scope/package
    | [.\#][A-Za-z][\w-]*                                # .selector
    | \^\S*\$ | 0[xX][0-9A-Fa-f]+ | N/A | true | TRUE | false | FALSE | null | NULL | NaN
    | undefined
    """
)


def is_identifier(text):
    """Tells whether a whole value is for machines, and not text.

    Args:
        text: A string.

    Example:
        >>> [is_identifier(text) for text in ("user_name", "en-US", "check-in", "Save as")]
        [True, True, False, False]
    """
    return _IDENTIFIER.fullmatch(text.strip()) is not None
