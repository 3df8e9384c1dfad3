// The pages' style sheet: every colour, for light and for dark, and the type.
#include "report/page.hpp"

namespace tessera::report {

std::string_view page_style() {
  return R"css(:root {
  --paper: #faf9f6; --panel: #ffffff; --ink: #1c2028; --soft: #5a6170; --rule: #dfdcd4;
  --accent: #24599e; --accent-soft: #d5e3f5; --warm: #b4501e; --warm-soft: #f6dccb;
  --good: #2c7a58; --whole-0: #c9ced6; --whole-1: #dde1e7; --idle: #f1efe9;
  --t0: #5b8ac4; --t1: #e2a04f; --t2: #5fa887; --t3: #cf6f74; --t4: #8d7fc0; --t5: #bfa53a;
  --t6: #62a9bd; --t7: #b0835f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14161a; --panel: #1b1e24; --ink: #e5e7eb; --soft: #9ca4b2; --rule: #343a45;
    --accent: #82b0f2; --accent-soft: #263c5b; --warm: #eb9a68; --warm-soft: #523322;
    --good: #6cc49b; --whole-0: #4a515d; --whole-1: #3b414b; --idle: #22262d;
    --t0: #5f8ec9; --t1: #d4984d; --t2: #5da183; --t3: #c86b71; --t4: #8f82c4; --t5: #b39b3c;
    --t6: #5ea0b3; --t7: #a9805f;
  }
}
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }
body { margin: 0; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  "Liberation Sans", sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 1040px; margin: 0 auto; padding: 40px 20px 72px; }
header { border-bottom: 1px solid var(--rule); padding-bottom: 18px; margin-bottom: 26px; }
h1 { font-size: 30px; line-height: 1.2; font-weight: 650; letter-spacing: -0.01em; margin: 0 0 6px; }
h2 { font-size: 21px; line-height: 1.3; font-weight: 650; margin: 52px 0 8px; }
p { max-width: 70ch; margin: 0 0 14px; }
.subtitle { color: var(--soft); margin: 0; }
.note { color: var(--soft); font-size: 14px; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 1px;
  margin: 0 0 8px; background: var(--rule); border: 1px solid var(--rule); border-radius: 10px;
  overflow: hidden; }
.facts div { background: var(--panel); padding: 12px 16px; }
.facts dt { color: var(--soft); font-size: 13px; }
.facts dd { margin: 2px 0 0; font-size: 20px; font-weight: 600; line-height: 1.3; }
.facts small { display: block; color: var(--soft); font-size: 13px; font-weight: 400; }
figure { margin: 18px 0 22px; padding: 18px; background: var(--panel); border: 1px solid var(--rule);
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
#tip { position: fixed; z-index: 1; max-width: min(340px, 90vw); padding: 9px 12px; border-radius: 7px;
  background: var(--ink); color: var(--paper); font-size: 13px; line-height: 1.45;
  white-space: pre-line; pointer-events: none; box-shadow: 0 4px 18px rgb(0 0 0 / 0.25); }
#tip[hidden] { display: none; }
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
  main { padding: 24px 14px 48px; }
  h1 { font-size: 24px; }
  figure { padding: 12px; margin-left: -4px; margin-right: -4px; }
  h2 { margin-top: 40px; }
  .facts { grid-template-columns: 1fr 1fr; }
  .facts dd { font-size: 17px; }
}
@media print { figure, .facts { break-inside: avoid; } }
)css";
}

}  // namespace tessera::report
