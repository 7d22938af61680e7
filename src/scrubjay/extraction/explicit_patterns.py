"""Explicit forms of facts: a preference, a requirement, a habit, a decision, an event, an identity.

Tables of regular expressions, English and German.
"""

from typing import NamedTuple

from scrubjay.model.fact import FactType

__all__ = [
    "CHANGES", "ENGLISH", "GERMAN", "GERMAN_HEDGE", "GERMAN_HYPOTHETICAL", "GERMAN_POLITE", "GERMAN_REPORTED",
    "FactForm",
]  # fmt: skip


class FactForm(NamedTuple):
    """A type, the confidence that a sentence of this form means it, words of which it has one, and the expression."""

    type: FactType
    confidence: float
    words: str
    expression: str


_PERSON = (
    r"(?:wife|husband|partner|son|daughter|dog|cat|brother|sister|mom|mum|mother|dad|father|boss|manager|girlfriend|"
    r"boyfriend|company|employer|parents|kids|children|friend|colleague|team|uncle|aunt|cousin|niece|nephew|"
    r"grand(?:ma|pa|mother|father|parents)|fiancee?|roommate|neighbou?r|doctor|ex)"
)
# A subject that needs no earlier sentence: the speaker, their relatives, or a name at the start of the sentence.
_SUBJECT = (
    rf"(?:\b(?:i|we|(?:my|our) (?:[\w-]+ )?{_PERSON}|the team)|^(?!(?:it|that|this|he|she|they|you|there|what|who|"
    rf"which|how|everything|everyone|nobody|somebody|someone|the|a|an|these|those|and|but|so|if|let's|please)\b)[^\W\d_]+)"
)
_HAS = r"(?:'ve| have|'s| has|'m| am|'re| are| is)?"
_JUST = r"(?:just |finally |recently |also |already |now |all |both |officially |actually )*"
_WHEN = (
    r"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\b(?:january|february|march|april|may|june|july|august|"
    r"september|october|november|december|tomorrow|tonight|noon|midnight|every|next (?:week|month|year)|weekly|daily)|"
    r"\b\d{1,2}(?:[:.]\d{2}\b| ?[ap]\.?m\b|th\b|st\b|nd\b|rd\b| o'clock))"
)

# The object must be named: "I love it" says nothing alone.
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
ENGLISH: tuple[FactForm, ...] = (
    FactForm(FactType.PREFERENCE, 0.95, "prefer", rf"\b(?:i|we) {_SOMEWHAT}prefer\b"),
    FactForm(
        FactType.PREFERENCE, 0.9,
        "favorite favourite",
        r"\b(?:my|our) (?:\w+ )?favou?rite (?:\w+ ){1,4}?(?:is|are|was)\b",
    ),
    FactForm(
        FactType.PREFERENCE, 0.85,
        "fan into fond keen",
        r"\bi(?:'m| am)(?: not)? (?:a |an )?(?:big |huge |great )?(?:fan of|into|fond of|keen on)\b",
    ),
    FactForm(
        FactType.PREFERENCE, 0.8,
        "love like enjoy adore hate dislike can't don't",
        rf"\bi {_SOMEWHAT}(?:love|like|enjoy|adore|hate|dislike|can't stand|don't like)\b{_THING} \w+ ?\w+",
    ),
    FactForm(
        FactType.PREFERENCE, 0.85,
        "rather want like",
        r"\bi(?:'d| would) rather\b|\b(?:i|we) (?:want|like) (?:my|our|all|every)\b",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.9,
        "always never ever",
        r"^(?:please |and |also |but )*(?:always|never|don't ever|do not ever) (?!here|there|give|had|been|a |"
        r"in |so |too |stop|forget|worked|seen|thought|say |good|great|nice|fun|up |on )\w+ \w+",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.9,
        "now forward sure",
        r"\bfrom now on\b|\bgoing forward,? |\bmake sure (?:you |to |that |we )*(?:always|never)\b",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.8,
        "instead rather not over",
        r"^(?:please )?(?:use|write|keep|put|call|name|format) .{2,60}?(?: instead of | rather than |,? not | "
        r"over )",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.75,
        "don't not avoid stop",
        r"^(?:please )?(?:don't|do not|avoid|stop) (?:use|using|add|adding|commit|push|touch|write|put|mock|"
        r"mocking|edit)\b",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.85,
        "must shall has have needs",
        r"\b(?:must|shall|has to|have to|needs to) (?:not |never |always )?(?:be (?!so|very|really|nice|great|"
        r"tough|hard|amazing|proud|fun|such|a |an |quite|pretty|kidding|joking|the (?!only|same|first|last|default))|"
        r"run|use|support|work (?!so|very)|pass|go "
        r"through|stay|contain|include|return|follow|match|finish|complete|respond|fit|handle|accept|start with|"
        r"end with)",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.85,
        "need needs require requires must have has",
        r"^(?:all|every|each|any) (?:\w+ ){1,4}?(?:must|needs?|requires?|has to|have to) (?!a (?:break|hug)\b)\w+|"
        r"\bwe need to (?:support|use|run|follow|include|avoid|handle|store) (?!each other|one another|you\b|them\b|"
        r"him\b|her\b|it\b|this\b|that\b)\w+",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.85,
        "required mandatory forbidden not off should",
        r"\b(?:is|are) (?:required|mandatory|forbidden|not allowed|off limits)\b|\bshould (?:always|never)\b",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.85,
        "must",
        r"\bmust (?:not|never|always) (?!forget|give up|have |be (?:so|very|easy|hard|fun)\b)\w+ \w+|"
        r"\b(?:you|we|i|they|users?|clients?|everyone|everybody) must (?:first )?(?:keep (?!in touch|going|it up|on\b)|"
        r"take (?!a\b|an\b|care|it\b|this|that|some)|sign|wear|file|log|store|encrypt|test|review|report|approve|"
        r"delete|document|commit|push|deploy|merge|submit|retain|provide|ask (?:before|first|the|for))",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.8,
        "want require need requires",
        r"\b(?:i|we|my \w+|our \w+) (?:always |also |still )?requires? (?!it\b|that\b|this\b|a lot|some|more)\w+ \w+|"
        r"\b(?:i|we) (?:want|need) (?!to\b|it\b|you\b)(?:[\w-]+ ){1,4}?(?:in|for|on|at|before|with|after) "
        r"(?:every|each|all|any) (?!of\b|the time|this|that|those|these)\w+|"
        r"\bi (?:want|need|expect) you to (?:not |always |never )*(?:answer|respond|reply|speak|address me|call me)\b",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.75,
        "want wants",
        rf"(?:{_SUBJECT}|\b(?:they|the [\w-]+)) (?:also |still )?wants? (?!(?:to|it|you|me|us|him|her|them|this|that|"
        r"these|those|what|more|some|any|no|nothing|something|everything|anything|out|in|help|a (?:break|hug|look|new "
        r"start|chat|minute))\b)[\w-]+ \w+",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.8,
        "time need have",
        r"^(?:please )?(?:run|check|update|add|test|use|write|ask|tell|show|format|log|commit|save|include|build|"
        r"restart|clear|review|lint) .{2,60}?\bevery time\b|"
        r"\byou (?:need|have) to (?:always |first )*(?:ask|confirm|get approval|get permission|request) .{0,40}?"
        r"\b(?:before|whenever|every|each|any)\b",
    ),
    FactForm(
        FactType.HABIT, 0.8,
        "utilize utilizes utilise utilises employ employs",
        r"\b(?:i|we|they|the team|(?:my|our|the) [\w-]+) (?:mostly |mainly |currently |also |still )?"
        r"(?:utili[sz]es?|employs?) (?!it\b|that\b|this\b|them\b)\w+ ?\w*",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "always usually normally typically generally regularly often never rarely",
        r"\b(?:i|we) (?:always|usually|normally|typically|generally|regularly|often|never|rarely) (?!been|"
        r"thought|imagined|knew|wanted|be\b|had|forget)\w+ \w+",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "every each once twice times",
        r"\b(?:i|we|my|our)\b.*\b(?:every|each|once a|twice a|times a) (?:single |other )?(?:morning|evening|"
        r"night|day|week|weekend|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    ),
    FactForm(
        FactType.HABIT, 0.8,
        "mondays tuesdays wednesdays thursdays fridays saturdays sundays weekdays weekends",
        r"\b(?:i|we|my|our)\b.* on (?:\w+ and )?(?:\w+ )?(?:mon|tues|wednes|thurs|fri|satur|sun|week)days\b|"
        r"\b(?:i|we) \w+ .*\bon weekends\b",
    ),
    FactForm(
        FactType.HABIT, 0.8,
        "use work write code develop deploy run",
        r"\b(?:i|we) (?:mostly |mainly |currently |all )?(?:use|work with|write|code in|develop (?:in|on)|"
        r"deploy (?:to|with|on)|run) (?!to\b|it\b|that\b|this\b|into\b|out\b)\w+",
    ),
    FactForm(FactType.HABIT, 0.85, "used", r"\b(?:i|we) used to (?!be able)\w+"),
    FactForm(
        FactType.HABIT, 0.85,
        "don't can't cannot not won't",
        r"\bi (?:don't|can't|cannot|do not|won't) (?:ever |usually |really )?(?:eat|drink|smoke|drive|use|"
        r"work|speak|own|travel|fly|run|take)\b(?! (?:it|that|this|them|you|to)\b) ?\w+",
    ),
    FactForm(
        FactType.DECISION, 0.95,
        "decided agreed settled opted chosen going concluded",
        rf"\b{_WE} (?:just |finally |also |all |now |both )*(?:decided|agreed|settled on|opted|chosen|going "
        rf"with|concluded)\b",
    ),
    FactForm(
        FactType.DECISION, 0.85,
        "chose picked went switched migrated moved",
        rf"\b{_WE} (?:just |finally |recently )?(?:chose|picked|went with|switched (?:\w+ )?(?:to|from)|migrated)\b"
        r"|\b(?:we|the team|our team)(?:'ve| have)? (?:just |finally |recently )?moved (?:over |everything )?"
        r"(?:to|from) (?!the\b)",
    ),
    FactForm(
        FactType.DECISION, 0.85,
        "let's we'll will",
        r"^(?:ok(?:ay)?,? |so,? |then |alright,? |right,? |yes,? )*(?:let's|we'll|we will) (?:go with|use|"
        r"stick with|switch to|stay with|keep using)\b",
    ),
    FactForm(
        FactType.DECISION, 0.9,
        "decision decided agreed",
        r"\bthe decision (?:is|was)\b|^decision:|^decided:|\bit (?:is|was|has been) (?:decided|agreed)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.95,
        "name name's names timezone zone birthday email mail phone number address job title role employer "
        "company pronouns profession occupation major language hometown nationality age username handle call "
        "go home current primary preferred default",
        rf"\b(?:my|our) {_ABOUT_ME} (?:is|are|'s)\b|\bmy name's\b|\bcall me [a-z]|\bi go by\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.9,
        "based from living married single divorced vegan vegetarian allergic diabetic left-handed blind "
        "color-blind colour-blind years originally",
        r"\bi(?:'m| am) (?:currently |now )?(?:based (?:in|out of)|from|living in|married|single|divorced|vegan|"
        r"vegetarian|allergic|diabetic|left-handed|colou?r-?blind|\d+ years old|originally from)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.9,
        "work live born grew speak study come graduated",
        r"\bi (?:currently |now |also )?(?:work (?:as|at|for|in)|live in|was born|grew up in|speak|study at|"
        r"study|come from|graduated)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.85,
        "i'm am",
        r"\bi(?:'m| am) (?:a|an|the) (?!bit|little|lot|fan|big|huge|few|great|good|bad|total|mess|while|kind|"
        r"sort|sucker)(?:[\w-]+ ){0,3}[\w-]*(?:er|or|ist|ian|ant|ent|ect|ect|ef|man|woman|mom|dad|mother|"
        r"father|nurse|manager|lead|chief|cto|ceo|dev|sre|pm|vet)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.85,
        "have got own",
        r"\b(?:i|we) (?:have|'ve got|have got|own) (?:a|an|one|two|three|four|five|\d+) (?:\w+ )?(?:kids?|"
        r"children|sons?|daughters?|dogs?|cats?|brothers?|sisters?|siblings|pets?|employees|servers?)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.85,
        "wife wife's husband husband's partner partner's son son's daughter daughter's dog dog's cat cat's "
        "brother brother's sister sister's mom mom's mother mother's dad dad's father father's boss boss's "
        "manager girlfriend boyfriend company employer",
        rf"\bmy {_PERSON}(?:'s (?:name|birthday))? (?:is|are|works?|lives?|'s) ",
    ),
    FactForm(
        FactType.IDENTITY, 0.8,
        "uses runs requires written hosted deployed lives targets supports",
        r"\b(?:the|our|my|this) (?:[\w-]+ ){1,3}?(?:uses|runs (?:on|in|at|every)|requires|is (?:written|"
        r"hosted|deployed) (?:in|on|at|with|to)|lives (?:in|at|on)|targets|supports)\b \w",
    ),
    FactForm(
        FactType.EVENT, 0.8,
        "yesterday today last ago week month year january february march april may june july august "
        "september october november december monday tuesday wednesday thursday friday saturday sunday",
        r"\b(?:i|we|my \w+) (?:just |recently |finally |also )?(?:bought|moved|adopted|started|joined|quit|"
        r"left|broke|lost|won|finished|got (?:married|engaged|promoted|hired|fired|laid off|a |an |my )|went "
        r"to|visited|met|signed up|launched|shipped|deployed|released|had (?:a|an|my|our) )",
    ),
    FactForm(
        FactType.EVENT, 0.75,
        "moved works lives joined leads owns manages",
        r"^(?!(?:i|we|it|that|this|he|she|they|you|there|what|who|everything|everyone|nobody|"
        r"somebody)\b)[^\W\d_]+ (?:moved (?:to|from)|works (?:at|as|for|in)|lives in|joined (?:the|our|a)|"
        r"leads (?:the|our)|owns (?:the|our|a)|manages (?:the|our)) \w",
    ),
    FactForm(
        FactType.EVENT, 0.75,
        "way btw",
        r"\b(?:by the way|btw),? (?:i|i've|i'm|my|we|our)\b(?! (?:still |just )?(?:get|see|have|want|need|notice))"
        r"(?!.{0,60}\b(?:fail|error|broken|bug|crash))",
    ),
    FactForm(
        FactType.EVENT, 0.85,
        "remember note fyi mind forget record",
        r"^(?:please )?(?:remember|note|fyi|keep in mind|don't forget|for the record)(?: that\b|:|,| i\b| "
        r"my\b| we\b| our\b)",
    ),
)  # fmt: skip

# States of programs, which change every minute.
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
_VERB_OF_STATE = r"(?:costs?|uses?|runs?|lives?|starts?|requires?|needs?|belongs?|supports?)"
_ANY_MORE = (
    r"\b(?:anymore|any ?more|any longer)(?=\W*$|\s*[.,;!)(]|\s+(?:since|because|and|so|but|due|after|as|at|in|on)\b)"
)
_DENIES = r"(?:n't|\bnot|\bnever)"
_OCCUPATION = (
    r"(?:my|our|his|her|their|an?|the|working|new) (?:new |old |last |own |first |dream |"
    r"current )*(?:[\w-]+ )?(?:jobs?(?! (?:ids?|from|queue|logs?|numbers?|that|which|in the)\b)|at|for|as|company|"
    r"school|college|university|position|role|degree|phd|studies|business|apprenticeship|internship)\b"
)

# Changes: no longer, moved to, quit, got divorced, my new one is.
CHANGES: tuple[FactForm, ...] = (
    FactForm(
        FactType.PREFERENCE, 0.9,
        "longer",
        rf"{_SUBJECT} {_JUST}no longer (?:likes?|loves?|enjoys?|prefers?|wants?)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.9,
        "longer",
        rf"{_SUBJECT}(?:'m|'re|'s| am| are| is) {_JUST}no longer (?!\w+ing\b|sure|able)\w"
        rf"|{_SUBJECT} {_JUST}no longer (?:work|live|stud|belong|own)(?:ie)?[sy]?\b",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "longer",
        rf"{_SUBJECT}(?:'m|'re|'s| am| are| is| can)? {_JUST}no longer (?!than|see|seeing|get|getting|know|works?\b)\w"
        r"|\b(?:the|our|this) (?:[\w-]+ ){1,3}?no longer (?:supports?|uses?|runs?|needs?|requires?|accepts?|allows?|"
        r"exists?|belongs?|has|have|lives?|offers?|ships?)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.9,
        "anymore any",
        rf"{_SUBJECT}(?:(?:'m|'re|'s| am| are| is) not (?!\w+ing\b|sure|able)| (?:do|does)(?:n't| not) (?:work|live|"
        rf"study|own)\b).{{1,80}}?{_ANY_MORE}",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "anymore any",
        rf"{_SUBJECT}(?:'m|'re|'s| \w+)?? ?{_DENIES} (?:really |even |ever )?(?!know|see|get|understand|remember|care|"
        rf"take it|stand|reproduce|do\b|sure|have (?:the|this|that)\b|there)\w.{{1,80}}?{_ANY_MORE}",
    ),
    FactForm(
        FactType.EVENT, 0.85,
        "left lost quit changed switched started got found took accepted finished began begun",
        rf"{_SUBJECT}{_HAS} {_JUST}(?:left|lost|quit|changed|switched|started|got|found|took|accepted|finished|began|"
        rf"begun) (?:{_OCCUPATION}|jobs\b|therapy\b|learning \w|studying \w|dating \w|taking (?!a\b|the\b)\w)",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "stopped quit gave given",
        rf"{_SUBJECT}{_HAS} {_JUST}(?:(?:stopped|quit) (?!getting|seeing|receiving|reading|trying|working (?!at|for|"
        rf"as|in|with)|responding)\w+ing\b|(?:gave|given) up (?:on )?(?!it\b|that\b|this\b|trying|hope)\w|"
        rf"quit (?!the\b|it\b|that\b|this\b|and\b|because\b|when\b|out\b)\w+)",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "since",
        r"\b(?:i|we) haven't (?:\w+ ){1,4}?since (?:(?:19|20)\d\d|(?:january|february|march|april|may|june|july|august|"
        r"september|october|november|december)\b)",
    ),
    FactForm(
        FactType.EVENT, 0.85,
        "moved moving relocated relocating",
        rf"{_SUBJECT}{_HAS} {_JUST}(?:moved|moving|relocat(?:ed|ing)) (?:back |over |away |out |in )*(?:to|into|from|"
        rf"with|of) {_PLACE}",
    ),
    FactForm(
        FactType.EVENT, 0.8,
        "moved rescheduled postponed pushed shifted",
        rf"\b(?:the|our|my) (?:[\w-]+ ){{1,3}}?(?:(?:was|is|has been|got) )?(?:moved|rescheduled|postponed|pushed|"
        rf"shifted) (?:back |forward |from .{{1,30}}? )?(?:to|until|by) .{{0,20}}?{_WHEN}",
    ),
    FactForm(
        FactType.IDENTITY, 0.9,
        "retired engaged pregnant unemployed widowed self-employed self separated divorced married",
        rf"(?:\bi(?:'m| am)|\bwe(?:'re| are)|\bmy (?:[\w-]+ )?{_PERSON}(?:'s| is)) {_JUST}(?:retired|engaged|pregnant|"
        rf"unemployed|widowed|self-employed|separated|divorced|married)\b",
    ),
    FactForm(
        FactType.EVENT, 0.9,
        "married engaged divorced separated widowed pregnant promoted hired fired laid diagnosed retired",
        rf"{_SUBJECT}{_HAS}(?: was| were)? {_JUST}(?:got |gotten |getting |been )?(?:married|engaged (?!in\b|with\b)|"
        rf"engaged[.!]|divorced|separated (?!the\b|it\b|them\b|out\b)|separated[.!]|widowed|pregnant|promoted|hired|"
        rf"fired|laid off|diagnosed|retired)",
    ),
    FactForm(
        FactType.EVENT, 0.85,
        "broke broken split died passed",
        rf"{_SUBJECT}{_HAS} {_JUST}(?:broke|broken|split) up\b|\bmy (?:[\w-]+ )?{_PERSON}{_HAS} {_JUST}(?:died|"
        rf"passed away)\b",
    ),
    FactForm(
        FactType.EVENT, 0.85,
        "became become turned turning",
        rf"{_SUBJECT}{_HAS} {_JUST}(?:bec[oa]me (?:an? \w|the \w|vegan|vegetarian)|turn(?:ed|ing) (?:\d\d|thirty|"
        rf"forty|fifty)\b)",
    ),
    FactForm(
        FactType.EVENT, 0.8,
        "sold bought adopted cancelled canceled inherited changed broke sprained injured tore got",
        rf"{_SUBJECT}{_HAS} {_JUST}(?:(?:sold|bought|adopted|cancell?ed|inherited) (?:my|our|an?|his|her|their|"
        rf"another) \w|changed (?:my|our) (?:name|surname|last name|phone|number|address|e-?mail|diet|major)|(?:broke|"
        rf"sprained|injured|tore) my (?!build|code|install|config|setup|env|test|app)\w|got (?:an?|my|our) (?:new|"
        rf"second|first) (?!error|message|issue|warning|problem|exception|bug|code|test|build|setup|script|function|"
        rf"feature|branch|file|version|one\b)\w)",
    ),
    FactForm(
        FactType.IDENTITY, 0.85,
        "new",
        rf"\b(?:my|our) new (?:[\w'-]+ ){{1,3}}?(?:is|are|will be)\b(?! {_PASSING})",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "standup stand stand-up sync retro retrospective meeting planning sprint demo review class lesson training "
        "shift call hours",
        rf"\b(?:our|my|the (?:daily|weekly|monthly|team))(?: [\w-]+){{0,2}}? (?:stand-?up|sync|retro(?:spective)?|"
        rf"meeting|planning|hours|sprint|demo|review|class|lesson|training|shift|call)s? (?:is|are|starts?|"
        rf"takes? place|happens?|begins?|ends?|runs)\b.{{0,20}}?{_WHEN}",
    ),
    FactForm(
        FactType.EVENT, 0.85,
        "deadline release launch date appointment interview exam flight wedding go-live live freeze",
        rf"\b(?:the|our|my)(?: [\w-]+){{0,2}}? (?:deadline|release|launch|due date|appointment|interview|exam|flight|"
        rf"wedding|go-live|freeze) (?:is|are|was|will be|has been)\b.{{0,25}}?{_WHEN}",
    ),
    FactForm(
        FactType.IDENTITY, 0.8,
        "office headquarters hq team company desk house home flat apartment parents family servers server repo "
        "repository database backups docs wiki",
        rf"\b(?:our|my)(?: [\w-]+){{0,2}}? (?:office|headquarters|hq|team|company|desk|house|home|flat|apartment|"
        rf"parents|family|servers?|repo(?:sitory)?|database|backups?|docs|wiki) (?:is|are|sits?|lives?) (?:now |"
        rf"located |based |hosted |kept )?(?:in|at|on|near) (?!{_PASSING}|an?\b|line\b|fire\b|trouble\b)\w",
    ),
    FactForm(
        FactType.IDENTITY, 0.8,
        "now",
        rf"(?:\b(?:our|my) (?:[\w-]+ ){{1,3}}?(?:(?:is|are) now|now (?:is|are))|\b(?:the|our|"
        rf"my) (?:[\w-]+ ){{1,3}}?(?:now {_VERB_OF_STATE}|{_VERB_OF_STATE} now))\b (?!{_PASSING})\w"
        r"|\bwe(?:'re| are) (?:now (?:on|using|running|in|at)|(?:on|using)(?= \w+ now\b)) (?!(?:it|that|this|them|"
        r"the)\b)\w",
    ),
    FactForm(
        FactType.DECISION, 0.85,
        "replaced dropped deprecated abandoned ditched discontinued closed shut",
        rf"\b(?:we|the team|our team)(?:'ve| have)? {_JUST}(?:replaced|dropped|deprecated|abandoned|ditched|"
        rf"discontinued|closed|shut down) (?!(?:it|that|this|them|an?|(?:the )?(?:\w+ )?(?:ticket|issue|pr|bug|file|"
        rf"connection|window|tab|deal|session))\b)\w",
    ),
)  # fmt: skip

# Forms by which German sentences state no fact.
GERMAN_HEDGE = (
    r"\b(?:vielleicht|eventuell|wahrscheinlich|vermutlich|möglicherweise|womöglich|hoffentlich)\b|\bich glaube\b|"
    r"\bkeine ahnung\b|\bich wei(?:ß|ss) (?:es |noch |gar )*nicht\b|\bnicht (?:ganz |so |wirklich )*sicher\b"
)
GERMAN_HYPOTHETICAL = (
    r"^(?:und |aber )?(?:falls|angenommen)\b"
    r"|\b(?:ich|wir|es|das|man) (?:\w+ )?(?:würden?|hätten?|wären?|könnten?|müssten?|sollten?)\b"
    r"|\b(?:würden?|hätten?|wären?|könnten?) (?:ich|wir|es|das|man)\b"
)
GERMAN_REPORTED = (
    r"(?!(?:ich|wir|meine?[rnms]?|unsere?[rnms]?)\b)(?:\w+ ){1,4}?(?:sagte?|meinte?|behauptete?|erzählte?|findet|"
    r"schrieb),? (?:dass )?(?:er|sie|es|ich|wir|du)\b"
)
GERMAN_POLITE = (
    r"bitte|kannst du|könntest du|würdest du|können sie|könnten sie|ich (?:möchte|will),? dass (?:du|sie)|lass uns mal"
)

_OWN = r"\b(?:ich|wir|(?:mein|unser)e?[rnms]? (?:\w+ )?\w+)"
# Words between the parts of a German verb.
_SOME = r"(?:[\w-]+,? ){0,5}?"
_MANY = r"(?:[\w-]+,? ){0,9}?"
_NAMELESS = r"(?!(?:es|das|dies|dich|dir|ihn|sie|was|wie|dass)\b)"
_BOUND = (
    r"(?:name|vorname|nachname|geburtstag|zeitzone|telefonnummer|handynummer|nummer|adresse|anschrift|e-?mail\S*|beruf|"
    r"job|chefin|chef|frau|mann|partnerin|partner|freundin|freund|sohn|tochter|hund|katze|bruder|schwester|mutter|"
    r"vater|eltern|kinder|muttersprache|arbeitgeber|firma|team|büro|projekt|standup|besprechung|meeting)"
)

GERMAN: tuple[FactForm, ...] = (
    FactForm(
        FactType.PREFERENCE, 0.9,
        "bevorzuge bevorzugen mag mögen liebe lieben hasse hassen",
        rf"\b(?:ich|wir) {_SOME}(?:bevorzugen?|mag|mögen|lieben?|hassen?) {_NAMELESS}\w+"
        rf"|\b(?:bevorzuge|mag|liebe|hasse) ich \w",
    ),
    FactForm(
        FactType.PREFERENCE, 0.85,
        "lieber liebsten",
        rf"\b(?:ich|wir) {_MANY}(?:lieber|am liebsten)\b|\bam liebsten \w+ (?:ich|wir)\b",
    ),
    FactForm(
        FactType.PREFERENCE, 0.9,
        "mein meine unser unsere",
        r"\b(?:meine?|unsere?) lieblings\w+ (?:ist|sind|war)\b",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.9,
        "immer nie niemals stets nur nicht statt anstatt keine kein",
        rf"^(?:bitte )?(?:verwende|nutze|benutze|schreibe?|antworte|nimm|benenne|nenne?|formatiere?|committe|teste|"
        rf"mach)\b {_MANY}(?:immer|nie|niemals|stets|nur|nicht|statt|anstatt|keine?n?)\b"
        r"|^(?:bitte )?(?:immer|nie|niemals) \w+ \w+",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.9,
        "ab nun zukunft",
        r"\bab (?:jetzt|sofort)\b|\bvon nun an\b|\bin zukunft\b",
    ),
    FactForm(
        FactType.REQUIREMENT, 0.85,
        "muss müssen darf dürfen",
        rf"\b(?:der|die|das|alle|jeder?|jedes|unsere?|es) {_SOME}(?:muss|müssen|darf|dürfen) {_MANY}(?:immer|nie|"
        rf"niemals|nicht|kein\w*|unterstützen|laufen|bleiben|enthalten|haben|sein|werden)\b",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "immer meistens normalerweise gewöhnlich üblicherweise regelmäßig oft nie niemals selten täglich jeden jede",
        rf"\b(?:ich|wir) (?!habe|haben|bin|sind|war|hatte|bekomme|kriege|erhalte|sehe)\w+ {_SOME}(?:immer(?! noch)|"
        rf"meistens|normalerweise|gewöhnlich|üblicherweise|regelmäßig|oft|nie|niemals|selten|täglich|jeden \w+|"
        rf"jede (?:woche|nacht))\b"
        r"|^(?:meistens|normalerweise|jeden \w+|jede woche) \w+ (?:ich|wir)\b",
    ),
    FactForm(
        FactType.HABIT, 0.8,
        "benutze benutzen nutze nutzen verwende verwenden esse essen trinke trinken rauche vertrage programmiere",
        rf"\b(?:ich|wir) (?:benutzen?|nutzen?|verwenden?|essen?|trinken?|rauchen?|vertrage|"
        rf"programmieren?) {_NAMELESS}\w+",
    ),
    FactForm(
        FactType.HABIT, 0.85,
        "mehr früher",
        rf"{_OWN} {_MANY}(?<!weiß )(?<!verstehe )(?<!funktioniert )(?<!geht )(?<!läuft )(?<!startet )(?:nicht|keine?n?|"
        rf"nie)(?: [\w-]+){{0,2}}? mehr\b|\bfrüher \w+ (?:ich|wir)\b"
        r"|\b(?:ich|wir) \w+ früher\b",
    ),
    FactForm(
        FactType.DECISION, 0.9,
        "entschieden beschlossen vereinbart geeinigt festgelegt umgestiegen gewechselt",
        r"\b(?:habe|haben|bin|sind)\b.{1,120}\b(?:entschieden|beschlossen|vereinbart|geeinigt|festgelegt|umgestiegen|"
        r"gewechselt)\b",
    ),
    FactForm(
        FactType.DECISION, 0.85,
        "nehmen bleiben wechseln steigen",
        rf"\bwir (?:nehmen|bleiben bei|wechseln (?:zu|auf|von)|steigen (?:auf|von)) {_NAMELESS}\w+",
    ),
    FactForm(
        FactType.IDENTITY, 0.95,
        "heiße wohne lebe komme arbeite studiere spreche stamme nenn nenne",
        rf"\bich (?:heiße|wohne|lebe|komme (?:\w+ )?aus|arbeite {_SOME}(?:als|bei|für|in)|studiere|spreche|"
        rf"stamme)\b {_NAMELESS}\w"
        r"|\b(?:wohne|lebe|arbeite) ich (?:\w+ )?(?:in|bei|als|an|auf)\b|^(?:bitte )?nenne? mich \w",
    ),
    FactForm(
        FactType.IDENTITY, 0.9,
        "bin",
        rf"\bich bin {_SOME}(?:verheiratet|ledig|single|geschieden|verwitwet|schwanger|vegetarier(?:in)?|"
        rf"veganer(?:in)?|vegan|allergisch|diabetiker(?:in)?|linkshänder(?:in)?|rentner(?:in)?|arbeitslos|"
        rf"selbstständig|\d+ jahre alt|von beruf)\b"
        r"|\bich bin (?:aus \w|eine? \w|[a-zäöüß-]*(?:entwickler|lehrer|leiter|händler|schüler|ingenieur|student|arzt|"
        r"ärzt|informatiker|berater|designer|manager|pfleger|köch|koch|meister|wissenschaftler)(?:in)?\b)",
    ),
    FactForm(
        FactType.IDENTITY, 0.9,
        "mein meine meiner unser unsere",
        rf"\b(?:mein|unser)e?r? (?:neue[rns]? )?{_BOUND} (?:ist|sind|heißt|heißen|wohnt|lebt|arbeitet|hat|lautet|"
        rf"beginnt|findet)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.85,
        "neuer neue neues",
        r"\b(?:mein|unser)e? neue[rs]? (?:[\w-]+ ){1,3}?(?:ist|sind|heißt|lautet)\b",
    ),
    FactForm(
        FactType.IDENTITY, 0.85,
        "habe haben",
        r"\b(?:ich habe|wir haben) (?:eine?n?|zwei|drei|vier|fünf|\d+) (?:\w+ )?(?:kind(?:er)?|sohn|söhne|tochter|"
        r"töchter|hunde?|katzen?|bruder|brüder|schwestern?|geschwister|allergie|mitarbeiter)\b",
    ),
    FactForm(
        FactType.EVENT, 0.92,
        "gekündigt aufgehört geheiratet verlobt gekauft verkauft angefangen begonnen abgeschlossen verloren adoptiert "
        "getrennt aufgegeben scheiden umgezogen gezogen ausgezogen eingezogen befördert geboren",
        r"\b(?:bin|sind|habe|haben|ist|hat|wurde|lasse|lassen)\b.{1,120}\b(?:gekündigt|"
        r"aufgehört|geheiratet|verlobt|gekauft|verkauft|angefangen|begonnen|abgeschlossen|verloren|adoptiert|getrennt|"
        r"aufgegeben|scheiden lassen|umgezogen|gezogen|ausgezogen|eingezogen|befördert|geboren)\b",
    ),
    FactForm(
        FactType.EVENT, 0.85,
        "ziehe ziehen",
        rf"\b(?:ich|wir) (?:ziehe|ziehen) {_MANY}(?:nach|um|aus|ein)\b",
    ),
    FactForm(
        FactType.EVENT, 0.85,
        "merk merke vergiss denk",
        r"^(?:bitte )?(?:merke? dir|vergiss nicht|denke? daran)(?::|,| dass\b)",
    ),
)  # fmt: skip
