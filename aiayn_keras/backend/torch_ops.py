"""Operations of `keras.ops` on PyTorch tensors, without what Keras adds to each call.

PyTorch runs a search from Python, several hundred small operations a step. Keras looks for symbolic
tensors among the arguments of each, converts them and promotes their dtypes, which takes several
times as long as the operation itself. The operations here expect tensors on one device whose dtypes
fit, and do with them what Keras' operations of the same names do. Where the first argument is not a
PyTorch tensor, or a sequence that begins with one, and for all other operations, Keras' are called.
"""

import functools

import torch
from keras import ops

_USUAL_ROWS = 256
"""Number of rows that packed kernels are laid out for; they can be multiplied by any number."""
_DTYPES = {
    name: getattr(torch, name)
    for name in ("bool", "int32", "int64", "float16", "bfloat16", "float32", "float64")
}


def _equal(x1, x2):
    return x1 == (torch.as_tensor(x2, device=x1.device) if isinstance(x2, tuple) else x2)


def _any(x, axis=None):
    return torch.any(x) if axis is None else torch.any(x, dim=axis)


def _take(x, indices, axis):
    if isinstance(indices, int):
        return x.select(axis, indices)
    picked = x.index_select(axis, indices.reshape(-1))
    return picked.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


_OPERATIONS = {
    "any": _any,
    "cast": lambda x, dtype: x.to(_DTYPES.get(dtype, dtype)),
    "concatenate": lambda xs, axis=0: torch.cat(xs, dim=axis),
    "equal": _equal,
    "expand_dims": lambda x, axis: x.unsqueeze(axis),
    "log": torch.log,
    "logical_and": lambda x1, x2: x1 & x2,
    "matmul": torch.matmul,
    "max": lambda x, axis, keepdims=False: torch.amax(x, dim=axis, keepdim=keepdims),
    "multiply": torch.multiply,
    "not_equal": lambda x1, x2: x1 != x2,
    "ones_like": lambda x, dtype=None: torch.ones_like(x, dtype=_DTYPES.get(dtype, dtype)),
    "reshape": lambda x, newshape: x.reshape(newshape),
    "shape": lambda x: tuple(x.shape),
    "softmax": lambda x, axis=-1: torch.softmax(x, dim=axis),
    "split": lambda x, sections, axis=0: torch.tensor_split(x, sections, dim=axis),
    "stack": lambda xs, axis=0: torch.stack(xs, dim=axis),
    "swapaxes": lambda x, axis1, axis2: x.transpose(axis1, axis2),
    "take": _take,
    "top_k": lambda x, k: torch.topk(x, k),
    "transpose": lambda x, axes: x.permute(axes),
    "where": torch.where,
    "zeros_like": lambda x, dtype=None: torch.zeros_like(x, dtype=_DTYPES.get(dtype, dtype)),
}


class _LeanOps:
    """The namespace `keras.ops` with the operations above in it."""

    def __init__(self):
        for name, operation in _OPERATIONS.items():
            setattr(self, name, _for_tensors(operation, getattr(ops, name)))

    def __getattr__(self, name):
        return getattr(ops, name)


def _for_tensors(operation, keras_operation):
    """`operation` for tensors of PyTorch and sequences of them, else `keras_operation`."""

    @functools.wraps(keras_operation)
    def call(x, *args, **kwargs):
        first = x[0] if isinstance(x, (list, tuple)) and x else x
        if isinstance(first, torch.Tensor):
            return operation(x, *args, **kwargs)
        return keras_operation(x, *args, **kwargs)

    return call


lean_ops = _LeanOps()


def take_in_rows(x, indices):
    """`take_in_rows` of `aiayn_keras.backend.kernels`."""
    if x.ndim == 2:
        return x.gather(1, indices.long())
    return x[torch.arange(len(x), device=x.device).unsqueeze(1), indices]


def layer_norm(x, gamma, beta, epsilon):
    """`layer_norm` of `aiayn_keras.backend.kernels`."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, epsilon)


def pack_kernel(kernel):
    """`pack_kernel` of `aiayn_keras.backend.kernels`, for oneDNN where it can be called.

    PyTorch itself multiplies float32 matrices with MKL, which on processors of AMD takes twice as
    long as oneDNN. The operations are those that its compiler uses.
    """
    is_supported = (
        kernel.device.type == "cpu"
        and kernel.dtype == torch.float32
        and not torch.is_grad_enabled()
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )
    if not is_supported:
        return kernel
    return torch.ops.mkldnn._reorder_linear_weight(kernel.T.contiguous(), _USUAL_ROWS)


def multiply_packed(x, kernel):
    """Float32 tensor `(N, D_in)` times a kernel from `pack_kernel`."""
    if kernel.is_mkldnn:
        return torch.ops.mkldnn._linear_pointwise(x.contiguous(), kernel, None, "none", [], "")
    return torch.matmul(x, kernel)


def append_in_place(cached, new, index, first_positions=12):
    """`append_position` of `aiayn_keras.backend.kernels`, in a tensor that grows by half.

    So the tensor is rarely copied, and little of it is unused when sentences are taken out.
    """
    width = new.shape[2]
    end = (int(index) + 1) * width
    if end > cached.shape[2]:
        shape = list(new.shape)
        shape[2] = max(cached.shape[2] // 2, first_positions * width)
        cached = torch.cat([cached, cached.new_empty(shape)], dim=2)
    cached[:, :, end - width : end] = new
    return cached, cached[:, :, :end]
