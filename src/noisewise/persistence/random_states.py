"""Random states: generators, bit generators and seed sequences, so that a loaded model continues the same stream."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from noisewise.persistence.tree import Codec, Node, Reader, Writer

BIT_GENERATORS: dict[str, Any] = {
    "PCG64": np.random.PCG64,
    "PCG64DXSM": np.random.PCG64DXSM,
    "MT19937": np.random.MT19937,
    "Philox": np.random.Philox,
    "SFC64": np.random.SFC64,
}
MT19937_WORDS, PHILOX_WORDS = 624, 4  # words of state, or of buffer, by the definition of each generator


def _write_seeds(seeds: np.random.SeedSequence, writer: Writer, path: str) -> dict[str, Node]:
    parts = {"entropy": seeds.entropy, "spawn_key": tuple(seeds.spawn_key), "pool_size": seeds.pool_size}
    return {"parts": writer.write({**parts, "n_children_spawned": seeds.n_children_spawned}, path)}


def _read_seeds(node: dict[str, Node], reader: Reader) -> np.random.SeedSequence:
    return np.random.SeedSequence(**reader.read(node["parts"]))


def _write_bit_generator(generator: np.random.BitGenerator, writer: Writer, path: str) -> dict[str, Node]:
    seeds = generator.seed_seq if type(generator.seed_seq) is np.random.SeedSequence else None
    state = writer.write(generator.state, f"{path}.state")
    return {"type": type(generator).__name__, "state": state, "seeds": writer.write(seeds, f"{path}.seed_seq")}


def _read_bit_generator(node: dict[str, Node], reader: Reader) -> np.random.BitGenerator:
    state = reader.read(node["state"])
    generator = BIT_GENERATORS[node["type"]](reader.read(node["seeds"]))
    generator.state = _checked(state)
    return cast(np.random.BitGenerator, generator)


def _write_generator(rng: np.random.Generator, writer: Writer, path: str) -> dict[str, Node]:
    return {"bits": writer.write(rng.bit_generator, f"{path}.bit_generator")}


def _read_generator(node: dict[str, Node], reader: Reader) -> np.random.Generator:
    return np.random.Generator(reader.read(node["bits"]))


def _write_random_state(rng: np.random.RandomState, writer: Writer, path: str) -> dict[str, Node]:
    return {"state": writer.write(rng.get_state(legacy=False), f"{path}.state")}


def _read_random_state(node: dict[str, Node], reader: Reader) -> np.random.RandomState:
    state = reader.read(node["state"])
    rng = np.random.RandomState(BIT_GENERATORS[state["bit_generator"]](0))
    rng.set_state(_checked(state))
    return rng


def _checked(state: dict[str, Any]) -> dict[str, Any]:
    """Refuse a position outside the words of the state, which numpy's compiled code does not check."""
    position, words = 0, 0
    if state["bit_generator"] == "MT19937":
        position, words = state["state"]["pos"], MT19937_WORDS
    elif state["bit_generator"] == "Philox":
        position, words = state["buffer_pos"], PHILOX_WORDS
    if not 0 <= position <= words:
        raise ValueError(f"a bit generator is at word {position} of {words}")
    return state


RANDOM_CODECS: dict[type, Codec] = {
    np.random.SeedSequence: Codec("seed sequence", _write_seeds, _read_seeds),
    np.random.Generator: Codec("generator", _write_generator, _read_generator),
    np.random.RandomState: Codec("random state", _write_random_state, _read_random_state),
}
BIT_GENERATOR = Codec("bit generator", _write_bit_generator, _read_bit_generator)
RANDOM_CODECS.update(dict.fromkeys(BIT_GENERATORS.values(), BIT_GENERATOR))
