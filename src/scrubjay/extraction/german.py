"""German sentences: what they say outright, and by what they show that they state no fact."""

from scrubjay.extraction.pattern import way
from scrubjay.model.fact import FactType

__all__ = ["GERMAN", "HEDGE", "HYPOTHETICAL", "POLITE", "REPORTED"]

HEDGE = (
    r"\b(?:vielleicht|eventuell|wahrscheinlich|vermutlich|möglicherweise|womöglich|hoffentlich)\b|\bich glaube\b|"
    r"\bkeine ahnung\b|\bich wei(?:ß|ss) (?:es |noch |gar )*nicht\b|\bnicht (?:ganz |so |wirklich )*sicher\b"
)
HYPOTHETICAL = (
    r"^(?:und |aber )?(?:falls|angenommen)\b"
    r"|\b(?:ich|wir|es|das|man) (?:\w+ )?(?:würden?|hätten?|wären?|könnten?|müssten?|sollten?)\b"
    r"|\b(?:würden?|hätten?|wären?|könnten?) (?:ich|wir|es|das|man)\b"
)
REPORTED = (
    r"(?!(?:ich|wir|meine?[rnms]?|unsere?[rnms]?)\b)(?:\w+ ){1,4}?(?:sagte?|meinte?|behauptete?|erzählte?|findet|"
    r"schrieb),? (?:dass )?(?:er|sie|es|ich|wir|du)\b"
)
POLITE = (
    r"bitte|kannst du|könntest du|würdest du|können sie|könnten sie|ich (?:möchte|will),? dass (?:du|sie)|lass uns mal"
)

_OWN = r"\b(?:ich|wir|(?:mein|unser)e?[rnms]? (?:\w+ )?\w+)"
# Words that may stand between, as German verbs do not keep together.
_SOME = r"(?:[\w-]+,? ){0,5}?"
_MANY = r"(?:[\w-]+,? ){0,9}?"
_NAMELESS = r"(?!(?:es|das|dies|dich|dir|ihn|sie|was|wie|dass)\b)"
_BOUND = (
    r"(?:name|vorname|nachname|geburtstag|zeitzone|telefonnummer|handynummer|nummer|adresse|anschrift|e-?mail\S*|beruf|"
    r"job|chefin|chef|frau|mann|partnerin|partner|freundin|freund|sohn|tochter|hund|katze|bruder|schwester|mutter|"
    r"vater|eltern|kinder|muttersprache|arbeitgeber|firma|team|büro|projekt|standup|besprechung|meeting)"
)

GERMAN = (
    way(
        FactType.PREFERENCE, 0.9,
        "bevorzuge bevorzugen mag mögen liebe lieben hasse hassen",
        rf"\b(?:ich|wir) {_SOME}(?:bevorzugen?|mag|mögen|lieben?|hassen?) {_NAMELESS}\w+"
        rf"|\b(?:bevorzuge|mag|liebe|hasse) ich \w",
    ),
    way(
        FactType.PREFERENCE, 0.85,
        "lieber liebsten",
        rf"\b(?:ich|wir) {_MANY}(?:lieber|am liebsten)\b|\bam liebsten \w+ (?:ich|wir)\b",
    ),
    way(
        FactType.PREFERENCE, 0.9,
        "mein meine unser unsere",
        r"\b(?:meine?|unsere?) lieblings\w+ (?:ist|sind|war)\b",
    ),
    way(
        FactType.REQUIREMENT, 0.9,
        "immer nie niemals stets nur nicht statt anstatt keine kein",
        rf"^(?:bitte )?(?:verwende|nutze|benutze|schreibe?|antworte|nimm|benenne|nenne?|formatiere?|committe|teste|"
        rf"mach)\b {_MANY}(?:immer|nie|niemals|stets|nur|nicht|statt|anstatt|keine?n?)\b"
        r"|^(?:bitte )?(?:immer|nie|niemals) \w+ \w+",
    ),
    way(
        FactType.REQUIREMENT, 0.9,
        "ab nun zukunft",
        r"\bab (?:jetzt|sofort)\b|\bvon nun an\b|\bin zukunft\b",
    ),
    way(
        FactType.REQUIREMENT, 0.85,
        "muss müssen darf dürfen",
        rf"\b(?:der|die|das|alle|jeder?|jedes|unsere?|es) {_SOME}(?:muss|müssen|darf|dürfen) {_MANY}(?:immer|nie|"
        rf"niemals|nicht|kein\w*|unterstützen|laufen|bleiben|enthalten|haben|sein|werden)\b",
    ),
    way(
        FactType.HABIT, 0.85,
        "immer meistens normalerweise gewöhnlich üblicherweise regelmäßig oft nie niemals selten täglich jeden jede",
        rf"\b(?:ich|wir) (?!habe|haben|bin|sind|war|hatte|bekomme|kriege|erhalte|sehe)\w+ {_SOME}(?:immer(?! noch)|"
        rf"meistens|normalerweise|gewöhnlich|üblicherweise|regelmäßig|oft|nie|niemals|selten|täglich|jeden \w+|"
        rf"jede (?:woche|nacht))\b"
        r"|^(?:meistens|normalerweise|jeden \w+|jede woche) \w+ (?:ich|wir)\b",
    ),
    way(
        FactType.HABIT, 0.8,
        "benutze benutzen nutze nutzen verwende verwenden esse essen trinke trinken rauche vertrage programmiere",
        rf"\b(?:ich|wir) (?:benutzen?|nutzen?|verwenden?|essen?|trinken?|rauchen?|vertrage|"
        rf"programmieren?) {_NAMELESS}\w+",
    ),
    way(
        FactType.HABIT, 0.85,
        "mehr früher",
        rf"{_OWN} {_MANY}(?<!weiß )(?<!verstehe )(?<!funktioniert )(?<!geht )(?<!läuft )(?<!startet )(?:nicht|keine?n?|"
        rf"nie)(?: [\w-]+){{0,2}}? mehr\b|\bfrüher \w+ (?:ich|wir)\b"
        r"|\b(?:ich|wir) \w+ früher\b",
    ),
    way(
        FactType.DECISION, 0.9,
        "entschieden beschlossen vereinbart geeinigt festgelegt umgestiegen gewechselt",
        r"\b(?:habe|haben|bin|sind)\b.{1,120}\b(?:entschieden|beschlossen|vereinbart|geeinigt|festgelegt|umgestiegen|"
        r"gewechselt)\b",
    ),
    way(
        FactType.DECISION, 0.85,
        "nehmen bleiben wechseln steigen",
        rf"\bwir (?:nehmen|bleiben bei|wechseln (?:zu|auf|von)|steigen (?:auf|von)) {_NAMELESS}\w+",
    ),
    way(
        FactType.IDENTITY, 0.95,
        "heiße wohne lebe komme arbeite studiere spreche stamme nenn nenne",
        rf"\bich (?:heiße|wohne|lebe|komme (?:\w+ )?aus|arbeite {_SOME}(?:als|bei|für|in)|studiere|spreche|"
        rf"stamme)\b {_NAMELESS}\w"
        r"|\b(?:wohne|lebe|arbeite) ich (?:\w+ )?(?:in|bei|als|an|auf)\b|^(?:bitte )?nenne? mich \w",
    ),
    way(
        FactType.IDENTITY, 0.9,
        "bin",
        rf"\bich bin {_SOME}(?:verheiratet|ledig|single|geschieden|verwitwet|schwanger|vegetarier(?:in)?|"
        rf"veganer(?:in)?|vegan|allergisch|diabetiker(?:in)?|linkshänder(?:in)?|rentner(?:in)?|arbeitslos|"
        rf"selbstständig|\d+ jahre alt|von beruf)\b"
        r"|\bich bin (?:aus \w|eine? \w|[a-zäöüß-]*(?:entwickler|lehrer|leiter|händler|schüler|ingenieur|student|arzt|"
        r"ärzt|informatiker|berater|designer|manager|pfleger|köch|koch|meister|wissenschaftler)(?:in)?\b)",
    ),
    way(
        FactType.IDENTITY, 0.9,
        "mein meine meiner unser unsere",
        rf"\b(?:mein|unser)e?r? (?:neue[rns]? )?{_BOUND} (?:ist|sind|heißt|heißen|wohnt|lebt|arbeitet|hat|lautet|"
        rf"beginnt|findet)\b",
    ),
    way(
        FactType.IDENTITY, 0.85,
        "neuer neue neues",
        r"\b(?:mein|unser)e? neue[rs]? (?:[\w-]+ ){1,3}?(?:ist|sind|heißt|lautet)\b",
    ),
    way(
        FactType.IDENTITY, 0.85,
        "habe haben",
        r"\b(?:ich habe|wir haben) (?:eine?n?|zwei|drei|vier|fünf|\d+) (?:\w+ )?(?:kind(?:er)?|sohn|söhne|tochter|"
        r"töchter|hunde?|katzen?|bruder|brüder|schwestern?|geschwister|allergie|mitarbeiter)\b",
    ),
    way(
        FactType.EVENT, 0.92,
        "gekündigt aufgehört geheiratet verlobt gekauft verkauft angefangen begonnen abgeschlossen verloren adoptiert "
        "getrennt aufgegeben scheiden umgezogen gezogen ausgezogen eingezogen befördert geboren",
        r"\b(?:bin|sind|habe|haben|ist|hat|wurde|lasse|lassen)\b.{1,120}\b(?:gekündigt|"
        r"aufgehört|geheiratet|verlobt|gekauft|verkauft|angefangen|begonnen|abgeschlossen|verloren|adoptiert|getrennt|"
        r"aufgegeben|scheiden lassen|umgezogen|gezogen|ausgezogen|eingezogen|befördert|geboren)\b",
    ),
    way(
        FactType.EVENT, 0.85,
        "ziehe ziehen",
        rf"\b(?:ich|wir) (?:ziehe|ziehen) {_MANY}(?:nach|um|aus|ein)\b",
    ),
    way(
        FactType.EVENT, 0.85,
        "merk merke vergiss denk",
        r"^(?:bitte )?(?:merke? dir|vergiss nicht|denke? daran)(?::|,| dass\b)",
    ),
)  # fmt: skip
