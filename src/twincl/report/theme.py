"""Colours and letters of the figures, for a light and for a dark page."""

import warnings
from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

import matplotlib
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DPI = 200  # two pixels a CSS pixel: a figure of 5.6 inches is 560 CSS pixels wide

# Ten colours that stay apart for colour-blind eyes too (Petroff 2021, arXiv:2107.02270).
PALETTE = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"),
    *("#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"),
)

# Letters that DejaVu, which comes with matplotlib, does not have are taken from these where they are installed.
_FALLBACKS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Source Han Sans SC", "WenQuanYi Micro Hei"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Bengali", "Noto Sans Tamil", "Arial Unicode MS"),
)


class Theme(NamedTuple):
    """The colours of one variant; the page's own are the same."""

    paper: str
    ink: str
    muted: str
    grid: str
    trusted: str
    suspect: str


LIGHT = Theme("#ffffff", "#1d2127", "#59616c", "#e4e7ea", "#4a90c4", "#d1590a")
DARK = Theme("#1b1f24", "#e6e9ec", "#a5aeb8", "#343a41", "#5b9fd3", "#ef8a45")


class Plot(NamedTuple):
    """A figure that has not been drawn yet."""

    draw: Callable[[Figure, Theme], None]
    size: tuple[float, float]  # inches

    def png(self, theme: Theme) -> bytes:
        """Draw it in the colours of a theme."""
        with matplotlib.rc_context(_settings(theme)), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # the page itself has every letter
            figure = Figure(self.size, layout="constrained")
            FigureCanvasAgg(figure)
            self.draw(figure, theme)
            buffer = BytesIO()
            figure.savefig(buffer, format="png", dpi=DPI)
        return buffer.getvalue()


def _settings(theme: Theme) -> dict[Any, Any]:
    installed = set(font_manager.get_font_names())
    return {
        "font.family": ["DejaVu Sans", *(name for name in _FALLBACKS if name in installed)],
        "font.size": 9,
        "text.usetex": False,
        "text.parse_math": False,  # a class may be called $x$
        "text.color": theme.ink,
        "figure.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
        "savefig.edgecolor": "none",
        "savefig.bbox": None,
        "axes.facecolor": theme.paper,
        "axes.edgecolor": theme.grid,
        "axes.labelcolor": theme.muted,
        "axes.labelsize": 9,
        "axes.titlesize": 10,
        "axes.titlecolor": theme.ink,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": False,
        "grid.color": theme.grid,
        "grid.linewidth": 0.8,
        "xtick.color": theme.grid,
        "ytick.color": theme.grid,
        "xtick.labelcolor": theme.muted,
        "ytick.labelcolor": theme.muted,
        "legend.frameon": False,
        "legend.labelcolor": theme.ink,
        "legend.fontsize": 8.5,
        "lines.linewidth": 1.8,
    }
