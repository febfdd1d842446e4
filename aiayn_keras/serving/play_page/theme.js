/** The button for light and dark, whose choice the browser keeps. */

import { element } from "./dom.js";

const NAME = "aiayn-keras theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const inUse = () => document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");

function kept() {
  try { return localStorage.getItem(NAME); } catch { return null; } // the browser may forbid it
}

function keep(theme) {
  try { localStorage.setItem(NAME, theme); } catch { /* a reload forgets it */ }
}

function show() {
  element("theme").textContent = inUse() === "dark" ? "Light theme" : "Dark theme";
}

export function offerThemes() {
  const theme = kept();
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  element("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = inUse() === "dark" ? "light" : "dark";
    keep(inUse());
    show();
  });
  system.addEventListener("change", show);
  show();
}
