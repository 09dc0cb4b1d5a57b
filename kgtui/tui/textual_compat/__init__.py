"""Workarounds for Textual 8.2: every use of its private parts, and every behavior of it that kgtui replaces.

Each module names the Textual version in which the problem was last seen. `tests/unit/tui/test_textual_compat.py` has
one canary test per workaround, which fails as soon as Textual no longer has the problem, so that the workaround can go.

| Problem in Textual 8.2.8 | Workaround |
|---|---|
| It writes the full style before every run of cells. | `terminal_driver.shorten_sgr` |
| Its writer thread dies of the first error of the terminal, and the program then hangs. | `terminal_driver` |
| Keys that arrive in one burst reach the widget that had the focus before the first of them moved it. | `key_order` |
| A key is passed up through the queue of every ancestor before its binding runs. | `key_order.run_binding` |
| Its crash message prints local variables, which may hold passwords. | `crash_message` |
| Computed styles are forgotten whenever a widget is refreshed. | `rendering.StyleCache` |
| A new size of a widget causes a layout of the whole screen. | `rendering.NoRelayout` |
| A strip that is drawn whole refers to itself, which leaves work for the garbage collector. | `rendering` |
| A scroll view lays out and repaints the screen whenever its number of lines changes. | `line_view` |

Imports nothing of kgtui but `config`, `errors` and `output`.
"""
