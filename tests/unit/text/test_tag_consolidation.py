"""The consolidation of tags: which tags become one, and the order that it brings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.tags.consolidate import plan_tags, tag_entropy
from scrubjay.text.tags.synonyms import Synonyms

WORDS = ("deploy", "script", "garden", "fence", "auth", "login", "k8s", "kubernetes")
TAGS = st.builds(
    "{}{}{}".format, st.sampled_from(WORDS), st.sampled_from(("", "-", "_")), st.sampled_from((*WORDS, "s"))
)


def test_spellings_and_synonyms_become_the_tag_in_use() -> None:
    counts = {"deploy-script": 5, "deploy_scripts": 2, "Deploy-Script": 1, "fences": 1, "railing": 3, "garden": 4}
    plan = plan_tags(counts, synonyms=Synonyms(own={"fences": ("railing",)}))
    assert plan.replaced == {"railing": "fences", "deploy_scripts": "deploy-script", "Deploy-Script": "deploy-script"}
    assert plan.after == {"deploy-script": 8, "fences": 4, "garden": 4}
    before, after = plan.entropies
    assert before > after
    assert plan.apply(("railing", "deploy_scripts", "fences", "new")) == ("fences", "deploy-script", "new")


@pytest.mark.parametrize(
    ("counts", "own", "replaced"),
    [
        ({"k8s": 1, "kubernetes": 3, "garden": 2}, {}, {"k8s": "kubernetes"}),
        ({"k8s": 3, "kubernetes": 1}, {}, {"kubernetes": "k8s"}),
        ({"k8s": 2, "kubernetes": 2}, {}, {"k8s": "kubernetes"}),
        ({"k8s": 1, "kubernetes": 3}, {"clusters": ("k8s",)}, {"k8s": "clusters"}),
        ({"k8s": 1, "kubernetes": 3}, {"clusters": ("kubernetes",)}, {"kubernetes": "clusters"}),
    ],
)
def test_names_of_one_thing_become_the_one_in_use_as_a_write_does(
    counts: dict[str, int], own: dict[str, tuple[str, ...]], replaced: dict[str, str]
) -> None:
    assert plan_tags(counts, synonyms=Synonyms(own=own)).replaced == replaced


@pytest.mark.parametrize(("counts", "bits"), [({}, 0.0), ({"a": 7}, 0.0), ({"a": 2, "b": 2}, 1.0), ({"a": 0}, 0.0)])
def test_entropy_counts_the_questions_that_a_tag_answers(counts: dict[str, int], bits: float) -> None:
    assert tag_entropy(counts) == pytest.approx(bits)


@given(st.dictionaries(TAGS, st.integers(1, 9), max_size=20))
def test_a_consolidation_loses_no_use_adds_no_disorder_and_is_done_once(counts: dict[str, int]) -> None:
    plan = plan_tags(counts, synonyms=Synonyms())
    assert sum(plan.after.values()) == sum(counts.values())
    assert plan.entropies[1] <= plan.entropies[0] + 1e-9
    assert plan_tags(plan.after, synonyms=Synonyms()).clusters == ()
