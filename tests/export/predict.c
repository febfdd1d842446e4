/* Runs one signature of a SavedModel, without Python.
 *
 *   predict MODEL_DIR OP_LIBRARY... -- INPUT_TENSOR... -- OUTPUT_TENSOR... < inputs > outputs
 *
 * Tensors are named as `saved_model_cli show --dir MODEL_DIR --all` prints them. Tensors are read
 * and written as text: `TYPE RANK DIM...`, TYPE being string, int32 or float, then a line for each
 * element, in row-major order. A string is its length in bytes, a space, and its bytes. The op
 * libraries are those of tensorflow_text that the graph needs.
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_tstring.h"

#define MAX_TENSORS 16
#define MAX_RANK 8

static TF_Status* status;

static void fail(const char* what, const char* why) {
  fprintf(stderr, "predict: %s: %s\n", what, why);
  exit(1);
}

static void check(const char* what) {
  if (TF_GetCode(status) != TF_OK) fail(what, TF_Message(status));
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

static void read_string(TF_TString* string) {
  size_t length;
  if (scanf("%zu", &length) != 1 || getchar() != ' ') fail("input", "a string has no length");
  char* bytes = malloc(length + 1);
  if (!bytes) fail("memory", "none left");
  if (fread(bytes, 1, length, stdin) != length) fail("input", "a string is too short");
  TF_TString_Init(string);
  TF_TString_Copy(string, bytes, length);
  free(bytes);
}

static TF_Tensor* read_tensor(void) {
  char type[8];
  int rank;
  int64_t dims[MAX_RANK], count = 1;
  if (scanf("%7s %d", type, &rank) != 2 || rank < 0 || rank > MAX_RANK)
    fail("input", "a tensor has no type and rank");
  for (int i = 0; i < rank; i++) {
    if (scanf("%" SCNd64, &dims[i]) != 1) fail("input", "a dimension is missing");
    count *= dims[i];
  }
  int is_string = !strcmp(type, "string");
  if (!is_string && strcmp(type, "int32")) fail(type, "is not read");
  size_t size = is_string ? sizeof(TF_TString) : sizeof(int32_t);
  TF_Tensor* tensor =
      TF_AllocateTensor(is_string ? TF_STRING : TF_INT32, dims, rank, count * size);
  void* data = TF_TensorData(tensor);
  for (int64_t i = 0; i < count; i++) {
    if (is_string)
      read_string((TF_TString*)data + i);
    else if (scanf("%" SCNd32, (int32_t*)data + i) != 1)
      fail("input", "a number is missing");
  }
  return tensor;
}

static void write_tensor(const TF_Tensor* tensor) {
  TF_DataType type = TF_TensorType(tensor);
  if (type != TF_STRING && type != TF_FLOAT && type != TF_INT32)
    fail("output", "is of a type that is not written");
  printf("%s %d", type == TF_STRING ? "string" : type == TF_FLOAT ? "float" : "int32",
         TF_NumDims(tensor));
  for (int i = 0; i < TF_NumDims(tensor); i++) printf(" %" PRId64, TF_Dim(tensor, i));
  putchar('\n');
  const void* data = TF_TensorData(tensor);
  for (int64_t i = 0; i < TF_TensorElementCount(tensor); i++) {
    if (type == TF_STRING) {
      const TF_TString* string = (const TF_TString*)data + i;
      printf("%zu ", TF_TString_GetSize(string));
      fwrite(TF_TString_GetDataPointer(string), 1, TF_TString_GetSize(string), stdout);
    } else if (type == TF_FLOAT) {
      printf("%.9g", ((const float*)data)[i]);
    } else {
      printf("%" PRId32, ((const int32_t*)data)[i]);
    }
    putchar('\n');
  }
}

int main(int argc, char** argv) {
  status = TF_NewStatus();
  int i = 2;
  for (; i < argc && strcmp(argv[i], "--"); i++) {
    TF_LoadLibrary(argv[i], status);
    check(argv[i]);
  }
  int first_input = i + 1, num_inputs = 0, num_outputs = 0;
  for (i = first_input; i < argc && strcmp(argv[i], "--"); i++) num_inputs++;
  int first_output = i + 1;
  num_outputs = argc - first_output;
  if (num_inputs < 1 || num_inputs > MAX_TENSORS || num_outputs < 1 || num_outputs > MAX_TENSORS) {
    fprintf(stderr, "usage: %s MODEL_DIR OP_LIBRARY... -- INPUT... -- OUTPUT...\n", argv[0]);
    return 2;
  }

  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char* tags[] = {"serve"};
  TF_Session* session =
      TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, NULL, status);
  check(argv[1]);

  TF_Output inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  TF_Tensor *values[MAX_TENSORS], *results[MAX_TENSORS];
  for (i = 0; i < num_inputs; i++) {
    inputs[i] = find_tensor(graph, argv[first_input + i]);
    values[i] = read_tensor();
  }
  for (i = 0; i < num_outputs; i++) outputs[i] = find_tensor(graph, argv[first_output + i]);
  TF_SessionRun(session, NULL, inputs, values, num_inputs, outputs, results, num_outputs, NULL, 0,
                NULL, status);
  check("run");

  for (i = 0; i < num_outputs; i++) {
    write_tensor(results[i]);
    TF_DeleteTensor(results[i]);
  }
  for (i = 0; i < num_inputs; i++) TF_DeleteTensor(values[i]);
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return fflush(stdout) ? 1 : 0;
}
