"""Writes tests/golden/tensorflow: small checkpoints as TensorFlow writes them, and their numbers as safetensors.

saver: tf.compat.v1.train.Saver, as etcmodel is saved: every type that is read, scalars, a tensor without elements,
Adam's slots. sharded: the same Saver with two devices, so two data files. object: tf.train.Checkpoint of
TensorFlow 2, with its graph of objects.
Needs tensorflow (2.21.0 was used), numpy and safetensors; run from the repository root:
python tests/peers/make_tensorflow_checkpoints.py"""
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import ml_dtypes
import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file

v1 = tf.compat.v1
golden = pathlib.Path(__file__).resolve().parent.parent / "golden" / "tensorflow"
golden.mkdir(exist_ok=True)
rng = np.random.default_rng(1)


def numbers(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def keep(name, values):
    # safetensors.numpy knows bfloat16 by its bits alone.
    save_file({k: v for k, v in values.items() if v.dtype != ml_dtypes.bfloat16},
              golden / f"{name}.safetensors")


scope = "etc_document_bert/global_local_transformer_layers/fused_att_layer_0/"
saved = {
    "etc_document_bert/token_emb_lookup/embedding_table": numbers(7, 4),
    "etc_document_bert/segment_emb_lookup/embedding_table": numbers(16, 4),
    scope + "fused_global_local_att/long_query_projection/linear/kernel": numbers(4, 6),
    scope + "fused_global_local_att/long_query_projection/linear/kernel/adam_m": numbers(4, 6),
    scope + "fused_global_local_att/long_query_projection/linear/kernel/adam_v": numbers(4, 6),
    scope + "layer_norm_0/gamma": numbers(4),
    "global_step": np.array(3, dtype=np.int64),
    "other/half": numbers(5).astype(np.float16),
    "other/int32": np.array([[-5, 6, 2**31 - 1]], dtype=np.int32),
    "other/double": numbers(3).astype(np.float64),
    "other/empty": np.zeros((0, 3), np.float32),
    "other/bfloat16": np.array([1.5, -2.0, 0.0078125], dtype=ml_dtypes.bfloat16),
}
with tf.Graph().as_default():
    for name, value in saved.items():
        v1.get_variable(name, initializer=tf.constant(value))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(golden / "saver"), write_meta_graph=False, write_state=False)
keep("saver", saved)

sharded = {f"part/{i}": numbers(i + 1, 3) for i in range(4)}
with tf.Graph().as_default():
    for i, (name, value) in enumerate(sharded.items()):
        with tf.device(f"/cpu:{i % 2}"):
            v1.get_variable(name, initializer=tf.constant(value))
    with v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(v1.global_variables_initializer())
        v1.train.Saver(sharded=True).save(session, str(golden / "sharded"), write_meta_graph=False, write_state=False)
keep("sharded", sharded)

model = tf.Module()
model.kernel = tf.Variable(numbers(2, 3))
tf.train.Checkpoint(model=model).write(str(golden / "object"))
keep("object", {"model/kernel/.ATTRIBUTES/VARIABLE_VALUE": model.kernel.numpy()})
