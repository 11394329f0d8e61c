"""The progress of a job in a terminal or a notebook."""

from __future__ import annotations

import html
import sys
import time
from typing import Any, Union

from cleave import v1
from cleave._options import enum_word

# Short jobs show nothing.
_QUIET_SECONDS = 1.0
_PAUSE_SECONDS = 0.2


def describe(progress: v1.Progress) -> str:
    """Returns what a job is doing, in one line."""
    phase = enum_word(v1.Phase.DESCRIPTOR, progress.phase) or "starting"
    parts = [progress.message or phase]
    if progress.HasField("k"):
        parts.append(f"k = {progress.k.k} of {progress.k.min}..{progress.k.max}")
    if progress.HasField("method_tried"):
        tried = progress.method_tried
        parts.append(f"trying {enum_word(v1.Space.DESCRIPTOR, tried.method.space)}, fold {tried.fold} of {tried.folds}")
    if progress.HasField("solver"):
        solver = progress.solver
        parts.append(f"eigenvectors: step {solver.step}, {solver.converged} of {solver.wanted} converged")
    if progress.phase == v1.PHASE_BUILDING and progress.tiles:
        parts.append(f"{progress.tiles_built} of {progress.tiles} tiles")
    if progress.phase == v1.PHASE_ITERATING and progress.iteration:
        parts.append(f"iteration {progress.iteration}, objective {progress.objective:.6g}, {progress.moved} moved")
    return "; ".join(parts)


def _display() -> Any:
    """Returns the display function of a notebook, or None outside of one."""
    shell = sys.modules.get("IPython")
    if shell is None or type(shell.get_ipython()).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display

    return display


class Progress:
    """Shows the progress of a job on standard error, or below the cell of a notebook.

    Args:
        verbose: True or False, or "auto": only in a terminal or a notebook, and only for jobs that take a second or longer.
    """

    def __init__(self, verbose: Union[bool, int, str]) -> None:
        self._display = _display() if verbose else None
        self._terminal = bool(verbose) and self._display is None and (verbose != "auto" or sys.stderr.isatty())
        self._shown = time.monotonic() - _PAUSE_SECONDS
        if verbose == "auto":
            self._shown += _QUIET_SECONDS
        self._began = time.monotonic()
        self._handle: Any = None
        self._width = 0

    def __call__(self, item: v1.WatchJobResponse) -> None:
        if not item.HasField("progress") or time.monotonic() - self._shown < _PAUSE_SECONDS:
            return
        self.show(f"{time.monotonic() - self._began:.0f} s: {describe(item.progress)}")

    def show(self, text: str) -> None:
        self._shown = time.monotonic()
        if self._display is not None:
            shown = {"text/html": f"<pre>{html.escape(text)}</pre>", "text/plain": text}
            if self._handle is None:
                self._handle = self._display(shown, raw=True, display_id=True)
            else:
                self._handle.update(shown, raw=True)
        elif self._terminal:
            line = "cleave: " + text
            sys.stderr.write("\r" + line.ljust(self._width)[:200])
            sys.stderr.flush()
            self._width = min(len(line), 200)

    def close(self) -> None:
        """Removes what was shown."""
        if self._handle is not None:
            self._handle.update({"text/html": "", "text/plain": ""}, raw=True)
        elif self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
