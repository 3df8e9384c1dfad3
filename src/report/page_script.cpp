// The pages' script: hovering (or touching) an element with a tip shows it, and lights up
// everything that belongs to the same output tile.
#include "report/page.hpp"

namespace tessera::report {

std::string_view page_script() {
  return R"js("use strict";
(() => {
  const tip = document.getElementById("tip");
  let lit = null;
  const light = (element) => {
    const svg = element ? element.closest("svg") : null;
    const tile = element ? element.dataset.tile : undefined;
    if (lit && (lit.svg !== svg || lit.tile !== tile)) {
      lit.svg.classList.remove("lit");
      lit.svg.querySelectorAll(".lit").forEach((part) => part.classList.remove("lit"));
      lit = null;
    }
    if (svg && tile !== undefined && !lit) {
      svg.classList.add("lit");
      svg.querySelectorAll(`[data-tile="${tile}"]`).forEach((part) => part.classList.add("lit"));
      lit = { svg, tile };
    }
  };
  const show = (event) => {
    const element = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    light(element);
    tip.hidden = !element;
    if (!element) return;
    tip.textContent = element.dataset.tip;
    const gap = 14;
    const box = tip.getBoundingClientRect();
    const right = event.clientX + gap + box.width > innerWidth;
    const below = event.clientY + gap + box.height > innerHeight;
    tip.style.left = Math.max(4, right ? event.clientX - gap - box.width : event.clientX + gap) + "px";
    tip.style.top = Math.max(4, below ? event.clientY - gap - box.height : event.clientY + gap) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => { tip.hidden = true; light(null); }, true);
})();
)js";
}

}  // namespace tessera::report
