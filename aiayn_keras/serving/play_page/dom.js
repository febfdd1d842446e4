/** Small helpers for elements. Strings become text, never markup. */

export const element = (id) => document.getElementById(id);

export function node(name, properties = {}, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

/** Items of a list of pieces with their ids. */
export const piecesList = (pieces) =>
  pieces.map(({ piece, id }) => node("li", {}, node("bdi", {}, piece), node("small", {}, String(id))));

/** Writes a text that screen readers read out, unless it is there already: they would say it again. */
export function says(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/** Shows what went wrong, or nothing. */
export function saysProblem(place, error) {
  place.hidden = !error;
  says(place, error ? error.message : "");
}

/** A probability that is not broken over two lines. */
export function percent(probability) {
  if (probability > 0 && probability < 0.00005) return "<\u00a00.01\u00a0%";
  return `${(100 * probability).toFixed(probability < 0.0995 ? 2 : 1)}\u00a0%`;
}

/** A number with three digits and a minus sign that is as wide as a plus. */
export const signed = (number) => number.toFixed(3).replace("-", "−");
