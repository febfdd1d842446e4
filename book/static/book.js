"use strict";

/* Frames follow the height of the pages in them, which say it themselves. */
const MAX_HEIGHT = 4000;

window.addEventListener("message", ({ source, data }) => {
  if (!Number.isFinite(data?.height)) return;
  for (const frame of document.querySelectorAll("iframe")) {
    if (frame.contentWindow !== source) continue;
    frame.style.height = `${Math.min(Math.max(data.height, 100), MAX_HEIGHT)}px`;
  }
});
