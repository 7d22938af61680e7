"""Sentences that say outright what they are: a wish, a rule, a habit, a decision, who somebody is."""

from scrubjay.extraction.changes import CHANGES
from scrubjay.extraction.german import GERMAN
from scrubjay.extraction.pattern import KIN, FactPattern, way
from scrubjay.extraction.sentences import Sentence
from scrubjay.model.fact import FactType

__all__ = ["explicit_in", "kind_of"]


def explicit_in(said: Sentence) -> FactPattern | None:
    """The surest of the ways in which a sentence says what it is; None where it says so in none of them."""
    low = said.low
    tried = {at for word in said.words & _TRYING for at in _TRIED_AT[word]}
    return next((_WAYS[at] for at in sorted(tried) if _WAYS[at].pattern.search(low)), None)


def kind_of(said: Sentence) -> FactType:
    """What sort of thing a sentence tells that does not say so outright: most tell what happened."""
    return next((kind for kind, words in _SIGNS if not words.isdisjoint(said.content)), FactType.EVENT)


# What is liked must be named: "I love it" tells a reader nothing.
_THING = r"(?! (?:it|that|this|these|those|how|your|you|when|them|him|her|what|hearing|seeing|to (?:hear|see|know))\b)"
_SOMEWHAT = (
    r"(?:really |strongly |absolutely |totally |just |also |still |much |generally |usually |definitely |"
    r"personally |do |now )*"
)
_WE = r"(?:i|we|the team|my team|our team|they)(?:'ve| have|'re| are|'m| am)?"
_ABOUT_ME = (
    r"(?:name|names|time ?zone|birthday|e-?mail|phone(?: number)?|address|job|job title|title|role|employer|company|"
    r"pronouns|profession|occupation|major|native language|first language|hometown|nationality|age|username|handle|"
    r"(?:home|current|primary|preferred|default) \w+)"
)
_ENGLISH = (
    way(FactType.PREFERENCE, 0.95, "prefer", rf"\b(?:i|we) {_SOMEWHAT}prefer\b"),
    way(
        FactType.PREFERENCE, 0.9,
        "favorite favourite",
        r"\b(?:my|our) (?:\w+ )?favou?rite (?:\w+ ){1,4}?(?:is|are|was)\b",
    ),
    way(
        FactType.PREFERENCE, 0.85,
        "fan into fond keen",
        r"\bi(?:'m| am)(?: not)? (?:a |an )?(?:big |huge |great )?(?:fan of|into|fond of|keen on)\b",
    ),
    way(
        FactType.PREFERENCE, 0.8,
        "love like enjoy adore hate dislike can't don't",
        rf"\bi {_SOMEWHAT}(?:love|like|enjoy|adore|hate|dislike|can't stand|don't like)\b{_THING} \w+ ?\w+",
    ),
    way(
        FactType.PREFERENCE, 0.85,
        "rather want like",
        r"\bi(?:'d| would) rather\b|\b(?:i|we) (?:want|like) (?:my|our|all|every)\b",
    ),
    way(
        FactType.REQUIREMENT, 0.9,
        "always never ever",
        r"^(?:please |and |also |but )*(?:always|never|don't ever|do not ever) (?!here|there|give|had|been|a |"
        r"in |so |too |stop|forget|worked|seen|thought|say |good|great|nice|fun|up |on )\w+ \w+",
    ),
    way(
        FactType.REQUIREMENT, 0.9,
        "now forward sure",
        r"\bfrom now on\b|\bgoing forward,? |\bmake sure (?:you |to |that |we )*(?:always|never)\b",
    ),
    way(
        FactType.REQUIREMENT, 0.8,
        "instead rather not over",
        r"^(?:please )?(?:use|write|keep|put|call|name|format) .{2,60}?(?: instead of | rather than |,? not | "
        r"over )",
    ),
    way(
        FactType.REQUIREMENT, 0.75,
        "don't not avoid stop",
        r"^(?:please )?(?:don't|do not|avoid|stop) (?:use|using|add|adding|commit|push|touch|write|put|mock|"
        r"mocking|edit)\b",
    ),
    way(
        FactType.REQUIREMENT, 0.85,
        "must shall has have needs",
        r"\b(?:must|shall|has to|have to|needs to) (?:not |never |always )?(?:be (?!so|very|really|nice|great|"
        r"tough|hard|amazing|proud|fun|such|a |an |quite|pretty)|run|use|support|work (?!so|very)|pass|go "
        r"through|stay|contain|include|return|follow|match|finish|complete|respond|fit|handle|accept|start with|"
        r"end with)",
    ),
    way(
        FactType.REQUIREMENT, 0.85,
        "need needs require requires must have has",
        r"^(?:all|every|each|any) (?:\w+ ){1,4}?(?:must|needs?|requires?|has to|have to) (?!a (?:break|hug)\b)\w+|"
        r"\bwe need to (?:support|use|run|follow|include|avoid|handle|store) (?!each other|one another|you\b|them\b|"
        r"him\b|her\b|it\b|this\b|that\b)\w+",
    ),
    way(
        FactType.REQUIREMENT, 0.85,
        "required mandatory forbidden not off should",
        r"\b(?:is|are) (?:required|mandatory|forbidden|not allowed|off limits)\b|\bshould (?:always|never)\b",
    ),
    way(
        FactType.HABIT, 0.85,
        "always usually normally typically generally regularly often never rarely",
        r"\b(?:i|we) (?:always|usually|normally|typically|generally|regularly|often|never|rarely) (?!been|"
        r"thought|imagined|knew|wanted|be\b|had|forget)\w+ \w+",
    ),
    way(
        FactType.HABIT, 0.85,
        "every each once twice times",
        r"\b(?:i|we|my|our)\b.*\b(?:every|each|once a|twice a|times a) (?:single |other )?(?:morning|evening|"
        r"night|day|week|weekend|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    ),
    way(
        FactType.HABIT, 0.8,
        "mondays tuesdays wednesdays thursdays fridays saturdays sundays weekdays weekends",
        r"\b(?:i|we|my|our)\b.* on (?:\w+ and )?(?:\w+ )?(?:mon|tues|wednes|thurs|fri|satur|sun|week)days\b|"
        r"\b(?:i|we) \w+ .*\bon weekends\b",
    ),
    way(
        FactType.HABIT, 0.8,
        "use work write code develop deploy run",
        r"\b(?:i|we) (?:mostly |mainly |currently |all )?(?:use|work with|write|code in|develop (?:in|on)|"
        r"deploy (?:to|with|on)|run) (?!to\b|it\b|that\b|this\b|into\b|out\b)\w+",
    ),
    way(FactType.HABIT, 0.85, "used", r"\b(?:i|we) used to (?!be able)\w+"),
    way(
        FactType.HABIT, 0.85,
        "don't can't cannot not won't",
        r"\bi (?:don't|can't|cannot|do not|won't) (?:ever |usually |really )?(?:eat|drink|smoke|drive|use|"
        r"work|speak|own|travel|fly|run|take)\b(?! (?:it|that|this|them|you|to)\b) ?\w+",
    ),
    way(
        FactType.DECISION, 0.95,
        "decided agreed settled opted chosen going concluded",
        rf"\b{_WE} (?:just |finally |also |all |now |both )*(?:decided|agreed|settled on|opted|chosen|going "
        rf"with|concluded)\b",
    ),
    way(
        FactType.DECISION, 0.85,
        "chose picked went switched migrated moved",
        rf"\b{_WE} (?:just |finally |recently )?(?:chose|picked|went with|switched (?:\w+ )?(?:to|from)|migrated)\b"
        r"|\b(?:we|the team|our team)(?:'ve| have)? (?:just |finally |recently )?moved (?:over |everything )?"
        r"(?:to|from) (?!the\b)",
    ),
    way(
        FactType.DECISION, 0.85,
        "let's we'll will",
        r"^(?:ok(?:ay)?,? |so,? |then |alright,? |right,? |yes,? )*(?:let's|we'll|we will) (?:go with|use|"
        r"stick with|switch to|stay with|keep using)\b",
    ),
    way(
        FactType.DECISION, 0.9,
        "decision decided agreed",
        r"\bthe decision (?:is|was)\b|^decision:|^decided:|\bit (?:is|was|has been) (?:decided|agreed)\b",
    ),
    way(
        FactType.IDENTITY, 0.95,
        "name name's names timezone zone birthday email mail phone number address job title role employer "
        "company pronouns profession occupation major language hometown nationality age username handle call "
        "go home current primary preferred default",
        rf"\b(?:my|our) {_ABOUT_ME} (?:is|are|'s)\b|\bmy name's\b|\bcall me [a-z]|\bi go by\b",
    ),
    way(
        FactType.IDENTITY, 0.9,
        "based from living married single divorced vegan vegetarian allergic diabetic left-handed blind "
        "color-blind colour-blind years originally",
        r"\bi(?:'m| am) (?:currently |now )?(?:based (?:in|out of)|from|living in|married|single|divorced|vegan|"
        r"vegetarian|allergic|diabetic|left-handed|colou?r-?blind|\d+ years old|originally from)\b",
    ),
    way(
        FactType.IDENTITY, 0.9,
        "work live born grew speak study come graduated",
        r"\bi (?:currently |now |also )?(?:work (?:as|at|for|in)|live in|was born|grew up in|speak|study at|"
        r"study|come from|graduated)\b",
    ),
    way(
        FactType.IDENTITY, 0.85,
        "i'm am",
        r"\bi(?:'m| am) (?:a|an|the) (?!bit|little|lot|fan|big|huge|few|great|good|bad|total|mess|while|kind|"
        r"sort|sucker)(?:[\w-]+ ){0,3}[\w-]*(?:er|or|ist|ian|ant|ent|ect|ect|ef|man|woman|mom|dad|mother|"
        r"father|nurse|manager|lead|chief|cto|ceo|dev|sre|pm|vet)\b",
    ),
    way(
        FactType.IDENTITY, 0.85,
        "have got own",
        r"\b(?:i|we) (?:have|'ve got|have got|own) (?:a|an|one|two|three|four|five|\d+) (?:\w+ )?(?:kids?|"
        r"children|sons?|daughters?|dogs?|cats?|brothers?|sisters?|siblings|pets?|employees|servers?)\b",
    ),
    way(
        FactType.IDENTITY, 0.85,
        "wife wife's husband husband's partner partner's son son's daughter daughter's dog dog's cat cat's "
        "brother brother's sister sister's mom mom's mother mother's dad dad's father father's boss boss's "
        "manager girlfriend boyfriend company employer",
        rf"\bmy {KIN}(?:'s (?:name|birthday))? (?:is|are|works?|lives?|'s) ",
    ),
    way(
        FactType.IDENTITY, 0.8,
        "uses runs requires written hosted deployed lives targets supports",
        r"\b(?:the|our|my|this) (?:[\w-]+ ){1,3}?(?:uses|runs (?:on|in|at|every)|requires|is (?:written|"
        r"hosted|deployed) (?:in|on|at|with|to)|lives (?:in|at|on)|targets|supports)\b \w",
    ),
    way(
        FactType.EVENT, 0.8,
        "yesterday today last ago week month year january february march april may june july august "
        "september october november december monday tuesday wednesday thursday friday saturday sunday",
        r"\b(?:i|we|my \w+) (?:just |recently |finally |also )?(?:bought|moved|adopted|started|joined|quit|"
        r"left|broke|lost|won|finished|got (?:married|engaged|promoted|hired|fired|laid off|a |an |my )|went "
        r"to|visited|met|signed up|launched|shipped|deployed|released|had (?:a|an|my|our) )",
    ),
    way(
        FactType.EVENT, 0.75,
        "moved works lives joined leads owns manages",
        r"^(?!(?:i|we|it|that|this|he|she|they|you|there|what|who|everything|everyone|nobody|"
        r"somebody)\b)[^\W\d_]+ (?:moved (?:to|from)|works (?:at|as|for|in)|lives in|joined (?:the|our|a)|"
        r"leads (?:the|our)|owns (?:the|our|a)|manages (?:the|our)) \w",
    ),
    way(
        FactType.EVENT, 0.75,
        "way btw",
        r"\b(?:by the way|btw),? (?:i|i've|i'm|my|we|our)\b(?! (?:still |just )?(?:get|see|have|want|need|notice))"
        r"(?!.{0,60}\b(?:fail|error|broken|bug|crash))",
    ),
    way(
        FactType.EVENT, 0.85,
        "remember note fyi mind forget record",
        r"^(?:please )?(?:remember|note|fyi|keep in mind|don't forget|for the record)(?: that\b|:|,| i\b| "
        r"my\b| we\b| our\b)",
    ),
)  # fmt: skip
# The surest first; of those that are as sure, in the order in which they are written.
_WAYS = sorted((*_ENGLISH, *CHANGES, *GERMAN), key=lambda one: -one.confidence)
_TRIED_AT = {
    word: tuple(at for at, one in enumerate(_WAYS) if word in one.words)
    for word in frozenset[str]().union(*(way.words for way in _WAYS))
}
_TRYING = frozenset(_TRIED_AT)
# What words show of a sentence that does not say outright what it is, the surest first.
_SIGNS = (
    (FactType.DECISION, frozenset("decided agreed chose chosen opted settled".split())),
    (FactType.REQUIREMENT, frozenset("need require must required gotta".split())),
    (FactType.HABIT, frozenset("always usually often every regularly daily weekly".split())),
    (FactType.IDENTITY, frozenset("name husband wife hometown born married".split())),
    (
        FactType.PREFERENCE,
        frozenset("love loves like likes prefer enjoy enjoys favorite favourite hate dislike passion".split()),
    ),
)
