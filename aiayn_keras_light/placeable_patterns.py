"""Regular expressions of placeables: URLs, names of files, placeholders, emoji and markup."""

import functools
import re
import unicodedata

_IN_BRACKETS = r"""\([^\s<>"'|`()]*\)|\[[^\s<>"'|`\[\]]*\]"""
_APOSTROPHE_INSIDE = r"'(?=\w)(?!s\b)"
_ADDRESS = (
    rf"""(?:[^\s<>"'|`()\[\]]|{_APOSTROPHE_INSIDE}|{_IN_BRACKETS})*"""
    rf"""(?:[^\s<>"'|`.,;:!?()\[\]}}*_]|{_IN_BRACKETS})"""
)
"""The rest of an address: brackets in pairs, and no sign that ends a sentence at its end."""
_FILE_ENDINGS = (
    "7z|avi|bash|bat|bib|bz2|cfg|conf|cpp|css|csv|dll|docx?|epub|exe|flac|gif|gz|html?|ini|ipynb|"
    "iso|jar|java|jpe?g|jsx?|json|jsonl|log|md|mkv|mov|mp[34]|od[pst]|ogg|parquet|pdf|php|png|po|"
    "pptx?|ps1|py|rar|rs|rst|rtf|sh|sql|srt|svg|tar|tex|tgz|tiff?|tmp|toml|tsv|tsx?|txt|vtt|wav|"
    "webp|whl|xlsx?|xml|xz|ya?ml|zip"
)
_DOMAINS = "com|org|net|edu|gov|io|info"
_OTHER_DOMAINS = (
    "ac|ai|app|ar|au|biz|br|ch|cl|cn|co|cz|de|dev|dk|es|eu|fi|fr|gr|hu|ie|il|jp|kr|mx|nl|nz|pl|pt|ro|"
    "ru|se|tr|tv|ua|uk|xyz|za"
)
"""Domains that are not English words; only in lower case, since a capital may begin a sentence."""
_NUMBERS = r"""
        (?<![\w.:-])(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2}|:\d{1,5})?(?![\w-]|[.:]\d)  # 192.168.0.1
      | (?<![\w.:])(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}          # 2001:db8::1
        |(?=:*[0-9A-Fa-f])(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?
        ::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?)(?:/\d{1,3})?(?![\w:])
      | (?<![\w:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])    # a MAC address
      | (?<![\w.-])(?:v\d+(?:\.(?:\d+|x\b))*|V\d+(?:\.\d+)+
        |(?!\d{1,2}\.\d{1,2}\.\d{4}(?!\d)|\d{1,3}(?:\.\d{3})+(?![\d.]))\d+(?:\.\d+){2,})
        (?:(?:a|b|rc|\.?dev|\.post)\d+|[-+][A-Za-z][\w.]*\w)?(?![\w-]|\.\d)  # v2.1.3
      | (?<![\w+])\+\d(?:[ \xa0.()/-]{0,2}\d){7,14}(?![\w-])            # +1 (555) 010-9999
      | \bISBN(?:-1[03])?:?[ ]?(?:[\d][- ]?){9,12}[\dXx]\b | (?<![\w-])97[89]-(?:\d+-){3}\d(?![\w-])
      | (?<![\w-])[A-Z]{2}\d{2}(?:[ ]?[A-Z\d]{4}){3,7}(?:[ ]?[A-Z\d]{1,3})?(?![\w-])  # an IBAN
      | (?<![\w/.])(?:doi:[ ]?)?10\.\d{4,9}/[\w.()/;:-]*\w
      | (?<![\w-])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![\w-])  # a UUID
      | (?<![\w-])(?:(?i:sha\d+|md5):)?(?=[a-fA-F]*\d)(?=\d*[a-fA-F])
        (?:[0-9a-f]{7,128}|[0-9A-F]{7,128})(?![\w-])                   # a hash
"""
"""Numbers that name a thing, the same in all languages; not prices, times and dates."""
PATTERN = (
    r"""(?:
        (?<!\w)[A-Za-z][A-Za-z0-9+.-]{1,30}://ADDRESS
      | \b(?i:www)\.ADDRESS
      | \bmailto:ADDRESS | (?<!\S)[._]{2,4}(?:[/-][._]{2,4})+(?!\S)     # __/__/____
      | (?<!\w)(?:tel|sms|data|urn|magnet|javascript):(?=[^\s:])ADDRESS
      | (?<![\w.+%-])[\w.+%-]{1,64}@[\w-]+(?:\.[\w-]+)+:[\w.~-]+/ADDRESS  # git@x.org:a/b
      | (?<![\w.+%-])(?:[\w.+%-]|(?<=\w)['’](?=\w)){1,64}@(?:[\w-]+(?:\.[\w-]+)+|localhost\b)
      | (?<![\w@.-])(?:[A-Za-z0-9-]+\.)+(?:DOMAINS)\b(?!\.[A-Z])(?:/ADDRESS)?
      | (?<![\w@.-])(?:(?=[\d-]*[a-z])[a-z0-9-]++\.)+(?:OTHERS)\b(?!\.\w|\()(?:/ADDRESS)?
      | (?<![\w@.-])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/(?=\w)ADDRESS   # bit.ly/abc
      | (?<![\w@.-])localhost(?::\d+)?(?:/ADDRESS)?(?!\w)
      | (?<![\w&\#])\#[A-Z]+(?:-[A-Z\d]+)+                          # #INV-2024-001
      | (?<![\w@&\#])(?:(?:(?<!\S)\.)?@[A-Za-z_]\w*(?:[.-]\w+)*|\#\d*[^\W\d]\w*(?:\#\w+)*)
      | <[@\#:&][^<>\s]{1,60}>                                       # <@U123> <:smile:12>
      | (?<=")[A-Za-z]:\\[^"\n<>|]+(?=")                             # "C:\a folder\file"
      | (?<![\w\\])(?:[A-Za-z]:|\\\\[\w.-]+)\\
        (?:[^\\/:*?"<>|\n]{0,79}[^\\/:*?"<>|\s]\\)*ADDRESS              # C:\a folder\file
      | (?<!\w)[A-Za-z]:/(?=[\w.])ADDRESS                            # C:/folder/file
      | (?<![^\s"'`(\[{=:,;«“‘])(?:~|\.{1,2})?(?:/[\w.+~*-]*[\w~*-]){2,}/?  # /folder/file
      | (?<![^\s"'`(\[{=:,;«“‘])/[\w.+-]+/(?!\w)                    # /folder/
      | (?<![^\s"'`(\[{=:,;«“‘])/[\w-]+(?:\.[\w-]+)*\.(?i:FILE_ENDINGS)\b     # /file.txt
      | (?<![^\s"'`(\[{=:,;«“‘])/[a-z][\w-]+(?![^\s.,;:!?)]|\.\w)          # /help
      | (?<![^\s"'`(\[{=:,;«“‘])(?:~|\.{1,2})/(?:[\w.+~-]*[\w~-])?   # ~/file
      | (?<![\w.@/\\-])(?:[\w-]+/)+[\w-]+(?:\.[\w-]+)*\.(?i:FILE_ENDINGS|[ch]|cc|go|kt|lua|pl|rb)\b
      | (?<![\w.@/\\-])[\w-]+(?:\.[\w-]+)*\.(?i:FILE_ENDINGS)\b(?!\.\w)  # file.txt
      | (?<![\w.@/\\-])[\w-]+\.(?:FILE_ENDINGS|[ch]|cc|go|kt|lua|pl|rb):\d+(?::\d+)?(?!\w)  # a.c:1
      | (?:(?<![\w"])"[^"<>\n]{1,60}"|(?<=[:,;][ ])WORD(?:[ ]WORD){1,3})
        [ ]<[\w.+%-]{1,64}@[\w.-]{1,90}>                              # Anna Smith <anna@x.org>
      | (?<!\S)(?:[:;=]['’]?-?[)(\]\[DPpOo/\\|*]+|<3|\^[_oO.]?\^|[xX]D)(?=[\s.,!?]|$)  # :-) <3
      | \{\{[^{}]*\}\} | [$%\#]?\{[^{}\s]*\}                         # {{name}} {name} %{name}
      | \{%[^{}]*%\} | \{\#[^{}]*\#\}                                # {% if a %} {# note #}
      | <[%?](?:(?![%?]>)[^\n]){0,500}[%?]>                          # <%= name %> <?php ?>
      | (?<![\d%])%\([\w.-]+\)[-#0+]*\d*(?:\.\d+)?[a-zA-Z]           # %(name)s
      | (?<![\d%])%(?:\d+\$)?[-#0+']*\d*(?:\.\d+)?(?:hh?|ll?|[zjtLq])?
        [diouxXeEfFgGcsrap@](?![a-z])                                # %s %1$d
      | (?<![\d%])%[-_^]?[aAbBcCDeFGHIjklmMpPrRSTuUVwWxXyYzZ](?![A-Za-z])  # %B %Y
      | (?<![\w%])(?<!\d[ ])%[a-z][a-z_]{2,60}+(?![\w%]) | %\#@\w+@       # %name %#@files@
      | %%[A-Za-z_]\w*%% | %[A-Za-z_]\w*%                            # %%NAME%% %PATH%
      | %% | %\d(?!\d) | %L?[1-9]\b | %n\b
      | (?<![\w$])\$[A-Za-z_]\w+\b\$?                                # $HOME $name $NAME$
      | (?<!\w)__[A-Z][A-Z0-9_]*__(?!\w)                             # __NAME__
      | &(?:[A-Za-z][A-Za-z0-9]*|\#\d+|\#x[0-9A-Fa-f]+);
      | NUMBERS
    )""".replace("NUMBERS", _NUMBERS)
    .replace("WORD", r"[A-Z][\w.'’-]{0,30}")
    .replace("ADDRESS", _ADDRESS)
    .replace("FILE_ENDINGS", _FILE_ENDINGS)
    .replace("DOMAINS", _DOMAINS)
    .replace("OTHERS", _OTHER_DOMAINS)
)
"""A placeable, as a verbose regular expression."""


def _picture_characters():
    """Signs that are pictures, and characters of fonts and programs that no model has read."""
    codes = (*range(0xA9, 0x3300), *range(0x4DC0, 0x4E00), *range(0x1D000, 0x1D360))
    signs = [chr(code) for code in codes if unicodedata.category(chr(code)) == "So"]
    signs = [sign for sign in signs if unicodedata.normalize("NFKC", sign) == sign]
    pictures = "".join(signs).translate(dict.fromkeys(map(ord, "°❛❜❝❞\u2800\ufffc")))
    return (
        f"{pictures}℠™№ℹ㊗㊙\U0001f000-\U0001f12f\U0001f170-\U0001faff"
        "\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff\U000f0000-\U0010ffff"
    )


@functools.cache
def emoji():
    """Compiled pattern of an emoji or such a sign, with all that belongs to it.

    Those are variation selectors, skin tones, the tags of a flag, the box of a key, and what a
    joiner joins to it. Degree signs, quotation marks, and letters in circles are text, and an empty
    cell of Braille is a space.
    """
    picture = rf"(?:[{_picture_characters()}]|[^\s\w]\ufe0f)"
    parts = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
    return re.compile(rf"[0-9#*]\ufe0f?\u20e3|{picture}{parts}(?:\u200d{picture}{parts})*")


_INDEX = "²³¹⁰ⁱ⁴-₎ₐ-ₜ¼-¾⅐-⅞↉"
_CURRENCIES = "AUD|BRL|CAD|CHF|CNY|DKK|EUR|GBP|INR|JPY|MXN|NOK|PLN|SEK|USD"
_UNITS = (
    "[µμ]g|mcg|mg|g|[cdm]?[lL]|[µμ]m|mm|m/s|km/h|kph|[kM]?W|kWh|m?V|mAh?|[kMG]?Hz|"
    "[kKMGT]i?B|[kMG]bps|[kMG]b/s|dB|px|dpi|rpm|[°º]F|mmHg|[hk]?Pa|psi|kcal|kJ|ms|"
    "[kKMGT]i?B/s|[kMG]bit/s|pp[mb]|fps|bpm|[kM]?[ΩΩ]|kN|Nm|lm|mol|mbar|gsm|k?VA|Wh|K"
)
"""Symbols of units, without those of everyday sentences: kg, m, cm, km, min and °C; and without
those that other languages write as words: ft, lb, oz, mph, tsp and tbsp."""
_TERM = r"(?:[A-Za-z]|[$€£¥]?\d+(?:[.,]\d+)*)"
_KAOMOJI_SIGNS = "°□■◕‿◡⊙◉◔ಠಥ益￣╥﹏⌐ᴥ╹▽∀≧≦•ツ^"
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|SEVERE|FATAL|CRITICAL"
STAMP = (
    r"(?:(?:\[(?:DATE,?[ T])?TIME\]|DATE,?[ T]TIME(?:[ ]-(?=[ ]))?|(?:\d\d:){2}\d\d[.,]\d{3})"
    r"(?:[ ]<[\w.|-]+>)?"
    r"|(?:<\d{1,3}>)?[A-Z][a-z]{2}[ ]{1,2}\d{1,2}[ ](?:\d\d:){2}\d\d"
    r"(?:[ ][\w.-]+[ ][\w./-]+(?:\[\d+\])?:)?)(?:[ ]+(?:LEVELS):?)?(?!\S)".replace(
        "DATE", r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
    )
    .replace(
        "TIME",
        r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?Z?"
        r"(?:[ \u202f][AaPp]\.?[Mm]\.?|(?![ \u202f][AaPp]\.?[Mm]))",
    )
    .replace("LEVELS", _LEVELS)
)
"""Time at the beginning of a line of a chat or log, with who speaks, or the program and level of a
log."""
_NUMBER = r"\d+(?:[.,]\d+)*"
_LENGTH = r"[ ]?(?:[cmk]?m|ft|px)"
_HOUR = r"\d{1,2}(?:[:.]\d\d)?"
_BEHIND_AM = r"(?:to|until|and|or|on|every|sharp|today|tomorrow)\b"
"""Words after `9 am` that show that its `am` is not the German word."""
_SCORE = r"\d{1,3}[:–-]\d{1,2}(?:[ ]?\(\d+\))?"
_DATE_PART = r"(?<![A-Za-z])(?:DD?|MM|YYYY|YY|dd?|mm|yyyy|yy|HH|hh|ss)(?![A-Za-z])"
_MIME_TYPE = (
    r"(?:text/(?:html|plain|css|csv|xml|javascript|markdown|calendar|event-stream)"
    r"|image/(?:png|jpe?g|gif|svg\+xml|webp|avif|bmp|tiff)|audio/(?:mpeg|ogg|wav|mp4|aac|flac|webm)"
    r"|video/(?:mp4|mpeg|ogg|webm|quicktime)|font/(?:woff2?|ttf|otf)"
    r"|application/(?:json|xml|pdf|zip|gzip|javascript|octet-stream|[a-z]+(?:[.+-][a-z\d]+)+)"
    r"|multipart/(?:form-data|mixed|alternative|related))"
)
_STREET = (
    r"(?:(?:Street|Avenue|Road|Lane|Boulevard|Terrace|Parkway|Way|Square"
    r"|(?<!Hard[ ])(?<!Flash[ ])(?<!USB[ ])(?<!Disk[ ])Drive)"
    r"|(?:St|Ave|Rd|Ln|Blvd|Pkwy|Sq)\.?)(?![\w'’])"
)
_ROMAN = r"(?:X{0,3}(?:IX|IV|V?I{0,3})|M{1,3}(?:CM|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3}))"
_AMOUNTS = rf"""
        (?<![\w.,:/$€£–—-])(?P<clock>                                    # 5pm 9:30-11 AM
          (?:{_HOUR}(?:[ ]?[AaPp][Mm])?[ ]?[–—-][ ]?)?{_HOUR}
          (?:[AaPp][Mm]|[ \xa0\u202f](?:[AP]M|pm|am(?=\s*(?:[^\s\w]|\Z|{_BEHIND_AM}))))(?!\w))
      | (?<![\w.,:/$€£–—-])(?:\d+[ ]?[dh][ ]?\d+(?:[ ]?(?:min|[hm]))?(?:[ ]?\d+[ ]?s)?
          |\d+[ ]?m(?:in)?[ ]?\d+[ ]?s|\d*[1-9]s|\d+\.\d+s|\d{{1,2}}(?::\d\d)?h(?:\d\d)?)(?!\w)
      | (?<![\w.,]){_NUMBER}(?:{_LENGTH})?(?:[ ]?[x×][ ]?{_NUMBER}(?:{_LENGTH})?){{1,8}}(?!\w)
      | (?<![\w.,:/$€£–—-])(?P<unit>{_NUMBER}                            # 5km 12€
          (?:[ck]?m|kg|mins?|hrs?|hours|[€£¥₽₹₺₩₪])(?![\w/^'’]|\.\w))
      | (?<![\w.,:/$€£–—-])(?:\d+(?:\.\d+)?[xXk]|\d{{3,4}}[pi]|\d+cc)(?!\w)  # 2x 1080p
      | (?<!\w)[$€£¥]{_NUMBER}(?:[kKMBT]|[bt]n|mn?)\b                      # $3.5M
      | (?<![\w.,:/–—-])(?:{_NUMBER}[ ]?[€£$]|[€£$]{_NUMBER})/[a-z]{{1,2}}(?![\w/])   # 5€/kg
      | (?<![\w.,])\d{{1,3}}(?:\.\d{{3}})+,\d+(?!\w|[.,]\d)(?:[ \xa0]?[€$£])?  # 1.299,99 €
      | (?<![\w.,])\d{{1,3}}(?:(?:[ ]\d{{3}}){{2,}}|(?:[\xa0\u2009\u202f]\d{{3}})+)(?!\w|[.,]\d)
      | (?<![\w.,/])\d{{1,3}}[ ]\d{{1,2}}/\d{{1,2}}(?!\w|/|[.,]\d)             # 1 1/2
      | (?<![\w.'’-])(?<!War[ ])(?!MIX)(?=[IVXLCDM]{{2,}}(?![\w'’]|-\w)){_ROMAN}(?!\w)  # Henry VIII
      | (?<![\w.'’-])WWII(?![\w'’-]) | (?<!\w)P\.?[ ]?O\.?[ ]Box[ ]\d+(?!\w)
      | (?<![\w-])[A-Za-z][a-z]+\d{{2,}}(?![\w'’])                         # host01
      | (?<![\w/'’-])X{{0,4}}[SML](?:[ ]/[ ]X{{0,4}}[SML])+(?![\w/'’-])      # S / M / XL
      | (?<![\w/'’-])(?:X{{1,4}}[SL]|[A-Z]{{1,2}}\d*(?:/[A-Z]{{1,2}}\d*)+)(?![\w/'’-])  # XXL S/M/L
      | (?<!\w)(?:O\([^()\n]{{1,30}}\)|[A-Za-z]\([^()\s]{{1,20}}\))           # f(x)
      | (?<![\w%])[^\W\d_]\w{{0,60}}(?:(?:%[0-9A-F]{{2}})+\w{{0,60}}){{1,60}}(?!\w) # caf%C3%A9
      | (?:[A-Z][a-z]{{2}},[ ])?(?<!\w)\d{{1,2}}[ ][A-Z][a-z]{{2}}[ ]\d{{4}}[ ]\d\d:\d\d(?::\d\d)?
        [ ](?:[+-]\d{{4}}|GMT|UTC)(?!\w)                                  # of a mail's head
      | \[\d{{1,2}}/[A-Z][a-z]{{2}}/\d{{4}}:[\d:]+[ ][+-]\d{{4}}\]           # of a server's log
      | "(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)[ ](?:/|\*|https?:)[^"\n]{{0,2000}}"
"""
"""Amounts, times and numbers that small models change.

Models are given a `unit` with a space before it, and a `clock` as a time of 24 hours.
"""
CODES = rf"""
        \x1b\[[0-9;]*[A-Za-z]                                          # a terminal's colours
      | (?<![\w.,/-])\d{{1,5}}[A-Za-z]?[ ](?:[A-Z][\w'’-]*\.?[ ]){{1,3}}{_STREET}   # 10 Main Street
      | (?<![\w`])``[^`\n](?:[^\n]{{0,200}}?[^`\n])?``(?![\w`])               # ``code``
      | (?<![^\n])[ \t]*(?:\$|[\w.-]+@[\w.-]+:\S*[$\#])[ ]+[a-z./][^\n]*    # $ ls -la
      | (?<=[^\W\d_][^\W\d_][^\W\d_])[{_INDEX}]+                          # a note¹
      | (?:(?<![^\W\d_])(?:[A-Za-z]=)?[A-Za-z(]{{0,2}}|[A-Z(][A-Za-z(]?|(?<=[A-Z]))
        \d*[{_INDEX}]+[A-Za-z0-9]{{0,2}}(?![^\W\d_])                        # 10⁶ E=mc² 1½ CO₂
      | (?<![\w.,$€£–-])(?:\d+[ ]?[x×][ ]?|\d+[ ](?=\d+/))?\d+(?:[.,]\d+)*(?:[–/-]\d+(?:[.,]\d+)*)?
        [ \xa0]?(?:{_UNITS})(?:/(?:h|s|min|d?[lL]|k?g|m))?(?![\w/^'’]|\.\w)     # 350 ml 2 x 500 mg
      | {_AMOUNTS}
      | (?<![\w.,])(?:0[xX][0-9A-Fa-f]+|\d+(?:\.\d+)?[eE][-+]?\d+|\d{{7,}}|\d{{1,3}}(?:'\d{{3}})+)
        (?![\w'])                                                    # 0xFF 1e-5 12345678
      | (?<![\w-])\d{{4}}(?:[ -]\d{{4}}){{3}}(?![\w-])                     # a card
      | (?<!\w)(?:[A-Z]{{1,2}}\$|(?:{_CURRENCIES})\b)[ \xa0]?\d+(?:[.,]\d+)*
        (?:[.,][–—-]+(?!\w))?                                          # US$3, EUR 5, CHF 20.-
      | (?<![\w.,])\d+(?:[.,]\d+)*[ \xa0]?(?:{_CURRENCIES})\b
      | (?<!\w)\w++\^\w+\^? | (?<!\w)[A-Z][a-z]?~\d{{1,3}}~\w*               # 10^6 H~2~O
      | (?<![\w.,]){_NUMBER}["'’′”″](?:[ ]?[x×][ ]?{_NUMBER}["'’′”″]){{1,8}}(?!\w)  # 12' x 10'
      | (?<![\w.,])\d(?:['’′][ ]?\d{{1,2}}(?:["”″]|'')                       # 5'10" 5ft 10in
          |[ ]?ft\.?[ ]?\d{{1,2}}(?:[ ]?in\b\.?)?)(?!\w)
      | (?<![\w.,'’/-])(?:{_TERM}[ ]?(?:[-+*/×]|x(?=[ ][$€£¥]?\d))[ ]?){{0,8}}{_TERM}
        [ ]?(?:<(?!3(?!\d)|[A-Za-z/])|>|[<>=!]=|=(?!>)|[≠≤≥≈])[ ]?-?{_TERM}(?![\w'’]|\.\w)  # x < 5
      | (?<![^\s"'(\[])[A-Za-z_][\w.-]*=
        (?:(?=\S{{0,60}}[\d/_])[^\s"',;=]*[\w/]|"[^"\n]*"|'[^'\n]*')      # a=8
      | (?<![\w/.-])[A-Za-z][\w-]*/\d+(?:\.\d+)+(?!\w)                     # HTTP/1.1
      | (?<![\w/.,$€£-])(?:\d{{3,}}/\d{{1,4}}|\d{{1,2}}/\d{{3,}})(?![\w/-]|[.,]\d)  # no. 4711/24
      | (?<![\w.,])\d+(?:\.\d+)?°(?:[ ]?\d+(?:\.\d+)?['’′](?:[ ]?\d+(?:\.\d+)?(?:["”″]|''))?)?
        [ ]?[NSEW]\b                                                 # 40°25'N
      | (?<![\w*])(?:\*\*/)?(?:[\w-]{{1,60}}+/){{0,8}}\*+\.[A-Za-z]\w{{0,9}}(?![\w*])  # *.txt
      | (?<![\w*])[A-Za-z](?:\*+[A-Za-z]+|[A-Za-z]{{0,2}}\*{{3,}})(?![\w*])        # d**n
      | \d*\\[%&$\#] | [①-⒛] | (?<!\w)[A-Za-z_]\w*\[\d{{3,}}\]  # 50\% ① sshd[123]
      | (?<![\w'’.-])(?:[^\W_]+(?:_[^\W_]+)+|[a-z]+[A-Z]\w*)(?:\(\))?(?![\w'’])  # user_name
      | (?<![\w$€£¥-])(?!\d+(?:ST|ND|RD|TH|S|AM|PM)\b)(?=[A-Z\d-]*\d)(?=[\d-]*[A-Z])
        [A-Z\d]+(?:-[A-Z\d]+)*(?![\w-])                               # H2O 3D COVID-19
      | (?<![\w-])(?=\w*[a-z])(?=\w*[A-Z])(?=[A-Za-z]*\d)[A-Za-z\d]{{8,}}=*(?![\w-])  # a key
      | \b(?:(?:Ctrl|Control|Alt|AltGr|Shift|Cmd|Command|Win|Super|Meta)(?:[+-]|[ ]\+[ ]))+
        (?:[A-Z][a-z]+|F?\d+|[A-Z]\b) | (?<![^\W_])[^\W_]++[™®℠]        # Ctrl+S Lego™
      | (?<![\w.])(?:\w++\.)*\w++\((?:"[^"\n]{{0,80}}"|'[^'\n]{{0,80}}')?\)       # f() a.f("b")
      | (?<!\w)\w++(?:(?:::\w++)+|->\w+)                                   # a::b a->b
      | (?<![\w.@/-])[a-z]\w++(?:\.[^\W\d]\w++){{2,}}(?![\w(@/-])           # com.example.App
      | (?<![^\s"'(\[])(?:--[a-z]|-[a-z](?![\w'’])|(?<=\S[ ])-[a-z])[\w-]*+(?!['’])
        (?:=[^\s,;"']*[\w/])?(?:(?:,[ ]|/)--?[a-z][\w-]*+(?!['’]))*       # -v, --verbose
      | (?<![^\W_])[^\W_]++&[^\W_]++(?![\w;]) | (?<![\w-])[A-F](?:\+|-(?!-))(?![\w+])  # R&D, A+
      | (?<![\w.])(?:[A-Z]\.[ ]){{2,4}}[A-Z][a-z]+ | (?<!\w)[A-Z]['’][A-Z][a-z]+(?!\w)  # O'Hara
      | (?<!\w)[A-Z](?:[ ]\+[ ][A-Z])+(?!\w)                             # vitamin B + C
      | (?<!\S):[a-z]+[ ]\w+:(?!\S) | (?<!\S)\.\.[ ][\w-]+::(?!\S)           # :param a: .. note::
      | (?<![^\s"'(]):[a-z][a-z0-9_+-]+(?::(?![\w:])|(?![\w:]))            # :smile: :name
      | (?<![\w/.])/?[ru]/\w{{2,}}(?![\w/])                              # r/news
      | (?<![\w$])\$[^\s$](?:[^$\n]{{0,80}}[^\s$])?\$(?![\w$])               # $x^2$
      | \*\|[^|\s]+\|\* | \{{[A-Za-z\d][\w .:]{{0,40}}\}}    # {{first name}}
      | (?<![^\W\d_])(?<![.,:;!?][ ])\((?:[A-Za-z]|[ivx]{{2,5}})\)(?![^\W_])          # 5(a)(ii)
      | (?<=[^\W\d_A-Z][ ])\([A-Z]{{2,6}}\)(?!\w)                           # a union (EU)
      | [\[(][A-Za-z](?:/[A-Za-z?])+[\])]                                 # [y/N]
      | {_DATE_PART}(?:[/.:-]{_DATE_PART})+(?!\w)                          # DD/MM/YYYY
      | (?<![\w/.-]){_MIME_TYPE}(?:;[ ]?charset=[\w-]+)?(?![\w/])
      | (?<!\w)(?:Content|Accept|User|Cache|Set)-(?:Type|Length|Encoding|Disposition|Language|Agent
        |Control|Cookie):?(?!\w)
      | (?<![\w.])\w++\([ ]?-?(?:\d[\d.]*|"[^"\n]{{0,40}}")[%\w]*(?:,[ ]?[\w.%"'-]+)+\)  # f(1, 2)
      | (?<![\w.$])[\w$]++(?:\.[\w$<>]++)++\((?:\w++\.\w++:\d+|Native[ ]Method|Unknown[ ]Source)\)
      | [⌘⌥⇧⌃⎇]+(?:[A-Z\d](?!\w))? | (?<!\w)(?:Esc|PgUp|PgDn)(?!\w)          # ⌘C
      | (?<![\w'’])['’]\d\ds?(?![\w'’]|[^'’\n]{{0,60}}['’](?!\w))  # '85 '90s
      | (?<!\w)§{{1,2}}[ \xa0]?\d+[\w.-]*(?:\(\w+\))*(?<!\.)                   # § 5(2)
      | (?<=,[ ])[A-Z]{{2}}[ ]\d{{5}}(?:-\d{{4}})?(?![\w-])                      # Boston, MA 02108
      | (?<![\w.,:/–-]){_SCORE}(?:,[ ]{_SCORE})+(?![\w:–-])                   # 7:15, 7:45 6-4, 7-6
      | (?:(?<=[Pp]assword:[ ])|(?<=[Pp]asscode:[ ])|(?<=[Uu]sername:[ ]))(?=\S*\d)\S+(?<![.,;])
      | (?<!\w)[LWHD](?:[ ]?[x×][ ]?[LWHD]){{1,2}}(?!\w) | (?<!\w)[A-Z]{{3}}/(?:{_CURRENCIES})(?!\w)
      | (?<![\w/])(?:n/a|c/o|a/c|i/o|[wv]/v|a/b)(?![\w/]) | (?<!\w)\w+[\[(]at[\])][\w.-]+\w
      | (?<![\w/])/[^\s/]{{0,20}}[ɐ-ʯˈˌː][^\s/]{{0,30}}/(?![\w/])
      | (?<!\w)\w{{0,30}}[ᴀ-ᴢ]\w{{0,30}}(?!\w)
      | (?<=[a-z:][ ])A(?=[,.;!?)]|\s*\Z)                                  # Grade: A
      | (?<!\w)(?:EU|US|UK)[ ]\d+(?:[.,]\d)?(?![\w,])(?=[ ]*(?:/|\Z))
      | (?<!\w)ISSN:?[ ]\d{{4}}-\d{{3}}[\dXx](?!\w)
      | (?<![\w-])(?:\d{{1,2}}-(?:in|for)-\d{{1,2}}|[a-z]\d\d[a-z]|[bpc]2[bpc]|k8s)(?![\w-])
      | (?<!\S)(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]++:(?=\S)           # DEBUG:root:Hi
      | (?<!\w)(?:\[[ xX✓✔]?\]|\([ ✓✔]?\))(?![ ]?\w)              # no [x]
      | \[(?:\d+|[A-Z]|main|sic)\] | \[(?=[^\]\s]{{0,40}}\d)\w{{1,40}}+(?:[.:/-]\w{{1,40}}+)+\]
      | \(\d{{2,5}}\)[ ]?\d{{2,4}}(?:[ -]\d{{2,5}})+(?![\w-])                  # (555) 123-4567
      | [\[(][-+−~\#×x]?\d[\d \xa0:.,/%-]*(?:[AaPp]\.?[Mm]\.?)?[\])]     # (10:30 AM) [5/6/24] (-5%)
      | (?<!\S)(?:T_+T|[oO][._]+[oO]|-_+-|>_+<|;_+;|u_u|n_n|¯\\_\(ツ\)_/¯|\\o/|</3
        |:['’]?3|8-?\)|\((?:[:;=])-?|\^_*\^;+)(?=[\s.,!?]|$)               # T_T (: ^^;
      | (?<!\S)(?=\S*[{_KAOMOJI_SIGNS}])[^\sA-Za-z0-9()"'“”‘’«»\[\]]{{0,4}}
        [(ʕ][^\sA-Za-z0-9()]{{2,16}}[)ʔ][^\sA-Za-z0-9()"'“”‘’«».,;:!?…]{{0,4}}
        (?:[ ]?[┻━┬─]+)?(?=[\s.,!?]|$)                                  # (╯°□°)╯︵ ┻━┻
      | \((?:[^()\s\w]|_){{2,20}}\)                                    # (^_^)
"""
"""Further kinds of placeables: codes, quantities, emoticons and more placeholders."""
_TEXT_COMMANDS = (
    "text(?:bf|it|sc|sf|up|md|rm|sl)|emph|underline|(?:sub){0,2}section|(?:sub)?paragraph|chapter|part|"
    "title|caption|footnote|textquote|enquote|mbox"
)
"""Commands of LaTeX whose argument is text."""
_BBCODE_NAMES = "b|i|u|s|quote|code|img|url|size|color|list|spoiler"
BBCODE = rf"\[/?(?:{_BBCODE_NAMES})(?:=[^\s\]]*)?\]"
_BEHIND_VALUE = "|".join(
    [
        *(rf"(?<=:[ ][^\s:]{{{width}}})" for width in range(1, 17)),
        *(
            rf"(?<=:[ ][^\n:]{{{width}}})(?:(?<=[\d%])|(?<=\d[ ]{unit}))"
            for width in range(1, 17)
            for unit in ("[a-zA-Z]", "[a-zA-Z]{2}")
        ),
    ]
)
"""A short value after a label, of one word or with a number at its end."""
CUTS = (
    r"""
        (?<!\S)(?:[-=~]{3,}|==)(?=[^\W_]) | (?<=[\w.!?])(?:[-=~]{3,}|==)(?![^\s.,;:!?)])  # ---a---
      | (?<!\S)(?:/{2,}|/\*+|\*+/|[~^]|-{3,}|={3,}|~{3,}|\#{3,})(?!\S) | '{3,}+ | "{3,}+
      | (?<!\S)={2,}(?=[ ][^=\n]+[ ]={2,}[ ]*(?:\n|\Z))                  # == Heading ==
      | (?<=[^=\s][ ])={2,}(?=[ ]*(?:\n|\Z)) | (?<=[^\s\#][ ])\#{1,6}(?=[ ]*(?:\n|\Z))  # ## a ##
      | (?<![^\s])`{3,}\w*(?!\S)                                       # ```python
      | (?<=[\w"'.!?)])(?<!\b[Tt][Ll]);(?=["'\w(])                # 1;Anna;tea
      | (?<=\d),(?="\w|[A-Za-z]) | (?<="),(?=["A-Za-z\d])
      | (?<=[A-Za-z.!?]),(?="\w|(?!I[ '’])[A-Z\d])
      | (?<!\.)\.{4,}+(?=[ ]*[$€£¥]?\d[\d.,]*[ ]?[$€£¥]?[ ]*(?:\n|\Z))             # Notes ....... 5
      | \\[nrt](?![a-z]) | \\(?:LATEX)\*?(?:\[[^\[\]\n]{0,80}\])?\{           # \textbf{
      | (?<=\S[ ])[/+›→←↑↓⇒•·](?=[ ]\S) | (?<=[^\W\d_]{2}[ ])>(?=[ ][^\W\d_]{2})  # File > Open
      | (?<=\d)/(?=[a-z]{3,}(?![\w/]))                                     # $5/month
      | (?<=[^\W\d_]{2}[ ])»(?=[ ][^\W\d_a-zß-ÿ][^\W\d_])                  # Home » Shoes
      | (?<=[.,:;!?][ ])(?:\(?\d{1,2}|[a-h]|\((?:[A-Za-z]|[ivx]{2,5}))\)(?=[ ]\S)   # 2) b) (ii) go
      | (?<=[\w.,:;!?][ ])(?=(?:[A-Ha-h]|\d{1,2}|[ivx]{1,4})\)(?:[ ]\w|[.,;:!?]|\Z))
        NOT_BEHIND_OPEN\w+\)                                            # A) tea B) milk
      | (?<=\S[ ])(?:\[[ xX✓]\]|\([ ✓]\)|[☐☑☒])(?=[ ]\S)                         # [ ] a [ ] b
      | (?=[ ][A-Z][a-z])(?:BEHIND_VALUE)[ ](?=[A-Z][a-z]+(?:[ ][a-z]+)?[ ]?\#?:[ ]\S)  # A: 5 B: 3
      | (?<=\d[ ])[A-Z]:(?=[ ]\S)                                        # T: 555-0100 M: 555-0199
      | (?<=:[ ])(?:Re|RE|Fwd?|FWD?|Aw|AW|Wg|WG):(?=[ ]\S)                      # Subject: Re: a
      | (?<=[.!?…][ ])[-–—](?=[ ][A-Z¡¿])                                   # Hi. - Hello.
      | (?<![\w~])~(?=[^\s~\d/\\]) | (?<=[^\s~/])~(?![\w~])                   # ~a~
""".replace("LATEX", _TEXT_COMMANDS)
    .replace("NOT_BEHIND_OPEN", "".join(rf"(?<!\([^()]{{{width}}})" for width in range(1, 41)))
    .replace("BEHIND_VALUE", _BEHIND_VALUE)
)
"""Marks between texts, at which lines and documents are cut."""
COMMAND = r"~?\\(?!u[0-9A-Fa-f]{4})[A-Za-z]{2,}(?:\{[^{}\s]*\})*"
"""A command of LaTeX: `\\item`, `\\cite{name}`."""
_MARKUP = rf"""
        \{{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal)\s*,(?:\s*offset:\d+)?\s*=?\w+\s*\{{
      | \}}\s*=?\w+\s*\{{ | \| | {CUTS} | \\(?=[^\w\s]) | \*+ | ~~ | (?<!\w)_+ | _+(?!\w)
      | (?<=[.!?…][ ])[A-Z]:(?=[ ]\S)                                    # Q: Where? A: Here.
      | (?<![^\s])&(?=[A-Z][a-z])                                       # &File
      | {BBCODE} | [\[\]{{}}] | \t
      | <!--(?:(?!-->)[^\n]){{0,500}}-->
"""
"""Marks of markup, at which a line is cut: models that read sentences write words for them."""


@functools.cache
def placeable_in_line():
    """Compiled pattern of a placeable in a line; its group `cut` matches at a mark of markup."""
    return re.compile(
        rf"""(?x)
            (?<![\w`])`[^`\s][^`\n]*`(?![\w`])
          | (?<![^\n])[ \t]*[A-Z]:\\[^\n>]{{0,100}}>[ ]*[a-z./][^\n]*            # C:\> dir
          | </?[A-Za-z][\w:.-]*(?:\s[^<>\n]*)?/?>
          | {PATTERN}
          | \[[A-Z][A-Z0-9]+(?:[ _-][A-Z0-9]+)*\]                       # [NAME]
          | {CODES}
          | (?P<cut> {_MARKUP} )
          | (?:\\u[0-9A-Fa-f]{{4}})+ | {COMMAND} | \\[A-Za-z]
          | [<>=]=? | (?<![-=])[-=]++> | <[-=]++ | ~(?=\d)
          | (?-x:{emoji().pattern})"""
    )


def places_of(pattern, text):
    """Marks the characters of a text that a pattern matches.

    Returns:
        `bytearray` as long as the text, with 1 for those characters.
    """
    places = bytearray(len(text))
    for match in pattern.finditer(text):
        places[match.start() : match.end()] = b"\1" * len(match[0])
    return places


_OF_PROGRAMS = (
    r"(?:TRACE|DEBUG|INFO|WARN|ERROR)(?=[ ]+(?:\[main\]|[-:])?[ ]*[A-Z]?[a-z])"
    rf"|\[(?i:{_LEVELS}|crit)\]|\[main\]|[VDIWEF]/[\w.]++(?:\([ ]*\d+\))?:"
    r"|[a-z]\w*+(?:\.\w++){1,9}(?=[ ]+-[ ])|[a-z]\w*+(?:\.\w++){2,9}:"
    r"|(?:TODO|FIXME|XXX|HACK)(?:\([\w@ -]+\))?:|(?:feat|refactor|perf|chore|ci)!?:"
    r"|(?:feat|fix|docs|style|refactor|perf|test|build|ci|chore|revert)\([\w./-]+\)!?:"
)
"""Levels, threads and loggers of a log, notes in code, and kinds of commits."""
ORDERED = (
    r"(?:Jan(?:uar|\.)|Jänner|Feb(?:ruar|\.)|März|Mai|Jun(?:i|\.)|Jul(?:i|\.)|Okt(?:ober|\.)"
    r"|Dez(?:ember|\.)|januar|februar|mar[st]|april|maj|juni|juli|august|september|okto?ber"
    r"|november|de[cs]ember|[Kk]lasse|Jahrhundert|Weltkrieg|Kapitel)"
)
"""Months and other words of languages that write ordinals as in `1. Mai`, for RE2, too.

English has other words for these, or writes them with a capital.
"""
AND = "(?:und|oder|bis|sowie|og|och|eller|til|till|ja|ve|és|a|i)"
"""Words between two ordinals, for RE2 too."""
_BEHIND_ORDINAL = rf"[ ]+(?:{ORDERED}(?!\w)|{AND}[ ]+\d\d?\.[ ]+[^\W\d_]{{3}})"
"""What shows that `1.` is an ordinal: a month, or `und 2. Mai`."""
LEAD = re.compile(
    rf"\s*(?:(?!\(?\d\d?\.{_BEHIND_ORDINAL})"
    r"(?:(?:>\s*)+|(?:[-*#•·‣⁃+‒–—―−»]+|//+|\[[ xX✓]?\]|\(?\d{1,3}[.)]{1,2}|\([A-Za-z]\)"
    r"|[A-Za-z]\)|\(?\d{1,3}(?:\.\d{1,3}){1,4}\)|\d{1,3}[–-](?=\s+[A-Z])|o(?=\t)"
    r"|[A-Za-z]\.(?=\s+[A-Z](?!\.))|[a-h]\.(?=\s+[a-z]{2,}(?![\w.]))|[A-Z]:|%+|;+"
    r"|(?i:re|fwd?|aw|wg|rv|tr|sv)(?:\[\d+\])?[ ]?:"
    rf"|{_OF_PROGRAMS}|[\[(][!*?#+-][\])]|§{{1,2}}[ \xa0]?\d+[\w.]*+(?:\(\w+\))*(?=\s+[A-Z])"
    r"|\d{1,3}[ ][–-](?=\s+[^\s\d])|\d{1,2}(?:\.\d{1,2}){1,3}\.?(?=\s+[A-Z][a-z])"
    rf"|\(?(?:[ivx]{{1,5}}|[IVX]{{1,5}})[.)]|[①-⒛]|{STAMP})\s+))+"
)
"""Marks at the beginning of a line: of a list, a heading, an answered mail, a subject, a chat."""


_DETERMINERS = frozenset(
    (
        *("der", "die", "das", "den", "dem", "des", "am", "im", "vom", "zum", "zur", "beim"),
        *("ein", "eine", "einen", "einem", "einer", "jeder", "jede", "jedes", "det", "de", "het"),
    )
)
"""German, Dutch and Scandinavian words before an ordinal."""
_ITEM = re.compile(
    r"(?<!\S)(?P<cut>(\d{1,2})([.:-]))(?=[ ]+[^\W\d_])"
    rf"(?!(?<=\.){_BEHIND_ORDINAL})"
)
"""A number of a list; not an ordinal, as in `2. und 3. Mai`."""
_ROW = re.compile(r"\s*[^\s,]+(?:,[^\s,]+){2,}\s*")
_COMMA = re.compile("(?P<cut>,)")
_LENGTHS = re.compile(
    r"(?<![\w.,])\d+(?:[.,]\d+)?(?P<sign>[\"'’′”″])(?!\w)|[“\"”]|(?<!\w)['‘](?=\w)|['’](?!\w)"
)
"""A number with a sign of feet or inches, or a quotation mark."""


def _next_items(items):
    """The numbers and signs with which a list may go on; its first item may have no number."""
    if not items:
        return [(number, sign) for number in "12" for sign in ".:-"]
    return [(str(int(items[-1][2]) + 1), items[-1][3])]


def _is_ordinal(item):
    """Returns whether a number with a full stop stands behind an article: `der 2. Preis`."""
    words = item.string[: item.start()].split()
    return item[3] == "." and bool(words) and words[-1].casefold() in _DETERMINERS


def marks_within(text):
    """Matches of marks that only the rest of their text explains, in the order of their places.

    These are numbers of a list (`1. tea 2. milk`), commas of a row without spaces
    (`id,name,price`), and feet and inches (`a 55" TV`), whose signs end no quotation. The group
    `cut` matches at those between texts.

    Args:
        text: A string.

    Returns:
        List of `re.Match`.
    """
    if _ROW.fullmatch(text):
        return list(_COMMA.finditer(text))
    items, found = [each for each in _ITEM.finditer(text) if not _is_ordinal(each)], []
    for item in items:
        if item.group(2, 3) in _next_items(found):
            found.append(item)
    if len(found) == 1 and found[0][0] != "2-":  # the end of a sentence, or Figure 1: A house
        found = []
    if not any(sign in text for sign in "\"'’′”″"):
        return found
    open_marks, lengths = set(), []
    for match in _LENGTHS.finditer(text):
        sign = match["sign"] or match[0]
        kind = "'" if sign in "'’‘′" else '"'
        if sign in "′″" or (match["sign"] and kind not in open_marks):
            lengths.append(match)
        elif match["sign"] or sign in "”’":
            open_marks.discard(kind)
        elif sign in "“‘":
            open_marks.add(kind)
        else:
            open_marks ^= {kind}
    return sorted([*found, *lengths], key=re.Match.start)
