/* Translates lines of text with an exported SavedModel, without Python.
 *
 *   translate MODEL_DIR TEXT_INPUT TRANSLATION_OUTPUT SCORE_OUTPUT OP_LIBRARY... < source > target
 *
 * Reads the lines of standard input as one batch and writes `score<TAB>translation` lines.
 * The three names are those of the tensors behind `serving_default`'s `text`, `translation` and
 * `score`, as `saved_model_cli show --dir MODEL_DIR --all` prints them (an output's `:0` may be
 * left out). The op libraries are those of tensorflow_text that the graph needs.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_tstring.h"

static TF_Status* status;

static void fail(const char* what, const char* why) {
  fprintf(stderr, "translate: %s: %s\n", what, why);
  exit(1);
}

static void check(const char* what) {
  if (TF_GetCode(status) != TF_OK) fail(what, TF_Message(status));
}

static void* allocate(void* old, size_t size) {
  void* memory = realloc(old, size ? size : 1);
  if (!memory) fail("memory", "none left");
  return memory;
}

/* "name:1" is output 1 of the operation "name". */
static TF_Output find_tensor(TF_Graph* graph, const char* tensor_name) {
  char* name = strdup(tensor_name);
  if (!name) fail("memory", "none left");
  char* colon = strrchr(name, ':');
  if (colon) *colon = '\0';
  TF_Output tensor = {TF_GraphOperationByName(graph, name), colon ? atoi(colon + 1) : 0};
  if (!tensor.oper) fail(tensor_name, "the graph has no such tensor");
  if (tensor.index < 0 || tensor.index >= TF_OperationNumOutputs(tensor.oper))
    fail(tensor_name, "the operation has no such output");
  free(name);
  return tensor;
}

/* Returns a string tensor of shape [batch] with the lines of `file`, newlines removed. */
static TF_Tensor* read_lines(FILE* file) {
  TF_TString* lines = NULL;
  int64_t batch = 0;
  char* line = NULL;
  size_t capacity = 0;
  ssize_t length;
  while ((length = getline(&line, &capacity, file)) >= 0) {
    if (length && line[length - 1] == '\n') length--;
    lines = allocate(lines, (batch + 1) * sizeof(TF_TString));
    TF_TString_Init(&lines[batch]);
    TF_TString_Copy(&lines[batch++], line, length);
  }
  if (ferror(file)) fail("standard input", "cannot be read");
  free(line);
  size_t bytes = batch * sizeof(TF_TString);
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, &batch, 1, bytes);
  if (bytes) memcpy(TF_TensorData(tensor), lines, bytes); /* moves them: the tensor owns them */
  free(lines);
  return tensor;
}

static void expect(const char* name, const TF_Tensor* tensor, TF_DataType type, int64_t batch) {
  if (TF_TensorType(tensor) != type) fail(name, "has another type than expected");
  if (TF_NumDims(tensor) != 1 || TF_Dim(tensor, 0) != batch)
    fail(name, "is not one value per line of input");
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: %s MODEL_DIR TEXT_INPUT TRANSLATION_OUTPUT SCORE_OUTPUT OP_LIBRARY...\n",
            argv[0]);
    return 2;
  }
  status = TF_NewStatus();
  for (int i = 5; i < argc; i++) {
    TF_LoadLibrary(argv[i], status);
    check(argv[i]);
  }

  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char* tags[] = {"serve"};
  TF_Session* session =
      TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, NULL, status);
  check(argv[1]);

  TF_Output inputs[] = {find_tensor(graph, argv[2])};
  TF_Output outputs[] = {find_tensor(graph, argv[3]), find_tensor(graph, argv[4])};
  TF_Tensor* text = read_lines(stdin);
  int64_t batch = TF_Dim(text, 0);
  if (batch == 0) return 0; /* no lines in, no lines out */

  TF_Tensor* results[2];
  TF_SessionRun(session, NULL, inputs, &text, 1, outputs, results, 2, NULL, 0, NULL, status);
  check("serving_default");
  expect("translation", results[0], TF_STRING, batch);
  expect("score", results[1], TF_FLOAT, batch);

  const TF_TString* translations = TF_TensorData(results[0]);
  const float* scores = TF_TensorData(results[1]);
  for (int64_t i = 0; i < batch; i++) {
    printf("%.9g\t", scores[i]);
    fwrite(TF_TString_GetDataPointer(&translations[i]), 1, TF_TString_GetSize(&translations[i]),
           stdout);
    putchar('\n');
  }

  TF_DeleteTensor(text);
  for (int i = 0; i < 2; i++) TF_DeleteTensor(results[i]);
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return fflush(stdout) ? 1 : 0;
}
