"""Prompt injections: orders to an agent in a text, recognised by their wording or by how they are hidden.

The rules compare texts in lower case and without accents, with one blank between words. Every gap in a rule has a
maximum of words, so that no text takes long.
"""

import re
from collections.abc import Sequence
from functools import cache

from scrubjay.text.scripts import fold_script, merge_letters
from scrubjay.text.word_lists import WordLists

__all__ = ["find_injections"]

# Invisible characters that spell ASCII, and other invisible ones in a row. The flags of regions have a few of them.
_TAGS = re.compile("(?<!\U0001f3f4)[\U000e0020-\U000e007e]{8,}+")
_TAG_OFFSET = 0xE0000
_INVISIBLE_ROW = re.compile("[\u200b-\u200d\u2060\ufeff]{8,}+")
_ZERO_WIDTH = re.compile("[\u200b\U000e0000-\U000e007f]")
_OVERRIDE = re.compile("[\u202d\u202e]")
_BLANKS, _LINES = re.compile(r"[^\S\n]+"), re.compile(r" ?\n[ \n]*")
_CURLY = str.maketrans("\u2018\u2019\u201c\u201d\u00ab\u00bb\u300c\u300d\uff3b\uff3d", '\'\'""""""[]')
# Letters of other alphabets that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u043a\u043c\u0442\u043d\u0432"
    "\u03b1\u03bf\u03c1\u03b5\u03b9\u03ba\u03bd\u03c4\u03c5\u0261\u0131\u217c\u0578\u057d",
    "aeopcyxijshdqwkmtnbaopeikvtugilnu",
)
_LEAD_LENGTH = 24
# A single word, such as a label, orders nothing.
_LABEL = re.compile(r"[A-Za-z0-9_-]*+")


def find_injections(text: str) -> tuple[str, ...]:
    """Return a description of each suspicious part of a text; empty when it has none."""
    labels: dict[str, None] = {}
    if _LABEL.fullmatch(text):
        return ()
    if not text.isascii():
        hidden = _TAGS.findall(text)
        if hidden or _INVISIBLE_ROW.search(text):
            labels["invisible letters"] = None
        for run in hidden:
            spelt = "".join(chr(ord(character) - _TAG_OFFSET) for character in run)
            labels |= dict.fromkeys(_find_orders(spelt.lower()))
        if _OVERRIDE.search(text) and _find_orders(_fold(_OVERRIDE.sub("", text)[::-1])):
            labels["letters in the wrong order"] = None
    plain = _fold(text)
    labels |= dict.fromkeys(_find_orders(plain))
    if not plain.isascii():
        latin = plain.translate(_LOOKALIKES)
        labels |= dict.fromkeys(_find_orders(latin)) if latin != plain else {}
    return tuple(labels)


def _fold(text: str) -> str:
    if not text.isascii():
        text = merge_letters(fold_script(_ZERO_WIDTH.sub("", text).translate(_CURLY)).lower())
    # A role marker is at the start of a line, which the beginning of the text is, too.
    return _LINES.sub("\n", _BLANKS.sub(" ", f"\n{text.lower()}"))


def _find_orders(folded: str) -> list[str]:
    # A sentence may continue in the next line.
    joined = folded[1:].replace("\n", " ")
    return _apply_rules(folded) or (_apply_rules(joined) if "\n" in folded[1:] else [])


def _apply_rules(folded: str) -> list[str]:
    labels = [label for label, words, rest in _ORDERS if _matches(words, rest, folded, leads=True)]
    labels += [label for label, words, rest in _ANYWHERE if _matches(words, rest, folded, leads=False)]
    return list(dict.fromkeys(labels))


def _matches(words: Sequence[str], rest: str, folded: str, *, leads: bool) -> bool:
    """Return whether a text has one of the words and the rest after it; `leads`: only where an order can begin."""
    for word in words:
        # Most texts have none of the words, and this test is cheap.
        if word in folded and any(
            not leads or _START.search(folded[max(0, match.start() - _LEAD_LENGTH) : match.start()])
            for match in _rule(word, rest).finditer(folded)
        ):
            return True
    return False


@cache
def _rule(word: str, rest: str) -> re.Pattern[str]:
    start = re.escape(word)
    is_word = word[0].isascii() and word[0].isalpha()
    return re.compile(f"{start}(?<![a-z]{start}){rest}" if is_word else f"{start}{rest}")


_GAP = "(?: [^ \n]{1,40}+(?<![.!?]))"
_AGENT = "(?:ai|llm|language model|assistant|agent|chatbot|ai agent|ai assistant|ai model)"
_NOUN = (
    "(?:instructions?|prompts?|rules|guidelines|directions|directives|commands|orders|constraints|programming"
    "|restrictions|context)"
)
_EARLIER = "(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|system|former|your)"
_ANSWER = "your (?:final |next |whole |entire )?(?:answer|response|reply|output)(?:'s)?(?![a-z])"
# A request for an answer by some time, or to some person, is no order about its contents.
_NO_REQUEST = (
    "(?! (?:by (?:the|end|next|today|tomorrow|noon|eod|[a-z]{3,6}day|[0-9])|before|within|until|no later|asap"
    "|to (?:me|us|this)(?![a-z])))"
)
_SECRETS = (
    "(?:passwords?|credentials?|api keys?|secrets?|tokens?|private keys?|ssh keys?|env(?:ironment)? variables"
    "|system prompt"
    "|memories|(?:conversation|chat) history|(?:user|personal|private)(?:'s)? data)"
)
_TAMPERING = WordLists("screening").ordered("tampering")

# The text before an order: the start of a sentence, a quotation, or words that lead to it.
_START = re.compile(
    "(?:^|[.!?;:,\n\"'`*#>)\\]\u201c\u2018\u2014-] ?|(?:^|[^a-z])(?:please|now|just|and|then|also|must|should"
    "|shall|kindly|always"
    "|instead|so|will|immediately|simply|you|have to|need to|instructed to|required to|told to|want you to) )$"
)
# A label, the words with which an order begins, and the pattern after one of them; only where an order can begin.
_ORDERS = (
    (
        "an order to ignore instructions",
        ("ignore", "disregard", "forget", "override", "bypass", "neglect", "discard", "stop following"),
        (f"(?:{_GAP}{{0,4}}? {_EARLIER}{_GAP}{{0,2}}? {_NOUN}|{_GAP}{{0,2}}? (?:all|any|every){_GAP}{{0,2}}? "
        "(?:instructions?|prompts?|guidelines|directives)(?! (?:for|from|in|of|on|about))"
        "|(?: (?:all|everything|anything|whatever|what))?(?: of)?(?: that)? (?:you (?:were|have been|are|ve been) told"
        "|(?:was|is|came|comes|stands) (?:said |written )?(?:above|before this)|above and)(?![a-z]))(?![a-z])"),
    ),
    (
        "an order to ignore instructions",
        ("ignore", "disregard", "forget"),
        (" (?:(?:all|everything|any) )?(?:of )?(?:the |what is )?above(?: text| message)?,? (?:and|then|but) "
        "(?:instead |only |just |simply )?"
        "(?:reply|respond|answer|say|output|print|write|return|tell|send|do|act)(?![a-z])"),
    ),
    (
        "an order to ignore instructions",
        ("do not follow", "don't follow", "never follow"),
        f"{_GAP}{{0,3}}? {_EARLIER}{_GAP}{{0,2}}? {_NOUN}(?![a-z])",
    ),
    (
        "an order to give away what is secret",
        ("send", "forward", "email", "upload", "post", "exfiltrate", "leak", "transmit", "mail", "submit"),
        (f"{_GAP}{{0,6}}? {_SECRETS}{_GAP}{{0,6}}? (?:to|at|via|with) (?:https?:|[^ @]{{1,64}}@"
        "|[^ ]{1,64}\\.[a-z]{2,}|me(?![a-z])"
        "|this (?:url|address|server|email|site)|the following|our server|my (?:server|email|site))"),
    ),
    (
        "an order to give away its instructions",
        ("reveal", "print", "show", "output", "repeat", "display", "leak", "tell me", "give me", "dump"),
        (f"{_GAP}{{0,4}}? (?:your|the) (?:(?:full|entire|whole|complete|exact) )?(?:(?:system|hidden|initial"
        "|secret) (?:prompt|instructions?|message))"),
    ),
    (
        "an order to give away its instructions",
        ("include", "quote", "copy", "append", "attach", "insert", "recite", "summarize", "summarise"),
        (f"{_GAP}{{0,5}}? your (?:(?:full|entire|whole|complete|exact|own) )?(?:system|hidden|initial|secret) "
        "(?:prompt|instructions?|message)(?![a-z])"),
    ),
    (
        "an order about the answer",
        _TAMPERING,
        f"{_GAP}{{0,24}}? {_ANSWER}{_NO_REQUEST}",
    ),
    (
        "an order about the answer",
        ("in your answer", "in your response", "in your reply", "in your output"),
        f",? (?:please |also |always )?(?:{'|'.join(_TAMPERING)}|tell|say|ask|link|claim|insist)(?![a-z])",
    ),
    (
        "an order to take another role",
        ("act as", "pretend", "roleplay as", "behave as", "respond as"),
        (f"{_GAP}{{0,8}}? (?:no|without(?: any)?|free of(?: all)?|unbound by|not bound by)(?: [^ ]{{1,16}})? "
        "(?:restrictions?|rules|filters?|limits|limitations|guidelines|ethics|morals)"),
    ),
)  # fmt: skip
# The same, anywhere in a sentence.
_ANYWHERE = (
    ("a role marker", ("<|im_",), "(?:start|end)\\|>"),
    (
        "a role marker",
        ("<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<<sys>>", "[/inst]", "<|eot_id|>"),
        "",
    ),
    ("a role marker", ("[inst]", "<system_prompt>", "</system_prompt>", "<system-reminder>"), ""),
    # A tag in a text of its own; in a settings file it is one among others.
    ("a role marker", ("<system>",), "(?<!><system>)(?<!>[ \n]<system>)(?=[^<\n]{0,200} )[^<]{2,4000}+</system>"),
    (
        "a role marker",
        ("</memory>", "</memories>", "</context>", "</document>", "</documents>", "</data>", "</user>", "</results>"),
        "[ \n]?(?:<(?:system|assistant)>|(?:system|assistant|user|human) ?:)",
    ),
    (
        "an order to agents",
        ("user", "customer", "client", "human", "someone", "somebody", "anyone", "anybody"),
        (
            f"s? (?:asks?|mentions?|inquires?|wants?|requests?|says?|talks?|searches){_GAP}{{0,12}}? (?:send|direct"
            "|redirect|point|refer|forward|lead|steer) (?:them|him|her|the user|the customer"
            f"|users){_GAP}{{0,6}}? (?:https?:|www\\.)"
        ),
    ),
    (
        "a role marker",
        ("\nsystem:", "\n[system]", "\n### system", "\n<system>"),
        f":?{_GAP}{{0,3}}? (?:you|ignore|new|override|must|never|always)(?![a-z])",
    ),
    (
        "an order to take another role",
        ("you are now",),
        (
            f"(?: in)?{_GAP}{{0,3}}? (?:dan|jailbroken|unrestricted|uncensored|unfiltered|no longer bound"
            f"|free from|{_AGENT}|developer mode|god mode)(?![a-z])"
        ),
    ),
    ("an order to take another role", ("do anything now", "jailbreak mode", "god mode enabled", "dan mode"), ""),
    (
        "an order to agents",
        ("new instructions", "updated instructions", "system instructions", "secret instructions"),
        f"(?: for (?:the |all |any )?{_AGENT}s?)?:",
    ),
    (
        "an order to agents",
        ("instructions for", "attention", "message to", "message for", "note to", "instruction to"),
        (
            f",?(?: to| for)?(?: all| any| the)? {_AGENT}s?(?:[:,!.]|{_GAP}{{0,8}}? (?:must|should|shall|you"
            "|are to|have to|please)(?![a-z]))"
        ),
    ),
    (
        "an order to agents",
        ("if you are", "if you're"),
        (
            f"(?: an?)?(?: [^ ]{{1,16}})? {_AGENT}(?![a-z])(?:{_GAP}|[ ,.:]){{0,10}}? (?:must|please|ignore"
            "|do not|then|you|say|include|add|tell|send|stop|respond|reply)(?![a-z])"
        ),
    ),
    (
        "an order to agents",
        ("when an", "when the", "any", "every", "all"),
        (
            f"(?: ai)? {_AGENT}s? (?:that |who )?(?:reads?|reading|sees?|process(?:es|ing)?|retriev(?:es?|ing)"
            f"|loads?|encounters?) this{_GAP}{{0,6}}? (?:must|should|shall|please|will|has to|have to|is to"
            "|are to|ignore|send|say)(?![a-z])"
        ),
    ),
    (
        "an order to agents",
        ("you must now", "you will now", "you shall now", "you must immediately", "you must always"),
        (
            f"{_GAP}{{0,3}}? (?:respond|reply|answer|obey|act|output|say|recommend|comply|pretend|execute|run"
            "|send|ignore|include|insert|promote|disregard|forget)(?![a-z])"
        ),
    ),
    (
        "an order to keep it from the user",
        ("without telling", "without informing", "without notifying", "without alerting"),
        " (?:the |your )?(?:user|human|operator|owner)(?![a-z])",
    ),
    (
        "an order to keep it from the user",
        (
            "do not tell", "don't tell", "never tell", "do not inform", "don't inform", "do not alert",
            "do not notify", "do not warn",
        ),
        (
            " (?:the |your )?(?:user|human|operator)s?(?: (?:about|of) (?:this|these|it)(?![a-z])| that you"
            "| anything)"
        ),
    ),
    (
        "an order to ignore instructions",
        ("ignoriere", "vergiss", "missachte"),
        (
            f"n?{_GAP}{{0,3}}? (?:vorherigen?|bisherigen?|obigen?|vorangegangenen?|fruheren?"
            f"|alle){_GAP}{{0,2}}? (?:anweisung|instruktion|befehl|vorgabe|regel)"
        ),
    ),
    (
        "an order to ignore instructions",
        ("ignore", "oublie", "ne tiens pas compte"),
        (
            f"[zr]?{_GAP}{{0,4}}? (?:instructions?|consignes?|directives?|regles) (?:precedente|anterieure"
            "|ci-dessus|donnee)"
        ),
    ),
    (
        "an order to ignore instructions",
        ("ignora", "olvida", "ignore", "esqueca", "descarta", "dimentica"),
        (
            f"[d]?{_GAP}{{0,4}}? (?:instrucciones|instrucoes|istruzioni|ordenes|reglas|regras"
            "|regole) (?:anteriores?|previas?|precedenti|de arriba|acima)"
        ),
    ),
    (
        "an order to ignore instructions",
        ("negeer",),
        (
            f"{_GAP}{{0,3}}? (?:vorige|eerdere|voorgaande|bovenstaande){_GAP}{{0,2}}? (?:instructies|opdrachten"
            "|regels)"
        ),
    ),
    (
        "an order to ignore instructions",
        ("zignoruj", "pomin"),
        f"{_GAP}{{0,3}}? (?:poprzednie|wczesniejsze|powyzsze){_GAP}{{0,2}}? (?:instrukcje|polecenia|zasady)",
    ),
    (
        "an order to ignore instructions",
        ("\u0438\u0433\u043d\u043e\u0440\u0438\u0440\u0443\u0439", "\u0437\u0430\u0431\u0443\u0434\u044c"),
        (
            f"(?:\u0442\u0435)?{_GAP}{{0,3}}? (?:\u043f\u0440\u0435\u0434\u044b\u0434\u0443\u0449\u0438\u0435"
            "|\u043f\u0440\u0435\u0436\u043d\u0438\u0435"
            f"|\u0432\u0441\u0435){_GAP}{{0,2}}? (?:\u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446\u0438\u0438"
            "|\u0443\u043a\u0430\u0437\u0430\u043d\u0438\u044f|\u043a\u043e\u043c\u0430\u043d\u0434\u044b)"
        ),
    ),
    (
        "an order to ignore instructions",
        ("\u5ffd\u7565", "\u65e0\u89c6", "\u7121\u8996"),
        (
            "[^\u3002\n]{0,12}?(?:\u4ee5\u4e0a|\u4e4b\u524d|\u5148\u524d|\u524d\u9762|\u6240\u6709"
            "|\u4e0a\u8ff0)[^\u3002\n]{0,8}?(?:\u6307\u4ee4|\u6307\u793a|\u63d0\u793a|\u8bf4\u660e|\u547d\u4ee4)"
        ),
    ),
    (
        "an order to ignore instructions",
        ("\u6307\u793a\u3092", "\u547d\u4ee4\u3092", "\u6307\u793a\u306f"),
        "(?:\u3059\u3079\u3066|\u5168\u3066)?\u7121\u8996",
    ),
    (
        "an order to ignore instructions",
        ("\uc774\uc804", "\uc704\uc758", "\uc55e\uc758"),
        "[^.\n]{0,6}?(?:\uc9c0\uc2dc|\uba85\ub839)[^.\n]{0,8}?\ubb34\uc2dc",
    ),
    (
        "an order to ignore instructions",
        ("\u062a\u062c\u0627\u0647\u0644",),
        (
            f"{_GAP}{{0,2}}? (?:\u0627\u0644)?\u062a\u0639\u0644\u064a\u0645\u0627\u062a(?: (?:\u0627\u0644)?"
            "\u0633\u0627\u0628\u0642)?"
        ),
    ),
)  # fmt: skip
