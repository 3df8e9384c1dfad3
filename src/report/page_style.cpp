// The pages' style sheet: every colour, for light and for dark, and the type. What a page holds is
// styled in content_style.cpp.
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
#tip { position: fixed; z-index: 1; max-width: min(340px, 90vw); padding: 9px 12px; border-radius: 7px;
  background: var(--ink); color: var(--paper); font-size: 13px; line-height: 1.45;
  white-space: pre-line; pointer-events: none; box-shadow: 0 4px 18px rgb(0 0 0 / 0.25); }
#tip[hidden] { display: none; }
@media (max-width: 600px) {
  main { padding: 24px 14px 48px; }
  h1 { font-size: 24px; }
  h2 { margin-top: 40px; }
  .facts { grid-template-columns: 1fr 1fr; }
  .facts dd { font-size: 17px; }
}
@media print { .facts { break-inside: avoid; } }
)css";
}

}  // namespace tessera::report
