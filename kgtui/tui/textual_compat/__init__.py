"""Workarounds for problems of Textual 8.2. Only this package uses private members of Textual.

Each workaround has a canary test in `tests/unit/tui`, with `unpatched` in its name. The test checks
that the installed version of Textual still has the problem. If the canary test fails, the
workaround can be deleted.

| Problem in Textual 8.2.8 | Workaround |
|---|---|
| Textual writes the full style before every run of cells with the same style. | `terminal_driver.shorten_sgr` |
| After a write error, Textual's thread that writes to the terminal ends, and kgtui hangs. | `terminal_driver` |
| If a key moves the focus, keys typed right after it still go to the previously focused widget. | `key_order` |
| A key passes through the message queue of every ancestor before its action runs. | `key_order.run_binding` |
| Input that is not UTF-8, or an unexpected escape sequence in the input, ends the program. | `terminal_driver` |
| A second click or key that dismisses a screen also removes the screen below it. | `ignored_input` |
| A key such as Down ends the program while the command palette has no list widget. | `ignored_input` |
| Page Up or Page Down ends the program if the list that has the focus has no size yet. | `ignored_input` |
| A search of the command palette ends the program if the palette is closed before the search ends. | `ignored_input` |
| In a terminal of 5 or 7 columns, a list ends the program, because its texts get a width of 0 cells. | `narrow_text` |
| If the worker of a completion is canceled before it begins, Python prints a warning. | `completion` |
| The traceback after a crash contains local variables, which may be passwords. | `crash_message` |
| Textual computes the styles of a widget again whenever the widget is refreshed. | `rendering.StyleCache` |
| A widget whose size has changed in a layout causes a second layout of the whole screen. | `rendering.NoRelayout` |
| A strip (rendered line) divided into one part refers to itself, so only garbage collection frees it. | `rendering` |
| If the number of lines of a scroll view changes, Textual lays out and repaints the whole screen. | `line_view` |
| plotext 5.3.2 limits plots to the terminal size that plotext has detected. | `plot_size` |

| module | contents |
|---|---|
| `terminal_driver` | a terminal driver that writes short frames and ignores invalid input |
| `key_order` | sends keys to the right widget in the typed order |
| `ignored_input` | ignores keys, clicks and search results while Textual cannot handle them |
| `narrow_text` | wraps text into lines of at least one cell |
| `completion` | an input field that completes the typed text without a worker |
| `crash_message` | a short message in place of Textual's traceback |
| `rendering` | base classes of widgets that cache styles or avoid a second layout; strips without reference cycles |
| `line_view` | a scroll view whose number of lines can change without a new layout of the screen |
| `plot_size` | creates plots without plotext's size limit |
"""
