/** The model of the page, in a thread of its own: answers `{ id, request, ... }` with `{ id, answer }` or `{ id, error }`; `isLast` if none follows. */

import * as ort from "../ort/ort.wasm.min.mjs";
import { Decoder, Graphs, RuntimeProblem, firstLine } from "./graphs.js";
import { explorerData, stepsData } from "./pictures.js";
import { EXTRA_LENGTH, beamSearch, bestTokens, lengthPenalty, logNormalizer } from "./search.js";
import { join, sentencesOf } from "./sentences.js";
import { Tokenizer } from "./tokenizer.js";

ort.env.wasm.wasmPaths = new URL("../ort/", import.meta.url).href;
ort.env.wasm.numThreads = 1;
ort.env.logLevel = "error";

const OFFSET = 5; // of GNMT's length penalty
const RECORDED_BEAMS = [1, 2, 3, 4, 5];
const RECORDED_ALPHAS = [0, 0.6, 1];
const MAX_FILE = 2 ** 31;

let model = null;
let newest = 0; // of the requests: a translation ends when a newer request has come
let queue = Promise.resolve();
const channel = new MessageChannel();

/** Lets newer requests come in, which waiting for the graphs does not: they compute without a break. */
const breathe = () => new Promise((resolve) => {
  channel.port1.onmessage = resolve;
  channel.port2.postMessage(null);
});

// ---- The model ----

/** Opens a folder: `read(path)` gives the bytes of one of its files, null if it has none. */
async function openFolder(read, quantized) {
  const contents = []; // one after another, so that of several bad files the first is named
  for (const name of ["config.json", "generation_config.json", "tokenizer.json", "target_tokenizer.json"]) {
    contents.push(parsed(name, await read(name)));
  }
  const [config, generation, tokenizer, target] = contents;
  const play = parsed("play.json", await read("play.json")) ?? {};
  for (const [name, content] of Object.entries({ "config.json": config, "generation_config.json": generation, "tokenizer.json": tokenizer })) {
    if (!content) throw new Error(`The folder has no ${name}: choose one that aiayn-keras export onnx --attention wrote.`);
  }
  const [encoder, decoder] = await Promise.all(["encoder_model", "decoder_model_merged"].map(async (name) => {
    const names = [`onnx/${name}${quantized ? "_quantized" : ""}.onnx`, `onnx/${name}${quantized ? "" : "_quantized"}.onnx`];
    for (const each of names) {
      const bytes = await read(each);
      if (bytes) return bytes;
    }
    throw new Error(`The folder has no ${names[0]}.`);
  }));
  const source = opened("tokenizer.json", tokenizer);
  const graphs = await Graphs.open(ort, encoder, decoder);
  let found;
  try {
    if (graphs.switches) graphs.set(allOn(graphs.switches));
    found = {
      graphs, source, target: target ? opened("target_tokenizer.json", target) : source,
      maxLength: integer(config, "max_position_embeddings"),
      startId: integer(generation, "decoder_start_token_id"), endId: integer(generation, "eos_token_id"),
      forbiddenIds: wholeNumbers(generation, "suppress_tokens"),
      copiesWithoutLetters: Boolean(play.copy_without_letters),
      learnedLength: play.learned_length == null ? Infinity : integer(play, "learned_length"),
    };
    await tryOut(found);
  } catch (error) {
    await graphs.release();
    throw error;
  }
  await model?.graphs.release();
  model = found;
  return {
    hasAttention: graphs.hasAttention, vocabularySize: source.size, maxLength: model.maxLength,
    switches: graphs.switches, keyDim: graphs.keyDim,
  };
}

/** Runs a step, so that files that do not belong together are refused before a model is replaced. */
async function tryOut({ graphs, source, startId, endId }) {
  const fails = (reason) => new Error(`The files of the folder do not belong together: ${reason}`);
  let logits;
  try {
    const memory = await graphs.encode([0]);
    ({ logits: [logits] } = await graphs.teacherForced(memory, [startId]));
  } catch (error) {
    throw fails(firstLine(error));
  }
  if (endId >= logits.length) throw fails(`eos_token_id is ${endId}, but the graphs know ${logits.length} pieces.`);
  if (source.size > logits.length) throw fails(`the vocabulary has ${source.size} pieces, but the graphs know ${logits.length}.`);
}

function opened(name, json) {
  try {
    return new Tokenizer(json);
  } catch (error) {
    if (error.message.startsWith("tokenizer.json")) throw error;
    throw new Error(`${name} cannot be read: ${firstLine(error)}`);
  }
}

const allOn = ({ encoderLayers, decoderLayers, heads }) => ({
  scoreScale: 1, positionScale: 1, causal: true,
  encoderLayers: Array(encoderLayers).fill(true), decoderLayers: Array(decoderLayers).fill(true),
  encoder: Array(encoderLayers * heads).fill(1), decoder: Array(decoderLayers * heads).fill(1), cross: Array(decoderLayers * heads).fill(1),
});

function parsed(name, bytes) {
  if (!bytes) return null;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new Error(`${name} is not JSON: ${firstLine(error)}`);
  }
}

function integer(config, name) {
  if (!Number.isSafeInteger(config[name]) || config[name] < 0) throw new Error(`${name} must be a whole number. Received: ${JSON.stringify(config[name]) ?? "nothing"}.`);
  return config[name];
}

function wholeNumbers(config, name) {
  const numbers = config[name] ?? [];
  if (!Array.isArray(numbers) || !numbers.every(Number.isSafeInteger)) throw new Error(`${name} must be a list of whole numbers.`);
  return numbers;
}

/** Reads the files of the site's own model, and reports how much of them has come. */
function siteReader(folder, report) {
  const sizes = new Map();
  return async (path) => {
    const response = await fetch(new URL(`../${folder}/${path}`, import.meta.url)).catch(() => {
      throw new Error(`${path} cannot be fetched; is the network there, and the server of this page?`);
    });
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(`${path} could not be loaded: ${response.status} ${response.statusText}`);
    const total = Number(response.headers.get("content-length"));
    const parts = [];
    let read = 0;
    for await (const part of chunks(response.body)) {
      parts.push(part);
      read += part.length;
      sizes.set(path, read);
      report([...sizes.values()].reduce((sum, size) => sum + size, 0), total);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  };
}

async function* chunks(stream) {
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

function droppedReader(files) {
  return async (path) => {
    const file = files.get(path);
    if (!file) return null;
    if (file.size > MAX_FILE) throw new Error(`${path} has ${file.size} bytes; files below 2 GB can be opened.`);
    return new Uint8Array(await file.arrayBuffer());
  };
}

// ---- What is asked ----

const spelled = (tokenizer, ids) => ids.map((id) => ({ id, piece: visible(tokenizer.piece(id)) }));
const visible = (piece) => piece.replace(/[^\P{C}\u200c\u200d]|\p{Z}/gu, (character) =>
  `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`) || "⟨empty⟩";
const letters = /\p{L}/u;

/** What the search knows of a source; its `ids`, or what its translation is without a search. */
async function read(text) {
  const { source, graphs, maxLength } = model;
  const ids = source.encode(text);
  if (ids.length > maxLength) throw new Error(`The text has ${ids.length} pieces; the model reads ${maxLength} at most. Shorten it.`);
  const pieces = spelled(source, ids);
  if (ids.length <= source.numEnds) return { ids, pieces, text: "" };
  if (model.copiesWithoutLetters && !letters.test(text)) return { ids, pieces, text };
  const memory = await graphs.encode(ids);
  const limit = Math.min(ids.length - source.numEnds + EXTRA_LENGTH, maxLength - 1);
  return { ids, pieces, memory, limit };
}

const searchOptions = (limit, numBeams, alphas, numResults) => ({
  numBeams, alphas, numResults, limit, offset: OFFSET,
  startId: model.startId, endId: model.endId, forbiddenIds: model.forbiddenIds,
});

/** Finished hypotheses of a source, none if it is its own translation; null if a newer request has come. */
async function resultsOf(source, { numBeams, alpha, numResults }, tell, isOld) {
  if (source.memory === undefined) return [];
  const search = beamSearch(new Decoder(model.graphs, source.memory), searchOptions(source.limit, numBeams, [alpha], numResults));
  let step = await search.next();
  while (!step.done) {
    await breathe();
    if (isOld()) return null;
    const [{ ids }] = step.value.live;
    tell(model.target.decode(ids));
    step = await search.next();
  }
  return step.value.best.get(alpha).map(({ ids, logProb, score }) => ({
    text: model.target.decode(ids.filter((id) => !model.target.isSpecial(id))), ids, logProb, score,
    pieces: spelled(model.target, [...ids, model.endId]),
  }));
}

const requests = {
  /** Loads the site's model: `int8` or `float32`. */
  async load({ format }, tell) {
    return openFolder(siteReader(`model/${format}`, (bytes) => tell({ bytes })), format === "int8");
  },

  /** Opens the reader's own folder; its files come from a list. */
  async open({ files }) {
    const depth = (folder) => folder.split("/").length;
    const [root = ""] = [...files].map(([path]) => /^(.*\/|)(generation_config|config|tokenizer)\.json$/.exec(path)?.[1])
      .filter((folder) => folder !== undefined).sort((a, b) => depth(a) - depth(b));
    return openFolder(droppedReader(new Map([...files].map(([path, file]) => [path.slice(root.length), file]))), true);
  },

  /** Translates a text, one that is too long sentence by sentence; tells the best live hypothesis of every step. */
  async translate({ text, numBeams, alpha, numResults = numBeams }, tell, isOld) {
    const started = performance.now();
    const isLong = model.source.encode(text).length > Math.min(model.learnedLength, model.maxLength);
    const parts = isLong ? sentencesOf(text) : ["", text, ""];
    const [sentences, translations] = [[], []];
    let exceeds = null;
    for (let place = 1; place < parts.length; place += 2) {
      const source = await read(parts[place]);
      tell({ pieces: source.pieces });
      if (source.ids.length > model.learnedLength) exceeds = model.learnedLength;
      const soFar = (written) => tell({ growing: join(parts.slice(0, place + 1).concat(""), [...translations, written]) });
      const results = await resultsOf(source, { numBeams, alpha, numResults }, soFar, isOld);
      if (results === null) return null;
      sentences.push({ source: parts[place], pieces: source.pieces, results });
      translations.push(results[0]?.text ?? source.text);
    }
    return { text: join(parts, translations), sentences, milliseconds: performance.now() - started, exceeds };
  },

  /** Data of the explorer for a source and the ids of a translation. */
  async explore({ text, target: translation, ids }) {
    needAttention();
    const source = await read(text);
    if (!source.memory) return null;
    const read_ = [model.startId, ...ids];
    const target = await model.graphs.teacherForced(source.memory, read_);
    const words = { source: source.pieces.map(({ piece }) => piece), target: spelled(model.target, read_).map(({ piece }) => piece) };
    const found = { encoder: source.memory.attention, decoder: target.decoder, cross: target.cross };
    const used = Object.entries(found).map(([kind, layers]) => [kind, model.graphs.used(kind, layers)]);
    return explorerData(`${text} → ${translation}`, words, Object.fromEntries(used), model.graphs.isCausal);
  },

  /** Data of the page that shows a search step by step, for several beams and exponents. */
  async record({ text, numBeams, alpha }, tell, isOld) {
    needAttention();
    const source = await read(text);
    if (!source.memory) return null;
    const searches = [];
    for (const count of RECORDED_BEAMS) {
      const alphas = [...new Set([...RECORDED_ALPHAS, alpha])];
      const search = beamSearch(new Decoder(model.graphs, source.memory), searchOptions(source.limit, count, alphas, 1));
      const steps = [];
      let step = await search.next();
      for (; !step.done; step = await search.next()) {
        await breathe();
        if (isOld()) return null;
        steps.push(step.value);
      }
      searches.push({ numBeams: count, steps, result: step.value });
    }
    const described = {
      piece: (id) => visible(model.target.piece(id)), decode: (ids) => model.target.decode(ids), numHeads: model.graphs.numHeads,
      keyDim: model.graphs.keyDim, scoreScale: model.graphs.scoreScale, off: model.graphs.crossHeadsOff, cacheWidth: model.graphs.cacheWidth, limit: source.limit, offset: OFFSET,
    };
    return { ...stepsData(text, source.pieces.map(({ piece }) => piece), described, searches), chosen: { beams: numBeams, alpha } };
  },

  /** What may follow a beginning of ids: the logits of all pieces, and the `count` most probable ones by name. */
  async next({ text, ids, count }) {
    const source = await read(text);
    if (!source.memory) return null;
    const { logits } = await model.graphs.teacherForced(source.memory, [model.startId, ...ids]);
    const isOver = ids.length >= source.limit;
    const mayBeChosen = (id) => !model.forbiddenIds.includes(id) && (isOver ? id === model.endId : id !== model.endId || ids.length > 0);
    const last = logits.at(-1);
    return {
      written: model.target.decode(ids), limit: isOver ? source.limit : null, endId: model.endId, logits: last,
      mayBeChosen: Uint8Array.from(last, (_, id) => mayBeChosen(id)),
      best: bestTokens(last, count, mayBeChosen).map(({ id }) => ({ id, piece: visible(model.target.piece(id)) })),
    };
  },

  /** The reader's own translation, piece by piece: its probability, and its rank among all pieces. */
  async score({ text, translation, alpha }) {
    const source = await read(text);
    if (!source.memory) return null;
    const ids = [...model.target.pieces(translation), model.endId];
    if (ids.length > model.maxLength) throw new Error(`The translation has ${ids.length} pieces; the model writes ${model.maxLength} at most.`);
    const { logits } = await model.graphs.teacherForced(source.memory, [model.startId, ...ids.slice(0, -1)]);
    const pieces = ids.map((id, place) => {
      const [own, row] = [logits[place][id], logits[place]];
      const rank = row.reduce((count, logit) => count + (logit > own), 1);
      const [best] = bestTokens(row, 1, () => true);
      return {
        id, piece: visible(model.target.piece(id)), logProb: own - logNormalizer(row), rank,
        best: visible(model.target.piece(best.id)), bestLogProb: best.logProb,
      };
    });
    const logProb = pieces.reduce((total, each) => total + each.logProb, 0);
    return { pieces, logProb, score: logProb / lengthPenalty(ids.length, alpha, OFFSET) };
  },

  /** Ends what an older request searches. */
  async cancel() { return null; },
};

function needAttention() {
  if (!model.graphs.hasAttention) throw new Error("These graphs do not return attention weights: export them with aiayn-keras export onnx --attention.");
}

/** Answers one request after the other. */
async function answer({ id, request, ...values }) {
  try {
    const isOld = () => newest > id;
    await breathe();
    if (!["load", "open", "cancel"].includes(request)) {
      if (!model) throw new Error("No model is loaded yet.");
      if (isOld()) return postMessage({ id, answer: null });
      if (values.switches && model.graphs.switches) model.graphs.set(values.switches);
    }
    const found = await requests[request](values, (news) => postMessage({ id, news }), isOld);
    return postMessage({ id, answer: found });
  } catch (error) {
    return postMessage({ id, error: firstLine(error), isLast: error instanceof RuntimeProblem });
  }
}

addEventListener("message", ({ data }) => {
  if (data.replaces) newest = data.id;
  queue = queue.then(() => answer(data));
});
