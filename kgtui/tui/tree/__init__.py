"""The tree of groups: a line-API widget that stays fluid with 100,000 of them.

`forest` arranges a snapshot into nodes, `order` sorts the groups of a node, `totals` adds up lag, `layout` knows which
row is what, `draw` writes a row, `widget` puts it on the screen. All but `widget` and `draw` are pure, and every pass
over many groups is a generator that yields at each slice, so that the widget can let the event loop breathe.
"""
