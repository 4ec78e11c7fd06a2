"""The container file and the examples for Kubernetes, as far as a machine without either can check them: what they name
is there, and their commands are those of the documents."""

import importlib
import json
import re
import shlex

import pytest
from conftest import ROOT

yaml = pytest.importorskip("yaml", reason="yaml is not installed")
FOLDER = ROOT / "samples" / "serve"


def instructions():
    """[(instruction, its text)] of the container file."""
    text = (FOLDER / "Containerfile").read_text().replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line and not line.startswith("#")]


def documents(name):
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def test_what_the_container_copies_and_installs_is_there():
    for kind, text in instructions():
        sources = shlex.split(text)[:-1]
        if kind == "COPY" and not sources[0].startswith("--from="):
            assert all((ROOT / source).exists() for source in sources), text
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert "/build" in ignored  # which an image must not carry
    ours = [text for kind, text in instructions() if kind == "COPY" and "--from=" in text]
    assert ours == ["--from=build /opt/kinetograph /opt/kinetograph"]


def test_the_containers_commands_are_those_of_the_documents():
    run = " ".join(text for kind, text in instructions() if kind == "RUN")
    assert "./bootstrap packages" in run and "./bootstrap packages" in (ROOT / "README.md").read_text()
    assert re.search(r"pip install '\.\[serve,ray\]'", run)
    extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), flags=re.M)
    assert {"serve", "ray"} <= set(extras)
    last = dict(instructions())  # of instructions that come twice the last one
    assert json.loads(last["ENTRYPOINT"]) == ["python", "-m", "kinetograph", "serve"]
    arguments = parsed(json.loads(last["CMD"]))
    assert arguments.demo and arguments.host == "0.0.0.0" and str(arguments.port) == last["EXPOSE"]


def parsed(arguments):
    for package in ("fastapi", "uvicorn", "prometheus_client", "av"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    from kinetograph.serve import command
    return command._parse(arguments)


def test_the_libraries_that_the_container_installs_are_those_that_the_library_loads():
    import subprocess

    from kinetograph import _library
    loaded = subprocess.run(["ldd", _library.library._name], capture_output=True, text=True, check=True).stdout
    run = " ".join(text for kind, text in instructions() if kind == "RUN")
    for library, package in (("libdnnl.so.2", "libdnnl2"), ("libfmt.so.9", "libfmt9"), ("libgomp.so.1", "libgomp1"),
                             ("libminizip.so.1", "libminizip1"), ("libxxhash.so.0", "libxxhash0")):
        assert library not in loaded or package in run.split(), library
    known = {"libOpenCL", "libc", "libdl", "libdnnl", "libfmt", "libgcc_s", "libgomp", "libm", "libminizip", "libpthread",
             "librt", "libstdc++", "libxxhash", "libz", "ld-linux-x86-64", "linux-vdso"}
    names = {line.split()[0].rpartition("/")[2].partition(".so")[0] for line in loaded.splitlines()}
    assert {re.sub(r"-[0-9a-f]{8}$", "", name) for name in names} <= known  # a wheel's copies have a part of a hash


def test_the_service_in_kubernetes_has_a_token_probes_and_a_port_that_are_its_own():
    deployment, service = documents("kubernetes.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    arguments = parsed(container["args"])
    (port,) = container["ports"]
    assert port["containerPort"] == arguments.port == service["spec"]["ports"][0]["targetPort"]
    assert arguments.host == "0.0.0.0" and container["env"][0]["name"] == "KINETOGRAPH_TOKEN"
    (mount,) = container["volumeMounts"]
    assert arguments.weights[0].startswith(mount["mountPath"] + "/")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert labels == service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    paths = {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
    metrics = service["metadata"]["annotations"]["prometheus.io/path"]
    source = (ROOT / "python" / "kinetograph" / "serve" / "app.py").read_text()
    assert all(f'@app.get("{path}"' in source for path in paths | {metrics})


def test_the_fleets_configuration_is_one():
    pytest.importorskip("ray", reason="ray is not installed")
    (service,) = documents("kuberay.yaml")
    (application,) = yaml.safe_load(service["spec"]["serveConfigV2"])["applications"]
    module, _, name = application["import_path"].partition(":")
    from kinetograph.ray import Fleet
    assert callable(getattr(importlib.import_module(module), name))
    fleet = Fleet(**application["args"])
    (workers,) = service["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    assert workers["maxReplicas"] == fleet.most_replicas and workers["minReplicas"] == fleet.fewest_replicas
    (container,) = workers["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert fleet.weights[0].startswith(container["volumeMounts"][0]["mountPath"] + "/")
