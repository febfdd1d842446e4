"use strict";

const element = (id) => document.getElementById(id);
const numbered = (count) => Array.from({ length: count }, (_, index) => String(index + 1));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The page's data, JSON that no token can end. */
const readData = (id) => JSON.parse(element(id).textContent);

/** 16-bit whole numbers, lowest byte first. */
function decode(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Uint16Array(bytes.buffer);
}

/** An element with children; a string becomes text, never markup. */
function node(name, ...children) {
  const created = document.createElement(name);
  created.append(...children);
  return created;
}

/** The same with properties, such as a class. */
const styled = (name, properties, ...children) => Object.assign(node(name, ...children), properties);

function drawn(name, attributes) {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  return created;
}

/** Fills a fieldset with radio buttons, or checkboxes; it is hidden if there is nothing to choose. */
function choices(id, names, isChecked, choose, type = "radio") {
  const group = element(id);
  const focused = [...group.querySelectorAll("input")].indexOf(document.activeElement);
  group.hidden = names.length < 2;
  const labels = names.map((name, index) => {
    const input = styled("input", { type, name: id, checked: isChecked(index) });
    input.addEventListener("change", () => choose(index, input.checked));
    return styled("label", { className: "choice" }, input, node("span", name));
  });
  group.replaceChildren(group.querySelector("legend"), ...labels);
  if (focused >= 0) labels[type === "radio" ? names.findIndex((_, index) => isChecked(index)) : focused].firstChild.focus();
}

/** A number with a minus sign that is as wide as a plus. */
const signed = (number, digits = 2) => number.toFixed(digits).replace("-", "−");

/** Tells the page around a frame what it may want to know. */
function tell(news) {
  if (parent !== window) parent.postMessage(news, "*");
}

/** A page around this one can give its frame the height that is needed; two pixels are its border. */
function tellHeight() {
  new ResizeObserver(() => tell({ height: Math.ceil(document.body.getBoundingClientRect().height) + 2 })).observe(document.body);
}
