// The style of what stands on a page: figures, tables and the classes that the pictures use.
// Colours are variables, which the page (page_style.cpp) or whoever shows a part of one
// (plan_pictures.cpp) sets.
#include "report/page.hpp"

namespace tessera::report {

std::string_view content_style() {
  return R"css(figure { margin: 18px 0 22px; padding: 18px; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 10px; }
figcaption { color: var(--soft); font-size: 14px; line-height: 1.5; margin-top: 12px; max-width: 84ch; }
.scroll { overflow-x: auto; }
.side-by-side { display: grid; grid-template-columns: repeat(auto-fit, minmax(270px, 1fr)); gap: 22px; }
.side-by-side.narrow { grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); }
figure svg { display: block; width: 100%; height: auto; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 12px 0 0; padding: 0;
  font-size: 13.5px; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: 7px; }
figure svg.swatch, .swatch { width: 14px; height: 14px; flex: none; }
table { border-collapse: collapse; font-size: 14px; width: 100%; margin: 8px 0 18px; }
th { color: var(--soft); font-weight: 500; text-align: left; white-space: nowrap; }
th, td { padding: 6px 18px 6px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
th.n, td.n { text-align: right; white-space: nowrap; }
details { margin: 10px 0 18px; }
summary { cursor: pointer; color: var(--accent); }
pre { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; padding: 12px 14px;
  overflow-x: auto; font: 13.5px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans",
  sans-serif; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg text.strong { fill: var(--ink); font-weight: 600; }
svg text.ink { fill: var(--ink); }
svg text.big { font-size: 14px; }
svg text.on { fill: #14161a; font-size: 11.5px; pointer-events: none; }
svg text.on-whole { fill: var(--ink); font-size: 11.5px; pointer-events: none; }
svg text.middle { text-anchor: middle; }
svg text.end { text-anchor: end; }
svg text.accent { fill: var(--accent); }
svg text.warm { fill: var(--warm); }
svg text.halo { paint-order: stroke; stroke: var(--panel); stroke-width: 4px; stroke-linejoin: round; }
.t0 { fill: var(--t0); } .t1 { fill: var(--t1); } .t2 { fill: var(--t2); } .t3 { fill: var(--t3); }
.t4 { fill: var(--t4); } .t5 { fill: var(--t5); } .t6 { fill: var(--t6); } .t7 { fill: var(--t7); }
.whole-0 { fill: var(--whole-0); } .whole-1 { fill: var(--whole-1); }
.idle { fill: var(--idle); }
.grid { stroke: var(--rule); stroke-width: 1; fill: none; }
.axis { stroke: var(--soft); stroke-width: 1; fill: none; }
.mark { stroke: var(--ink); stroke-width: 1.25; stroke-dasharray: 4 3; fill: none; }
.hand-over { stroke: var(--ink); stroke-width: 0.9; fill: none; opacity: 0.55; pointer-events: none; }
.hand-over.thick { stroke-width: 1.8; opacity: 0.85; }
.hand-over-end { fill: var(--ink); opacity: 0.75; pointer-events: none; }
.roof { stroke: var(--ink); stroke-width: 2; fill: none; stroke-linejoin: round; }
.roof-area { fill: var(--idle); }
.roof-cache { stroke: var(--soft); stroke-width: 1.25; stroke-dasharray: 5 4; fill: none; }
.step { stroke: var(--accent); stroke-width: 1.5; fill: none; stroke-dasharray: 2 4; stroke-linecap: round; }
.point { fill: var(--accent); stroke: var(--panel); stroke-width: 2; }
.point-measured { fill: var(--warm); stroke: var(--panel); stroke-width: 2; }
.dot { fill: var(--accent); opacity: 0.6; }
.dot-warm { fill: var(--warm); opacity: 0.75; }
.first-wave { fill: var(--accent); }
.touched { fill: var(--warm); }
.tile { fill: var(--whole-1); }
.walk { stroke: var(--panel); stroke-width: 1.5; fill: none; stroke-linejoin: round; stroke-linecap: round;
  opacity: 0.85; pointer-events: none; }
.outline { stroke: var(--soft); stroke-width: 1; fill: none; }
.chosen { stroke: var(--accent); stroke-width: 2; fill: none; }
.loading { fill: var(--accent-soft); stroke: var(--accent); stroke-width: 0.75; }
.waiting { fill: var(--whole-1); }
.multiplying { fill: var(--accent); }
.over { fill: var(--warm); }
.free { fill: var(--idle); stroke: var(--rule); }
.bar { fill: var(--accent); } .bar-slow { fill: var(--warm); }
.data-wait { fill: var(--ink); opacity: 0.55; pointer-events: none; }
.adding { fill: var(--warm); pointer-events: none; }
.legend-hand-over { fill: none; stroke: var(--ink); stroke-width: 2; }
.predicted { fill: none; stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 2; pointer-events: none; }
svg.lit .item, svg.lit .hand-over, svg.lit .hand-over.thick { stroke-width: 1.8; opacity: 0.85; }
.hand-over-end { opacity: 0.25; }
svg.lit .lit { opacity: 1; }
@media (max-width: 600px) {
  figure { padding: 12px; margin-left: -4px; margin-right: -4px; }
}
@media print { figure { break-inside: avoid; } }
)css";
}

}  // namespace tessera::report
