"""Writes tests/golden/torch_weights*.bin and .safetensors: the same small tensors as torch.save and safetensors
write them. Needs torch and safetensors; run from the repository root: python tests/peers/make_weight_files.py"""
import collections
import pathlib

import safetensors.torch
import torch

golden = pathlib.Path(__file__).resolve().parent.parent / "golden"
torch.manual_seed(1)
base = torch.randn(4, 6)
weights = collections.OrderedDict(
    contiguous=base,
    transposed=base.t(),  # the same storage, other strides
    slice=base[1:3, 2:5],  # an offset and holes
    scalar=torch.tensor(7, dtype=torch.int64),
    empty=torch.empty(0, 3),
    half=torch.randn(5).half(),
    bfloat16=torch.randn(5).bfloat16(),
    double=torch.randn(3).double(),
    parameter=torch.nn.Parameter(torch.randn(2, 2)),
    boolean=torch.tensor([True, False, True]),
    int32=torch.tensor([-5, 6], dtype=torch.int32),
    int16=torch.tensor([-5, 6], dtype=torch.int16),
    int8=torch.tensor([-5, 6], dtype=torch.int8),
    uint8=torch.tensor([250, 6], dtype=torch.uint8),
)
weights._metadata = collections.OrderedDict({"": {"version": 1}})
torch.save(weights, golden / "torch_weights.bin")
torch.save(weights, golden / "torch_weights_protocol4.bin", pickle_protocol=4)
torch.save({k: weights[k] for k in ("contiguous", "half")}, golden / "torch_weights_legacy.bin",
           _use_new_zipfile_serialization=False)
safetensors.torch.save_file({k: v.detach().clone().contiguous() for k, v in weights.items()},
                            golden / "torch_weights.safetensors")
