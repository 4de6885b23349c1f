"""What a request for a run, or for a list of runs, may say besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from typing_extensions import TypedDict

from .files import FileInput

if TYPE_CHECKING:
    from .models import RunStatus

Input: TypeAlias = "Union[str, int, float, bool, Sequence[Any], FileInput]"
Inputs: TypeAlias = Mapping[str, Input]
Included: TypeAlias = Literal["inputs", "workflow_api"]
Time: TypeAlias = Union[str, date, datetime]


class RunOptions(TypedDict, total=False):
    """The members of DeploymentRunRequest besides the deployment and the inputs."""

    webhook: str
    webhook_intermediate_status: bool
    gpu: Literal["T4", "L4", "A10G", "L40S", "A100", "A100-80GB", "H100"]
    priority: int
    run_timeout_s: float
    start_deadline_s: float
    delay_s: float
    start_at: Union[str, datetime]
    concurrency_key: str
    strict_inputs: bool
    tags: Sequence[str]


class RunFilter(TypedDict, total=False):
    """The parameters of `operations.list_runs`. A list of statuses or tags, or one; `limit` is that of a page."""

    status: Union[RunStatus, Sequence[RunStatus]]
    deployment_id: str
    deployment: str
    workflow_id: str
    schedule_id: str
    gpu: str
    origin: Literal["api", "manual", "replay"]
    tag: Union[str, Sequence[str]]
    search: str
    created_after: Time
    created_before: Time
    limit: int
    cursor: str
    include: Union[Included, Sequence[Included]]
    at: Time
