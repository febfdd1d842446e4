/**
 * Wordpieces of a `tokenizer.json` as `aiayn-keras export onnx` writes it: normalization, BPE or
 * unigram, and byte fallback. What the file asks for beyond that is refused by name.
 */

const SPACE = "▁";
const BYTE = /^<0x([0-9A-F]{2})>$/;
const MAX_LETTERS = 20_000; // of a text; a model's positions end far below
const READING = ["utf-8", { ignoreBOM: true }]; // U+FEFF is a character like others, wherever it stands
const UNKNOWN_PENALTY = 10; // an unknown character is so much less likely than the rarest piece

export class Tokenizer {
  #steps; #ids; #pieces = []; #split; #prepends; #stripped; #byteFallback; #unknown; #ends; #special; #words = new Map();

  /** @param {object} json - The parsed file. */
  constructor(json) {
    const { model } = json;
    if (!["BPE", "Unigram"].includes(model?.type)) throw new Error(`tokenizer.json: a BPE or Unigram vocabulary is needed. Received: ${model?.type}.`);
    this.#steps = (json.normalizer?.normalizers ?? []).map(normalizationStep);
    if (json.pre_tokenizer?.type !== "Metaspace" || !json.pre_tokenizer.split) {
      throw new Error("tokenizer.json: words must be split at spaces (Metaspace).");
    }
    this.#prepends = json.pre_tokenizer.prepend_scheme === "always";
    // Spaces that are left out at the beginning of a translation, as many as the decoder says.
    const strip = json.decoder?.decoders?.find(({ type }) => type === "Strip");
    this.#stripped = new RegExp(`^ {0,${Number(strip?.start ?? (this.#prepends ? 1 : 0))}}`);
    const isBpe = model.type === "BPE";
    this.#ids = new Map(isBpe ? Object.entries(model.vocab) : model.vocab.map(([piece], id) => [piece, id]));
    for (const [piece, id] of this.#ids) this.#pieces[id] = piece;
    this.#byteFallback = model.byte_fallback;
    this.#special = new Set((json.added_tokens ?? []).map(({ id }) => id));
    const isInTexts = ([piece], id) => !this.#special.has(id) && !(this.#byteFallback && BYTE.test(piece));
    this.#split = isBpe ? merging(model.merges) : likeliest(model.vocab.filter(isInTexts));
    this.#unknown = isBpe ? this.#ids.get(model.unk_token) : model.unk_id;
    const ends = json.post_processor?.single?.filter((each) => each.SpecialToken) ?? [];
    this.#ends = ends.map(({ SpecialToken: { id } }) => {
      if (!this.#ids.has(id)) throw new Error(`tokenizer.json: the vocabulary lacks ${id}, with which texts end.`);
      return this.#ids.get(id);
    });
  }

  /** Number of tokens that follow the pieces of every source. */
  get numEnds() { return this.#ends.length; }

  get size() { return this.#pieces.length; }

  /** The wordpiece of an id. */
  piece(id) { return this.#pieces[id] ?? `<${id}>`; }

  isSpecial(id) { return this.#special.has(id); }

  /** Ids of a text, with the end token where sources have one. */
  encode(text) { return [...this.pieces(text), ...this.#ends]; }

  /** Ids of a text without any special token. */
  pieces(text) {
    if (text.length > MAX_LETTERS) throw new Error(`The text has ${text.length} letters; ${MAX_LETTERS} are allowed.`);
    const normalized = this.#steps.reduce((written, step) => step(written), text.replaceAll("\0", ""));
    if (!normalized) return [];
    const spaced = (this.#prepends && !normalized.startsWith(" ") ? SPACE : "") + normalized.replaceAll(" ", SPACE);
    const ids = spaced.split(/(?=▁)/u).flatMap((word) => this.#idsOfWord(word));
    // Neighbouring characters that are unknown are one token.
    return ids.filter((id, index) => id !== this.#unknown || ids[index - 1] !== this.#unknown);
  }

  /** The text of ids; special tokens are left out. */
  decode(ids) {
    const bytes = [];
    const encoder = new TextEncoder();
    for (const id of ids) {
      if (this.#special.has(id)) continue;
      const piece = this.piece(id);
      const byte = this.#byteFallback && BYTE.exec(piece);
      if (byte) bytes.push(parseInt(byte[1], 16));
      else for (const each of encoder.encode(piece)) bytes.push(each);
    }
    return new TextDecoder(...READING).decode(new Uint8Array(bytes)).replaceAll(SPACE, " ").replace(this.#stripped, "");
  }

  #idsOfWord(word) {
    const known = this.#words.get(word);
    if (known) return known;
    const ids = this.#split([...word]).flatMap((part) => this.#idsOf(part));
    if (this.#words.size < 5_000) this.#words.set(word, ids);
    return ids;
  }

  #idsOf(part) {
    if (this.#ids.has(part)) return [this.#ids.get(part)];
    if (!this.#byteFallback) return [this.#unknown];
    return [...new TextEncoder().encode(part)].map((byte) =>
      this.#ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
  }
}

/** Splits a word by merging the neighbours that were learned first (https://arxiv.org/abs/1508.07909). */
function merging(merges) {
  const ranks = new Map(merges.map((pair, rank) => [Array.isArray(pair) ? pair.join("\0") : pair.replace(" ", "\0"), rank]));
  return (characters) => {
    const parts = [...characters];
    for (;;) {
      let best = Infinity;
      let place = -1;
      for (let i = 0; i + 1 < parts.length; i += 1) {
        const rank = ranks.get(`${parts[i]}\0${parts[i + 1]}`);
        if (rank < best) [best, place] = [rank, i];
      }
      if (place < 0) return parts;
      parts.splice(place, 2, parts[place] + parts[place + 1]);
    }
  };
}

/** Splits a word into the pieces whose log-probabilities have the largest sum (https://arxiv.org/abs/1804.10959). */
function likeliest(vocabulary) {
  const scores = new Map(vocabulary);
  const longest = vocabulary.reduce((most, [piece]) => Math.max(most, [...piece].length), 1);
  const unknown = vocabulary.reduce((least, [, score]) => Math.min(least, score), 0) - UNKNOWN_PENALTY;
  return (characters) => {
    const best = [{ score: 0, start: 0 }]; // the best split of the first characters
    for (let end = 1; end <= characters.length; end += 1) {
      best[end] = { score: best[end - 1].score + unknown, start: end - 1 };
      for (let start = Math.max(0, end - longest); start < end; start += 1) {
        const score = best[start].score + (scores.get(characters.slice(start, end).join("")) ?? -Infinity);
        if (score > best[end].score) best[end] = { score, start };
      }
    }
    const parts = [];
    for (let end = characters.length; end > 0; end = best[end].start) parts.unshift(characters.slice(best[end].start, end).join(""));
    return parts;
  };
}

function normalizationStep(step) {
  if (step.type === "NFC") return (text) => text.normalize("NFC");
  if (step.type === "Precompiled") return charsmap(step.precompiled_charsmap);
  if (step.type === "Replace" && typeof step.pattern?.Regex === "string") {
    const pattern = new RegExp(step.pattern.Regex, "gu");
    return (text) => text.replace(pattern, () => step.content);
  }
  throw new Error(`tokenizer.json: the normalization ${step.type} is unknown to this page.`);
}

/**
 * SentencePiece's compiled rules: a double-array trie over UTF-8, in which the longest rule at each place
 * is found, and what the rules write (https://github.com/s-yata/darts-clone).
 */
function charsmap(base64) {
  if (!base64) return (text) => text;
  const blob = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const view = new DataView(blob.buffer);
  const trieBytes = view.getUint32(0, true);
  const units = new Uint32Array(blob.slice(4, 4 + trieBytes).buffer);
  const written = blob.subarray(4 + trieBytes);
  const offsetOf = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);
  const encoder = new TextEncoder();
  const decoder = new TextDecoder(...READING);

  /** Length and place of what the longest rule at `start` writes. */
  function longest(bytes, start) {
    let node = offsetOf(units[0]);
    let found = null;
    for (let i = start; i < bytes.length; i += 1) {
      node ^= bytes[i];
      const unit = units[node];
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== bytes[i]) break;
      node ^= offsetOf(unit);
      if ((unit >>> 8) & 1) found = { length: i + 1 - start, place: units[node] & 0x7fffffff };
    }
    return found;
  }

  return (text) => {
    const bytes = encoder.encode(text);
    const parts = [];
    for (let i = 0; i < bytes.length;) {
      const rule = longest(bytes, i);
      if (rule) {
        parts.push(decoder.decode(written.subarray(rule.place, written.indexOf(0, rule.place))));
        i += rule.length;
      } else {
        const length = bytes[i] < 0x80 ? 1 : bytes[i] < 0xe0 ? 2 : bytes[i] < 0xf0 ? 3 : 4;
        parts.push(decoder.decode(bytes.subarray(i, i + length)));
        i += length;
      }
    }
    return parts.join("");
  };
}
