"""Texts that are hard to split, and their sentences.

Where the outcome is not the wish, the case is marked as a known limit. `python -m
tests.claims.documents` prints the table.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class HardText:
    """A text and the sentences that the splitter finds in it.

    Attributes:
        text: The text.
        sentences: What is found.
        limit: What one would wish, where that is something else.
    """

    text: str
    sentences: tuple[str, ...]
    limit: str = ""


def case(text, *sentences, limit=""):
    return HardText(text, sentences or (text,), limit)


HARD_TEXTS = {
    # Abbreviations
    "title": case(
        "Mr. Smith saw Mrs. Jones. They talked.", "Mr. Smith saw Mrs. Jones.", "They talked."
    ),
    "German amounts": case(
        "Es sind 2,5 Mio. Menschen. Das kostet 3 Tsd. Euro.",
        "Es sind 2,5 Mio. Menschen.",
        "Das kostet 3 Tsd. Euro.",
    ),
    "two titles": case("Prof. Dr. Weber came. He sat.", "Prof. Dr. Weber came.", "He sat."),
    "number": case(
        "It is No. 5 on the list. No. It is not.", "It is No. 5 on the list.", "No.", "It is not."
    ),
    "units without capitals": case("2 tbsp. oil and 1 lb. of rice"),
    "area without capitals": case("1,200 sq. ft. of land"),
    "unit at the end": case("Add 2 tbsp. Stir.", "Add 2 tbsp.", "Stir."),
    "pages": case("See pp. 3-7 and fig. 2. Read them.", "See pp. 3-7 and fig. 2.", "Read them."),
    "Latin": case(
        "Fruit, e.g. apples, i.e. sweet ones. Eat!", "Fruit, e.g. apples, i.e. sweet ones.", "Eat!"
    ),
    "etc. in a sentence": case(
        "Apples, pears, etc. and so on. Buy some.", "Apples, pears, etc. and so on.", "Buy some."
    ),
    "etc. at the end": case(
        "Apples, pears, etc. They are cheap.", "Apples, pears, etc.", "They are cheap."
    ),
    "degree": case("She has a Ph.D. She teaches.", "She has a Ph.D.", "She teaches."),
    "degree and name": case("Ask Jane Doe, Ph.D. Smith will not know."),
    "country": case(
        "The U.S. army left the U.S. It was 1973.", "The U.S. army left the U.S.", "It was 1973."
    ),
    "country before a name": case("The U.S. President spoke."),
    "time": case("Come at 5 p.m. He will be there.", "Come at 5 p.m.", "He will be there."),
    "time in a sentence": case(
        "At 5 p.m. on Monday we met. It rained.", "At 5 p.m. on Monday we met.", "It rained."
    ),
    "company": case(
        "Acme Inc. and Foo Ltd. merged. The price fell.",
        "Acme Inc. and Foo Ltd. merged.",
        "The price fell.",
    ),
    "saint and street": case(
        "St. Peter lived on Main St. He was old.", "St. Peter lived on Main St.", "He was old."
    ),
    "initials": case(
        "J. R. R. Tolkien and C.S. Lewis met. They wrote.",
        "J. R. R. Tolkien and C.S. Lewis met.",
        "They wrote.",
    ),
    "vitamin": case("Take vitamin C. It helps.", "Take vitamin C.", "It helps."),
    "month": case("On Jan. 5 it snowed. It was cold.", "On Jan. 5 it snowed.", "It was cold."),
    "versus": case("Ali vs. Frazier was long. I saw it.", "Ali vs. Frazier was long.", "I saw it."),
    "a name after a time": case("We left at 5 p.m. John stayed.", limit="two sentences"),
    # Numbers
    "decimals": case(
        "It costs 3.50 or $1,000.00. That is much.", "It costs 3.50 or $1,000.00.", "That is much."
    ),
    "decimal without a zero": case(
        "It grew by .5 percent. Good.", "It grew by .5 percent.", "Good."
    ),
    "version": case("Version 1.2.3 is out. Get v2.0.", "Version 1.2.3 is out.", "Get v2.0."),
    "date": case("On 24.12.2024 we met. It snowed.", "On 24.12.2024 we met.", "It snowed."),
    "clock": case(
        "It is 5:30. Go at 8:05 a.m. or later.", "It is 5:30.", "Go at 8:05 a.m. or later."
    ),
    "year at the end": case("He died in 1973. She lived.", "He died in 1973.", "She lived."),
    "German ordinals": case(
        "Das war der 2. und 3. Platz. Gut!", "Das war der 2. und 3. Platz.", "Gut!"
    ),
    "German date": case("Am 3. Mai kam er. Es war warm.", "Am 3. Mai kam er.", "Es war warm."),
    # Names of the net
    "address": case(
        "See https://example.com/a.b?c=d. It is new.",
        "See https://example.com/a.b?c=d.",
        "It is new.",
    ),
    "host": case("Go to www.example.com! Now.", "Go to www.example.com!", "Now."),
    "mail": case(
        "Write to a.b@example.co.uk. She answers.", "Write to a.b@example.co.uk.", "She answers."
    ),
    "file": case("Open main.py. Run it.", "Open main.py.", "Run it."),
    "hashtag": case(
        "Nice day! #sun #fun @bob Let us go.", "Nice day!", "#sun #fun @bob Let us go."
    ),
    "no space behind the mark": case("He left.She stayed.", limit="two sentences"),
    # Quotes and brackets
    "quote in a sentence": case(
        'He said "Go away!" and left. She stayed.', 'He said "Go away!" and left.', "She stayed."
    ),
    "quote at the end": case('He said "Yes." She left.', 'He said "Yes."', "She left."),
    "quote first": case('"Is it?" she asked. "It is."', '"Is it?" she asked.', '"It is."'),
    "curly quotes": case(
        "“Go!” he said. “Why?” She did not know.", "“Go!” he said.", "“Why?”", "She did not know."
    ),
    "nested quotes": case(
        "He said: “She cried ‘Help!’ and ran.” We laughed.",
        "He said: “She cried ‘Help!’ and ran.”",
        "We laughed.",
    ),
    "guillemets": case(
        "« Oui. » Il part. «Sí.» Ella va.", "« Oui. »", "Il part.", "«Sí.»", "Ella va."
    ),
    "German quotes": case(
        "„Ja.“ Er ging. »Nein!« Sie blieb.", "„Ja.“", "Er ging.", "»Nein!«", "Sie blieb."
    ),
    "a name after a quote": case(
        '"Go!" John shouted.', '"Go!"', "John shouted.", limit="one sentence"
    ),
    "brackets": case(
        "He left (early). She stayed (why?) and slept. (It rained.) Fine.",
        "He left (early).",
        "She stayed (why?) and slept.",
        "(It rained.)",
        "Fine.",
    ),
    "footnote": case("It is true.[1] So it is.", limit="two sentences"),
    # Marks
    "ellipsis in a sentence": case(
        "Wait... what is that? I see… nothing.", "Wait... what is that?", "I see… nothing."
    ),
    "ellipsis at the end": case("I wonder... She knows.", "I wonder...", "She knows."),
    "ellipsis before I": case(
        "I... I do not know.", "I...", "I do not know.", limit="one sentence"
    ),
    "many marks": case("What?! No!!! Really??? Yes.", "What?!", "No!!!", "Really???", "Yes."),
    "Spanish": case("¿Cómo estás? ¡Muy bien! ¿Y tú?", "¿Cómo estás?", "¡Muy bien!", "¿Y tú?"),
    "Spanish abbreviations": case(
        "El Sr. López vive en EE.UU. desde 1990. Ud. lo sabe.",
        "El Sr. López vive en EE.UU. desde 1990.",
        "Ud. lo sabe.",
    ),
    "dialogue dashes": case(
        "—¡Vete! —dijo ella. —No quiero.", "—¡Vete! —dijo ella.", "—No quiero."
    ),
    "name with a mark": case(
        "I use Yahoo! every day.", "I use Yahoo!", "every day.", limit="one sentence"
    ),
    "no final mark": case("I came. I saw", "I came.", "I saw"),
    "only marks": case("Well. ... !!! Yes.", "Well.", "Yes."),
    "semicolon and colon": case("One thing: it works; mostly."),
    "smiley": case("Nice :) Really good.", limit="two sentences"),
    "smiley behind a mark": case(
        "Nice. :) Really good.", "Nice.", ":) Really good.", limit="the smiley in the first"
    ),
    # Letters
    "lower case": case(
        "hi there. how are you? fine. you?", "hi there.", "how are you?", "fine.", "you?"
    ),
    "lower case behind a question": case(
        "Hi Tom. How are you? fine, thanks", "Hi Tom.", "How are you?", "fine, thanks"
    ),
    "lower case in a text with capitals": case("I like it. it is good.", limit="two sentences"),
    "upper case": case("STOP. GO HOME! NOW.", "STOP.", "GO HOME!", "NOW."),
    "emoji": case("Great! 😀 See you. 👨‍👩‍👧 Bye 👋🏽", "Great!", "😀 See you.", "👨‍👩‍👧 Bye 👋🏽"),
    "Chinese and Japanese": case(
        "你好。你好吗？「はい。」元気です！", "你好。", "你好吗？", "「はい。」", "元気です！"
    ),
    "Chinese quotes": case(
        "他说：“我走。”她问：“真的？！”他走了。", "他说：“我走。”", "她问：“真的？！”", "他走了。"
    ),
    "right to left": case(
        "שלום. מה שלומך? هل أنت بخير؟ نعم.", "שלום.", "מה שלומך?", "هل أنت بخير؟", "نعم."
    ),
    "Hindi": case("यह अच्छा है। वह गया।", "यह अच्छा है।", "वह गया।"),
    # Lines
    "title and text": case("A title\nThe text. More.", "A title", "The text.", "More."),
    "blank lines": case("\n\n  One.\n\n\nTwo.\n", "One.", "Two."),
    "Windows' line ends": case("One.\r\n\r\nTwo.\r\n", "One.", "Two."),
    "other line ends": case(
        "One\rtwo\x0bthree\x0cfour\u2028five\u2029six\x85seven",
        "One",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
    ),
    "a sentence over two lines": case(
        "It is a long\nsentence.", "It is a long", "sentence.", limit="one sentence"
    ),
    "tabs and other spaces": case(
        "\tOne.\t\tTwo.\u00a0Three.\u3000Four. ", "One.", "Two.", "Three.", "Four."
    ),
    "bullets": case("- one\n* two\n  • three\n— four", "one", "two", "three", "four"),
    "numbers of a list": case(
        "1. Open it.\n2) Close it.\n(3) Go.\na) Stay.", "Open it.", "Close it.", "Go.", "Stay."
    ),
    "numbers in a line": case("1. Open it. 2. Close it.", "Open it.", "Close it."),
    "heading and rule": case("# Title\n-----\n> quoted text\n***\n1984\n", "Title", "quoted text"),
    "cells of a tab": case("tea\t12\tI like tea. Yes!\n", "tea", "I like tea.", "Yes!"),
    "table": case("| name | I like tea. |\n|---|:--|\n|a|b|", "name", "I like tea.", "a", "b"),
    "drawn table": case("│ name ┃ tea ║", "name", "tea"),
    "quotations of a mail": case(">> One.\n> > two\n>three", "One.", "two", "three"),
    "boxes of a list": case("- [ ] one\n- [x] two\n2.1. three", "one", "two", "three"),
    "nothing": HardText("", ()),
    "only spaces": HardText(" \n\t ", ()),
}
