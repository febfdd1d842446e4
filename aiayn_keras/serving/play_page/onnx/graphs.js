/** Encoder and decoder of a folder of `aiayn-keras export onnx`, run by ONNX Runtime Web. */

const UNSTARTED = "no available backend found"; // how the runtime's errors begin that are not about a graph
const QUIET = { logSeverityLevel: 4 }; // errors are thrown, and told to the reader

const int64 = (ort, numbers, dims) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), dims);

/** The runtime could not be started, and will not try again. */
export class RuntimeProblem extends Error {}

export class Graphs {
  #ort; #encoder; #decoder; #pastShapes; #switches = {}; #values = null;

  /**
   * @param {object} ort - The module `onnxruntime-web`.
   * @param {Uint8Array} encoder - Bytes of the encoder's file.
   * @param {Uint8Array} decoder - Bytes of the decoder's file.
   */
  static async open(ort, encoder, decoder) {
    const graphs = new Graphs();
    graphs.#ort = ort;
    const open = async (bytes, name) => {
      try {
        return await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"], ...QUIET });
      } catch (error) {
        if (firstLine(error).startsWith(UNSTARTED)) {
          throw new RuntimeProblem(`ONNX Runtime cannot be started; is the network there, and the server of this page? It says: ${firstLine(error)}`);
        }
        throw new Error(`The ${name} is not an ONNX graph that this page can run, or not a whole file: ${firstLine(error)}`);
      }
    };
    try {
      graphs.#encoder = await open(encoder, "encoder");
      graphs.#decoder = await open(decoder, "decoder");
      graphs.#check();
      graphs.#pastShapes = graphs.#decoder.inputMetadata
        .filter(({ name }) => name.startsWith("past_key_values."))
        .map(({ name, shape }) => ({ name, heads: Number(shape[1]), width: Number(shape[3]) }));
    } catch (error) {
      await graphs.release(); // megabytes, at every folder that is refused
      throw error;
    }
    return graphs;
  }

  /** Refuses the graphs of other programs. */
  #check() {
    const needs = [
      [this.#encoder.inputNames, "attention_mask"],
      [this.#encoder.outputNames, "last_hidden_state"],
      [this.#decoder.inputNames, "use_cache_branch"],
      [this.#decoder.inputNames, "past_key_values.0.decoder.key"],
      [this.#decoder.outputNames, "logits"],
    ];
    for (const [names, name] of needs) {
      if (!names.includes(name)) {
        throw new Error(`The graphs lack ${name}: this page needs a folder of \`aiayn-keras export onnx\`.`);
      }
    }
  }

  /** Layers of one kind of attention, `encoder`, `decoder` or `cross`, whose weights the graphs return. */
  numLayers(kind) {
    const names = (kind === "encoder" ? this.#encoder : this.#decoder).outputNames;
    return names.filter((name) => name.startsWith(`${kind}_attentions.`)).length;
  }

  get hasAttention() { return this.numLayers("cross") > 0; }

  /** Layers and heads that can be switched off; null if these graphs have no switches. */
  get switches() {
    const shapeOf = (session, input) => session.inputMetadata.find(({ name }) => name === input)?.shape.map(Number);
    const encoder = shapeOf(this.#encoder, "head_mask");
    if (!encoder) return null;
    const decoder = shapeOf(this.#decoder, "decoder_head_mask");
    return { encoderLayers: encoder[0], decoderLayers: decoder[0], heads: encoder[1] };
  }

  /**
   * Sets the switches for all that follows.
   * @param {object} values - `scoreScale`, `positionScale`, `causal`; `encoderLayers` and `decoderLayers`, a boolean for
   *   each; `encoder`, `decoder` and `cross`, a factor for each head of each layer, in one list.
   */
  set(values) {
    const tensor = (type, array, dims) => new this.#ort.Tensor(type, array, dims);
    const floats = (numbers, dims = [1]) => tensor("float32", Float32Array.from(numbers), dims);
    const { heads } = this.switches;
    const masks = (kind) => floats(values[kind], [values[kind].length / heads, heads]);
    const shared = { score_scale: floats([values.scoreScale]), position_scale: floats([values.positionScale]) };
    this.#values = values;
    this.#switches = {
      encoder: { ...shared, layer_mask: tensor("bool", values.encoderLayers, [values.encoderLayers.length]), head_mask: masks("encoder") },
      decoder: {
        ...shared, layer_mask: tensor("bool", values.decoderLayers, [values.decoderLayers.length]),
        decoder_head_mask: masks("decoder"), cross_attn_head_mask: masks("cross"), causal: tensor("bool", [values.causal], [1]),
      },
    };
  }

  /** The factor of the scores before softmax. */
  get scoreScale() { return this.#values?.scoreScale ?? 1; }

  get isCausal() { return this.#values?.causal ?? true; }

  /** The factor of a head: 0 if it is off, or its layer is left out. */
  #factor(kind, layer, head) {
    const { heads } = this.switches;
    const isKept = this.#values[kind === "encoder" ? "encoderLayers" : "decoderLayers"][layer];
    return isKept ? this.#values[kind][layer * heads + head] : 0;
  }

  /** Layers' weights as the model uses them: zeros for heads that are off and for layers that are left out. */
  used(kind, layers) {
    if (!this.#values) return layers;
    return layers.map(({ data, dims }, layer) => {
      const size = data.length / dims[1];
      return { dims, data: data.map((weight, place) => weight * this.#factor(kind, layer, Math.floor(place / size))) };
    });
  }

  /** Pairs of layer and head of cross-attention that are not used. */
  get crossHeadsOff() {
    if (!this.#values) return [];
    const { decoderLayers, heads } = this.switches;
    const all = Array.from({ length: decoderLayers * heads }, (_, place) => [Math.floor(place / heads), place % heads]);
    return all.filter(([layer, head]) => !this.#factor("cross", layer, head));
  }

  get numHeads() { return this.#pastShapes[0].heads; }

  /** Widths of keys in the decoder's cache, d_k. */
  get keyDim() { return this.#pastShapes[0].width; }

  /** Numbers that the cache keeps of one position in one layer. */
  get cacheWidth() {
    const [key, value] = this.#pastShapes;
    return key.heads * (key.width + value.width);
  }

  /** Closes the graphs that are open and frees their memory. */
  async release() {
    await this.#encoder?.release();
    await this.#decoder?.release();
  }

  /**
   * Reads a source.
   * @returns {object} The memory, for `Decoder` and `teacherForced`, and `attention`: weights of every layer.
   */
  async encode(ids) {
    const dims = [1, ids.length];
    const feeds = { input_ids: int64(this.#ort, ids, dims), attention_mask: int64(this.#ort, ids.map(() => 1), dims), ...this.#switches.encoder };
    const results = await this.#encoder.run(feeds, QUIET);
    return {
      states: results.last_hidden_state,
      length: ids.length,
      attention: layersOf(results, "encoder", this.numLayers("encoder")),
    };
  }

  /** Logits and attention of all positions of one target that is known: rows of `{ logits, ... }`. */
  async teacherForced(memory, ids) {
    const results = await this.run(memory, ids, 1, null);
    const width = results.logits.dims[2];
    return {
      logits: ids.map((_, place) => results.logits.data.subarray(place * width, (place + 1) * width)),
      decoder: layersOf(results, "decoder", this.numLayers("decoder")),
      cross: layersOf(results, "cross", this.numLayers("cross")),
    };
  }

  /** A step of the decoder for `count` hypotheses with as many new tokens each. */
  async run(memory, ids, count, past) {
    const feeds = {
      input_ids: int64(this.#ort, ids, [count, ids.length / count]),
      encoder_attention_mask: int64(this.#ort, Array(count * memory.length).fill(1), [count, memory.length]),
      encoder_hidden_states: memory.states,
      use_cache_branch: new this.#ort.Tensor("bool", [past !== null], [1]),
      ...this.#switches.decoder,
    };
    for (const { name, heads, width } of this.#pastShapes) {
      feeds[name] = past?.get(name) ?? new this.#ort.Tensor("float32", new Float32Array(0), [count, heads, 0, width]);
    }
    return this.#decoder.run(feeds, QUIET);
  }

  /** The cache that a step leaves, with the hypotheses `rows` of it. */
  cacheOf(results, rows) {
    return new Map(this.#pastShapes.map(({ name }) => {
      const present = results[name.replace("past_key_values", "present")];
      return [name, takeRows(this.#ort, present, rows)];
    }));
  }
}

/** The decoder of one sentence: hypotheses that grow by a token a step, and their cache. */
export class Decoder {
  #graphs; #memory; #results = null;

  constructor(graphs, memory) {
    this.#graphs = graphs;
    this.#memory = memory;
  }

  /** See `beamSearch`; `cross` has the weights `(H, S)` of every layer, a list for each hypothesis. */
  async step(tokens, rows) {
    const past = this.#results && this.#graphs.cacheOf(this.#results, rows);
    this.#results = await this.#graphs.run(this.#memory, tokens, tokens.length, past);
    const { data, dims: [, , width] } = this.#results.logits;
    const layers = layersOf(this.#results, "cross", this.#graphs.numLayers("cross"));
    return {
      logits: tokens.map((_, row) => data.subarray(row * width, (row + 1) * width)),
      cross: tokens.map((_, row) => layers.map(({ data: weights, dims: [, heads, , length] }) =>
        weights.subarray(row * heads * length, (row + 1) * heads * length))),
    };
  }
}

function layersOf(results, kind, count) {
  return Array.from({ length: count }, (_, layer) => {
    const { data, dims } = results[`${kind}_attentions.${layer}`];
    return { data, dims };
  });
}

function takeRows(ort, tensor, rows) {
  const { data, dims } = tensor;
  if (rows.length === dims[0] && rows.every((row, index) => row === index)) return tensor;
  const size = data.length / dims[0];
  const taken = new Float32Array(rows.length * size);
  rows.forEach((row, index) => taken.set(data.subarray(row * size, (row + 1) * size), index * size));
  return new ort.Tensor("float32", taken, [rows.length, ...dims.slice(1)]);
}

export const firstLine = (error) => String(error?.message ?? error).split("\n")[0].slice(0, 200);
