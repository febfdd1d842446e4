/**
 * Sentences of a text that is too long for the model, by the browser's rules and the commonest abbreviations of
 * `aiayn_keras/documents/sentence_ends.py`.
 */

const LETTER = /\p{L}/u;
const ABBREVIATION = /(?<![\p{L}\p{N}])(?:Mr|Mrs|Ms|Dr|Prof|Rev|Mt|St|Sra?|Srta|Hr|Fr|vs|e\.g|i\.e|p\.ej|z\.B|d\.h|\p{Lu})\.\s*$/u;
const BEFORE_NUMBER = /(?<!\p{L})(?:[Nn]o|Nr|pp?|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.\s*$/u;
const NUMBER = /^\s*\p{N}/u;
const SPEECH = /[!?]["'”’»)]+\s*$/u; // it goes on in small letters, as it may after a dash
const SMALL = /^\s*\p{Ll}/u;
const DASH = /^\s*[—–]\s*\p{Ll}/u;
const LAID_OUT = /^(\s*(?:(?:[-*+•–—#>]+|\(?\d{1,3}[.)])\s+)*)(.*?)(\s*)$/su; // bullets and numbers are no words
const LINE_ENDS = /[\n\r\u2028\u2029]$/u;
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}\s\u3000-\u303f\uff01-\uff65]/u;

/**
 * Splits a text.
 * @returns {string[]} In turn what is between sentences, perhaps empty, and sentences, each with a letter: of odd length,
 *   and joined the text.
 */
export function sentencesOf(text) {
  const parts = [""];
  for (const segment of joined(segments(text))) {
    if (!LETTER.test(segment)) {
      parts.push(parts.pop() + segment);
      continue;
    }
    const [, before, sentence, after] = LAID_OUT.exec(segment);
    parts.push(parts.pop() + before, sentence, after);
  }
  return parts;
}

/** Joins translations in the places of sentences; between two that have spaces between words there is one. */
export function join(parts, translations) {
  let whole = parts[0];
  translations.forEach((translation, place) => {
    const [sentence, between, next] = parts.slice(2 * place + 1);
    const isTight = between === "" && next !== undefined && place + 1 < translations.length;
    const needsSpace = isTight && isSpaced(translation, translations[place + 1]) && !isSpaced(sentence, next);
    whole += translation + between + (needsSpace ? " " : "");
  });
  return whole;
}

const isSpaced = (left, right) => ![[...left].at(-1) ?? " ", [...right].at(0) ?? " "].some((character) => WITHOUT_SPACES.test(character));

function* segments(text) {
  for (const line of text.split(/(?<=[\n\r\u2028\u2029])/u)) {
    for (const { segment } of new Intl.Segmenter("en", { granularity: "sentence" }).segment(line)) yield segment;
  }
}

/** Joins what the browser cuts: a sentence after `Mr.`, and before `he said`. */
function* joined(found) {
  let whole = "";
  for (const segment of found) {
    if (whole && !goesOn(whole, segment)) {
      yield whole;
      whole = "";
    }
    whole += segment;
  }
  if (whole) yield whole;
}

function goesOn(whole, next) {
  if (LINE_ENDS.test(whole)) return false;
  if (ABBREVIATION.test(whole) || DASH.test(next)) return true;
  return (BEFORE_NUMBER.test(whole) && NUMBER.test(next)) || (SPEECH.test(whole) && SMALL.test(next));
}
