"""One look for all figures, and how a figure is saved."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)
from matplotlib.figure import Figure  # noqa: E402

from analysis.files import replaced  # noqa: E402

__all__ = ["caption", "plt", "save"]

# Okabe and Ito's colours: told apart by colour-blind readers and in grey.
SYSTEM_COLORS = {
    "hoccl": "#0072B2",
    "nccl:4sm": "#E69F00",
    "nccl:8sm": "#D55E00",
    "nccl:zero": "#009E73",
    "vccl": "#CC79A7",
}
SYSTEM_MARKERS = {"hoccl": "o", "nccl:4sm": "s", "nccl:8sm": "^", "nccl:zero": "D", "vccl": "v"}
LEG_COLORS = {"stage_in": "#0072B2", "wire": "#D55E00", "deliver": "#009E73", "direct": "#0072B2"}
OTHER_COLOR = "#999999"
PAPER_COLOR = "#000000"

plt.rcParams.update(
    {
        "font.size": 9,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        # Glyphs as outlines: the same picture wherever it is opened, whatever fonts are there.
        "svg.fonttype": "path",
    }
)


def caption(figure: Figure, text: str) -> None:
    """In the lower left corner: where the numbers come from."""
    figure.text(0.005, 0.005, text, fontsize=7, color="#555555", ha="left", va="bottom")


def save(figure: Figure, path: Path) -> list[Path]:
    """Writes path.svg and path.png; equal figures give equal bytes. Closes the figure."""
    written = []
    for suffix, metadata in (
        (".svg", {"Date": None, "Creator": None}),
        (".png", {"Software": None}),
    ):
        target = path.with_suffix(suffix)
        # Ids inside an SVG are derived from the salt; one per picture, as a page holds several.
        with matplotlib.rc_context({"svg.hashsalt": path.stem}), replaced(target) as temporary:
            figure.savefig(temporary, dpi=150, metadata=metadata)
        written.append(target)
    plt.close(figure)
    return written
