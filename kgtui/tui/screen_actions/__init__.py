"""The actions of the main screen: one table from action id to key, help text, availability and function.

`table` joins the actions of all sections; keys, footer, help, command palette and the README's key table are generated
from it. To add an action, write its function and its `Action` into the module of its section: `navigation` (Move and
Find), `view`, `replay` (actions that need a recording, or lead to one), `group` (Act) or `program`.

This package imports the parts of the screen, but neither the main screen nor the app, because these two import this
package.
"""
