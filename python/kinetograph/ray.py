"""A fleet: one service a GPU of a Ray cluster, behind one address. Needs the extra kinetograph[ray]. docs/serve.md.

    from ray import serve
    serve.run(kinetograph.ray.build(kinetograph.ray.Fleet(weights=["vae.safetensors"], most_replicas=8)))

or, in a configuration of Ray Serve, `import_path: kinetograph.ray:build` with the members of Fleet as `args`.
"""

from __future__ import annotations

import os
from typing import Any

import ray.serve as ray_serve
from pydantic import BaseModel, ConfigDict, Field
from ray.serve.config import AutoscalingConfig, RequestRouterConfig
from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter

from .decoder import Decoder, family_of
from .serve import Limits, Service, create_app

_REQUESTS = 2  # of a session at a time: its latents and its frames
_DRAIN_SECONDS = 600.0  # that a replica which is to stop waits for its sessions
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
    token: str | None = None  #: that requests must have; None: KINETOGRAPH_TOKEN of the replica, if it is set


def build(fleet: Fleet) -> ray_serve.Application:
    """The application of a fleet, for ray.serve.run()."""
    def make_app() -> Any:
        token = fleet.token or os.environ.get("KINETOGRAPH_TOKEN")
        decoders = {family_of(path): Decoder(path, device=fleet.device, precision=fleet.precision)
                    for path in fleet.weights}
        replica = ray_serve.get_replica_context().replica_id.unique_id
        service = Service(decoders, Limits(sessions=fleet.sessions * 2), token, replica + _MARK)
        return create_app(service, on_loopback=token is None)

    routing: dict[str, Any] = {"request_router_class": SessionRouter}
    resources = {"num_cpus": 1} if fleet.device == "cpu" else {"num_gpus": 1}
    deployment = ray_serve.deployment(
        name="kinetograph", ray_actor_options=resources, max_ongoing_requests=16 * fleet.sessions,
        request_router_config=RequestRouterConfig(**routing),
        graceful_shutdown_timeout_s=_DRAIN_SECONDS,
        autoscaling_config=AutoscalingConfig(min_replicas=fleet.fewest_replicas, max_replicas=fleet.most_replicas,
                                             target_ongoing_requests=_REQUESTS * fleet.sessions))
    return deployment(ray_serve.ingress(make_app)()).bind()


class SessionRouter(ConsistentHashRouter):  # type: ignore[misc, unused-ignore]
    """Requests of a session go to the replica whose name its own begins with, also after others were added. No other
    replica has its state: one that is asked for a session of a replica that has ended says so. Requests that name no
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
