"""Side panel of an HTML animation: clock, plots, and a time cursor."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from quirk.errors import InputError
from quirk.result import pose_interpolation as in_between
from quirk.result.curves import Curve
from quirk.result.joint_views import FREE
from quirk.result.named_quantities import curves

if TYPE_CHECKING:
    from quirk.result.result import Result

# Maximum number of joint coordinates that are plotted by default.
MOST_JOINTS = 3
# Width of the plots, total height of the margins, and height of each axes, inches.
WIDTH, AROUND, HEIGHT = 3.9, 0.6, 1.6
STYLE = {"font.size": 8.0, "lines.linewidth": 1.1, "savefig.transparent": True}
# Number of significant digits of displayed values.
DIGITS = 5

CSS = """
body { --panel: 400px }
#root { position: absolute; left: 0; top: 0; width: calc(100vw - var(--panel)); height: 100vh; transform: none;
  overflow: hidden }
#root > div { width: 100% !important; height: 100% !important }
.mantine-Paper-root .mantine-NumberInput-root { display: none }
#quirk { position: absolute; right: 0; top: 0; width: var(--panel); height: 100vh; padding: 10px;
  box-sizing: border-box; overflow-y: auto; font: 14px sans-serif; background: white; color: #222;
  border-left: 1px solid #ddd }
#quirk.dark { background: #1a1b1e; color: #ddd; border-color: #444 }
#quirk.dark svg { filter: invert(0.87) hue-rotate(180deg) }
#quirk-clock { font-size: 18px; font-variant-numeric: tabular-nums }
#quirk-plot { position: relative; margin-top: 8px }
#quirk-plot svg { width: 100%; height: auto; display: block }
#quirk-cursor { position: absolute; width: 0; border-left: 1.5px solid #cc3311; pointer-events: none }
#quirk td { padding: 1px 10px 1px 0; font-variant-numeric: tabular-nums }
@media (max-width: 700px) { body { --panel: 0px } #quirk { width: auto; height: auto; right: auto; left: 0;
  background: none; border: none; pointer-events: none } #quirk-plot, #quirk table { display: none } }
"""
SCRIPT = """
(() => {
  const data = DATA;
  const clock = document.getElementById("quirk-clock"), cursor = document.getElementById("quirk-cursor");
  const cells = [...document.querySelectorAll("#quirk td.value")];
  let shown = -1;
  const follow = () => {
    requestAnimationFrame(follow);
    const slider = document.querySelector('[role="slider"][aria-valuemax]');
    const watched = slider ? parseFloat(slider.getAttribute("aria-valuenow")) : 0;
    const k = Math.max(0, Math.min(data.times.length - 1, Math.floor(watched * data.fps + 0.5)));
    if (k === shown) return;
    shown = k;
    const t = data.times[k];
    clock.textContent = "t = " + t.toFixed(data.decimals) + " s";
    const part = (t - data.low) / (data.high - data.low);
    if (cursor) cursor.style.left = 100 * (data.left + (data.right - data.left) * part) + "%";
    cells.forEach((cell, number) => { cell.textContent = data.values[number][k]; });
  };
  const go = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const input = document.querySelector(".mantine-NumberInput-input");
    const part = ((event.clientX - box.left) / box.width - data.left) / (data.right - data.left);
    const t = data.low + (data.high - data.low) * part;
    const k = data.times.reduce((best, one, k) => Math.abs(one - t) < Math.abs(data.times[best] - t) ? k : best, 0);
    // React hears of a value that is set by the setter of the element's class.
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, String(k / data.fps));
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const plot = document.getElementById("quirk-plot");
  if (plot) plot.addEventListener("click", go);
  follow();
})();
"""


def checked_plots(result: Result, plots: Any) -> list[Curve]:
    """Return the quantities to be plotted in the panel; default: a few joint coordinates, or energies."""
    if plots is None:
        return [curve for name in _usual(result) for curve in curves("to_html", result, name)]
    names = [plots] if isinstance(plots, str) else plots
    if not isinstance(names, list | tuple):
        raise InputError(f'to_html: plots must be names of quantities, such as "hinge.angle"; got {plots!r}')
    return [curve for name in names for curve in curves("to_html", result, name)]


def _usual(result: Result) -> list[str]:
    joints = [c for c in result.system.constraints if c not in result.system.companions]
    free = [joint.name for joint in joints if any(getattr(joint, axis, None) is not None for axis in FREE.values())]
    return free[:MOST_JOINTS] or [f"energy.{kind}" for kind in ("kinetic", "potential", "total")]


def with_panel(page: str, result: Result, times: np.ndarray, fps: float, plotted: Sequence[Curve], dark: bool) -> str:
    """Return the HTML page of viser with the panel added.

    `times` (nt,) are the times of the animation frames, s, `fps` is the number of frames per second, `plotted` are the
    plotted quantities, and `dark` states whether the page is dark.
    """
    values = [in_between.linear(result, curve.values[:, None], times)[:, 0] for curve in plotted]
    step = float(np.diff(times[:2])[0]) if len(times) > 1 else 1.0
    data: dict[str, Any] = {
        "times": [float(f"{t:.12g}") for t in times],
        "fps": fps,
        "decimals": int(np.clip(np.ceil(-np.log10(step)), 1, 12)),
        "values": [[f"{x:.{DIGITS}g}" for x in row] for row in values],
    }
    plot = ""
    if plotted and len(times) > 1:
        picture, borders = _svg(result, plotted)
        data |= borders
        top, height = 100 * borders["top"], 100 * (borders["bottom"] - borders["top"])
        cursor = f'<div id="quirk-cursor" style="top: {top:.3f}%; height: {height:.3f}%"></div>'
        plot = f'<div id="quirk-plot">{picture}{cursor}</div>'
    rows = "".join(
        f'<tr><td>{html.escape(curve.name)}</td><td class="value"></td><td>{_plain(curve.unit)}</td></tr>'
        for curve in plotted
    )
    clock = f'<div id="quirk-clock">t = {times[0]:.{data["decimals"]}f} s</div>'
    shade = ' class="dark"' if dark else ""
    panel = f'<div id="quirk"{shade}>{clock}{plot}<table>{rows}</table></div>'
    script = SCRIPT.replace("DATA", json.dumps(data).replace("</", "<\\/"), 1)
    head, tail = page.rsplit("</body>", 1)
    width = "" if plotted else "<style>body { --panel: 130px }</style>"
    return f"{head}<style>{CSS}</style>{width}{panel}<script>{script}</script></body>{tail}"


def _svg(result: Result, plotted: Sequence[Curve]) -> tuple[str, dict[str, float]]:
    """Return an SVG plot of quantities over time, and the position of its axes.

    The position is given as fractions of the plot size, together with the limits of the time axis, s.
    """
    rows = len({curve.unit for curve in plotted})
    figure = result.plot.quantity(
        *((curve.name, curve.values, curve.unit) for curve in plotted),
        size=(WIDTH, AROUND + HEIGHT * rows),
        style=STYLE,
    )
    try:
        with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "quirk"}):
            file = io.StringIO()
            figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
        boxes = [ax.get_position() for ax in figure.axes]
        low, high = figure.axes[-1].get_xlim()
    finally:
        plt.close(figure)
    # The XML header contains network addresses, which pages must not have.
    text = re.sub(r"<metadata>.*?</metadata>", "", file.getvalue(), flags=re.DOTALL)
    borders = {"left": boxes[-1].x0, "right": boxes[-1].x1, "low": low, "high": high}
    borders |= {"top": 1 - boxes[0].y1, "bottom": 1 - boxes[-1].y0}
    return text[text.index("<svg") :], {name: float(value) for name, value in borders.items()}


def _plain(unit: str) -> str:
    return unit.replace("$^2$", "²").replace("$^3$", "³").replace("$^4$", "⁴")
