"""Words that may come and go when a text is written anew. All others say something and must come back as they are.

So `only`, `some`, `all`, `might`, `will`, `before`, `because`, `by`, `from` and `to` stand in no list here.
"""

__all__ = ["ALONE", "CONTRACTED", "FREE", "LEADS", "PAST", "POINTS_BACK", "PRESENT", "RULES_ON", "SIGNS", "TO_BE"]

PRESENT = frozenset("is are am do does".split())
PAST = frozenset("was were did".split())
TO_BE = frozenset("is are am was were be been being".split())
# What stands for something that was said before: it may go, but not come.
POINTS_BACK = frozenset(
    "it its itself he him his she her hers they them their theirs this these those".split()
)  # fmt: skip
FREE = PRESENT | PAST | POINTS_BACK | frozenset("a an the and of in at be been being that also".split())
# What rules over all that stands with it: such a statement is joined with no other.
ALONE = frozenset(
    """
    if unless because since when whenever while until although though except besides so therefore otherwise instead but
    questioned
    """.split()
)
# What may rule over the words that follow: nothing is joined behind such a statement.
RULES_ON = frozenset(
    """
    not no never none neither nor without nobody nothing hardly barely only might may could should would will must can
    shall perhaps maybe probably possibly likely think thinks thought believe believes believed say says said tell
    tells told claim claims claimed guess guesses assume assumes assumed report reports reported suspect suspects
    suspected hope hopes hoped deny denies denied plan plans planned want wants wanted expect expects
    expected propose proposes proposed suggest suggests suggested
    """.split()
)
# What rules from the beginning of a statement: it must begin one where it began one.
LEADS = ALONE | frozenset(
    "before after only all every each some most few any none no first last then perhaps maybe probably".split()
)
CONTRACTED = {
    "can't": "can not", "cannot": "can not", "cant": "can not", "won't": "will not", "wont": "will not",
    "shan't": "shall not", "dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not",
    "wasnt": "was not", "werent": "were not", "wouldnt": "would not", "couldnt": "could not",
    "shouldnt": "should not", "hasnt": "has not", "havent": "have not", "hadnt": "had not",
}  # fmt: skip
# Signs that say as much as a word.
SIGNS = {
    "<": "lessthan", ">": "greaterthan", "\u2264": "atmost", "\u2265": "atleast", "\u2260": "unequal",
    "\u00b1": "plusminus", "\u2192": "becomes", "~": "roughly", "?": "questioned",
}  # fmt: skip
