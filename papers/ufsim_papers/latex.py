"""A data frame as a table of LaTeX, for a paper's own style."""

import pandas as pd

# What LaTeX would read as something else.
SPECIAL = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def latex(frame: pd.DataFrame) -> str:
    """A `tabular` with rules of booktabs; numbers have four digits that count."""
    named = frame.reset_index() if frame.index.name or frame.index.dtype == object else frame
    columns = "".join("r" if pd.api.types.is_numeric_dtype(kind) else "l" for kind in named.dtypes)
    rows = [" & ".join(map(cell, row)) for row in named.itertuples(index=False)]
    head = " & ".join(map(cell, named.columns))
    lines = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", rf"{head} \\", r"\midrule"]
    return "\n".join([*lines, *(rf"{row} \\" for row in rows), r"\bottomrule", r"\end{tabular}", ""])


def cell(value: object) -> str:
    """A value as LaTeX reads it."""
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return "--"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "".join(SPECIAL.get(char, char) for char in str(value))
