"""The files of `deploy/`, parsed as their tools parse them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast

import yaml

from scrubjay.model.memory import Json
from tests.contract.source import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE_FILES = ("compose.yaml", "compose.archive.yaml")
MANIFESTS = ("kubernetes/scrubjay.yaml", "kubernetes/admin.yaml")

Tree = dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container of a pod, with the settings of its pod."""

    pod: str
    spec: Tree
    pod_spec: Tree

    @property
    def environment(self) -> dict[str, Json]:
        """Its variables with their values or sources, including those of its config maps."""
        results: dict[str, Json] = {}
        for source in branches(self.spec.get("envFrom", [])):
            name = at(source, "configMapRef", "name")
            results |= branch(one_of("ConfigMap", str(name))["data"])
        for item in branches(self.spec.get("env", [])):
            results[str(item["name"])] = item.get("value", item.get("valueFrom"))
        return results


def text(name: str) -> str:
    """Read a file of `deploy/`."""
    return (DEPLOY / name).read_text(encoding="utf-8")


@cache
def compose(name: str = COMPOSE_FILES[0]) -> Tree:
    """Read a compose file."""
    return cast("Tree", yaml.safe_load(text(name)))


def services() -> dict[str, Tree]:
    """Return the services of the compose file, with shared parts filled in."""
    return {name: branch(item) for name, item in branch(compose()["services"]).items()}


def compose_schema() -> Tree:
    """Return the schema of the compose specification."""
    place = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    return cast("Tree", json.loads(place.read_text(encoding="utf-8")))


@cache
def objects() -> tuple[Tree, ...]:
    """Return all objects of the manifests."""
    return tuple(cast("Tree", item) for name in MANIFESTS for item in yaml.safe_load_all(text(name)))


def one_of(kind: str, name: str) -> Tree:
    """Return one object of the manifests."""
    (results,) = (
        object_ for object_ in objects() if object_["kind"] == kind and at(object_, "metadata", "name") == name
    )
    return results


def containers() -> list[Container]:
    """Yield every container of the manifests."""
    return [
        Container(pod=str(at(object_, "metadata", "name")), spec=spec, pod_spec=pod)
        for object_ in objects()
        for pod in [
            branch((object_.get("spec") if object_["kind"] == "Pod" else at(object_, "spec", "template", "spec")) or {})
        ]
        for spec in branches(pod.get("containers", []))
    ]


def container(pod: str) -> Container:
    """Return the container of a pod."""
    (results,) = (container for container in containers() if container.pod == pod)
    return results


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text("Dockerfile"), flags=re.MULTILINE))
    lines = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return [(name, rest.strip()) for name, _, rest in lines]


def branch(value: Json) -> Tree:
    """Return a value that must be a mapping."""
    assert isinstance(value, Mapping)
    return cast("Tree", value)


def branches(value: Json) -> list[Tree]:
    """Return a value that must be a list of mappings."""
    assert isinstance(value, list)
    return [branch(item) for item in value]


def at(tree: Tree, *path: str) -> Json:
    """Return the value at the end of a path, or None if the path does not exist."""
    results: Json = tree
    for name in path:
        results = branch(results).get(name) if isinstance(results, Mapping) else None
    return results
