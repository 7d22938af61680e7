"""Sentences that say what is otherwise by now: no longer, moved to, quit, got divorced, my new one is."""

from scrubjay.extraction.pattern import HAVE, KIN, LATELY, SOMEBODY, WHEN, way
from scrubjay.model.fact import FactType

__all__ = ["CHANGES"]

# Of programs it is said every minute, and tells nothing for long.
_PASSING = (
    r"(?:not |still |also |just |now |all )*(?:\w+ing|broken|fixed|gone|done|green|red|ok|okay|fine|empty|null|none|"
    r"undefined|ready|clear|correct|wrong|so|very|really|too|pretty|great|amazing|awesome|nice|cool|slow|slower|fast|"
    r"faster|good|better|much|here|there|what|in (?:the|a|place)|on line)\b"
)
_PLACE = (
    r"(?:the (?:us|usa|uk|netherlands|suburbs|country\w*|city|coast|sea|mountains|north|south|east|west|bay)\b|"
    r"an? (?:new|bigger|smaller|different|larger|nicer)\b|(?!(?:the|an?|it|that|this|these|those|them|next|line|step|"
    r"part|my|his|her|their|our|another|other|which|where|\w+ing)\b)\w+)"
)
_STANDS = r"(?:costs?|uses?|runs?|lives?|starts?|requires?|needs?|belongs?|supports?)"
_ANY_MORE = (
    r"\b(?:anymore|any ?more|any longer)(?=\W*$|\s*[.,;!)(]|\s+(?:since|because|and|so|but|due|after|as|at|in|on)\b)"
)
_DENIES = r"(?:n't|\bnot|\bnever)"
_JOB = (
    r"(?:my|our|his|her|their|an?|the|working|new) (?:new |old |last |own |first |dream |"
    r"current )*(?:[\w-]+ )?(?:jobs?(?! (?:ids?|from|queue|logs?|numbers?|that|which|in the)\b)|at|for|as|company|"
    r"school|college|university|position|role|degree|phd|studies|business|apprenticeship|internship)\b"
)

CHANGES = (
    way(
        FactType.PREFERENCE, 0.9,
        "longer",
        rf"{SOMEBODY} {LATELY}no longer (?:likes?|loves?|enjoys?|prefers?|wants?)\b",
    ),
    way(
        FactType.IDENTITY, 0.9,
        "longer",
        rf"{SOMEBODY}(?:'m|'re|'s| am| are| is) {LATELY}no longer (?!\w+ing\b|sure|able)\w"
        rf"|{SOMEBODY} {LATELY}no longer (?:work|live|stud|belong|own)(?:ie)?[sy]?\b",
    ),
    way(
        FactType.HABIT, 0.85,
        "longer",
        rf"{SOMEBODY}(?:'m|'re|'s| am| are| is| can)? {LATELY}no longer (?!than|see|seeing|get|getting|know|works?\b)\w"
        r"|\b(?:the|our|this) (?:[\w-]+ ){1,3}?no longer (?:supports?|uses?|runs?|needs?|requires?|accepts?|allows?|"
        r"exists?|belongs?|has|have|lives?|offers?|ships?)\b",
    ),
    way(
        FactType.IDENTITY, 0.9,
        "anymore any",
        rf"{SOMEBODY}(?:(?:'m|'re|'s| am| are| is) not (?!\w+ing\b|sure|able)| (?:do|does)(?:n't| not) (?:work|live|"
        rf"study|own)\b).{{1,80}}?{_ANY_MORE}",
    ),
    way(
        FactType.HABIT, 0.85,
        "anymore any",
        rf"{SOMEBODY}(?:'m|'re|'s| \w+)?? ?{_DENIES} (?:really |even |ever )?(?!know|see|get|understand|remember|care|"
        rf"take it|stand|reproduce|do\b|sure|have (?:the|this|that)\b|there)\w.{{1,80}}?{_ANY_MORE}",
    ),
    way(
        FactType.EVENT, 0.85,
        "left lost quit changed switched started got found took accepted finished began begun",
        rf"{SOMEBODY}{HAVE} {LATELY}(?:left|lost|quit|changed|switched|started|got|found|took|accepted|finished|began|"
        rf"begun) (?:{_JOB}|jobs\b|therapy\b|learning \w|studying \w|dating \w|taking (?!a\b|the\b)\w)",
    ),
    way(
        FactType.HABIT, 0.85,
        "stopped quit gave given",
        rf"{SOMEBODY}{HAVE} {LATELY}(?:(?:stopped|quit) (?!getting|seeing|receiving|reading|trying|working (?!at|for|"
        rf"as|in|with)|responding)\w+ing\b|(?:gave|given) up (?:on )?(?!it\b|that\b|this\b|trying|hope)\w|"
        rf"quit (?!the\b|it\b|that\b|this\b|and\b|because\b|when\b|out\b)\w+)",
    ),
    way(
        FactType.HABIT, 0.85,
        "since",
        r"\b(?:i|we) haven't (?:\w+ ){1,4}?since (?:(?:19|20)\d\d|(?:january|february|march|april|may|june|july|august|"
        r"september|october|november|december)\b)",
    ),
    way(
        FactType.EVENT, 0.85,
        "moved moving relocated relocating",
        rf"{SOMEBODY}{HAVE} {LATELY}(?:moved|moving|relocat(?:ed|ing)) (?:back |over |away |out |in )*(?:to|into|from|"
        rf"with|of) {_PLACE}",
    ),
    way(
        FactType.EVENT, 0.8,
        "moved rescheduled postponed pushed shifted",
        rf"\b(?:the|our|my) (?:[\w-]+ ){{1,3}}?(?:(?:was|is|has been|got) )?(?:moved|rescheduled|postponed|pushed|"
        rf"shifted) (?:back |forward |from .{{1,30}}? )?(?:to|until|by) .{{0,20}}?{WHEN}",
    ),
    way(
        FactType.IDENTITY, 0.9,
        "retired engaged pregnant unemployed widowed self-employed self separated divorced married",
        rf"(?:\bi(?:'m| am)|\bwe(?:'re| are)|\bmy (?:[\w-]+ )?{KIN}(?:'s| is)) {LATELY}(?:retired|engaged|pregnant|"
        rf"unemployed|widowed|self-employed|separated|divorced|married)\b",
    ),
    way(
        FactType.EVENT, 0.9,
        "married engaged divorced separated widowed pregnant promoted hired fired laid diagnosed retired",
        rf"{SOMEBODY}{HAVE}(?: was| were)? {LATELY}(?:got |gotten |getting |been )?(?:married|engaged (?!in\b|with\b)|"
        rf"engaged[.!]|divorced|separated (?!the\b|it\b|them\b|out\b)|separated[.!]|widowed|pregnant|promoted|hired|"
        rf"fired|laid off|diagnosed|retired)",
    ),
    way(
        FactType.EVENT, 0.85,
        "broke broken split died passed",
        rf"{SOMEBODY}{HAVE} {LATELY}(?:broke|broken|split) up\b|\bmy (?:[\w-]+ )?{KIN}{HAVE} {LATELY}(?:died|"
        rf"passed away)\b",
    ),
    way(
        FactType.EVENT, 0.85,
        "became become turned turning",
        rf"{SOMEBODY}{HAVE} {LATELY}(?:bec[oa]me (?:an? \w|the \w|vegan|vegetarian)|turn(?:ed|ing) (?:\d\d|thirty|"
        rf"forty|fifty)\b)",
    ),
    way(
        FactType.EVENT, 0.8,
        "sold bought adopted cancelled canceled inherited changed broke sprained injured tore got",
        rf"{SOMEBODY}{HAVE} {LATELY}(?:(?:sold|bought|adopted|cancell?ed|inherited) (?:my|our|an?|his|her|their|"
        rf"another) \w|changed (?:my|our) (?:name|surname|last name|phone|number|address|e-?mail|diet|major)|(?:broke|"
        rf"sprained|injured|tore) my (?!build|code|install|config|setup|env|test|app)\w|got (?:an?|my|our) (?:new|"
        rf"second|first) (?!error|message|issue|warning|problem|exception|bug|code|test|build|setup|script|function|"
        rf"feature|branch|file|version|one\b)\w)",
    ),
    way(
        FactType.IDENTITY, 0.85,
        "new",
        rf"\b(?:my|our) new (?:[\w'-]+ ){{1,3}}?(?:is|are|will be)\b(?! {_PASSING})",
    ),
    way(
        FactType.HABIT, 0.85,
        "standup stand stand-up sync retro retrospective meeting planning sprint demo review class lesson training "
        "shift call hours",
        rf"\b(?:our|my|the (?:daily|weekly|monthly|team))(?: [\w-]+){{0,2}}? (?:stand-?up|sync|retro(?:spective)?|"
        rf"meeting|planning|hours|sprint|demo|review|class|lesson|training|shift|call)s? (?:is|are|starts?|"
        rf"takes? place|happens?|begins?|ends?|runs)\b.{{0,20}}?{WHEN}",
    ),
    way(
        FactType.EVENT, 0.85,
        "deadline release launch date appointment interview exam flight wedding go-live live freeze",
        rf"\b(?:the|our|my)(?: [\w-]+){{0,2}}? (?:deadline|release|launch|due date|appointment|interview|exam|flight|"
        rf"wedding|go-live|freeze) (?:is|are|was|will be|has been)\b.{{0,25}}?{WHEN}",
    ),
    way(
        FactType.IDENTITY, 0.8,
        "office headquarters hq team company desk house home flat apartment parents family servers server repo "
        "repository database backups docs wiki",
        rf"\b(?:our|my)(?: [\w-]+){{0,2}}? (?:office|headquarters|hq|team|company|desk|house|home|flat|apartment|"
        rf"parents|family|servers?|repo(?:sitory)?|database|backups?|docs|wiki) (?:is|are|sits?|lives?) (?:now |"
        rf"located |based |hosted |kept )?(?:in|at|on|near) (?!{_PASSING}|an?\b|line\b|fire\b|trouble\b)\w",
    ),
    way(
        FactType.IDENTITY, 0.8,
        "now",
        rf"(?:\b(?:our|my) (?:[\w-]+ ){{1,3}}?(?:(?:is|are) now|now (?:is|are))|\b(?:the|our|"
        rf"my) (?:[\w-]+ ){{1,3}}?(?:now {_STANDS}|{_STANDS} now))\b (?!{_PASSING})\w"
        r"|\bwe(?:'re| are) (?:now (?:on|using|running|in|at)|(?:on|using)(?= \w+ now\b)) (?!(?:it|that|this|them|"
        r"the)\b)\w",
    ),
    way(
        FactType.DECISION, 0.85,
        "replaced dropped deprecated abandoned ditched discontinued closed shut",
        rf"\b(?:we|the team|our team)(?:'ve| have)? {LATELY}(?:replaced|dropped|deprecated|abandoned|ditched|"
        rf"discontinued|closed|shut down) (?!(?:it|that|this|them|an?|(?:the )?(?:\w+ )?(?:ticket|issue|pr|bug|file|"
        rf"connection|window|tab|deal|session))\b)\w",
    ),
)  # fmt: skip
