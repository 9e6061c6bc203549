"""Times by the calendar: against a plain walk over the minutes, across changes of the clocks, and what is refused."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import ConfigError
from dragoman.fleet import Calendar, zone_here
from tests.examples import examples

BERLIN = ZoneInfo("Europe/Berlin")


def seconds(text: str, zone: datetime.tzinfo = BERLIN) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def times(cron: str, after: str, number: int = 3) -> list[str]:
    calendar, moment, found = Calendar(cron, "Europe/Berlin"), seconds(after), []
    for _ in range(number):
        moment = calendar.after(moment)
        found.append(datetime.datetime.fromtimestamp(moment, BERLIN).strftime("%a %Y-%m-%d %H:%M%z"))
    return found


@pytest.mark.parametrize(
    "cron, after, expected",
    [
        ("0 9 * * mon-fri", "2026-11-20 09:00", ["Mon 2026-11-23 09:00+0100", "Tue 2026-11-24 09:00+0100"]),
        ("*/20 8-9 * * *", "2026-11-20 09:05", ["Fri 2026-11-20 09:20+0100", "Fri 2026-11-20 09:40+0100"]),
        ("@monthly", "2026-11-20 09:05", ["Tue 2026-12-01 00:00+0100", "Fri 2027-01-01 00:00+0100"]),
        ("0 0 29 feb *", "2026-11-20 09:05", ["Tue 2028-02-29 00:00+0100", "Sun 2032-02-29 00:00+0100"]),
        # Both days are restricted: one of them is enough.
        ("0 12 13 * fri", "2026-11-10 00:00", ["Fri 2026-11-13 12:00+0100", "Fri 2026-11-20 12:00+0100"]),
        ("0 0 * * 7", "2026-11-20 09:05", ["Sun 2026-11-22 00:00+0100", "Sun 2026-11-29 00:00+0100"]),
        ("0 0 * * fri-sun", "2026-11-20 09:05", ["Sat 2026-11-21 00:00+0100", "Sun 2026-11-22 00:00+0100"]),
        # The clocks were put forward at 02:00 and back at 03:00.
        ("30 2 * * *", "2026-03-28 03:00", ["Sun 2026-03-29 03:30+0200", "Mon 2026-03-30 02:30+0200"]),
        ("30 2 * * *", "2026-10-24 03:00", ["Sun 2026-10-25 02:30+0200", "Mon 2026-10-26 02:30+0100"]),
        ("30 * * * *", "2026-10-25 02:00", ["Sun 2026-10-25 02:30+0200", "Sun 2026-10-25 02:30+0100"]),
    ],
)
def test_times_come_in_order(cron: str, after: str, expected: list[str]) -> None:
    assert times(cron, after, len(expected)) == expected


FIELDS = st.tuples(
    *(
        st.one_of(
            st.just("*"),
            st.integers(low, high).map(str),
            st.integers(2, 7).map(lambda step: f"*/{step}"),
            st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda two: f"{min(two)}-{max(two)}"),
        )
        for low, high in ((0, 59), (0, 23), (1, 28), (1, 12), (0, 6))
    )
)


@examples(60)
@given(FIELDS, st.integers(0, 2_000_000_000))
def test_no_minute_between_that_fits_is_passed_over(fields: tuple[str, ...], moment: int) -> None:
    calendar = Calendar(" ".join(fields), "UTC")
    found = calendar.after(moment)
    assert found > moment
    assert found % 60 == 0

    def fits(at: float) -> bool:
        time = datetime.datetime.fromtimestamp(at, datetime.UTC)
        values = (time.minute, time.hour, time.day, time.month, time.isoweekday() % 7)
        lows = (0, 0, 1, 1, 0)
        minute, hour, day, month, weekday = (
            _matches(field, value, low) for field, value, low in zip(fields, values, lows, strict=True)
        )
        either = fields[2][0] != "*" and fields[4][0] != "*"
        return minute and hour and month and ((day or weekday) if either else (day and weekday))

    assert fits(found)
    first = moment - moment % 60 + 60
    assert not any(fits(at) for at in range(first, min(int(found), first + 3 * 86_400), 60))


def _matches(field: str, value: int, low: int) -> bool:
    if field == "*":
        return True
    if field.startswith("*/"):
        return (value - low) % int(field[2:]) == 0
    first, _, last = field.partition("-")
    return int(first) <= value <= int(last or first)


@pytest.mark.parametrize(
    "cron, message",
    [
        ("", "is no schedule: write minute, hour"),
        ("0 9 * *", "is no schedule: write minute, hour"),
        ("60 9 * * *", 'the minute is 0 to 59, not "60"'),
        ("0 9 * * monday", 'the day of the week is 0 to 7, or sun to sat, not "monday"'),
        ("0 17-9 * * *", "in the hour, 17 comes after 9"),
        ("*/0 * * * *", '"/0" in the minute is no step'),
        ("0 0 31 2 *", "is a schedule without a time: no year has such a day"),
    ],
)
def test_what_is_no_schedule_is_said(cron: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Calendar(cron, "UTC")
    assert message in str(raised.value)


def test_a_zone_is_one_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for zone in ("Europe/Nowhere", "../etc/passwd", ""):
        with pytest.raises(ConfigError, match="there is no time zone"):
            Calendar("@daily", zone)
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert zone_here() == "Europe/Berlin"
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")  # a rule is no name
    assert zone_here() == "UTC"
