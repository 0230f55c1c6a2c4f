"""Reads config.toml of a training study; whatever is not as asked for is named by file and key."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from analysis.config import Table, open_table, read_metric
from analysis.curves_options import option_names, switch_options
from analysis.study_options import check_named_once, take_options
from analysis.training_config import (
    COLUMNS,
    HOWS,
    SERIES,
    Alternatives,
    BarsPanel,
    Case,
    CaseTable,
    CurvesPanel,
    CurveValue,
    Fit,
    Panel,
    Picture,
    Quantity,
    Setting,
    SlackPanel,
    SmsPanel,
    TrainingConfig,
    TrainingMetric,
    Unknown,
    Value,
)

_OPTIONS_OF_THE_STUDY = frozenset({"--model", "--sm-timeline", "--slack", "--print-model"})
_COLUMNS = tuple(COLUMNS)


def _options(table: Table) -> tuple[str, ...]:
    return take_options(table, "options", _OPTIONS_OF_THE_STUDY)


def _optional_of(table: Table, key: str, names: Collection[str]) -> str | None:
    return table.take_one_of(key, tuple(names)) if key in table.unread() else None


def _columns(table: Table) -> tuple[str, ...]:
    columns = table.take_list("columns", str)
    for column in columns:
        if column not in COLUMNS:
            raise table.fail("columns", f"names of columns, not '{column}'")
    return columns


def _optional_tables(table: Table, key: str) -> list[Table]:
    return table.take_tables(key) if key in table.unread() else []


def _read_sweep(table: Table, first_seed: int) -> Iterator[Case]:
    """Its cases: every system at every point."""
    name = table.take("name", str)
    model = table.take_optional("model", str)
    systems = table.take_list("systems", str)
    options = _options(table)
    seeds = table.take_optional("seeds", int) or 1
    if seeds < 1:
        raise table.fail("seeds", "1 or more")
    for entry in table.take_tables("point"):
        point = entry.take("name", str)
        own = entry.take_optional("model", str) or model
        if own is None:
            raise entry.fail("model", "one here or for the whole sweep")
        words = switch_options(options, _options(entry))
        entry.done()
        for system in systems:
            yield Case(
                sweep=name,
                point=point,
                model=own,
                system=system,
                options=words,
                seeds=tuple(range(first_seed, first_seed + seeds)),
            )
    table.done()


class _Reader:
    """What refers to cases."""

    def __init__(self, cases: dict[str, Case]) -> None:
        self._cases = cases
        self._sweeps = tuple(dict.fromkeys(case.sweep for case in cases.values()))
        # Curves by panel: what a number may be read off.
        self._curves: dict[str, tuple[str, ...]] = {}

    def _case(self, table: Table, key: str = "case") -> str:
        return table.take_one_of(key, tuple(self._cases))

    def quantity(self, table: Table) -> Quantity:
        if "panel" in table.unread():
            panel = table.take_one_of("panel", tuple(self._curves))
            curve = table.take_one_of("curve", self._curves[panel])
            return CurveValue(panel, curve, table.take("at", float))
        value = Value(
            case=self._case(table),
            column=table.take_one_of("column", _COLUMNS),
            over=_optional_of(table, "over", self._cases),
            how=table.take_one_of("how_over", HOWS) if "how_over" in table.unread() else "gain",
        )
        if value.how != "gain" and value.over is None:
            raise table.fail("over", f"a case, as there is a {value.how}")
        return value

    def panel(self, table: Table) -> Panel:
        kind = table.take_one_of("kind", ("bars", "curves", "sms", "slack"))
        name, title = table.take("name", str), table.take("title", str)
        panel: Panel
        if kind == "sms":
            panel = SmsPanel(
                name=name,
                title=title,
                case=self._case(table),
                begin_ms=table.take_optional("begin_ms", float) or 0.0,
                end_ms=table.take_optional("end_ms", float),
            )
            if panel.end_ms is not None and not 0.0 <= panel.begin_ms < panel.end_ms:
                raise table.fail("begin_ms", "0 <= begin_ms < end_ms")
        elif kind == "slack":
            panel = self._slack_panel(table, name, title)
        else:
            panel = self._sweep_panel(table, kind, name, title)
        table.done()
        return panel

    def _slack_panel(self, table: Table, name: str, title: str) -> SlackPanel:
        cases = table.take_list("cases", str)
        for case in cases:
            if case not in self._cases:
                raise table.fail("cases", f"names of cases, not '{case}'")
        typical = table.take_list("typical_ms", float)
        if len(typical) != 2 or typical[0] >= typical[1]:
            raise table.fail("typical_ms", "two times, the lower one first")
        shown_ms = table.take("shown_ms", float)
        return SlackPanel(name, title, cases, (typical[0], typical[1]), shown_ms)

    def _sweep_panel(self, table: Table, kind: str, name: str, title: str) -> Panel:
        sweep = table.take_one_of("sweep", self._sweeps)
        series = table.take_one_of("series", SERIES)
        column = table.take_one_of("column", _COLUMNS)
        reference = _optional_of(table, "reference", self._cases)
        if kind == "bars":
            return BarsPanel(name, title, sweep, series, column, reference)
        of_sweep = [case for case in self._cases.values() if case.sweep == sweep]
        self._curves[name] = tuple(
            dict.fromkeys(getattr(case, series) for case in of_sweep)
        )
        x = table.take_one_of("x", _COLUMNS)
        return CurvesPanel(name, title, sweep, series, x, column, reference)

    def picture(self, table: Table) -> Picture:
        name = table.take("name", str)
        # A picture's own curves can be read off in its sentence.
        panels = tuple(self.panel(entry) for entry in table.take_tables("panel"))
        sentence = table.take("sentence", str)
        values: dict[str, Quantity] = {}
        given = table.take_table("values") if "values" in table.unread() else None
        for key in given.unread() if given else ():
            assert given is not None
            entry = given.take_table(key)
            values[key] = self.quantity(entry)
            entry.done()
        try:
            sentence.format(**dict.fromkeys(values, 1.0))
        except (KeyError, IndexError, ValueError) as error:
            raise table.fail("sentence", f"names of [values] in braces only ({error})") from None
        table.done()
        return Picture(name, sentence, values, panels)

    def table(self, table: Table) -> CaseTable:
        found = CaseTable(
            title=table.take("title", str),
            text=table.take("text", str),
            sweep=table.take_one_of("sweep", self._sweeps),
            columns=_columns(table),
        )
        table.done()
        return found

    def metric(self, table: Table) -> TrainingMetric:
        quantity = self.quantity(table)
        metric = read_metric(table)
        cases = quantity.cases() if isinstance(quantity, Value) else ()
        options = {name for case in cases for name in option_names(self._cases[case].options)}
        for name in metric.fitted_by:
            if name.startswith("--") and name not in options:
                raise table.fail("fitted_by", f"options that the case has, not '{name}'")
        return TrainingMetric(metric, quantity)

    def fit(self, table: Table) -> Fit:
        name, case = table.take("name", str), self._case(table)
        unknowns = []
        for entry in table.take_tables("unknown"):
            unknown = Unknown(
                keys=entry.take_list("keys", str),
                column=entry.take_one_of("column", ("tflops_per_gpu", "forward_ms", "backward_ms")),
                target=entry.take("target", float),
            )
            if unknown.target <= 0.0:
                raise entry.fail("target", "more than 0")
            entry.done()
            unknowns.append(unknown)
        table.done()
        return Fit(name, case, tuple(unknowns))

    def alternatives(
        self, table: Table, metrics: list[TrainingMetric], fits: dict[str, Fit]
    ) -> Alternatives:
        known = {f"{entry.metric.id}/{entry.metric.metric}": entry for entry in metrics}
        names = table.take_list("rows", str)
        for name in names:
            if name not in known or not isinstance(known[name].quantity, Value):
                raise table.fail("rows", f"id/metric of rows that are read off cases, not '{name}'")
        fit_of_all = _optional_of(table, "fit", fits)
        settings = []
        for entry in table.take_tables("setting"):
            setting = Setting(
                name=entry.take("name", str),
                options=_options(entry),
                model=entry.take_optional("model", str),
                fit=_optional_of(entry, "fit", fits) or fit_of_all,
            )
            entry.done()
            settings.append(setting)
        check_named_once(table, "setting", [setting.name for setting in settings])
        group = Alternatives(
            title=table.take("title", str),
            text=table.take("text", str),
            rows=tuple(known[name] for name in names),
            case=self._case(table),
            columns=_columns(table),
            settings=tuple(settings),
        )
        table.done()
        return group


def _read_cases(table: Table, seed: int) -> dict[str, Case]:
    listed = [case for entry in table.take_tables("sweep") for case in _read_sweep(entry, seed)]
    check_named_once(table, "sweep", [case.name for case in listed])
    return {case.name: case for case in listed}


def load_training_config(path: Path) -> TrainingConfig:
    """Raises InputError naming file and key."""
    table = open_table(path)
    seed = table.take("seed", int)
    cases = _read_cases(table, seed)
    reader = _Reader(cases)
    pictures = [reader.picture(entry) for entry in table.take_tables("picture")]
    metrics = [reader.metric(entry) for entry in _optional_tables(table, "metric")]
    listed = [reader.fit(entry) for entry in _optional_tables(table, "fit")]
    check_named_once(table, "fit", [fit.name for fit in listed])
    fits = {fit.name: fit for fit in listed}
    alternatives = [
        reader.alternatives(entry, metrics, fits)
        for entry in _optional_tables(table, "alternatives")
    ]
    config = TrainingConfig(
        path=path,
        id=table.take("id", str),
        title=table.take("title", str),
        calibration=Path(table.take("calibration", str)),
        topology=table.take("topology", str),
        network=table.take("network", str),
        seed=seed,
        cases=cases,
        pictures=tuple(pictures),
        tables=tuple(reader.table(entry) for entry in _optional_tables(table, "table")),
        training_metrics=tuple(metrics),
        fits=fits,
        alternatives=tuple(alternatives),
    )
    check_named_once(table, "picture", [picture.name for picture in pictures])
    panels = [panel.name for picture in pictures for panel in picture.panels]
    check_named_once(table, "panel", panels)
    check_named_once(table, "alternatives", [group.title for group in alternatives])
    table.done()
    return config
