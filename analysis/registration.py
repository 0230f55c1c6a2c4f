"""Study: what registering memory costs, as recorded, beside what the paper says of it.

Reads experiments/registration/results, writes results/registration/{manifest.json, pictures} and a
section of results/report.html.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import style
from analysis.calibration import Calibration, load_calibration
from analysis.config import Table, open_table
from analysis.load import InputError
from analysis.manifest import commit, write_manifest
from analysis.registration_record import (
    AGAIN,
    CACHED,
    DEREGISTER,
    FIRST_TOUCH,
    Record,
    Spread,
    load_record,
)
from analysis.report import DataTable, Picture, render_manifest, write_section
from analysis.study_output import copy_pictures, render_plain_study, show_table
from analysis.style import plt
from analysis.units import format_size

NAME = "registration"
SOURCE = Path("experiments") / NAME
# The model's one time for any size.
_CONSTANT = "registration.latency"

# What is drawn: its label, colour and marker.
_SERIES = {
    FIRST_TOUCH: ("register, first touch", "#D55E00", "o"),
    AGAIN: ("register again", "#0072B2", "s"),
    DEREGISTER: ("deregister", "#009E73", "^"),
    CACHED: ("found in the cache", "#CC79A7", "D"),
}
_CLAIM_COLORS = ("#E69F00", "#777777")


@dataclasses.dataclass(frozen=True)
class PaperClaim:
    label: str
    where: str
    low_ms: float
    high_ms: float


@dataclasses.dataclass(frozen=True)
class RegistrationConfig:
    title: str
    record: str
    calibration: Path
    claims: tuple[PaperClaim, ...]


def _read_claim(table: Table) -> PaperClaim:
    claim = PaperClaim(
        label=table.take("label", str),
        where=table.take("where", str),
        low_ms=table.take("low_ms", float),
        high_ms=table.take("high_ms", float),
    )
    if not 0 < claim.low_ms < claim.high_ms:
        raise table.fail("high_ms", "more than low_ms, and that above 0")
    table.done()
    return claim


def load_registration_config(path: Path) -> RegistrationConfig:
    """Raises InputError naming file and key."""
    table = open_table(path)
    if table.take("id", str) != NAME:
        raise table.fail("id", NAME)
    config = RegistrationConfig(
        title=table.take("title", str),
        record=table.take("record", str),
        calibration=Path(table.take("calibration", str)),
        claims=tuple(_read_claim(entry) for entry in table.take_tables("claim")),
    )
    table.done()
    return config


def origin(record: Record) -> str:
    """In words that fit a title."""
    if record.emulated:
        return "measured in an emulated machine (Soft-RoCE)"
    return f"measured on {record.head['device']}"


def model_latency_ms(calibration: Calibration) -> float:
    """Raises InputError."""
    for constant in calibration.constants:
        if constant.name != _CONSTANT:
            continue
        try:
            return float(constant.value.removesuffix("ms"))
        except ValueError:
            raise InputError(
                f"{calibration.path}: {_CONSTANT} = '{constant.value}': expected milliseconds"
            ) from None
    raise InputError(f"{calibration.path}: {_CONSTANT} is missing")


def _draw_claims(axes: Axes, claims: Sequence[PaperClaim]) -> None:
    for claim, color in zip(claims, _CLAIM_COLORS, strict=False):
        axes.axhspan(
            claim.low_ms,
            claim.high_ms,
            color=color,
            alpha=0.25,
            linewidth=0,
            label=f'paper: "{claim.label}"',
        )


def _draw_series(axes: Axes, record: Record, what: str) -> None:
    label, color, marker = _SERIES[what]
    measured = [
        (size, spread)
        for size in record.sizes
        if (spread := record.spread(what, size)) is not None
    ]
    if not measured:
        return
    axes.errorbar(
        [size for size, _ in measured],
        [spread.median_us / 1e3 for _, spread in measured],
        yerr=(
            [(spread.median_us - spread.min_us) / 1e3 for _, spread in measured],
            [(spread.max_us - spread.median_us) / 1e3 for _, spread in measured],
        ),
        color=color,
        marker=marker,
        markersize=4,
        linewidth=1.2,
        elinewidth=0.8,
        capsize=2,
        label=f"measured: {label}",
    )


def draw(config: RegistrationConfig, record: Record, calibration: Calibration) -> Figure:
    figure, axes = plt.subplots(figsize=(7.6, 5.4))
    _draw_claims(axes, config.claims)
    latency_ms = model_latency_ms(calibration)
    axes.axhline(
        latency_ms,
        color=style.PAPER_COLOR,
        linestyle="--",
        linewidth=1,
        label=f"simulation's assumption: {latency_ms:g} ms for any size",
    )
    for what in _SERIES:
        _draw_series(axes, record, what)
    axes.set_yscale("log")
    axes.set_xscale("log", base=2)
    axes.set_xticks(record.sizes, [format_size(size) for size in record.sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("size of the memory")
    axes.set_ylabel("time (ms)")
    axes.set_title(f"{config.title}:\n{origin(record)}")
    figure.legend(loc="lower center", bbox_to_anchor=(0.5, 0.065), ncols=3, fontsize=7)
    n = sorted({spread.n for size in record.sizes if (spread := record.spread(AGAIN, size))})
    style.caption(
        figure,
        f"Measured: {record.head['device']}; {record.head['host']}. Median of n = "
        f"{' or '.join(str(count) for count in n)}, bars from fastest to slowest.\n"
        f"Simulation: {calibration.label}.",
    )
    figure.tight_layout(rect=(0, 0.18, 1, 1))
    return figure


def _cell(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    return (
        f"{spread.median_us / 1e3:.3g} [{spread.min_us / 1e3:.3g}, {spread.max_us / 1e3:.3g}]"
    )


def results_table(config: RegistrationConfig, record: Record) -> DataTable:
    claims = "; ".join(claim.label for claim in config.claims)
    places = "; ".join(dict.fromkeys(claim.where for claim in config.claims))
    label = "emulated" if record.emulated else "measured"
    emulated = "".join(f" Emulated: {line}." for line in record.emulated)
    rows: list[tuple[str | float, ...]] = [
        (
            format_size(size),
            *(_cell(record.spread(what, size)) for what in _SERIES),
            claims,
        )
        for size in record.sizes
    ]
    return DataTable(
        title=f"Time to register, in ms ({label})",
        text=(
            f"{record.head['device']}; {record.head['host']}; {record.head['date']}.{emulated} "
            "Median [fastest, slowest]. First: memory that nobody has touched; again: the same "
            "memory, with its pages; cached: a further buffer of a registered allocation. Huge "
            f"pages: {record.head['huge pages']}. The paper ({places}) names no size."
        ),
        columns=("size", "first", "again", "deregister", "cached", "paper"),
        rows=rows,
    )


def study(
    program: Path,
    results: Path,
    update_figures: bool,
    progress: Callable[[str], None],
    source: Path = SOURCE,
) -> None:
    """The whole of it; nothing is run. Raises InputError."""
    config = load_registration_config(source / "config.toml")
    record = load_record(source / "results" / config.record)
    calibration = load_calibration(config.calibration)
    folder = results / NAME
    svg, _ = style.save(draw(config, record, calibration), folder / f"{NAME}.svg")
    picture = Picture(svg, f"Time to register memory, by size: {origin(record)}.")
    table = results_table(config, record)
    kind = "emulated" if record.emulated else "measured"
    manifest: dict[str, object] = {
        "study": NAME,
        "kind": kind,
        "commit": commit(),
        "record": {"file": record.path.as_posix(), "sha256": record.sha256, **record.head},
        "emulated": list(record.emulated),
        "calibration": {"file": calibration.path.as_posix(), "sha256": calibration.sha256},
        "commands": [record.head["command"]],
    }
    write_manifest(folder / "manifest.json", manifest)
    title = f"{config.title} ({'measured, emulated' if record.emulated else 'measured'})"
    section = render_plain_study(NAME, title, [picture], [table], render_manifest(manifest))
    page = write_section(results, NAME, section)
    show_table(table)
    progress(f"{kind}; picture in {svg}, section in {page}")
    if update_figures:
        copy_pictures([picture], source)
