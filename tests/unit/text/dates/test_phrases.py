"""The days that a question names, asked on Wednesday, 16 August 2023."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import moments, some_examples

from scrubjay.text.dates.phrases import date_words, find_dates
from scrubjay.text.dates.spans import DateSpan

TODAY = datetime(2023, 8, 16, 15, 30, tzinfo=UTC)
_WORDS = (
    "last this next the a in of since between and from to may march May spring fall monday week weekend month year "
    "days ago 3 7th 31 february 2023 99999 0 12 2023-05-07 2023-13-40 31/02/2023 q1 early - , . : \n first half 1e9 "
    "christmas couple few past yesterday 9999 9999-12-31 december january eve new year's back until"
).split(" ")
expressions = st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)
# No word of it looks like a time.
idle_text = st.text(st.sampled_from("bcxyz ,;é茶🎉\n"), max_size=40)

CASES = """
today: 2023-08-16
tonight: 2023-08-16
this morning: 2023-08-16
at 10:30 yesterday: 2023-08-15
yesterday's meeting: 2023-08-15
last night: 2023-08-15
tomorrow: 2023-08-17
the day before yesterday: 2023-08-14
the day after tomorrow: 2023-08-18
the other day: 2023-08-09 2023-08-16 range
last week: 2023-08-07 2023-08-14 week
this week: 2023-08-14 2023-08-21 week
next week: 2023-08-21 2023-08-28 week
last month: 2023-07-01 2023-08-01 month
earlier this month: 2023-08-01 2023-09-01 month
last year: 2022-01-01 2023-01-01 year
next year: 2024-01-01 2025-01-01 year
last weekend: 2023-08-12 2023-08-14 weekend
this weekend: 2023-08-19 2023-08-21 weekend
over the weekend: 2023-08-12 2023-08-14 weekend
last Monday: 2023-08-14
last Wednesday: 2023-08-09
on Monday: 2023-08-14
on wednesday: 2023-08-16
on Friday night: 2023-08-11
this Friday: 2023-08-18
next Friday: 2023-08-18
next Wednesday: 2023-08-23
last fri: 2023-08-11
Friday of last week: 2023-08-11
last week on Friday: 2023-08-11
3 days ago: 2023-08-13
a week ago: 2023-08-06 2023-08-13 week
two weeks ago: 2023-07-30 2023-08-06 week
a month ago: 2023-07-01 2023-08-01 month
three months back: 2023-05-01 2023-06-01 month
5 years ago: 2018-01-01 2019-01-01 year
a couple of weeks ago: 2023-07-30 2023-08-06 week
a few days ago: 2023-08-11 2023-08-15 range
several months ago: 2023-03-16 2023-06-17 range
a week from now: 2023-08-20 2023-08-27 week
in the last 10 days: 2023-08-06 2023-08-17 range
over the past two weeks: 2023-08-02 2023-08-17 range
in the past month: 2023-07-16 2023-08-17 range
during the last year: 2022-08-16 2023-08-17 range
the last few days: 2023-08-11 2023-08-17 range
the next 3 days: 2023-08-16 2023-08-20 range
since March: 2023-03-01 2023-08-17 range
since last week: 2023-08-07 2023-08-17 range
since 2020: 2020-01-01 2023-08-17 range
between May and July 2022: 2022-05-01 2022-08-01 range
between May and July: 2023-05-01 2023-08-01 range
between November and February: 2022-11-01 2023-03-01 range
Nov to Feb 2021: 2020-11-01 2021-03-01 range
from 3 to 7 May: 2023-05-03 2023-05-08 range
between 3 and 7 May: 2023-05-03 2023-05-08 range
3-7 May 2022: 2022-05-03 2022-05-08 range
May 3-7, 2022: 2022-05-03 2022-05-08 range
from May 2022 to July: 2022-05-01 2022-08-01 range
from 28 May to 3 June 2022: 2022-05-28 2022-06-04 range
from Monday to Tuesday: 2023-08-14 2023-08-16 range
2019-2021: 2019-01-01 2022-01-01 range
from 2019 to 2021: 2019-01-01 2022-01-01 range
in March: 2023-03-01 2023-04-01 month
in march: 2023-03-01 2023-04-01 month
in September: 2022-09-01 2022-10-01 month
in August: 2023-08-01 2023-09-01 month
last May: 2023-05-01 2023-06-01 month
last August: 2022-08-01 2022-09-01 month
this May: 2023-05-01 2023-06-01 month
next May: 2024-05-01 2024-06-01 month
in May 2021: 2021-05-01 2021-06-01 month
September, 2021: 2021-09-01 2021-10-01 month
early June: 2023-06-01 2023-06-11 range
mid-June: 2023-06-11 2023-06-21 range
late June 2022: 2022-06-21 2022-07-01 range
the end of last year: 2022-09-01 2023-01-01 range
the first week of June: 2023-06-01 2023-06-08 week
the 2nd week of June: 2023-06-08 2023-06-15 week
the last week of June: 2023-06-24 2023-07-01 week
the first Monday of May: 2023-05-01
the last Friday in June 2022: 2022-06-24
the last weekend of June: 2023-06-24 2023-06-26 weekend
the second half of 2022: 2022-07-02 2023-01-01 range
7 May 2023: 2023-05-07
May 7th, 2023: 2023-05-07
May 7 2023: 2023-05-07
May 7: 2023-05-07
dec 24th: 2022-12-24
Sept. 5: 2022-09-05
the 7th of May: 2023-05-07
Monday, 7 May 2022: 2022-05-07
the 4th of July: 2023-07-04
29 February: 2020-02-29
on the 7th?: 2023-08-07
on the 31st: 2023-07-31
2023-05-07: 2023-05-07
2023/05/07: 2023-05-07
2023-05-07T10:30:00Z: 2023-05-07
31/05/2023: 2023-05-31
05/31/2023: 2023-05-31
5/5/2023: 2023-05-05
31.12.2022: 2022-12-31
2023-05: 2023-05-01 2023-06-01 month
in 2021: 2021-01-01 2022-01-01 year
our 2021 trip: 2021-01-01 2022-01-01 year
before 2021: 2021-01-01 2022-01-01 year
Sarah's 2021 trip: 2021-01-01 2022-01-01 year
the year 2021: 2021-01-01 2022-01-01 year
in June's 2021 plan: 2021-01-01 2022-01-01 year
last June's trip: 2023-06-01 2023-07-01 month
in July's report: 2023-07-01 2023-08-01 month
the 1990s: 1990-01-01 2000-01-01 range
summer 2022: 2022-06-01 2022-09-01 season
in the summer: 2023-06-01 2023-09-01 season
last summer: 2022-06-01 2022-09-01 season
last winter: 2022-12-01 2023-03-01 season
in the fall of 2021: 2021-09-01 2021-12-01 season
last spring: 2023-03-01 2023-06-01 season
Q1 2024: 2024-01-01 2024-04-01 quarter
2024 Q1: 2024-01-01 2024-04-01 quarter
Q4: 2022-10-01 2023-01-01 quarter
last quarter: 2023-04-01 2023-07-01 quarter
the first quarter of 2022: 2022-01-01 2022-04-01 quarter
last Christmas: 2022-12-25
Christmas 2021: 2021-12-25
Christmas Eve: 2022-12-24
New Year's Eve: 2022-12-31
Halloween: 2022-10-31
Valentine's Day: 2023-02-14
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_the_days_of_a_question_are_found(case: str) -> None:
    phrase, _, days = case.rpartition(": ")
    start, *rest = days.split()
    first = datetime.fromisoformat(start).replace(tzinfo=UTC)
    last = datetime.fromisoformat(rest[0]).replace(tzinfo=UTC) if rest else first + timedelta(1)
    expected = (DateSpan(first, last, rest[1] if rest else "day"),)
    assert find_dates(f"What did Anna say {phrase}", today=TODAY) == expected
    assert find_dates(phrase, today=TODAY) == expected
    assert find_dates(phrase.replace("'", "\u2019"), today=TODAY) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "Where does Anna live?", "may I ask", "you may go", "this may help", "May I?", "what may be",
        "march on Rome", "they march", "a second time", "in a second", "the sun", "Spring Boot", "in Spring Boot",
        "a spring in the clock", "the fall of Rome", "did I fall", "What did April say to June?", "I met Jan",
        "on Mondays", "3.11", "v2023", "python 3.11.2", "555-2023", "+1 555 010 2023", "call 555 010 2023", "$2023",
        "#2023", "@may", "2000 dollars", "port 2048", "2,023", "10:30", "7 am", "5 years", "every 3 days",
        "on the 7th floor", "the 3rd time", "half an hour", "may.py", "2023.txt", "https://example.com/2023/05",
        "abc2023", "an hour ago", "07/05/2023", "one or two", "last", "the first half", "new year's resolutions",
        "iPhone 2020", "Blade Runner 2049", "the iPhone 2020, 2021", "Cyberpunk 2020 and 2021", "Area 2000 in Rome",
        "In June's opinion", "by April's bike", "after August's party", "Anna's end",
        "between", "from", "since", "early", "mid-", "sat in",
    ],
)  # fmt: skip
def test_expressions_that_only_look_like_days_are_ignored(text: str) -> None:
    assert find_dates(text, today=TODAY) == ()


@pytest.mark.parametrize(
    "text",
    [
        "31 February", "31 February 2023", "February 30", "30 february, 2020", "2023-13", "2023-13-01", "2023-02-30",
        "32 May", "0 May", "31/02/2023", "7 May 99999", "in 99999", "year 10000", "99999999999 days ago",
        "9999 years ago", "0 days ago", "7 May 0000", "0000-01-01", "9999-12-31",
    ],
)  # fmt: skip
def test_a_day_of_no_calendar_is_nothing(text: str) -> None:
    assert find_dates(text, today=TODAY) == ()


def test_several_days_are_returned_in_order_and_once() -> None:
    spans = find_dates("Was it in June 2021 or on 7 May 2022, or in June 2021?", today=TODAY)
    assert [span.start.date() for span in spans] == [date(2021, 6, 1), date(2022, 5, 7)]


def test_of_several_years_all_count_or_none() -> None:
    spans = find_dates("Was it in 2019, 2020 or 2021?", today=TODAY)
    assert [span.start.year for span in spans] == [2019, 2020, 2021]
    assert [span.start.year for span in find_dates("I wonder:\n2020?\niPhone 2021", today=TODAY)] == [2020]


def test_today_is_that_of_utc() -> None:
    late = datetime(2023, 8, 16, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert [span.start.date() for span in find_dates("today", today=late)] == [date(2023, 8, 17)]


def test_this_winter_is_the_one_that_began_last_year() -> None:
    (span,) = find_dates("this winter", today=datetime(2024, 1, 20, tzinfo=UTC))
    assert (span.start.date(), span.end.date()) == (date(2023, 12, 1), date(2024, 3, 1))


@pytest.mark.parametrize("year", [1, 9999])
def test_the_ends_of_time(year: int) -> None:
    for text in ("yesterday tomorrow", "last week, next month", "last century in May", "this winter", "the past year"):
        for number, of_month in ((1, 1), (12, 31)):
            find_dates(text, today=datetime(year, number, of_month, tzinfo=UTC))


@given(st.text(max_size=80) | expressions, moments)
@some_examples
def test_any_text_has_spans_that_are_well_formed(text: str, today: datetime) -> None:
    for span in find_dates(text, today=today):
        assert span.start < span.end
        assert span.exact in {"day", "weekend", "week", "month", "quarter", "season", "year", "range"}
        for moment in (span.start, span.end):
            assert (moment.tzinfo, moment.hour, moment.minute) == (UTC, 0, 0)


@given(idle_text, expressions, idle_text)
@some_examples
def test_the_words_around_do_not_matter(before: str, text: str, after: str) -> None:
    assert find_dates(f"{before}\n{text}\n{after}", today=TODAY) == find_dates(f"\n{text}\n", today=TODAY)


def test_days_are_sought_at_the_beginning_of_a_long_text() -> None:
    assert len(find_dates("yesterday " + "last may 3 to " * 50_000, today=TODAY)) <= 8
    assert find_dates("x " * 50_000 + "yesterday", today=TODAY) == ()


def test_a_day_in_words_is_understood_again() -> None:
    for offset in range(0, 800, 17):
        moment = TODAY.replace(hour=0, minute=0) - timedelta(offset)
        assert find_dates(date_words(moment), today=TODAY) == (DateSpan(moment, moment + timedelta(1), "day"),)
    assert date_words(datetime(2023, 5, 7, 13, 0, tzinfo=UTC)) == "7 May 2023"
