"""Drawings of layers with cells and arrows between them, as SVG that takes its colours from the page's style sheet."""

import textwrap
from dataclasses import dataclass, field
from html import escape

WIDTH = 420
MARGIN = 6
TITLE, TEXT = 13, 12
# Average width of a letter as a share of its height; text is broken a little early rather than late.
LETTER = 0.56


@dataclass(frozen=True)
class Cell:
    """A box in a layer. `focus` marks what the drawing is about."""

    title: str
    text: str = ""
    focus: bool = False
    share: float = 1.0


@dataclass(frozen=True)
class Layer:
    """A box as wide as the drawing, coloured by `kind`: host, link, device, flash."""

    kind: str
    title: str
    cells: tuple[Cell, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Arrows:
    """What goes down and what comes up between two layers."""

    down: str = ""
    up: str = ""


@dataclass
class Canvas:
    """SVG elements, and how far down they reach."""

    parts: list[str] = field(default_factory=list)
    y: float = MARGIN

    def box(self, x: float, y: float, width: float, height: float, fill: str, *, line: bool = True) -> None:
        """A rectangle in a colour of the style sheet."""
        stroke = "stroke:var(--draw-line);" if line else ""
        style = f"fill:var(--draw-{fill});{stroke}stroke-width:1"
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5" style="{style}"/>'
        )

    def text(self, x: float, y: float, text: str, *, size: int = TEXT, look: str = "", anchor: str = "start") -> None:
        """One line of text; `look` is a class, or `bold`."""
        weight = ' font-weight="600"' if "bold" in look else ""
        name = look.replace("bold", "").strip()
        shown = f' class="{name}"' if name else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{weight}{shown}>'
            f"{escape(text)}</text>"
        )

    def line(self, points: list[tuple[float, float]], *, head: bool = True, dashed: bool = False) -> None:
        """A line with an arrow's head at its end."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        style = "fill:none;stroke:var(--draw-line);stroke-width:1.5"
        self.parts.append(f'<polyline points="{path}" style="{style}"{dash}/>')
        if head:
            (x0, y0), (x, y) = points[-2:]
            length = max(((x - x0) ** 2 + (y - y0) ** 2) ** 0.5, 1e-9)
            dx, dy = (x - x0) / length, (y - y0) / length
            corners = [(x, y), (x - 7 * dx - 4 * dy, y - 7 * dy + 4 * dx), (x - 7 * dx + 4 * dy, y - 7 * dy - 4 * dx)]
            shape = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
            self.parts.append(f'<polygon points="{shape}" style="fill:var(--draw-line)"/>')

    def svg(self, title: str) -> str:
        """The drawing; `title` is what a screen reader says."""
        body = "\n".join(self.parts)
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.y + MARGIN:.0f}" role="img" xmlns="http://www.w3.org/2000/svg">'
            f"<title>{escape(title)}</title>\n{body}\n</svg>"
        )


def wrapped(text: str, width: float, size: int = TEXT) -> list[str]:
    """The lines of a text in a box of this width."""
    return textwrap.wrap(text, max(int(width / (LETTER * size)), 8))


def layers(*rows: Layer | Arrows) -> Canvas:
    """Layers from top to bottom."""
    canvas = Canvas()
    for row in rows:
        if isinstance(row, Layer):
            _layer(canvas, row)
        else:
            _arrows(canvas, row)
    return canvas


def _layer(canvas: Canvas, layer: Layer) -> None:
    inner = WIDTH - 2 * MARGIN - 16
    said = wrapped(layer.text, inner)
    gap = 8
    shares = sum(cell.share for cell in layer.cells)
    widths = [(inner - gap * (len(layer.cells) - 1)) * cell.share / shares for cell in layer.cells]
    lines = [
        (wrapped(cell.title, width - 14), wrapped(cell.text, width - 14))
        for cell, width in zip(layer.cells, widths, strict=True)
    ]
    cells = max((len(title) + len(text) for title, text in lines), default=0) * 15 + 12 if layer.cells else 0
    head = 24 + 15 * len(said)
    height = head + (cells + 8 if cells else 4)
    canvas.box(MARGIN, canvas.y, WIDTH - 2 * MARGIN, height, layer.kind)
    canvas.text(MARGIN + 8, canvas.y + 17, layer.title, size=TITLE, look="bold")
    for number, line in enumerate(said):
        canvas.text(MARGIN + 8, canvas.y + 34 + 15 * number, line, look="soft")
    x = MARGIN + 8.0
    for cell, width, (title, text) in zip(layer.cells, widths, lines, strict=True):
        top = canvas.y + head + 2
        canvas.box(x, top, width, cells, "focus" if cell.focus else "cell")
        for number, line in enumerate(title):
            canvas.text(x + 7, top + 16 + 15 * number, line, look="bold")
        for number, line in enumerate(text, len(title)):
            canvas.text(x + 7, top + 16 + 15 * number, line, look="soft")
        x += width + gap
    canvas.y += height


def _arrows(canvas: Canvas, arrows: Arrows) -> None:
    half = WIDTH / 2
    down, up = (wrapped(text, half - 40) for text in (arrows.down, arrows.up))
    height = max(15 * max(len(down), len(up), 1) + 12, 28)
    top, bottom = canvas.y + 3, canvas.y + height - 3
    for x, lines, ends in ((22, down, (top, bottom)), (half + 16, up, (bottom, top))):
        if lines:
            canvas.line([(x, ends[0]), (x, ends[1])])
            middle = canvas.y + height / 2 - 15 * (len(lines) - 1) / 2 + 4
            for number, line in enumerate(lines):
                canvas.text(x + 10, middle + 15 * number, line, look="soft")
    canvas.y += height
