# Made by `npm run client:python` from the OpenAPI document with the SHA-256 cd4d9c60f105f0732b9183f73ecaffcf10080bac4bfbacc9285bfce41dab99b0.

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict


class ApiKey(TypedDict):
    id: str
    name: str
    """
    For people, such as where the key is used.
    """
    prefix: str
    """
    The first characters of the key, for people to recognise it.
    """
    scopes: list[Literal['runs:read', 'runs:write', 'admin', 'operator']]
    """
    `runs:write` implies `runs:read`, and `admin` implies both.
    """
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    last_used_address: str | None
    user_id: str
    """
    The user of the key.
    """
    parent_key_id: str | None


class ApiKeyList(TypedDict):
    api_keys: list[ApiKey]
    """
    The newest first.
    """


class Actor(TypedDict):
    """
    An API key.
    """

    kind: Literal['key']
    key_id: str
    user_id: str
    org_id: str
    address: str | None
    """
    Of the client; null when the connection was closed already.
    """


class Actor1(TypedDict):
    """
    The operator's credentials of the broker.
    """

    kind: Literal['operator']


class Actor2(TypedDict):
    """
    Nobody who is known.
    """

    kind: Literal['unknown']
    network: str
    """
    The addresses of the clients, such as 192.0.2.0/24; `others` for many networks.
    """


class Target(TypedDict):
    kind: str
    id: str | None
    """
    Null when it has none, or none yet.
    """


Detail: TypeAlias = str


class AuditEntry(TypedDict):
    id: str
    """
    Both records of an action have it.
    """
    stage: Literal['requested', 'completed']
    """
    `requested`: stored before the action is carried out. `completed`: stored after it. A `requested` without its `completed` may have taken effect.
    """
    action: Literal['key.created', 'key.revoked', 'secret.read', 'secret.rotated', 'machine.created', 'machine.changed', 'machine.deleted', 'workflow.created', 'workflow.changed', 'workflow.deleted', 'workflow_version.created', 'workflow_version.changed', 'workflow_version.deleted', 'deployment.created', 'deployment.changed', 'deployment.deleted', 'schedule.created', 'schedule.changed', 'schedule.deleted', 'retention.changed', 'run.cancelled', 'runs.cancelled', 'runs.rerun', 'run.deleted', 'run.outputs_deleted', 'file.deleted', 'executor.drained', 'executor.resumed', 'sealed_values.resealed', 'organisation.created', 'organisation.erased', 'log.provisioned', 'dead_letter.redriven', 'views.rebuilt', 'credential.refused']
    org_id: str | None
    actor: Actor | Actor1 | Actor2
    target: Target
    outcome: Literal['done', 'refused', 'unknown'] | None
    """
    Null in a `requested` record. `unknown`: the request failed, and may or may not have taken effect.
    """
    request_id: str | None
    details: NotRequired[dict[str, str | float | bool | list[Detail] | None]]
    time: str
    """
    When the broker stored the record.
    """


class AuditPage(TypedDict):
    records: list[AuditEntry]
    """
    Newest first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class CallingKey(TypedDict):
    """
    The API key of the request, without its secret.
    """

    id: str
    name: str
    """
    For people, such as where the key is used.
    """
    prefix: str
    """
    The first characters of the key, for people to recognise it.
    """
    scopes: list[Literal['runs:read', 'runs:write', 'admin', 'operator']]
    """
    `runs:write` implies `runs:read`, and `admin` implies both.
    """
    created_at: str
    expires_at: str | None


class CancelRunsResponse(TypedDict):
    matched: int
    """
    Runs of this page that still matched the filter when they were read, including runs with an earlier cancel request.
    """
    cancelled: int
    """
    Of these, runs that ended at once.
    """
    requested: int
    """
    Of these, executing runs whose cancellation was requested now; they end within the grace period. Runs with an earlier cancel request do not count.
    """
    failed: int
    """
    Further runs of this page that could not be cancelled: they kept changing, or their state could not be read. Repeat the request. A run whose events expired before its end always fails, until the list drops it.
    """
    created_before: str | None
    """
    A time just after the creation of the newest run of this page; null for an empty page. In the filter of the next request, it excludes runs that were queued after this response.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class CogRunner(TypedDict):
    kind: Literal['cog']
    model: str
    """
    The name of a model server in the settings of each executor, never an address.
    """


class ComfyuiRunner(TypedDict):
    kind: Literal['comfyui']
    url: NotRequired[str | None]


class CreateRunResponse(TypedDict):
    """
    Identifies the run in all other operations.
    """

    run_id: str


class CreatedApiKey(TypedDict):
    id: str
    name: str
    """
    For people, such as where the key is used.
    """
    prefix: str
    """
    The first characters of the key, for people to recognise it.
    """
    scopes: list[Literal['runs:read', 'runs:write', 'admin', 'operator']]
    """
    `runs:write` implies `runs:read`, and `admin` implies both.
    """
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    last_used_address: str | None
    user_id: str
    """
    The user of the key.
    """
    parent_key_id: str | None
    key: str
    """
    Shown only here: the server stores a hash of it.
    """


class DeleteOutputsResponse(TypedDict):
    run_id: str
    outcome: Literal['deleted', 'already_deleted']
    """
    `already_deleted`: an earlier request deleted them.
    """


class DeleteRunResponse(TypedDict):
    run_id: str
    outcome: Literal['deleted']


class Phases(TypedDict):
    dns: float | None
    connect: float | None
    tls: float | None
    wait: float | None
    body: float | None


DeliveryAttempt = TypedDict(
    'DeliveryAttempt',
    {
        'webhook_id': str,
        'round': int,
        'try': int,
        'url': str,
        'started_at': str,
        'phases': Phases,
        'reason': Literal['accepted', 'gone', 'redirect', 'client_error', 'throttled', 'server_error', 'forbidden', 'name_not_found', 'name_unanswered', 'connect_refused', 'connect_failed', 'connect_timed_out', 'tls_failed', 'reset', 'malformed_answer', 'timed_out', 'proxy_failed', 'no_dns', 'interrupted', 'internal_error'],
        'message': str,
        'status': int | None,
        'answer': str | None,
    },
)


class Gpu(TypedDict):
    gpu: str
    after_s: float


Label: TypeAlias = str


LogMask: TypeAlias = str


Tag: TypeAlias = str


class DeploymentRunRequest(TypedDict):
    deployment_id: str
    """
    The deployment to run.
    """
    inputs: NotRequired[dict[str, str | int | float | bool | list[Any]] | None]
    webhook: NotRequired[str | None]
    webhook_intermediate_status: NotRequired[bool | None]
    gpu: NotRequired[Literal['T4', 'L4', 'A10G', 'L40S', 'A100', 'A100-80GB', 'H100'] | None]
    priority: NotRequired[int | None]
    run_timeout_s: NotRequired[float | None]
    start_deadline_s: NotRequired[float | None]
    delay_s: NotRequired[float | None]
    start_at: NotRequired[str | None]
    concurrency_key: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]


class Draining(TypedDict):
    name: str
    """
    Stays the same over restarts of the executor.
    """
    draining: bool
    """
    Whether the name is drained now.
    """
    runs: int
    """
    The number of runs in its slots now. They continue.
    """


EndReason: TypeAlias = Literal['completed', 'workflow_error', 'executor_lost', 'no_capacity', 'start_deadline', 'run_timeout', 'storage_full', 'cancelled_by_client', 'cancelled_by_operator', 'deployment_removed', 'log_expired', 'internal_error']


class Eta(TypedDict):
    """
    When it starts, by the broker's clock: in 8 of 10 cases between `earliest` and `latest`, and as likely before `expected` as after it. Estimated from how long runs took lately, from the runs ahead, and from those that hold the slots which a limit or a concurrency key allows. Null when nobody can say: `eta_sentence` says why.
    """

    earliest: str
    expected: str
    latest: str


class ExecutorDrain(TypedDict):
    requested_at: str
    requested_by: str
    """
    The id of the API key.
    """


class GpuFallback(TypedDict):
    gpu: str
    after_s: float


class InputDefinition(TypedDict):
    name: str
    type: Literal['string', 'integer', 'number', 'boolean', 'array', 'file', 'image', 'audio', 'video']
    """
    The value of `file`, `image`, `audio` and `video` is the id of an uploaded file, an http or https URL that the executor fetches, or a data URL. The workflow gets the name of the file in its input folder.
    """
    required: bool
    secret: NotRequired[Literal[True]]
    default: NotRequired[Any]
    enum: NotRequired[list[str | float]]
    minimum: NotRequired[float]
    maximum: NotRequired[float]
    node: NotRequired[str]
    field: NotRequired[str]
    description: NotRequired[str]


class KeptDays(TypedDict):
    days: int | None
    chosen: int | None
    least: int | None
    most: int | None


class ListedWorkflowVersion(TypedDict):
    """
    Without the workflow itself.
    """

    id: str
    org_id: str
    workflow_id: str
    number: int
    """
    1 for the first version of a workflow, then 2, 3, without a gap.
    """
    sha256: str
    """
    The SHA-256 of the workflow as JSON text, in hexadecimal digits.
    """
    bytes: int
    """
    The size of the workflow as JSON text.
    """
    inputs: list[InputDefinition]
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str


class MediaItem(TypedDict):
    url: str
    """
    Needs no API key: the address cannot be guessed. It may expire, if the installation says so: read the run again for another one.
    """
    type: Literal['output', 'temp']
    filename: str
    is_public: bool
    subfolder: str
    upload_duration: float
    """
    Seconds.
    """
    content_type: str
    """
    The MIME type.
    """


class MissingMember(TypedDict):
    member: Literal['workflow_inputs', 'workflow_api', 'outputs']
    reason: Literal['gone', 'damaged', 'deleted']
    """
    `gone`: it has expired, as inputs and lists of outputs over 4 KiB do after 90 days by default. `damaged`: what is stored is not what was stored. `deleted`: a request deleted them.
    """


class NewApiKey(TypedDict):
    name: str
    """
    For people. Not blank, and without control characters and characters that change the direction of text.
    """
    scopes: NotRequired[list[Literal['runs:read', 'runs:write', 'admin']] | None]
    user_id: NotRequired[str | None]
    expires_at: NotRequired[str | None]


class NewInputDefinition(TypedDict):
    """
    Runs whose inputs do not fit are refused with 422. Inputs without a definition are passed on.
    """

    name: str
    type: Literal['string', 'integer', 'number', 'boolean', 'array', 'file', 'image', 'audio', 'video']
    """
    The value of `file`, `image`, `audio` and `video` is the id of an uploaded file, an http or https URL that the executor fetches, or a data URL. The workflow gets the name of the file in its input folder.
    """
    required: NotRequired[bool | None]
    secret: NotRequired[bool | None]
    default: NotRequired[Any]
    """
    A value of the input's type, which a run gets that leaves the input out. Null counts as omitted.
    """
    enum: NotRequired[list[str | float] | None]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    node: NotRequired[str | None]
    field: NotRequired[str | None]
    description: NotRequired[str | None]


class NewSchedule(TypedDict):
    """
    The other members are those of a request that queues a run of the deployment, without `delay_s` and `start_at`.
    """

    name: str
    """
    For people. Not blank, and without control characters and characters that change the direction of text.
    """
    deployment_id: str
    cron: str
    """
    Five fields: minute, hour, day of month, month, day of week (0 or 7 is Sunday). `*`, lists, ranges, steps and names such as `MON` or `JAN`, `L` for the last day of the month, `15W` for the nearest weekday, `FRI#2` for the second Friday; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. When both day fields are given, a day that fits one of them fits.
    """
    time_zone: NotRequired[str | None]
    overlap: NotRequired[Literal['skip', 'allow', 'cancel_other'] | None]
    catch_up_s: NotRequired[int | None]
    paused: NotRequired[bool | None]
    inputs: NotRequired[dict[str, str | int | float | bool | list[Any]] | None]
    webhook: NotRequired[str | None]
    webhook_intermediate_status: NotRequired[bool | None]
    gpu: NotRequired[Literal['T4', 'L4', 'A10G', 'L40S', 'A100', 'A100-80GB', 'H100'] | None]
    priority: NotRequired[int | None]
    run_timeout_s: NotRequired[float | None]
    start_deadline_s: NotRequired[float | None]
    concurrency_key: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]


class NewWorkflow(TypedDict):
    name: str
    """
    For people. Not blank, and without control characters and characters that change the direction of text.
    """


class NewWorkflowVersion(TypedDict):
    workflow: Any
    """
    Any JSON value that the runner understands. At most 512 KiB as JSON, nested at most 32 levels.
    """
    inputs: NotRequired[list[NewInputDefinition] | None]


class RequestedBy(TypedDict):
    """
    The API key of the operator.
    """

    org_id: str
    user_id: str
    key_id: str


class Erases(TypedDict):
    """
    What was erased so far: API keys, runs, and files that clients had uploaded. What a gateway erased before it was killed may be missing.
    """

    keys: int
    runs: int
    files: int


class OrganisationTombstone(TypedDict):
    org_id: str
    requested_at: str
    requested_by: RequestedBy
    """
    The API key of the operator.
    """
    state: Literal['erasing', 'erased']
    """
    `erased`: twice, with ten minutes between, nothing was left but the facts of runs, which leave the log with its age.
    """
    erased_at: str | None
    """
    Null while the state is `erasing`.
    """
    erases: Erases
    """
    What was erased so far: API keys, runs, and files that clients had uploaded. What a gateway erased before it was killed may be missing.
    """


class OutputItem(TypedDict):
    id: str
    run_id: str
    output_id: str
    data: dict[str, list[str | MediaItem]]
    """
    By kind: images, files, gifs, text and others.
    """
    node_meta: dict[str, Any] | None
    created_at: str
    updated_at: str
    type: str | None
    node_id: str | None


class PooledDeployment(TypedDict):
    deployment_id: str
    waiting: int
    """
    Runs that wait for a slot.
    """
    delayed: int
    """
    Runs that wait for a time, and for no slot yet: as their request says (`delay_s`, `start_at`), or before another attempt after an error. They count for the GPU model that they prefer.
    """
    running: int
    """
    Runs that hold a slot.
    """
    oldest_queued_at: str | None
    """
    When the run that has waited longest was queued or requeued. Null when none waits.
    """


class PooledOrganisation(TypedDict):
    org_id: str
    waiting: int
    """
    Runs that wait for a slot.
    """
    delayed: int
    """
    Runs that wait for a time, and for no slot yet: as their request says (`delay_s`, `start_at`), or before another attempt after an error. They count for the GPU model that they prefer.
    """
    running: int
    """
    Runs that hold a slot.
    """
    oldest_queued_at: str | None
    """
    When the run that has waited longest was queued or requeued. Null when none waits.
    """
    starts_per_minute: float
    """
    Runs that got a slot, per minute, in the last ten minutes. Too low for ten minutes after all schedulers were restarted.
    """
    deployments: list[PooledDeployment]
    """
    Those with the most waiting runs first; of many only the first ones.
    """
    more_deployments: int
    """
    Deployments with runs here that are not listed.
    """


class ProgramRunner(TypedDict):
    kind: Literal['program']
    program: str
    """
    A name in the allow-list of each executor, never a command.
    """


class ReceiptFact(TypedDict):
    sequence: int
    """
    Its position in the log.
    """
    time: str
    """
    When the broker stored it.
    """
    subject: str
    follows: int
    """
    The position of the message that it was stored behind, as its fence says; 0 for none.
    """
    content: str | None
    sha256: str
    """
    Of the content, in base64url.
    """


class ReceiptKeys(TypedDict):
    keys: list[str]
    """
    The first one signs. The others have signed before.
    """


PathItem: TypeAlias = str
"""
Beside the way from the leaf to the root, the lowest first.
"""


class Fact(TypedDict):
    sequence: int
    index: int
    """
    Of its leaf, from 0 on.
    """
    path: list[PathItem]


class ReceiptSegment(TypedDict):
    first_sequence: int
    """
    Of the range of the log that was archived.
    """
    last_sequence: int
    messages: int
    """
    Of the segment: the leaves of its tree.
    """
    root: str
    """
    Of the Merkle tree over the messages of the segment (RFC 6962), in base64url.
    """
    facts: list[Fact]


class RedeliverResponse(TypedDict):
    matched: int
    """
    Runs of this page.
    """
    requested: int
    """
    Of these, runs whose notification is sent again.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class Refusal(TypedDict):
    detail: str
    """
    What happened, and what to do.
    """
    code: str
    """
    For programs: one cause with one remedy. A code never changes its meaning or its status, and clients may meet new ones. The page docs/errors.md of Runledger has the cause and the remedy of each.
    """
    request_id: str
    """
    As the header `X-Request-Id`. The log of the service has it.
    """


class RequestBounds(TypedDict):
    """
    What requests may ask for. A request beyond a bound is refused with 422. `run_timeout_s` and `start_deadline_s` of the deployment are bounds too.
    """

    min_priority: int
    """
    The lowest `priority`.
    """
    max_priority: int
    """
    The highest `priority`.
    """
    max_delay_s: float | None


class RequestedBounds(TypedDict):
    """
    What requests may ask for. A request beyond a bound is refused with 422. `run_timeout_s` and `start_deadline_s` of the deployment are bounds too. An omitted bound stays unchanged, null removes it; null instead of the object removes all.
    """

    min_priority: NotRequired[int | None]
    max_priority: NotRequired[int | None]
    max_delay_s: NotRequired[float | None]


class RequestedRetryPolicy(TypedDict):
    """
    An omitted member stays unchanged.
    """

    attempts: NotRequired[int | None]
    on: NotRequired[list[Literal['program_exit', 'program_signal', 'out_of_memory', 'crashed', 'setup_failed', 'execution_error', 'input_unavailable', 'not_runnable', 'internal_error', 'storage_full']] | None]


class RerunRequest(TypedDict):
    inputs: NotRequired[dict[str, str | int | float | bool | list[Any]] | None]


class RefusedItem(TypedDict):
    reason: Literal['deployment_gone', 'workflow_gone', 'inputs_gone', 'invalid_inputs', 'inputs_too_large', 'inputs_over_quota', 'inputs_store_full', 'outlives_log', 'unreadable']
    """
    `deployment_gone`: the deployment was archived or deleted. `workflow_gone`: the workflow version was deleted, or its workflow is lost. `inputs_gone`: the inputs have expired or are damaged. `invalid_inputs`: a file of the inputs is gone, or its address is not allowed any more. `inputs_too_large`, `inputs_over_quota`, `inputs_store_full`: there is no room for the inputs. `outlives_log`: with its time limits the run could live longer than the log. `unreadable`: the state of the run cannot be read now; repeat the request.
    """
    runs: int
    run_id: str
    """
    The newest of them. Its own rerun is refused with a sentence that says more.
    """


class RerunRunsResponse(TypedDict):
    matched: int
    """
    Runs of this page that matched the filter and were decided on: the sum of the counts below. Reruns that this Idempotency-Key has queued do not match.
    """
    queued: int
    """
    Of these, runs that were queued again now.
    """
    already_queued: int
    """
    Of these, runs that an earlier request with this Idempotency-Key has queued again.
    """
    refused: list[RefusedItem]
    """
    Of these, runs that could not be queued again: how many for each reason.
    """
    stopped: Literal['queue_full', 'log_nearly_full'] | None
    """
    Why the page ended early: the organisation has as many queued runs as it may (`queue_full`), or the log has no room for another run (`log_nearly_full`). `next_cursor` is then the cursor of the runs that were not decided on: send it later, with the same Idempotency-Key.
    """
    created_before: str | None
    """
    A time just after the creation of the newest run of this page; null for an empty page. In the filter of the next request, it excludes runs that were queued after this response.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class ResealRequest(TypedDict):
    sealing_key: str
    """
    The key that seals, as `GET /sealed-values` shows it. A gateway that seals with another key refuses the request.
    """
    cursor: NotRequired[str | None]


class ResourceUsage(TypedDict):
    used: int | None
    limit: int
    """
    What the organisation may use.
    """
    unit: Literal['runs', 'records', 'schedules', 'bytes', 'files', 'uploads', 'streams']


class Retention(TypedDict):
    runs_days: KeptDays
    outputs_days: KeptDays


class RetentionChange(TypedDict):
    """
    Omitted members stay unchanged.
    """

    runs_days: NotRequired[int | None]
    outputs_days: NotRequired[int | None]


class RetryPolicy(TypedDict):
    attempts: int
    """
    The most attempts of a run. It begins another one when its executor is lost, and after an error in `on`.
    """
    on: NotRequired[list[Literal['program_exit', 'program_signal', 'out_of_memory', 'crashed', 'setup_failed', 'execution_error', 'input_unavailable', 'not_runnable', 'internal_error', 'storage_full']]]
    """
    Errors after which a run begins another attempt, if they are retryable. It waits about 2 s before the second attempt, then twice as long each time, at most 300 s. None by default.
    """


class RotateSecretRequest(TypedDict):
    overlap_s: NotRequired[float | None]


class RunChange(TypedDict):
    member: str
    """
    Of the run as `GET /run/{run_id}` shows it, such as `status` or `attempts[0].ended_at`.
    """
    before: Any
    """
    Null where there was nothing.
    """
    after: Any
    """
    Null where nothing is left.
    """


class RunError(TypedDict):
    """
    Why a run or an attempt failed or timed out. Of an attempt that another one followed, the message is at most 512 bytes.
    """

    message: str
    """
    What happened, for people. After its first line come the last lines that a program wrote to its standard error.
    """
    kind: Literal['program_exit', 'program_signal', 'out_of_memory', 'crashed', 'setup_failed', 'execution_error', 'input_unavailable', 'invalid_inputs', 'invalid_output', 'output_too_large', 'limit_exceeded', 'not_runnable', 'internal_error', 'deployment_removed', 'storage_full', 'executor_lost', 'executor_left', 'no_capacity', 'start_deadline', 'run_timeout', 'log_expired']
    """
    Each belongs to one `end_reason`. Later releases may add kinds.
    """
    exit_code: NotRequired[int]
    """
    Of a program.
    """
    signal: NotRequired[str]
    """
    That ended a program, such as `SIGSEGV`.
    """
    node: NotRequired[str]
    """
    The node of the workflow that failed.
    """
    retryable: bool
    """
    The same run may succeed when it is queued again without a change.
    """


class RunFactCause(TypedDict):
    """
    The fact that made the service write this one: of this run, or, with nulls, another one. Null when a request or the time did.
    """

    event_id: str
    sequence: int | None
    type: str | None


class RunFactDetails(TypedDict):
    """
    How the services know it. Null for a key without the scope `admin`.
    """

    event_id: str
    correlation_id: str
    """
    The same for all facts that one request caused.
    """
    traceparent: str | None
    instance: str
    """
    The process of the service that wrote it.
    """
    executor_id: str | None
    data: Any
    """
    What the fact says, as docs/events.md describes it. Secret inputs are null.
    """


TagItem: TypeAlias = str


class RunHistoryDelivery(TypedDict):
    kind: Literal['delivery']
    time: str
    """
    The time when it began.
    """
    sentence: str
    """
    What happened, for people. It may have several lines.
    """
    notification: Literal['intermediate', 'final']
    delivery: DeliveryAttempt


class RunHistoryFact(TypedDict):
    kind: Literal['fact']
    time: str
    """
    The time when it was stored.
    """
    sequence: int
    """
    Its position in the log. `GET /run/{run_id}?at_seq=` shows the run after it.
    """
    type: str
    """
    Later releases may add types.
    """
    attempt: int | None
    round: int | None
    executor: str | None
    writer: str
    """
    The service that wrote it.
    """
    cause: RunFactCause | None
    sentence: str
    """
    What happened, for people. It may have several lines.
    """
    changes: list[RunChange] | None
    details: RunFactDetails | None


class RunHistoryGap(TypedDict):
    kind: Literal['gap']
    time: str
    """
    Of what follows it.
    """
    reason: Literal['expired', 'missing', 'refused', 'newer']
    """
    `expired`: facts have left the log with their age. `missing`: the log has lost facts. `refused`: a message in the log that is no fact of the run, and changed nothing. `newer`: a fact that only a later release understands.
    """
    sequence: int | None
    sentence: str
    """
    What happened, for people. It may have several lines.
    """


class Cut(TypedDict):
    """
    What is missing at this place.
    """

    lines: int
    bytes: int


class RunLogCut(TypedDict):
    at: str
    attempt: int
    """
    The number of the execution attempt.
    """
    cut: Cut
    """
    What is missing at this place.
    """


class RunLogLine(TypedDict):
    at: str
    """
    When the executor read it.
    """
    attempt: int
    """
    The number of the execution attempt.
    """
    stream: Literal['stdout', 'stderr', 'runner']
    """
    Where it comes from: the two output streams of the workflow, or what executes it.
    """
    line: str
    """
    Without control characters, and with `***` for what the deployment masks.
    """
    truncated: NotRequired[bool]
    """
    True when the line was longer than 4 KiB: its end is cut off.
    """


class RunLogNotice(TypedDict):
    attempt: int
    """
    The number of the execution attempt.
    """
    notice: str
    """
    What is to be known about this log.
    """


class RunPlacement(TypedDict):
    """
    Why it got its slot, and what it had waited for; null when the scheduler did not say it.
    """

    candidates: int
    """
    The free slots that fitted, with its own; 10 for that many or more.
    """
    choice: Literal['warm', 'cold']
    """
    `warm`: its slot had its workflow version loaded. `cold`: no free one had, as far as known.
    """
    gpu_index: int | None
    waited_s: float
    """
    Seconds since the run was queued or queued again, without the wait before a retry.
    """
    warm_wait_s: float | None
    held_back_by: Literal['organisation_limit', 'concurrency_limit', 'concurrency_key'] | None
    sentence: str
    """
    The same for people.
    """


class RunProgressEvent(TypedDict):
    attempt: int
    """
    The number of the execution attempt, from 1; 0 for an event about no attempt.
    """
    progress: float
    live_status: str | None
    time: str


class RunSchedule(TypedDict):
    """
    The schedule that queued it, and for which of its times.
    """

    id: str
    time: str


RunStatus: TypeAlias = Literal['not-started', 'queued', 'started', 'running', 'uploading', 'success', 'failed', 'timeout', 'cancelled']


class RunToken(TypedDict):
    token: str
    """
    Shown only here: it is stored nowhere.
    """
    expires_at: str


RunTokenScope: TypeAlias = Literal['read', 'events', 'logs']


Runner: TypeAlias = ProgramRunner | ComfyuiRunner | CogRunner
"""
How a machine executes a workflow.
"""


class ScheduleChange(TypedDict):
    """
    Omitted members stay unchanged. Null gives a member of the queued runs its default. `inputs` replaces all inputs.
    """

    name: NotRequired[str | None]
    deployment_id: NotRequired[str | None]
    cron: NotRequired[str | None]
    time_zone: NotRequired[str | None]
    overlap: NotRequired[Literal['skip', 'allow', 'cancel_other'] | None]
    catch_up_s: NotRequired[int | None]
    paused: NotRequired[bool | None]
    inputs: NotRequired[dict[str, str | int | float | bool | list[Any]] | None]
    webhook: NotRequired[str | None]
    webhook_intermediate_status: NotRequired[bool | None]
    gpu: NotRequired[Literal['T4', 'L4', 'A10G', 'L40S', 'A100', 'A100-80GB', 'H100'] | None]
    priority: NotRequired[int | None]
    run_timeout_s: NotRequired[float | None]
    start_deadline_s: NotRequired[float | None]
    concurrency_key: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]


class ScheduleOutcome(TypedDict):
    time: str
    last_time: str
    """
    The last one of several times that were missed together; otherwise the same as `time`.
    """
    times: int
    """
    How many times; of more than 1000 missed ones, 1000 are counted.
    """
    outcome: Literal['queued', 'skipped', 'missed', 'refused']
    """
    `queued`: a run was queued. `skipped`: an earlier run had not ended. `missed`: nobody could handle it within `catch_up_s`. `refused`: no run could be queued.
    """
    run_id: str | None
    message: str | None
    handled_at: str


class SealedCounts(TypedDict):
    kind: Literal['webhook_secrets']
    """
    `webhook_secrets`: the signing secrets of the organisations.
    """
    current: int
    """
    Opened, and sealed with the sealing key before this request.
    """
    resealed: int
    """
    Sealed with the sealing key by this request.
    """
    old: int
    """
    Opened, and still sealed with another key.
    """
    unreadable: int


class SlotRun(TypedDict):
    org_id: str
    run_id: str
    attempt: int
    assigned_at: str


class DeletedBy(TypedDict):
    user_id: str
    key_id: str
    """
    The API key of the request.
    """


class Erases1(TypedDict):
    files: int
    file_bytes: int
    inputs_bytes: int
    outputs_bytes: int
    log_bytes: int


class Tombstone(TypedDict):
    run_id: str
    number: int
    created_at: str
    deleted_at: str
    deleted_by: DeletedBy
    state: Literal['erasing', 'erased']
    """
    `erased`: the files, logs and blobs of the run are gone, except content that another run has too.
    """
    erases: Erases1


class UnreadableValue(TypedDict):
    kind: Literal['webhook_secrets']
    id: str
    """
    Of a signing secret: the organisation.
    """
    why: str
    """
    What is wrong, and what to do. It contains no secret.
    """


class UploadedFile(TypedDict):
    id: str
    """
    The value of an input that is this file.
    """
    url: str
    """
    Of its bytes, for API keys of the organisation.
    """
    filename: str
    """
    As it was uploaded last.
    """
    bytes: int
    sha256: str
    content_type: str
    """
    As it was uploaded last.
    """
    expires_at: str
    """
    When it is erased, unless it is uploaded or named by a new run before.
    """


class Usage(TypedDict):
    queued_runs: ResourceUsage
    catalogue_records: ResourceUsage
    schedules: ResourceUsage
    workflow_bytes: ResourceUsage
    blob_bytes: ResourceUsage
    output_bytes: ResourceUsage
    files: ResourceUsage
    file_bytes: ResourceUsage
    uploads: ResourceUsage
    streams: ResourceUsage


class ValidationError(TypedDict):
    loc: list[str | int]
    """
    The location: `body`, `path`, `query` or `header`, then the names and indexes down to the value.
    """
    msg: str
    """
    For people.
    """
    type: str
    """
    For programs: an error type of pydantic 2.
    """


class WaitingExecutors(TypedDict):
    serving: int
    """
    Executors that could execute it and take new runs.
    """
    busy_slots: int
    """
    Busy slots of these executors with the run's GPU model.
    """
    free_slots: int
    """
    Free slots of these executors with the run's GPU model.
    """
    draining: int
    """
    Executors that could execute it and take no new runs.
    """


class Previous(TypedDict):
    """
    The previous secret, which also signs until `expires_at`.
    """

    secret: str
    expires_at: str


class WebhookSecret(TypedDict):
    secret: str
    """
    `whsec_` and base64, as in Standard Webhooks.
    """
    created_at: str
    previous: Previous | None


WebhookStatus: TypeAlias = Literal['not-started', 'running', 'success', 'failed']


class Organisation(TypedDict):
    """
    Everything that the key reads is of it.
    """

    id: str
    name: str


class User(TypedDict):
    """
    The user of the key.
    """

    id: str
    name: str


class Whoami(TypedDict):
    organisation: Organisation
    """
    Everything that the key reads is of it.
    """
    user: User
    """
    The user of the key.
    """
    key: CallingKey
    version: str
    """
    The version of the gateway that responds, such as 0.1.0.
    """


class Workflow(TypedDict):
    id: str
    org_id: str
    name: str
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str


class WorkflowChange(TypedDict):
    """
    Omitted members stay unchanged.
    """

    name: NotRequired[str | None]
    archived: NotRequired[bool | None]


class WorkflowPage(TypedDict):
    workflows: list[Workflow]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class WorkflowVersion(TypedDict):
    """
    Only archived ever changes.
    """

    id: str
    org_id: str
    workflow_id: str
    number: int
    """
    1 for the first version of a workflow, then 2, 3, without a gap.
    """
    sha256: str
    """
    The SHA-256 of the workflow as JSON text, in hexadecimal digits.
    """
    bytes: int
    """
    The size of the workflow as JSON text.
    """
    inputs: list[InputDefinition]
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str
    workflow: Any
    """
    Any JSON value that the runner understands.
    """


class WorkflowVersionChange(TypedDict):
    """
    Nothing else of a version can change. Create a new version instead.
    """

    archived: NotRequired[bool | None]


class WorkflowVersionPage(TypedDict):
    versions: list[ListedWorkflowVersion]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class CancelRunResponse(TypedDict):
    run_id: str
    status: RunStatus
    outcome: Literal['cancelled', 'cancellation_requested', 'already_ended']
    """
    `cancelled`: final. `cancellation_requested`: the run executes, and ends as cancelled within the grace period. `already_ended`: the run had ended otherwise, and is unchanged.
    """


class Deployment(TypedDict):
    """
    A run keeps the settings and the version with which it was queued.
    """

    id: str
    org_id: str
    workflow_id: str
    workflow_version_id: str
    machine_id: str
    name: str
    environment: str
    """
    Your own word, such as production or staging.
    """
    gpu: str | None
    gpus: list[Gpu]
    """
    In order of preference; empty for the default of the machine.
    """
    labels: list[Label]
    """
    Its runs go only to executors that have all of these labels (EXECUTOR_LABELS), such as `zone:eu-west-1`. An empty list asks for none.
    """
    warm_wait_s: float
    """
    Seconds that a run may leave free GPU slots to others while a slot that has its version loaded is busy: it waits for that one, and then takes any. A free slot that has it loaded is taken first anyway.
    """
    concurrency_limit: int | None
    weight: float
    """
    Its part of the GPUs of your organisation while other deployments have waiting runs too: one of weight 2 gets twice the slots of one of weight 1. The last queued run counts.
    """
    run_timeout_s: float
    """
    Seconds that an attempt of a run may execute. A request may ask for less.
    """
    start_deadline_s: float
    """
    Seconds that a run may wait until it begins to execute. A request may ask for less.
    """
    bounds: RequestBounds
    retry: RetryPolicy
    log_masks: list[LogMask] | None
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str


class DeploymentChange(TypedDict):
    """
    Omitted members stay unchanged. Start deadline and run timeout of all attempts together have to fit into the time for which the log keeps events; a refusal says how long that is.
    """

    name: NotRequired[str | None]
    workflow_version_id: NotRequired[str | None]
    machine_id: NotRequired[str | None]
    environment: NotRequired[str | None]
    gpu: NotRequired[str | None]
    gpus: NotRequired[list[str | GpuFallback] | None]
    labels: NotRequired[list[Label] | None]
    warm_wait_s: NotRequired[float | None]
    concurrency_limit: NotRequired[int | None]
    weight: NotRequired[float | None]
    run_timeout_s: NotRequired[float | None]
    start_deadline_s: NotRequired[float | None]
    bounds: NotRequired[RequestedBounds | None]
    retry: NotRequired[RequestedRetryPolicy | None]
    log_masks: NotRequired[list[LogMask] | None]
    archived: NotRequired[bool | None]


class DeploymentPage(TypedDict):
    deployments: list[Deployment]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class ExecutorSlot(TypedDict):
    slot: int
    """
    Its index in the executor, from 0.
    """
    gpu: str
    run: SlotRun | None


class FilePage(TypedDict):
    files: list[UploadedFile]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class FileUpload(TypedDict):
    id: str
    url: str
    """
    Where the bytes go, by PATCH.
    """
    offset: int
    """
    The bytes that are stored. The next ones follow here.
    """
    bytes: int
    """
    Of the whole file.
    """
    expires_at: str
    """
    When the upload is erased, unless bytes arrive before. Its file stays.
    """
    file: UploadedFile | None


class HTTPValidationError(TypedDict):
    detail: NotRequired[list[ValidationError]]
    code: str
    """
    For programs: one cause with one remedy. A code never changes its meaning or its status, and clients may meet new ones. The page docs/errors.md of Runledger has the cause and the remedy of each.
    """
    request_id: str
    """
    As the header `X-Request-Id`. The log of the service has it.
    """


class ListedDelivery(TypedDict):
    run_id: str
    url: str
    """
    Without its query.
    """
    host: str | None
    webhook_status: WebhookStatus
    round: int
    """
    1 for the first delivery; every redelivery begins another round.
    """
    state: Literal['retrying', 'deferred'] | None
    next_try_at: str | None
    given_up_reason: Literal['gone', 'tries_used_up', 'expired', 'log_expired'] | None
    message: str | None
    tries: int
    """
    Attempts in this round.
    """
    last_reason: Literal['accepted', 'gone', 'redirect', 'client_error', 'throttled', 'server_error', 'forbidden', 'name_not_found', 'name_unanswered', 'connect_refused', 'connect_failed', 'connect_timed_out', 'tls_failed', 'reset', 'malformed_answer', 'timed_out', 'proxy_failed', 'no_dns', 'interrupted', 'internal_error'] | None
    created_at: str
    """
    The creation time of the run.
    """
    updated_at: str


class Machine(TypedDict):
    id: str
    org_id: str
    name: str
    gpu: str
    type: str
    """
    Your own word, such as the kind of host. Runs show it as machine_type.
    """
    version: str
    """
    Increases when gpu, type or runner change. Runs show it as machine_version.
    """
    runner: Runner
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str


class MachineChange(TypedDict):
    """
    Omitted members stay unchanged.
    """

    name: NotRequired[str | None]
    gpu: NotRequired[str | None]
    type: NotRequired[str | None]
    runner: NotRequired[Runner | None]
    archived: NotRequired[bool | None]


class MachinePage(TypedDict):
    machines: list[Machine]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class NewDeployment(TypedDict):
    """
    Without retry: three attempts. Start deadline and run timeout of all attempts together have to fit into the time for which the log keeps events; a refusal says how long that is.
    """

    name: str
    """
    For people. Not blank, and without control characters and characters that change the direction of text.
    """
    workflow_version_id: str
    machine_id: str
    environment: NotRequired[str | None]
    gpu: NotRequired[str | None]
    gpus: NotRequired[list[str | GpuFallback] | None]
    labels: NotRequired[list[Label] | None]
    warm_wait_s: NotRequired[float | None]
    concurrency_limit: NotRequired[int | None]
    weight: NotRequired[float | None]
    run_timeout_s: NotRequired[float | None]
    start_deadline_s: NotRequired[float | None]
    bounds: NotRequired[RequestedBounds | None]
    retry: NotRequired[RequestedRetryPolicy | None]
    log_masks: NotRequired[list[LogMask] | None]


class NewMachine(TypedDict):
    """
    Without type, the kind of the runner.
    """

    name: str
    """
    For people. Not blank, and without control characters and characters that change the direction of text.
    """
    gpu: str
    """
    The GPU model of runs when neither the run nor its deployment names one: any name, as EXECUTOR_GPUS of an executor names it, or CPU. Upper and lower case mean the same. Runs for a model that no executor has wait until their start deadline, and say so.
    """
    type: NotRequired[str | None]
    runner: Runner


class NewRunToken(TypedDict):
    scopes: list[RunTokenScope]
    """
    `read`: `GET /run/{run_id}`, without `include`. `events`: `GET /run/{run_id}/events`. `logs`: `GET /run/{run_id}/logs`.
    """
    expires_in_s: NotRequired[int | None]


class NotifiedAttempt(TypedDict):
    number: int
    executor: str
    """
    Its name, which stays the same over its restarts.
    """
    gpu: str
    started_at: str | None
    ended_at: str | None
    end_reason: EndReason | None
    error: RunError | None


class Pool(TypedDict):
    gpu: str
    slots: int
    """
    Slots of executors that take new runs; for an organisation, of those that can take its runs.
    """
    busy_slots: int
    """
    Of these, those that are taken.
    """
    waiting: int
    """
    Runs that wait for a slot.
    """
    delayed: int
    """
    Runs that wait for a time, and for no slot yet: as their request says (`delay_s`, `start_at`), or before another attempt after an error. They count for the GPU model that they prefer.
    """
    running: int
    """
    Runs that hold a slot.
    """
    oldest_queued_at: str | None
    """
    When the run that has waited longest was queued or requeued. Null when none waits.
    """
    starts_per_minute: float
    """
    Runs that got a slot, per minute, in the last ten minutes. Too low for ten minutes after all schedulers were restarted.
    """
    organisations: list[PooledOrganisation]
    """
    Those with the most waiting runs first; of many only the first ones.
    """
    more_organisations: int
    """
    Organisations with runs here that are not listed.
    """


class QueuesPage(TypedDict):
    pools: list[Pool]
    """
    Ordered by GPU model.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class Archive(TypedDict):
    """
    Facts of the run that are archived, with a signature of the same key.
    """

    segments: list[ReceiptSegment]
    signature: str
    """
    Ed25519 in base64url, over run_id, issued_at and segments as a JSON object without white space, in the order of their members here.
    """


class Receipt(TypedDict):
    format: Literal[1]
    run_id: str
    org_id: str
    issued_at: str
    facts: list[ReceiptFact]
    key: str
    """
    Ed25519: SPKI, DER, base64url.
    """
    signature: str
    """
    Ed25519 in base64url, over the receipt as JSON without white space, in the order of its members here, without this member and those behind it.
    """
    archive: NotRequired[Archive]
    """
    Facts of the run that are archived, with a signature of the same key.
    """


class Filter(TypedDict, closed=True):
    """
    Required, and unknown members are refused, so that nothing is sent again by mistake.
    """

    status: NotRequired[str | list[WebhookStatus] | None]
    host: NotRequired[str | None]
    created_after: NotRequired[str | None]
    created_before: NotRequired[str | None]


class RedeliverRequest(TypedDict, closed=True):
    filter: Filter
    """
    Required, and unknown members are refused, so that nothing is sent again by mistake.
    """
    cursor: NotRequired[str | None]
    dry_run: NotRequired[bool | None]


class RunAttempt(TypedDict):
    number: int
    executor: str
    """
    Its name, which stays the same over its restarts.
    """
    gpu: str
    placement: RunPlacement | None
    started_at: str | None
    ended_at: str | None
    end_reason: EndReason | None
    error: RunError | None


class RunDeliveries(TypedDict):
    run_id: str
    webhook: str | None
    webhook_status: WebhookStatus | None
    round: int
    """
    1 for the first delivery; every redelivery begins another round.
    """
    state: Literal['retrying', 'deferred'] | None
    next_try_at: str | None
    given_up_reason: Literal['gone', 'tries_used_up', 'expired', 'log_expired'] | None
    message: str | None
    tries: list[DeliveryAttempt]
    """
    Attempts of the final notification, the oldest first.
    """
    intermediate: DeliveryAttempt | None


class RunFactEvent(TypedDict):
    sequence: int
    """
    The position of the fact in the log. Send the last one as Last-Event-ID to continue after it.
    """
    type: str | None
    time: str
    """
    The time when it was stored.
    """
    attempt: int
    """
    The number of the execution attempt, from 1; 0 for an event about no attempt.
    """
    status: RunStatus
    live_status: str | None
    progress: float
    finished: bool
    """
    No further status will follow.
    """
    end_reason: EndReason | None
    error: RunError | None
    attempts: list[RunAttempt]
    """
    From the first one to the present or last one; empty until the run is assigned.
    """
    outputs: NotRequired[list[OutputItem]]
    """
    Only in the last fact of a run; the same as in the run.
    """
    missing_members: NotRequired[list[MissingMember]]
    """
    As in the run; only present when its outputs are lost or deleted.
    """


class RunFilter(TypedDict, closed=True):
    """
    Selects, of the runs that the operation concerns, those that match every member; `{}` selects all of them. It is required, and unknown members are refused, so that nothing is done by mistake.
    """

    status: NotRequired[str | list[RunStatus] | None]
    deployment_id: NotRequired[str | None]
    workflow_id: NotRequired[str | None]
    schedule_id: NotRequired[str | None]
    gpu: NotRequired[str | None]
    origin: NotRequired[Literal['api', 'manual', 'replay'] | None]
    tag: NotRequired[str | list[TagItem] | None]
    created_after: NotRequired[str | None]
    created_before: NotRequired[str | None]


class RunHistoryLog(TypedDict):
    """
    The first and the last lines of the log of each attempt.
    """

    kind: Literal['log']
    time: str
    log: RunLogLine | RunLogCut | RunLogNotice


class RunLogEnd(TypedDict):
    status: RunStatus


class RunRedelivery(TypedDict):
    run_id: str
    webhook_status: WebhookStatus
    round: int
    """
    1 for the first delivery; every redelivery begins another round.
    """


class Schedule(TypedDict):
    """
    It queues a run of a deployment at each of its times, on the clock of the broker.
    """

    id: str
    org_id: str
    user_id: str
    """
    Who made it, and whose runs it queues.
    """
    name: str
    cron: str
    """
    Five fields: minute, hour, day of month, month, day of week (0 or 7 is Sunday). `*`, lists, ranges, steps and names such as `MON` or `JAN`, `L` for the last day of the month, `15W` for the nearest weekday, `FRI#2` for the second Friday; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. When both day fields are given, a day that fits one of them fits.
    """
    time_zone: str
    """
    An IANA time zone. Where clocks change: a given time of day that is skipped comes right after the gap, and one that occurs twice counts the first time only. An expression with `*` or a step in its minutes or hours follows the elapsed time instead, through both.
    """
    overlap: Literal['skip', 'allow', 'cancel_other']
    """
    While an earlier run of the schedule has not ended: `skip` leaves the time out, `allow` queues another run, `cancel_other` asks to cancel the earlier run and queues another one at once. With `allow` and a `concurrency_key` the runs execute one after the other.
    """
    catch_up_s: int
    """
    A time that nobody could handle, because the service was down, is made up for within so many seconds. Later it counts as missed.
    """
    paused: bool
    """
    A paused schedule has no times. Those that pass meanwhile are not missed.
    """
    deployment_id: str
    inputs: dict[str, Any]
    webhook: str | None
    webhook_intermediate_status: bool
    gpu: str | None
    priority: int
    concurrency_key: str | None
    run_timeout_s: float | None
    start_deadline_s: float | None
    tags: list[Tag]
    created_at: str
    next_times: list[str]
    """
    The next five; none while it is paused.
    """
    outcomes: list[ScheduleOutcome]
    """
    What came of its last times, at most 20, the latest first.
    """


class SchedulePage(TypedDict):
    schedules: list[Schedule]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class SealedValuesPage(TypedDict):
    sealing_key: str
    """
    The first key of this gateway, which seals.
    """
    other_keys: list[str]
    """
    Its other keys, which only open what they have sealed.
    """
    counts: list[SealedCounts]
    """
    Of the values of this page, by kind.
    """
    unreadable: list[UnreadableValue]
    """
    The values of this page that no key opens. They are left as they are.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class Waiting(TypedDict):
    """
    Null for a run that does not wait.
    """

    for_s: float
    """
    Seconds since the run was queued or requeued.
    """
    reason: Literal['delayed', 'retrying', 'busy', 'warm', 'organisation_limit', 'concurrency_limit', 'concurrency_key', 'storage_full', 'draining', 'no_gpu', 'not_served', 'no_runner', 'no_label']
    """
    `delayed`: it may not start before `not_before`, as its request says. `retrying`: its last attempt failed, and it waits before another one. `busy`: the slots of all executors that could execute it are taken. `warm`: slots are free, and it waits for a busy one that has its version loaded, at most for the `warm_wait_s` of its deployment. `organisation_limit`: its organisation executes as many runs as an operator allows. `concurrency_limit`: as many runs of its deployment as its limit allows execute. `concurrency_key`: another run with its concurrency key executes. `storage_full`: the log has no room for another attempt until runs end or old ones expire. `draining`: only draining executors could execute it. `no_gpu`: no executor has its GPU model. `not_served`: no executor with this GPU model serves its machine. `no_runner`: none of these executors has its runner or program. `no_label`: none of those that have it has all labels that its deployment asks for.
    """
    not_before: str | None
    sentence: str
    """
    The reason for people, as in `live_status` of the run.
    """
    ahead: int
    """
    The number of runs that are assigned before it.
    """
    eta: Eta | None
    eta_sentence: str
    """
    The same for people, or why nobody can say when it starts.
    """
    gpu: str
    executors: WaitingExecutors
    gives_up_at: str
    """
    The run ends as `timeout` if it has not begun to execute by this time.
    """


class WebhookPayload(TypedDict):
    run_id: str
    status: RunStatus
    live_status: str | None
    progress: float
    outputs: list[OutputItem]
    """
    As a run shows them.
    """
    sequence: int
    """
    The position in the log that this notification shows. A notification with a lower one is older.
    """
    finished: bool
    """
    Nothing about this run follows.
    """
    end_reason: EndReason | None
    error: NotRequired[RunError | None]
    attempts: list[NotifiedAttempt]
    """
    From the first one to the present or last one; empty until the run is assigned.
    """
    tags: NotRequired[list[str]]
    """
    As the run has them; only present when it has some.
    """
    missing_members: NotRequired[list[MissingMember]]
    """
    As a run shows them; only present when outputs are lost or deleted.
    """
    truncated: NotRequired[Literal[True]]
    """
    Only present when the attempts were left out, and outputs if need be. `run_url` shows all of them.
    """
    run_url: NotRequired[str]


class WorkflowRun(TypedDict):
    id: str
    workflow_version_id: str
    workflow_inputs: Any
    """
    Null unless requested with `?include=inputs`. Secret inputs are null.
    """
    workflow_id: str
    workflow_api: Any
    """
    The workflow; null unless requested with `?include=workflow_api`.
    """
    machine_id: str
    origin: Literal['api', 'manual', 'replay']
    status: RunStatus
    created_at: str
    updated_at: str
    """
    The time of the last fact about the run.
    """
    gpu_event_id: str | None
    gpu: str
    """
    Of the slot of its last attempt; of a queued run the first one that it may take.
    """
    machine_version: str
    machine_type: str
    compute_function_call_id: str | None
    user_id: str
    org_id: str
    live_status: str | None
    webhook: str | None
    webhook_status: WebhookStatus | None
    number: int
    """
    Unique and increasing.
    """
    duration: float | None
    cold_start_duration: float | None
    cold_start_duration_total: float | None
    run_duration: float | None
    ended_at: str | None
    queued_at: str
    started_at: str | None
    progress: float
    is_realtime: bool
    webhook_intermediate_status: bool
    outputs: list[OutputItem]
    finished: bool
    """
    No further status will follow.
    """
    end_reason: EndReason | None
    error: RunError | None
    attempts: list[RunAttempt]
    """
    From the first one to the present or last one; empty until the run is assigned.
    """
    queue_position: int | None
    priority: int
    """
    As requested: a head start of a minute for each step.
    """
    concurrency_key: str | None
    tags: list[str]
    """
    As requested, in alphabetical order.
    """
    run_timeout_s: float
    """
    Seconds that an attempt may execute.
    """
    start_deadline_s: float
    """
    Seconds that it may wait until it begins to execute.
    """
    start_at: str | None
    rerun_of: str | None
    schedule: RunSchedule | None
    missing_members: list[MissingMember]
    """
    Members that are null, or an empty list, because they are lost or deleted: included ones, and outputs. Usually empty.
    """


class CancelRunsRequest(TypedDict, closed=True):
    filter: RunFilter
    dry_run: NotRequired[bool | None]
    cursor: NotRequired[str | None]


class DeliveryPage(TypedDict):
    deliveries: list[ListedDelivery]
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class Executor(TypedDict):
    executor_id: str | None
    name: str
    """
    Stays the same over restarts of the executor.
    """
    state: Literal['ready', 'draining', 'unresponsive', 'absent']
    """
    `ready`: it gets runs. `draining`: it gets no runs, because its name is drained or it is stopping. `unresponsive`: it sent no heartbeat for half a heartbeat period; it gets no runs, and is lost after a whole period. `absent`: the name is drained, and no registered executor has it.
    """
    drain: ExecutorDrain | None
    slots: list[ExecutorSlot]
    machines: list[str]
    """
    The machines that it serves: ids, or the id of an organisation, a slash and a name; `*` for every machine; of many only the first ones.
    """
    machine_count: int
    programs: list[str]
    """
    The programs that it may execute; of many only the first ones.
    """
    program_count: int
    labels: list[str]
    """
    As EXECUTOR_LABELS says: deployments may ask for them.
    """
    isolation: Literal['bubblewrap', 'landlock', 'none'] | None
    limits: Literal['cgroup', 'rlimits', 'none'] | None
    software_version: str | None
    registered_at: str | None
    last_heartbeat_at: str | None


class ExecutorPage(TypedDict):
    executors: list[Executor]
    """
    Ordered by name.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class NamedExecutors(TypedDict):
    name: str
    """
    Stays the same over restarts of the executor.
    """
    executors: list[Executor]
    """
    Usually one. Several while a restarted executor replaces an earlier one; at most 200.
    """


class RerunRunsRequest(TypedDict, closed=True):
    filter: RunFilter
    dry_run: NotRequired[bool | None]
    cursor: NotRequired[str | None]


class RunHistory(TypedDict):
    run_id: str
    status: RunStatus | None
    finished: bool
    """
    No further status will follow.
    """
    webhook_status: WebhookStatus | None
    entries: list[RunHistoryFact | RunHistoryDelivery | RunHistoryLog | RunHistoryGap]
    """
    In the order of their times; facts in the order of the log.
    """


class RunPage(TypedDict):
    runs: list[WorkflowRun]
    """
    The newest first.
    """
    unknown_runs: NotRequired[list[str]]
    """
    Only with `at`: runs that had been queued by then, and of which neither the log nor the archive has the facts any more. Usually empty.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class RunWaiting(TypedDict):
    run_id: str
    status: RunStatus
    waiting: Waiting | None
