"""How the page looks, in light and in dark."""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark; --back: #ffffff; --card: #f6f7f9; --text: #1c2128; --faint: #59636e; --rule: #d4d9df;
  --error: #b3261e; --warn: #8a5a00; --note: #2f5fa8; --one: #2f5fa8; --two: #2f7d3b; --three: #b3541e; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171c; --card: #1d2229; --text: #e4e8ee; --faint: #9aa5b1; --rule: #353d47;
    --error: #ff8a80; --warn: #f0b84a; --note: #8ab4f8; --one: #8ab4f8; --two: #7fcf8b; --three: #ffab70; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
p { margin: .3rem 0; overflow-wrap: anywhere; }
.about, .when, .next, footer, figcaption { color: var(--faint); } .when { font-weight: normal; }
.note { border-left: 4px solid var(--warn); padding-left: .7rem; }
nav { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; }
.tile { border: 1px solid var(--rule); border-radius: 6px; padding: .3rem .7rem; color: var(--faint);
  text-decoration: none; }
.tile.error { border-color: var(--error); color: var(--error); }
.tile.warn { border-color: var(--warn); color: var(--warn); }
.tile.note { border-color: var(--note); color: var(--note); }
article { background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: .8rem 1rem;
  margin: .7rem 0; }
.badge { font-size: .75rem; border: 1px solid; border-radius: 4px; padding: 0 .35rem; text-transform: uppercase; }
.badge.error { color: var(--error); } .badge.warn { color: var(--warn); } .badge.note { color: var(--note); }
code { font-size: .85rem; background: var(--back); border: 1px solid var(--rule); border-radius: 4px; padding: 0 .3rem;
  overflow-wrap: anywhere; }
figure { margin: .6rem 0; } figcaption { font-size: .8rem; } svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--faint); font: 11px system-ui, sans-serif; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .mark { stroke: var(--error); stroke-width: 1; stroke-dasharray: 4 3; }
svg polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.one { stroke: var(--one); } .two { stroke: var(--two); } .three { stroke: var(--three); }
.span.error { fill: var(--error); } .span.warn { fill: var(--warn); }
.key { border-bottom: 3px solid; margin-left: .7rem; } .key.one { border-color: var(--one); }
.key.two { border-color: var(--two); } .key.three { border-color: var(--three); }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--faint); font-size: .85rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; margin: .4rem 0; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
footer { margin-top: 2.5rem; font-size: .85rem; overflow-wrap: anywhere; }
@media print { article { break-inside: avoid; } }
"""
