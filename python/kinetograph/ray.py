"""A fleet: one service a GPU of a Ray cluster, behind one address. Needs the extra kinetograph[ray]. docs/serve.md.

    from ray import serve
    serve.run(kinetograph.ray.build(kinetograph.ray.Fleet(weights=["vae.safetensors"], most_replicas=8)))

or, in a configuration of Ray Serve, `import_path: kinetograph.ray:build` with the members of Fleet as `args`.
"""

from __future__ import annotations

import collections
import logging
import math
import os
import threading
import time
from typing import Any

import ray
import ray.serve as ray_serve
from pydantic import BaseModel, ConfigDict, Field
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, RequestRouterConfig
from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter

from ._library import Error
from .decoder import Decoder, family_of
from .serve import Limits, Service, create_app
from .serve.saved import Saved

log = logging.getLogger("kinetograph.serve")

_DRAIN_SECONDS = 120.0  # that a replica which is to stop has for moving its sessions
_WATCH_SECONDS = 1.0  # between two looks at whether it is to stop
_SEARCH_SECONDS = 10.0  # that a replica which has sessions is waited for
_CLAIM_SECONDS = 30.0  # that a replica has for taking a session over
_NAMES = 10_000  # of sessions that went on elsewhere
_HEAD = {"node:__internal_head__": 0.001}  # a resource of the node that a cluster cannot lose
_MARK = "."  # between the replica's name and the session's


class Fleet(BaseModel):
    """What every replica serves, and how many there are."""
    model_config = ConfigDict(extra="forbid")
    weights: list[str] = Field(min_length=1, description="checkpoints, at the same path on every node")
    device: str = "cuda"  #: a replica has one GPU; "cpu": one processor
    precision: str = "bf16"
    fewest_replicas: int = Field(1, ge=1)
    most_replicas: int = Field(1, ge=1)
    sessions: int = Field(8, ge=1, description="of a replica; when more are open on average, replicas are added")
    busy: float = Field(0.8, gt=0, description="seconds of decoding a second of a replica; the same")
    store_seconds: float = Field(10, ge=0, description="between two stored states of a session that is rebuilt")
    token: str | None = None  #: that requests must have; None: KINETOGRAPH_TOKEN of the replica, if it is set


def build(fleet: Fleet) -> ray_serve.Application:
    """The application of a fleet, for ray.serve.run()."""
    routing: dict[str, Any] = {"request_router_class": SessionRouter}
    resources = {"num_cpus": 1} if fleet.device == "cpu" else {"num_gpus": 1}
    make_policy: Any = AutoscalingPolicy  # untyped
    policy = make_policy(policy_function="kinetograph.ray:Scaling",
                         policy_kwargs={"sessions": fleet.sessions, "busy": fleet.busy})
    deployment = ray_serve.deployment(
        name="kinetograph", ray_actor_options=resources, max_ongoing_requests=16 * fleet.sessions,
        request_router_config=RequestRouterConfig(**routing), graceful_shutdown_timeout_s=_DRAIN_SECONDS,
        autoscaling_config=AutoscalingConfig(min_replicas=fleet.fewest_replicas, max_replicas=fleet.most_replicas,
                                             policy=policy))
    return deployment(ray_serve.ingress()(Replica)).bind(fleet)


class Replica:
    """One service. When it is to stop, its sessions go to the shelf, from which other replicas take them."""

    def __init__(self, fleet: Fleet) -> None:
        self._id = ray_serve.get_replica_context().replica_id
        shelf: Any = Shelf
        self._shelf = shelf.options(name=f"kinetograph shelf of {self._id.deployment_id.app_name}",
                                    namespace="kinetograph", lifetime="detached", get_if_exists=True, num_cpus=0,
                                    resources=_HEAD, max_restarts=-1).remote()
        decoders = {family_of(path): Decoder(path, device=fleet.device, precision=fleet.precision)
                    for path in fleet.weights}
        limits = Limits(sessions=fleet.sessions * 2, store_seconds=fleet.store_seconds)
        self._service = Service(decoders, limits, fleet.token or os.environ.get("KINETOGRAPH_TOKEN"),
                                self._id.unique_id + _MARK, self._store, self._take_over)
        self._counted = (time.monotonic(), 0.0)  # when seconds of decoding were asked for, and how many there were
        threading.Thread(target=self._move_when_stopped, name="kinetograph drain", daemon=True).start()

    def __serve_build_asgi_app__(self) -> Any:
        return create_app(self._service, on_loopback=self._service.token is None)

    def record_autoscaling_stats(self) -> dict[str, float]:
        """What Scaling decides by."""
        (before, spent), now = self._counted, time.monotonic()
        self._counted = now, self._service.metrics.busy_seconds
        return {"sessions": len(self._service.sessions()),
                "busy": (self._counted[1] - spent) / max(now - before, 1e-3)}

    def _store(self, name: str, saved: Saved | None) -> None:
        ray.get(self._shelf.put.remote(name, saved))

    def _take_over(self, name: str) -> str | None:
        """The new name of a session of another replica, which goes on here or elsewhere; None: its state is gone. A
        replica that runs, and is to stop, has its sessions on the shelf soon."""
        until = time.monotonic() + _SEARCH_SECONDS
        while True:
            found, saved = ray.get(self._shelf.claim.remote(name))
            if saved is not None:
                try:
                    new = self._service.adopt(saved).id
                except Error:
                    ray.get(self._shelf.release.remote(name))
                    raise
                ray.get(self._shelf.rename.remote(name, new))
                return new
            if found is not None:
                return str(found)
            if time.monotonic() > until or not self._runs(name.partition(_MARK)[0]):
                return None
            time.sleep(0.1)

    def _runs(self, replica: str) -> bool:
        other = type(self._id)(unique_id=replica, deployment_id=self._id.deployment_id)
        try:
            ray.get_actor(other.to_full_id_str(), namespace="serve")
        except ValueError:
            return False
        return True

    def _move_when_stopped(self) -> None:
        controller = ray.get_actor("SERVE_CONTROLLER_ACTOR", namespace="serve")
        while not self._is_to_stop(controller):
            time.sleep(_WATCH_SECONDS)
        self._service.move_all(self._store)

    def _is_to_stop(self, controller: Any) -> bool:
        """As Ray Serve's details of its applications say (ray.serve.schema.ServeInstanceDetails)."""
        try:
            details = ray.get(controller.get_serve_instance_details.remote(), timeout=_DRAIN_SECONDS)
        except ray.exceptions.RayError:
            return False  # the controller comes back
        application = details["applications"].get(self._id.deployment_id.app_name, {"deployments": {}})
        deployment = application["deployments"].get(self._id.deployment_id.name, {"replicas": []})
        return any(replica["replica_id"] == self._id.unique_id and replica["state"] == "STOPPING"
                   for replica in deployment["replicas"])


@ray.remote
class Shelf:
    """Sessions as values, for when their replicas have ended, and the names under which they went on."""

    def __init__(self) -> None:
        self._saved: dict[str, Saved] = {}
        self._claimed: dict[str, float] = {}  # until when the one who takes it over has it
        self._names: collections.OrderedDict[str, str] = collections.OrderedDict()

    def put(self, name: str, saved: Saved | None) -> None:
        """None: the session was closed."""
        if saved is None:
            self._saved.pop(name, None)
        elif name not in self._names:
            self._saved[name] = saved

    def claim(self, name: str) -> tuple[str | None, Saved | None]:
        """The session's new name, if it has one; else the session, unless another one takes it over just now."""
        if name in self._names:
            return self._names[name], None
        if self._claimed.get(name, 0) > time.monotonic() or name not in self._saved:
            return None, None
        self._claimed[name] = time.monotonic() + _CLAIM_SECONDS
        return None, self._saved[name]

    def release(self, name: str) -> None:
        self._claimed.pop(name, None)

    def rename(self, name: str, new: str) -> None:
        self._saved.pop(name, None)
        self._claimed.pop(name, None)
        self._names[name] = new
        if len(self._names) > _NAMES:
            self._names.popitem(last=False)


class Scaling:
    """An autoscaling policy: as many replicas as the open sessions, and their seconds of decoding a second, ask for."""

    def __init__(self, sessions: int, busy: float) -> None:
        self._of_a_replica = {"sessions": sessions, "busy": busy}

    def __call__(self, context: Any) -> tuple[int, dict[str, Any]]:
        metrics = context.aggregated_metrics or {}
        wanted = [math.ceil(sum(metrics[name].values()) / most - 1e-6)
                  for name, most in self._of_a_replica.items() if metrics.get(name)]
        return max(wanted, default=context.target_num_replicas), {}


class SessionRouter(ConsistentHashRouter):  # type: ignore[misc, unused-ignore]
    """Requests of a session go to the replica whose name its own begins with, also after others were added. When that
    has ended, they go to one of the others, which takes the session over or says that it is gone. Requests that name no
    session are spread evenly."""

    async def choose_replicas(self, candidate_replicas: list[Any], pending_request: Any = None) -> list[list[Any]]:
        session = "" if pending_request is None else pending_request.metadata.session_id
        owner = session.partition(_MARK)[0]
        for replica in candidate_replicas:
            if session and replica.replica_id.unique_id == owner:
                pending_request.routing_context.should_backoff = True
                return [[replica]]
        chosen: list[list[Any]] = await super().choose_replicas(candidate_replicas, pending_request)
        return chosen
