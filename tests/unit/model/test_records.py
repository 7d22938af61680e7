"""Properties of the records."""

from datetime import timedelta

from tests.fakes.build import START, a_memory

from scrubjay.model.memory import Source
from scrubjay.model.passage import PASSAGES_PER_MEMORY, passage_id
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.results import Check, DoctorReport
from scrubjay.model.version import Version


def test_the_date_of_a_memory_is_that_of_its_source() -> None:
    earlier = START - timedelta(days=3)
    assert a_memory("x", created_at=START, source=Source(at=earlier)).date == earlier
    assert a_memory("x", created_at=START).date == START


def test_a_memory_is_called_by_its_title_else_its_name() -> None:
    assert a_memory("x", title="Coffee", name="coffee-1").label == "Coffee"
    assert a_memory("x", name="coffee-1").label == "coffee-1"


def test_an_edge_is_known_by_its_ends_and_type_alone() -> None:
    link = Relation(source="a", target="b", created_at=START)
    assert link.type == LINK
    assert link.key == Relation(source="a", target="b", created_at=START, text="other", strength=1.0).key
    assert link.key != Relation(source="b", target="a", created_at=START).key
    assert link.key != Relation(source="a", target="b", created_at=START, type="knows").key


def test_a_version_is_on_the_branch_of_its_memory() -> None:
    memory = a_memory("x", branch="draft")
    assert Version(number=1, memory=memory, parent=None, action="created", created_at=START).branch == "draft"


def test_a_doctor_report_is_ok_when_every_check_is() -> None:
    passing, failing = Check(name="store", ok=True, detail=""), Check(name="index", ok=False, detail="")
    assert DoctorReport().ok
    assert DoctorReport(checks=(passing,)).ok
    assert not DoctorReport(checks=(passing, failing)).ok


def test_the_number_of_a_passage_gives_its_memory_and_its_place() -> None:
    assert divmod(passage_id(7, 3), PASSAGES_PER_MEMORY) == (7, 3)
    assert passage_id(7, PASSAGES_PER_MEMORY - 1) < passage_id(8, 0)
