"""Where the truth of a question comes from: the data set's file, or the definition in numpy."""
import numpy as np

from referee.answers import KeysOf, Truth
from referee.cases import Question
from referee.material import Material
from sets.definition import KEYS
from sets.random_streams import stream

SAMPLED = 100


def keys_of(material: Material, operation: str) -> KeysOf:
    if operation == "select":
        return lambda query, ids: material.base[query, ids]
    key = KEYS[material.metric]
    asked = material.base if operation == "graph" else material.queries
    return lambda query, ids: key(asked[query], material.base[ids])


def from_file(material: Material, question: Question, keys: KeysOf) -> Truth:
    count = len(material.queries)
    return Truth(np.arange(count), material.truth[:count, :question.k], keys, len(material.base))


def by_definition(material: Material, operation: str, question: Question, keys: KeysOf) -> Truth:
    """Of a sample: all pairs in numpy would take longer than all that is measured."""
    asked = len(material.queries) if len(material.queries) else len(material.base)
    columns = material.base.shape[1] if operation == "select" else len(material.base)
    sample = np.sort(stream("checked queries").permutation(asked)[:SAMPLED])
    everything = np.arange(columns)
    ids = []
    for query in sample:
        values = keys(query, everything)
        if operation == "within":
            ids.append(np.flatnonzero(values <= question.radius))
            continue
        order = np.argsort(values, kind="stable")
        if operation == "graph":
            order = order[order != query]
        ids.append(order[:question.k])
    return Truth(sample, ids, keys, columns)


def truth_of(material: Material, operation: str, question: Question) -> Truth:
    keys = keys_of(material, operation)
    if operation == "knn" and material.truth is not None:
        return from_file(material, question, keys)
    return by_definition(material, operation, question, keys)
