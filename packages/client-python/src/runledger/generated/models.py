# Made by `npm run client:python` from the OpenAPI document with the SHA-256 194d3849a8502c38b2d4118353b2242ccf3363d4c6f87b674cbb3d19d6398603.

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict


class ApiKey(TypedDict):
    """
    An API key, without its secret.
    """

    id: str
    """
    The id of the API key.
    """
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
    What the key permits. `runs:write` implies `runs:read`, and `admin` implies both.
    """
    created_at: str
    """
    When it was created.
    """
    expires_at: str | None
    """
    When it expires. Null for a key that does not expire.
    """
    last_used_at: str | None
    """
    When it was used last, up to a minute late. Null before the first use.
    """
    last_used_address: str | None
    """
    Where the last use came from: the address of the client, as the trusted proxies report it. Null before the first use.
    """
    user_id: str
    """
    The user of the key.
    """
    parent_key_id: str | None
    """
    The key that made it, which may be revoked by now. Null for a key that an operator made.
    """
    made_by: str | None
    """
    The user who made it, with a key or a session, in whosever name. When this user is removed, or may no longer give so much, it is revoked. Null for a key that an operator made.
    """


class ApiKeyList(TypedDict):
    """
    All keys that the calling key may manage.
    """

    api_keys: list[ApiKey]
    """
    The newest first.
    """


class Actor(TypedDict):
    """
    An API key.
    """

    kind: Literal['key']
    """
    An API key, or a token that one made.
    """
    key_id: str
    """
    The id of the API key.
    """
    user_id: str
    """
    The user of the key.
    """
    org_id: str
    """
    The organisation of the key.
    """
    address: str | None
    """
    The address of the client; null when the connection was closed already.
    """


class Actor1(TypedDict):
    """
    A session of a person.
    """

    kind: Literal['session']
    """
    A person who is signed in.
    """
    session_id: str
    """
    The id of the session.
    """
    user_id: str
    """
    The person.
    """
    org_id: str | None
    """
    The organisation in which the session acts. Null while the session acts in none.
    """
    address: str | None
    """
    The address of the client; null when the connection was closed already.
    """


class Actor2(TypedDict):
    """
    The operator's credentials of the broker.
    """

    kind: Literal['operator']
    """
    Whoever has them.
    """


class Actor3(TypedDict):
    """
    Nobody who is known.
    """

    kind: Literal['unknown']
    """
    Clients without a valid credential.
    """
    network: str
    """
    The addresses of the clients, such as 192.0.2.0/24; `others` for many networks.
    """


class Target(TypedDict):
    """
    What it was done to.
    """

    kind: str
    """
    What it is, as the action begins.
    """
    id: str | None
    """
    Its id. Null when it has none, or none yet.
    """


Detail: TypeAlias = str


class AuditEntry(TypedDict):
    """
    A record of an action.
    """

    id: str
    """
    The id of the action: both of its records have it.
    """
    stage: Literal['requested', 'completed']
    """
    Which record of the action it is.

    - `requested`: Stored before the action is carried out. Without its `completed` it may have taken effect.
    - `completed`: Stored after it.
    """
    action: Literal['key.created', 'key.revoked', 'session.created', 'session.ended', 'session.refused', 'link.created', 'identity.linked', 'password.changed', 'member.added', 'member.changed', 'member.removed', 'invitation.created', 'invitation.accepted', 'invitation.revoked', 'secret.read', 'secret.rotated', 'machine.created', 'machine.changed', 'machine.deleted', 'workflow.created', 'workflow.changed', 'workflow.deleted', 'workflow_version.created', 'workflow_version.changed', 'workflow_version.deleted', 'deployment.created', 'deployment.changed', 'deployment.deleted', 'schedule.created', 'schedule.changed', 'schedule.deleted', 'organisation_secret.set', 'organisation_secret.removed', 'retention.changed', 'run.cancelled', 'runs.cancelled', 'runs.rerun', 'run.deleted', 'run.outputs_deleted', 'file.deleted', 'executor.drained', 'executor.resumed', 'sealed_values.resealed', 'organisation.created', 'organisation.erased', 'log.provisioned', 'dead_letter.redriven', 'dead_letter.removed', 'views.rebuilt', 'credential.refused']
    """
    What was done.

    - `key.created`: An API key was made. The record has its scopes, its user and its expiry.
    - `key.revoked`: An API key was revoked, with the keys below it unless the record says otherwise.
    - `session.created`: A person signed in. The record has in which way.
    - `session.ended`: A person signed out.
    - `session.refused`: Sign-ins were refused: how many in about a minute, from one network.
    - `link.created`: An operator made a link that signs a person in, once.
    - `identity.linked`: A person signed in with the OpenID Connect provider for the first time. The record has whether a password was removed, which somebody else may have chosen.
    - `password.changed`: A person chose a password. Their other sessions ended.
    - `member.added`: A person became a member of the organisation. The record has the role.
    - `member.changed`: The role of a member was changed, or whether the member is an operator.
    - `member.removed`: A person is no member of the organisation any more. Their API keys of it were revoked.
    - `invitation.created`: A person was invited. The record has the role.
    - `invitation.accepted`: A person accepted an invitation.
    - `invitation.revoked`: An invitation was revoked.
    - `secret.read`: The organisation's signing secret was shown.
    - `secret.rotated`: The organisation's signing secret was replaced.
    - `machine.created`: A machine was created.
    - `machine.changed`: A machine was changed, archived or restored.
    - `machine.deleted`: A machine was deleted.
    - `workflow.created`: A workflow was created.
    - `workflow.changed`: A workflow was changed, archived or restored.
    - `workflow.deleted`: A workflow was deleted.
    - `workflow_version.created`: A workflow version was created.
    - `workflow_version.changed`: A workflow version was archived or restored.
    - `workflow_version.deleted`: A workflow version was deleted.
    - `deployment.created`: A deployment was created.
    - `deployment.changed`: A deployment was changed, archived or restored.
    - `deployment.deleted`: A deployment was deleted.
    - `schedule.created`: A schedule was created.
    - `schedule.changed`: A schedule was changed, paused or resumed.
    - `schedule.deleted`: A schedule was deleted.
    - `organisation_secret.set`: The value of a secret of the organisation was set.
    - `organisation_secret.removed`: A secret of the organisation was removed.
    - `retention.changed`: The organisation chose for how long its runs are kept.
    - `run.cancelled`: A key of another user than that of the run asked to cancel it.
    - `runs.cancelled`: Many runs were cancelled by a filter. The record has how many.
    - `runs.rerun`: Many runs were queued again by a filter. The record has how many.
    - `run.deleted`: A run was deleted, with its files.
    - `run.outputs_deleted`: The outputs of a run were deleted.
    - `file.deleted`: A file that a client had uploaded was deleted.
    - `executor.drained`: An operator drained an executor.
    - `executor.resumed`: An operator resumed an executor.
    - `sealed_values.resealed`: Up to 100 sealed values were sealed with the sealing key.
    - `organisation.created`: An organisation was created, with its first key.
    - `organisation.erased`: The erasure of an organisation was requested. Its tombstone says when it is complete.
    - `log.provisioned`: The streams of the log were created, or brought to their settings.
    - `dead_letter.redriven`: An operator had dead letters handled again.
    - `dead_letter.removed`: An operator removed a dead letter. Its message stays in its stream.
    - `views.rebuilt`: An operator had the views of runs built again from the log.
    - `credential.refused`: Requests without a valid credential, or with a key that lacks the scope, were refused: how many in about a minute, from one network.
    """
    org_id: str | None
    """
    Whose record it is. Null for what no organisation owns.
    """
    actor: Actor | Actor1 | Actor2 | Actor3
    """
    Who did it.
    """
    target: Target
    """
    What it was done to.
    """
    outcome: Literal['done', 'refused', 'unknown'] | None
    """
    What came of it.

    - `done`: It was done.
    - `refused`: It was refused.
    - `unknown`: The request failed, and may or may not have taken effect.

    Null in a `requested` record.
    """
    request_id: str | None
    """
    The id of the request, as its header `X-Request-Id` and the log of the service have it. Null when no request did it.
    """
    details: NotRequired[dict[str, str | float | bool | list[Detail] | None]]
    """
    More about the action, by name: names of members, ids, scopes, numbers. Only present when there is more.
    """
    time: str
    """
    When the broker stored the record.
    """


class LeftItem(TypedDict):
    ring: Literal['given', 'passwords', 'secrets', 'joined', 'taken', 'sign_ins', 'requests', 'work', 'refusals']
    """
    Which records.

    - `given`: Rights that were given: keys, invitations, links, roles, a new signing secret.
    - `passwords`: Passwords that people chose.
    - `secrets`: Looks at the signing secret.
    - `joined`: People who joined, and identities that were linked.
    - `taken`: Rights that were taken.
    - `sign_ins`: Sign-ins and sign-outs.
    - `requests`: What was asked for about rights: the records `requested`, and the outcome `refused`. Anybody may ask for what they do not get, so these do not use up what is kept of rights.
    - `work`: Everything else that was done.
    - `refusals`: Refused credentials and sign-ins.
    """
    before: str
    """
    All records of this kind since then are here. Older ones may have left.
    """


class AuditPage(TypedDict):
    """
    A page of records of actions.
    """

    records: list[AuditEntry]
    """
    Newest first.
    """
    left: list[LeftItem] | None
    """
    Of which of the wanted records older ones may have left before their age, because the organisation, or all together, made more than are kept. Empty when all are here. Null for the records of all organisations, where it is not looked for.
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
    """
    The id of the API key.
    """
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
    What the key permits. `runs:write` implies `runs:read`, and `admin` implies both.
    """
    created_at: str
    """
    When it was created.
    """
    expires_at: str | None
    """
    When it expires. Null for a key that does not expire.
    """


class CancelRunsResponse(TypedDict):
    """
    What became of the runs of one page.
    """

    matched: int
    """
    The number of runs of this page that still matched the filter when they were read, including runs with an earlier cancel request.
    """
    cancelled: int
    """
    Of these, the number of runs that ended at once.
    """
    requested: int
    """
    Of these, the number of executing runs whose cancellation was requested now; they end within the grace period. Runs with an earlier cancel request do not count.
    """
    failed: int
    """
    The number of further runs of this page that could not be cancelled: they kept changing, or their state could not be read. Repeat the request. A run whose events expired before its end always fails, until the list drops it.
    """
    created_before: str | None
    """
    A time just after the creation of the newest run of this page; null for an empty page. In the filter of the next request, it excludes runs that were queued after this response.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class CodeRunner(TypedDict):
    """
    Executes the code that a version has: an executor fetches it, and makes its environment, by itself.
    """

    kind: Literal['code']
    """
    The code of the version itself.
    """
    server: NotRequired[Literal['comfyui'] | None]
    """
    Only for versions with a ComfyUI workflow, which a ComfyUI of the executor executes with their custom nodes and models. For all other code when it is null or omitted.
    """


class CogRunner(TypedDict):
    """
    Executes a model with a Cog server of the executor.
    """

    kind: Literal['cog']
    """
    A model in a Cog server.
    """
    model: str
    """
    The name of a model server in the settings of each executor, never an address.
    """


class ColdStartParts(TypedDict):
    """
    What cold_start_duration consists of, in seconds, to the millisecond each. A part that did not happen is 0. Where no code of a version is executed, all of it is `load`. A run that waited while another one prepared the same has its wait in the part it waited for.
    """

    fetch: float
    """
    Fetching and unpacking the code.
    """
    environment: float
    """
    Installing packages, or fetching a Python.
    """
    weights: float
    """
    Fetching weights.
    """
    load: float
    """
    Starting the program, until what it needs is loaded.
    """


class ComfyuiRunner(TypedDict):
    """
    Executes a workflow with a ComfyUI server of the executor.
    """

    kind: Literal['comfyui']
    """
    A ComfyUI server.
    """
    url: NotRequired[str | None]
    """
    Only the server with this address may execute its runs: an absolute http or https URL that the executor has in its settings. Any server when it is null or omitted.
    """


class CreateRunResponse(TypedDict):
    """
    Identifies the run in all other operations.
    """

    run_id: str
    """
    The id of the new run, in all other operations.
    """


class CreatedApiKey(TypedDict):
    """
    A new API key, with its secret.
    """

    id: str
    """
    The id of the API key.
    """
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
    What the key permits. `runs:write` implies `runs:read`, and `admin` implies both.
    """
    created_at: str
    """
    When it was created.
    """
    expires_at: str | None
    """
    When it expires. Null for a key that does not expire.
    """
    last_used_at: str | None
    """
    When it was used last, up to a minute late. Null before the first use.
    """
    last_used_address: str | None
    """
    Where the last use came from: the address of the client, as the trusted proxies report it. Null before the first use.
    """
    user_id: str
    """
    The user of the key.
    """
    parent_key_id: str | None
    """
    The key that made it, which may be revoked by now. Null for a key that an operator made.
    """
    made_by: str | None
    """
    The user who made it, with a key or a session, in whosever name. When this user is removed, or may no longer give so much, it is revoked. Null for a key that an operator made.
    """
    key: str
    """
    The key. It is shown only here: the server stores a hash of it.
    """


class CreatedInvitation(TypedDict):
    """
    A new invitation, with its link, which is shown only here.
    """

    id: str
    """
    The id of the invitation.
    """
    email: str
    """
    The e-mail address of a person.
    """
    role: Literal['owner', 'developer', 'viewer']
    """
    What the member may do.

    - `owner`: Everything, also members and invitations.
    - `developer`: Reads, and queues, cancels and repeats runs.
    - `viewer`: Reads.
    """
    created_at: str
    """
    When it was created.
    """
    expires_at: str
    """
    When it ends by itself.
    """
    invited_by: str
    """
    The user who invites.
    """
    organisation_id: str
    """
    The organisation that invites.
    """
    may_create_account: bool
    """
    Whether a person without an account may make one with the link, with a name and a password: an operator invites, who answers for the e-mail.
    """
    token: str
    """
    What follows `#token=` in the link.
    """
    url: str
    """
    The address of the link: send it to the person.
    """


class DeadLetter(TypedDict):
    """
    A message that no consumer could handle, with the reason.
    """

    id: str
    """
    The id of the dead letter: its position in DEAD_LETTERS, by which `runledger dead-letters show` finds it too.
    """
    reason: str
    """
    Why the consumer could not handle it, for people.
    """
    consumer: str
    """
    The consumer that could not handle it: `scheduler`, `projection`, or `executor-` and the name of an executor.
    """
    stream: str
    """
    The stream that holds the message until it expires there.
    """
    subject: str
    """
    The subject of the message.
    """
    sequence: int
    """
    The position of the message in its stream.
    """
    time: str
    """
    When the message was stored in its stream.
    """
    org_id: str | None
    """
    The organisation of the run that the message is about. Null when it is about no run.
    """
    run_id: str | None
    """
    The id of the run. Null when the message is about no run.
    """
    size_bytes: int | None
    """
    The size of the content, in bytes. Null when the content was too large for a dead letter: it is in its stream.
    """
    content: str | None
    """
    The first 16 KiB of the content as text, which is JSON unless that is what is wrong with it. Null when the content was too large for a dead letter.
    """
    content_truncated: bool
    """
    Whether the content is longer than shown.
    """
    redriver: str | None
    """
    The service that handles it again when it is redriven. Null when none does: then it stays until it expires or is removed.
    """


class DeadLetterPage(TypedDict):
    """
    A page of dead letters.
    """

    dead_letters: list[DeadLetter]
    """
    Oldest first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class DeleteOutputsResponse(TypedDict):
    """
    The outputs of the run are deleted.
    """

    run_id: str
    """
    The id of the run.
    """
    outcome: Literal['deleted', 'already_deleted']
    """
    What became of the outputs.

    - `deleted`: This request deleted them.
    - `already_deleted`: An earlier request deleted them.
    """


class DeleteRunResponse(TypedDict):
    """
    The run is deleted.
    """

    run_id: str
    """
    The id of the run.
    """
    outcome: Literal['deleted']
    """
    Always `deleted`: nobody is shown the run any more.
    """


class Phases(TypedDict):
    """
    How long each phase of the attempt took.
    """

    dns: float | None
    """
    Seconds that it took to resolve the name. Null when that was not reached, or not needed because a connection was reused.
    """
    connect: float | None
    """
    Seconds that it took to open the connection, also through the egress proxy. Null when that was not reached, or not needed because a connection was reused.
    """
    tls: float | None
    """
    Seconds that the TLS handshake took. Null when that was not reached, or not needed because a connection was reused.
    """
    wait: float | None
    """
    Seconds from the request to the last header of the response. Null when that was not reached, or not needed because a connection was reused.
    """
    body: float | None
    """
    Seconds that it took to read the body of the response. Null when that was not reached, or not needed because a connection was reused.
    """


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
    """
    A GPU model, and when runs take it.
    """

    gpu: str
    """
    A GPU model, in upper case; `CPU` for a slot without a card.
    """
    after_s: float
    """
    Seconds of waiting after which the run may take a slot of this model; 0 for at once.
    """


Label: TypeAlias = str
"""
What an operator says about an executor.
"""


LogMask: TypeAlias = str
"""
A regular expression in the syntax of RE2.
"""


Tag: TypeAlias = str
"""
Your own word for runs.
"""


class DeploymentRunRequest(TypedDict):
    """
    Which deployment is to run, with which inputs.
    """

    deployment_id: NotRequired[str | None]
    """
    The deployment to run. It is required, unless `deployment` names one. Null counts as omitted.
    """
    deployment: NotRequired[str | None]
    """
    The deployment by its name, instead of `deployment_id`: the one of this name that is not archived. Behind the name `@` and a number, such as `portraits@12`, is that version of its workflow instead of its own; all else is as the deployment has it. If the name of a deployment itself ends like that, it is that deployment. Null counts as omitted.
    """
    inputs: NotRequired[dict[str, str | int | float | bool | list[Any]] | None]
    """
    Values by input name, as the version of the deployment defines them: they have the type and the bounds of their definition, and those left out get its default. Names without a definition are passed to the workflow, with a warning, unless `strict_inputs` refuses them. By default at most 256 inputs, names of 256 characters, 32 levels of nesting, and 256 KiB as JSON in total, with the defaults. Numbers are passed on as they are written, and an input of type integer or number also takes a string of digits. Null counts as omitted.
    """
    webhook: NotRequired[str | None]
    """
    An absolute http or https URL that receives the final notification of the run; by default at most 2,048 characters, of which those outside ASCII count as 2 to 4. The webhook policy is checked here and before each attempt. Null counts as omitted.
    """
    webhook_intermediate_status: NotRequired[bool | None]
    """
    Whether the webhook also receives intermediate status, at most once a second. Null counts as omitted.
    """
    strict_inputs: NotRequired[bool | None]
    """
    Whether names in `inputs` that the version does not define are refused with 422, also where the deployment does not say so. Otherwise they are passed to the workflow, and the header `Runledger-Warning` names them. A version that defines no inputs takes every name. Null counts as omitted.
    """
    gpu: NotRequired[Literal['T4', 'L4', 'A10G', 'L40S', 'A100', 'A100-80GB', 'H100'] | None]
    """
    The GPU model, instead of the deployment's or the machine's. These models only: for another one, make a deployment on it. Null counts as omitted.
    """
    priority: NotRequired[int | None]
    """
    A head start of a minute for each step: the run starts before those of its deployment that have a lower priority and were queued less than so many minutes before it. So no run waits for ever. The runs of other deployments are not concerned. The `bounds` of the deployment may allow fewer steps. Null counts as omitted.
    """
    run_timeout_s: NotRequired[float | None]
    """
    Seconds that an attempt may execute: at most those of the deployment, which are the default. Null counts as omitted.
    """
    start_deadline_s: NotRequired[float | None]
    """
    Seconds that the run may wait until it begins to execute: at most those of the deployment, which are the default. Null counts as omitted.
    """
    delay_s: NotRequired[float | None]
    """
    Seconds before which the run does not start, from when it is queued. It is queued at once, and cancelled at once if need be; its start deadline counts from the time when it may start. With its deadline, its timeout and its notification it has to fit into the time for which the log keeps events; a refusal says how long that is. A rerun does not repeat it. Null counts as omitted.
    """
    start_at: NotRequired[str | None]
    """
    Instead of `delay_s`: the time before which the run does not start, by the broker's clock. A past one delays nothing. Null counts as omitted.
    """
    concurrency_key: NotRequired[str | None]
    """
    1 to 64 printable characters, such as the id of a user or a document. Of the runs of the deployment with the same key one executes at a time; the others wait, and let runs with other keys go first. It is stored and shown as it is, so it must not be a secret. Null counts as omitted.
    """
    tags: NotRequired[list[Tag] | None]
    """
    Your own words for the run, such as `customer:17`: lists and requests about many runs select by them. At most 16 of 1 to 64 letters, digits and characters of `_ - . : /`. Their order does not count. A rerun has them too. They are stored and shown as they are, so they must not be secret. Null counts as omitted.
    """


class Draining(TypedDict):
    """
    Whether a name is drained.
    """

    name: str
    """
    The name of the executor. It stays the same over restarts.
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
"""
Why a run or an attempt ended.

- `completed`: The workflow has ended without an error. Of `success`.
- `workflow_error`: The workflow, its program or its inputs caused the error: `error.kind` says more. Of `failed`.
- `executor_lost`: The executor of the attempt sent no more heartbeats, or was stopped; of a run, that of its last attempt. Of `failed`.
- `no_capacity`: No executor that could have executed it was there when its start deadline was over. Of `timeout`.
- `start_deadline`: It had not begun to execute when its start deadline was over. Of `timeout`.
- `run_timeout`: An attempt executed longer than `run_timeout_s`, or could not store its files in time. Of `timeout`.
- `storage_full`: A store had no room: for its outputs (`failed`), or for another attempt until its start deadline was over (`timeout`).
- `cancelled_by_client`: A request cancelled it. Of `cancelled`.
- `cancelled_by_operator`: An operator of the installation cancelled it. Of `cancelled`.
- `deployment_removed`: The workflow that it was queued with is gone. Of `failed`.
- `log_expired`: Its first facts left the log, because of their age, before it had ended. Of `failed`.
- `internal_error`: An error of the system: `error.kind` says more. Of `failed`.
"""


class Eta(TypedDict):
    """
    When it starts, by the broker's clock: in 8 of 10 cases between `earliest` and `latest`, and as likely before `expected` as after it. Estimated from how long runs took lately, from the runs ahead, and from those that hold the slots which a limit or a concurrency key allows.
    """

    earliest: str
    """
    It starts before this time in 1 of 10 cases.
    """
    expected: str
    """
    As likely before this time as after it.
    """
    latest: str
    """
    It starts after this time in 1 of 10 cases.
    """


IsolationGap: TypeAlias = str


class ExecutorDrain(TypedDict):
    """
    A request that the name gets no new runs.
    """

    requested_at: str
    """
    When it was requested.
    """
    requested_by: str
    """
    The API key of the request.
    """


class FleetCounts(TypedDict):
    """
    Executors by their state, as the leading scheduler knows them.
    """

    ready: int
    """
    They get runs.
    """
    draining: int
    """
    They get no runs, because their name is drained or they are stopping.
    """
    unresponsive: int
    """
    They sent no heartbeat for half a heartbeat period.
    """
    absent: int
    """
    Drained names without an executor.
    """
    more: bool
    """
    Whether there are more executors than were counted. `GET /executors` lists all.
    """


class GpuFallback(TypedDict):
    """
    A GPU model that a run takes once it has waited.
    """

    gpu: str
    """
    A GPU model, in either case.
    """
    after_s: float
    """
    Seconds of waiting after which the run may take a slot of this model; 0 for at once.
    """


class InputDefinition(TypedDict):
    """
    What values an input of a run may have.
    """

    name: str
    """
    The name of the input in `inputs` of a run.
    """
    type: Literal['string', 'integer', 'number', 'boolean', 'array', 'file', 'image', 'audio', 'video', 'file[]', 'image[]', 'audio[]', 'video[]']
    """
    What values the input has. The workflow gets the name of a file in its input folder, and a list of names for a list of files.

    - `string`: A text.
    - `integer`: A whole number.
    - `number`: A number.
    - `boolean`: True or false.
    - `array`: A list of any values.
    - `file`: A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.
    - `image`: A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.
    - `audio`: A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.
    - `video`: A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.
    - `file[]`: A list of such files, in order. It may be empty, unless `min_items` says otherwise. All inputs of a run together name at most 256 files.
    - `image[]`: A list of such files, in order. It may be empty, unless `min_items` says otherwise. All inputs of a run together name at most 256 files.
    - `audio[]`: A list of such files, in order. It may be empty, unless `min_items` says otherwise. All inputs of a run together name at most 256 files.
    - `video[]`: A list of such files, in order. It may be empty, unless `min_items` says otherwise. All inputs of a run together name at most 256 files.
    """
    required: bool
    """
    Whether a run that leaves it out is refused, unless it has a default.
    """
    secret: NotRequired[Literal[True]]
    """
    Only present for a secret input: its values are sealed before they are stored, and shown to nobody.
    """
    default: NotRequired[Any]
    """
    A value of the input's type, which a run gets that leaves the input out. Only present when it was defined.
    """
    random: NotRequired[Literal[True]]
    """
    Of an input of type integer without `default` and `enum`, such as a seed: a run that leaves it out, or sends null, gets a random value, drawn once when the run is queued. It is from `minimum` or 0 to `maximum` or 2^53 - 1. `workflow_inputs` shows it; other attempts and reruns have the same one. Only present when it was defined.
    """
    enum: NotRequired[list[str | float]]
    """
    The values that an input of type string, integer or number may have. Only present when it was defined.
    """
    minimum: NotRequired[float | str]
    """
    The lowest value of an input of type integer or number. An integer that a double would change is a string of its digits. Only present when it was defined.
    """
    maximum: NotRequired[float | str]
    """
    The highest value of an input of type integer or number. An integer that a double would change is a string of its digits. Only present when it was defined.
    """
    min_items: NotRequired[int]
    """
    How many items an input that is a list has at least: one of type array, or of files. Only present when it was defined.
    """
    max_items: NotRequired[int]
    """
    How many items an input that is a list has at most. Only present when it was defined.
    """
    node: NotRequired[str]
    """
    Of a ComfyUI workflow: the id of the node that takes the value. Only present when it was defined.
    """
    field: NotRequired[str]
    """
    The input of that node, such as `seed`. Only present when it was defined.
    """
    description: NotRequired[str]
    """
    What the input is, for people. Only present when it was defined.
    """


class InstanceProblem(TypedDict):
    """
    A check of a process that is not ok.
    """

    check: str
    """
    The name of the check, as in `/readyz`.
    """
    why: str
    """
    What is wrong, for people.
    """


class Invitation(TypedDict):
    """
    Somebody may become a member.
    """

    id: str
    """
    The id of the invitation.
    """
    email: str
    """
    The e-mail address of a person.
    """
    role: Literal['owner', 'developer', 'viewer']
    """
    What the member may do.

    - `owner`: Everything, also members and invitations.
    - `developer`: Reads, and queues, cancels and repeats runs.
    - `viewer`: Reads.
    """
    created_at: str
    """
    When it was created.
    """
    expires_at: str
    """
    When it ends by itself.
    """
    invited_by: str
    """
    The user who invites.
    """


class InvitationAcceptance(TypedDict):
    """
    A new person gives a name and a password. Someone with an account is signed in already, or gives their password.
    """

    token: str
    """
    What follows `#token=` in the link.
    """
    name: NotRequired[str | None]
    """
    For people. Not blank, and without control characters and characters that change the direction of text. Null counts as omitted.
    """
    password: NotRequired[str | None]
    """
    The password of the person. Null counts as omitted.
    """


class InvitationList(TypedDict):
    """
    The open invitations of the organisation.
    """

    invitations: list[Invitation]
    """
    The newest first.
    """


class Organisation(TypedDict):
    """
    The organisation that invites.
    """

    id: str
    """
    The id of the organisation.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """


class InvitationPreview(TypedDict):
    """
    What an invitation is for.
    """

    organisation: Organisation
    """
    The organisation that invites.
    """
    email: str
    """
    The e-mail address of a person.
    """
    role: Literal['owner', 'developer', 'viewer']
    """
    What the member may do.

    - `owner`: Everything, also members and invitations.
    - `developer`: Reads, and queues, cancels and repeats runs.
    - `viewer`: Reads.
    """
    expires_at: str
    """
    When it ends by itself.
    """
    may_create_account: bool
    """
    Whether a person without an account may make one with the link, with a name and a password: an operator invites, who answers for the e-mail.
    """


class InvitationPreviewRequest(TypedDict):
    """
    The invitation of a link.
    """

    token: str
    """
    What follows `#token=` in the link.
    """


class KeepModel(TypedDict):
    """
    The file that is kept.
    """

    file: str
    """
    The id of an uploaded file with these bytes.
    """


class KeptDays(TypedDict):
    """
    For how many days one kind of thing is kept.
    """

    days: int | None
    """
    Days for which it is kept now. Null: without end.
    """
    chosen: int | None
    """
    What the organisation chose. Null: as long as the installation keeps it.
    """
    least: int | None
    """
    The fewest days that can be chosen. Null: none can be chosen.
    """
    most: int | None
    """
    The most days that can be chosen. Null: any number.
    """


class Leadership(TypedDict):
    """
    A lease, which one process at a time holds.
    """

    lease: str
    """
    What it leads: `scheduler` (who decides), `projection.v…` (who keeps views that gateways share), or `schedules` (who queues runs at their times).
    """
    holder: str
    """
    The `instance` that holds it.
    """
    renewed_at: str
    """
    When it was renewed, by the clock of the broker. A process that is alive renews it each second; a later one takes it over three seconds after the last time.
    """


class LinkSignIn(TypedDict):
    """
    A sign-in with a link.
    """

    token: str
    """
    What follows `#token=` in the link.
    """


class Code(TypedDict):
    """
    The archive that the version executes, a tar compressed with zstd. Null for a version without code.
    """

    sha256: str
    """
    The SHA-256 of the archive, in hexadecimal digits.
    """
    bytes: int
    """
    The size of the archive.
    """


class ListedWorkflowVersion(TypedDict):
    """
    A version of a workflow, without the workflow itself.
    """

    id: str
    """
    The id of the workflow version.
    """
    org_id: str
    """
    The id of the organisation that it belongs to.
    """
    workflow_id: str
    """
    The id of the workflow.
    """
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
    The size of the workflow as JSON text, in bytes.
    """
    inputs: list[InputDefinition]
    """
    The definitions of the inputs; empty without any.
    """
    code: Code | None
    """
    The archive that the version executes, a tar compressed with zstd. Null for a version without code.
    """
    message: str | None
    """
    What is new in the version, for people. Null without one.
    """
    commit: str | None
    """
    The git commit of the folder; with `+changes` when the folder had others than that commit has. Null without one.
    """
    created_by: str | None
    """
    The user who made it. Null for a version that the installation made.
    """
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str
    """
    When it was created.
    """


class LogStorage(TypedDict):
    """
    What the log takes at its brokers.
    """

    used_bytes: int
    """
    What all copies of all streams take at the brokers, in bytes.
    """
    limit_bytes: int | None
    """
    What they may take, in bytes. Null when the brokers set no limit for the log as a whole. How much room their disks have, they tell no service.
    """


class MediaItem(TypedDict):
    """
    An output file.
    """

    url: str
    """
    Its address. It needs no API key, since it cannot be guessed. It may expire, if the installation says so: read the run again for another one.
    """
    type: Literal['output', 'temp']
    """
    What kind of file it is, in the words of ComfyUI.

    - `output`: An output.
    - `temp`: A file that ComfyUI calls temporary, such as a preview.
    """
    filename: str
    """
    Its name, without folders.
    """
    is_public: bool
    """
    Whether `url` needs no API key: always true.
    """
    subfolder: str
    """
    Its folder below the output folder of the run, with slashes; empty for none.
    """
    upload_duration: float
    """
    Seconds that it took to store the file.
    """
    content_type: str
    """
    Its MIME type.
    """


class Member(TypedDict):
    """
    A person who may sign in to the organisation.
    """

    user_id: str
    """
    The id of the user.
    """
    email: str
    """
    The e-mail address of a person.
    """
    name: str
    """
    The name of the person.
    """
    role: Literal['owner', 'developer', 'viewer']
    """
    What the member may do.

    - `owner`: Everything, also members and invitations.
    - `developer`: Reads, and queues, cancels and repeats runs.
    - `viewer`: Reads.
    """
    operator: bool
    """
    Whether the member also runs the installation: sessions of the member have the scope `operator`.
    """
    since: str
    """
    When the person became a member.
    """


class MemberChange(TypedDict):
    """
    What to change of a member.
    """

    role: NotRequired[Literal['owner', 'developer', 'viewer'] | None]
    """
    What the member may do.

    - `owner`: Everything, also members and invitations.
    - `developer`: Reads, and queues, cancels and repeats runs.
    - `viewer`: Reads.

    Unchanged when it is null or omitted.
    """
    operator: NotRequired[bool | None]
    """
    Whether the member also runs the installation: sessions of the member have the scope `operator`. Unchanged when it is null or omitted.
    """


class MemberList(TypedDict):
    """
    The members of the organisation.
    """

    members: list[Member]
    """
    In the order in which they became members.
    """


class MissingMember(TypedDict):
    """
    A member of a run that is lost or deleted.
    """

    member: Literal['workflow_inputs', 'workflow_api', 'outputs']
    """
    The member of the run that is missing.

    - `workflow_inputs`: The inputs of the run.
    - `workflow_api`: The workflow of its version.
    - `outputs`: The list of its outputs.
    """
    reason: Literal['gone', 'damaged', 'deleted']
    """
    Why it is missing.

    - `gone`: It has expired, as inputs and lists of outputs over 4 KiB do after 90 days by default.
    - `damaged`: What is stored is not what was stored.
    - `deleted`: A request deleted them.
    """


class Model(TypedDict):
    """
    A file with weights that versions with code name.
    """

    sha256: str
    """
    The SHA-256 of its bytes, in hexadecimal digits.
    """
    bytes: int
    """
    Its size in bytes.
    """
    versions: int
    """
    How many versions name it. One that no version names is removed a day later.
    """
    created_at: str
    """
    When it was kept first.
    """


class ModelPage(TypedDict):
    """
    A page of models.
    """

    models: list[Model]
    """
    The last kept one first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class NewApiKey(TypedDict):
    """
    An API key of the organisation.
    """

    name: str
    """
    For people. Not blank, and without control characters and characters that change the direction of text.
    """
    scopes: NotRequired[list[Literal['runs:read', 'runs:write', 'admin']] | None]
    """
    What the key permits. Only scopes that the key of this request has. Null counts as omitted.
    """
    user_id: NotRequired[str | None]
    """
    The user that the key belongs to, by default the one of the key of this request. Another user needs the scope `admin`. Null counts as omitted.
    """
    expires_at: NotRequired[str | None]
    """
    When it expires: in the future, and not after the expiry of the key of this request, which is also the default. Without either the key does not expire. Null counts as omitted.
    """


class NewInputDefinition(TypedDict):
    """
    Runs whose inputs do not fit are refused with 422. Inputs without a definition are passed on, with a warning, unless `strict_inputs` of the deployment or the request refuses them. A member that a definition does not have is refused.
    """

    name: str
    """
    The name of the input in `inputs` of a run.
    """
    type: Literal['string', 'integer', 'number', 'boolean', 'array', 'file', 'image', 'audio', 'video', 'file[]', 'image[]', 'audio[]', 'video[]']
    """
    What values the input has. The workflow gets the name of a file in its input folder, and a list of names for a list of files.

    - `string`: A text.
    - `integer`: A whole number.
    - `number`: A number.
    - `boolean`: True or false.
    - `array`: A list of any values.
    - `file`: A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.
    - `image`: A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.
    - `audio`: A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.
    - `video`: A file: the id of an uploaded one, an http or https URL that the executor fetches, or a data URL.
    - `file[]`: A list of such files, in order. It may be empty, unless `min_items` says otherwise. All inputs of a run together name at most 256 files.
    - `image[]`: A list of such files, in order. It may be empty, unless `min_items` says otherwise. All inputs of a run together name at most 256 files.
    - `audio[]`: A list of such files, in order. It may be empty, unless `min_items` says otherwise. All inputs of a run together name at most 256 files.
    - `video[]`: A list of such files, in order. It may be empty, unless `min_items` says otherwise. All inputs of a run together name at most 256 files.
    """
    required: NotRequired[bool | None]
    """
    Whether a run that leaves it out is refused, unless it has a default. Null counts as omitted.
    """
    secret: NotRequired[bool | None]
    """
    Whether it is secret. Of an input of type string without `default` and `enum`: its values have 4 to 4096 characters, are sealed before they are stored, shown as null to everybody, and masked in logs. Null counts as omitted.
    """
    default: NotRequired[Any]
    """
    A value of the input's type, which a run gets that leaves the input out. Null counts as omitted.
    """
    random: NotRequired[bool | None]
    """
    Of an input of type integer without `default` and `enum`, such as a seed: a run that leaves it out, or sends null, gets a random value, drawn once when the run is queued. It is from `minimum` or 0 to `maximum` or 2^53 - 1. `workflow_inputs` shows it; other attempts and reruns have the same one. Null counts as omitted.
    """
    enum: NotRequired[list[str | float] | None]
    """
    The values that an input of type string, integer or number may have. Null counts as omitted.
    """
    minimum: NotRequired[float | str | None]
    """
    The lowest value of an input of type integer or number. An integer that a double would change is a string of its digits. Null counts as omitted.
    """
    maximum: NotRequired[float | str | None]
    """
    The highest value of an input of type integer or number. An integer that a double would change is a string of its digits. Null counts as omitted.
    """
    min_items: NotRequired[int | None]
    """
    How many items an input that is a list has at least: one of type array, or of files. Null counts as omitted.
    """
    max_items: NotRequired[int | None]
    """
    How many items an input that is a list has at most. Null counts as omitted.
    """
    node: NotRequired[str | None]
    """
    Of a ComfyUI workflow: the id of the node that takes the value. Needs `field`. Null counts as omitted.
    """
    field: NotRequired[str | None]
    """
    The input of that node, such as `seed`. Needs `node`. Null counts as omitted.
    """
    description: NotRequired[str | None]
    """
    What the input is, for people. Null counts as omitted.
    """


class NewInvitation(TypedDict):
    """
    Who is invited.
    """

    email: str
    """
    The e-mail address of a person.
    """
    role: Literal['owner', 'developer', 'viewer']
    """
    What the member may do.

    - `owner`: Everything, also members and invitations.
    - `developer`: Reads, and queues, cancels and repeats runs.
    - `viewer`: Reads.
    """
    organisation_id: NotRequired[str | None]
    """
    For operators: the organisation, if it is another one than that of the caller. Null counts as omitted.
    """


class NewSchedule(TypedDict):
    """
    The other members are those of a request that queues a run of the deployment, without `delay_s` and `start_at`.
    """

    name: str
    """
    For people. Not blank, and without control characters and characters that change the direction of text.
    """
    deployment_id: NotRequired[str | None]
    """
    The deployment that is to run. It is required, unless `deployment` names one. Null counts as omitted.
    """
    deployment: NotRequired[str | None]
    """
    The deployment by its name, instead of `deployment_id`: the one of this name that is not archived. Behind the name `@` and a number, such as `portraits@12`, is that version of its workflow instead of its own; all else is as the deployment has it. If the name of a deployment itself ends like that, it is that deployment. It is looked up now: the schedule keeps the id of the deployment, and of the version. Null counts as omitted.
    """
    cron: str
    """
    Five fields: minute, hour, day of month, month, day of week (0 or 7 is Sunday). `*`, lists, ranges, steps and names such as `MON` or `JAN`, `L` for the last day of the month, `15W` for the nearest weekday, `FRI#2` for the second Friday; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. `day_fields` says what counts when both day fields are given.
    """
    time_zone: NotRequired[str | None]
    """
    A name of the IANA time zone database, such as `Europe/Berlin` or `UTC`, with its aliases. Abbreviations such as `BST` and offsets are refused, since they mean several. Where clocks change: a given time of day that is skipped comes right after the gap, and one that occurs twice counts the first time only. An expression with `*` or a step in its minutes or hours follows the elapsed time instead, through both. Null counts as omitted.
    """
    day_fields: NotRequired[Literal['or', 'and'] | None]
    """
    What a day has to fit when both day of month and day of week are given.

    - `or`: A day that fits one of them fits, as in cron: `0 9 1-7 * MON` is each Monday and each of the first seven days.
    - `and`: A day has to fit both: `0 9 1-7 * MON` is the first Monday of the month.

    Null counts as omitted.
    """
    overlap: NotRequired[Literal['skip', 'allow', 'cancel_other'] | None]
    """
    What happens at a time while an earlier run of the schedule has not ended.

    - `skip`: The time is left out.
    - `allow`: Another run is queued. With a `concurrency_key` the runs execute one after the other.
    - `cancel_other`: The earlier run is asked to be cancelled, and another one is queued at once.

    Null counts as omitted.
    """
    catch_up_s: NotRequired[int | None]
    """
    A time that nobody could handle, because the service was down, is made up for within so many seconds. Later it counts as missed. Null counts as omitted.
    """
    paused: NotRequired[bool | None]
    """
    Whether it is paused: it then has no times, and those that pass meanwhile are not missed. Null counts as omitted.
    """
    inputs: NotRequired[dict[str, str | int | float | bool | list[Any]] | None]
    """
    Values by input name, as the version of the deployment defines them: they have the type and the bounds of their definition, and those left out get its default. Names without a definition are passed to the workflow, with a warning, unless `strict_inputs` refuses them. By default at most 256 inputs, names of 256 characters, 32 levels of nesting, and 256 KiB as JSON in total, with the defaults. Numbers are passed on as they are written, and an input of type integer or number also takes a string of digits. Null counts as omitted.
    """
    webhook: NotRequired[str | None]
    """
    An absolute http or https URL that receives the final notification of the run; by default at most 2,048 characters, of which those outside ASCII count as 2 to 4. The webhook policy is checked here and before each attempt. Null counts as omitted.
    """
    webhook_intermediate_status: NotRequired[bool | None]
    """
    Whether the webhook also receives intermediate status, at most once a second. Null counts as omitted.
    """
    gpu: NotRequired[Literal['T4', 'L4', 'A10G', 'L40S', 'A100', 'A100-80GB', 'H100'] | None]
    """
    The GPU model, instead of the deployment's or the machine's. These models only: for another one, make a deployment on it. Null counts as omitted.
    """
    priority: NotRequired[int | None]
    """
    A head start of a minute for each step: the run starts before those of its deployment that have a lower priority and were queued less than so many minutes before it. So no run waits for ever. The runs of other deployments are not concerned. The `bounds` of the deployment may allow fewer steps. Null counts as omitted.
    """
    run_timeout_s: NotRequired[float | None]
    """
    Seconds that an attempt may execute: at most those of the deployment, which are the default. Null counts as omitted.
    """
    start_deadline_s: NotRequired[float | None]
    """
    Seconds that the run may wait until it begins to execute: at most those of the deployment, which are the default. Null counts as omitted.
    """
    concurrency_key: NotRequired[str | None]
    """
    1 to 64 printable characters, such as the id of a user or a document. Of the runs of the deployment with the same key one executes at a time; the others wait, and let runs with other keys go first. It is stored and shown as it is, so it must not be a secret. Null counts as omitted.
    """
    tags: NotRequired[list[Tag] | None]
    """
    Your own words for the run, such as `customer:17`: lists and requests about many runs select by them. At most 16 of 1 to 64 letters, digits and characters of `_ - . : /`. Their order does not count. A rerun has them too. They are stored and shown as they are, so they must not be secret. Null counts as omitted.
    """


class NewSignInLink(TypedDict):
    """
    Who gets a link.
    """

    email: str
    """
    The e-mail address of a person.
    """


class NewWorkflow(TypedDict):
    """
    A workflow without versions.
    """

    name: str
    """
    For people. Not blank, and without control characters and characters that change the direction of text.
    """


class NewWorkflowVersion(TypedDict):
    """
    The next version of a workflow.
    """

    workflow: Any
    """
    Any JSON value that the runner understands. At most 512 KiB as JSON, nested at most 32 levels.
    """
    inputs: NotRequired[list[NewInputDefinition] | None]
    """
    The definitions of the inputs, each name once; together at most 64 KiB as JSON. Null counts as omitted.
    """
    code: NotRequired[str | None]
    """
    The id of an uploaded file: the archive that the version executes, a tar compressed with zstd, of at most 64 MiB. The version keeps a copy of it, also when the file expires. `workflow` then is a manifest: it has `code_sha256`, and `run`, `command` or `comfyui`. Null counts as omitted.
    """
    message: NotRequired[str | None]
    """
    What is new in the version, for people. Null counts as omitted.
    """
    commit: NotRequired[str | None]
    """
    The git commit of the folder; with `+changes` when the folder had others than that commit has. Null counts as omitted.
    """


class RequestedBy(TypedDict):
    """
    The API key of the operator who requested it.
    """

    org_id: str
    """
    The organisation of the key.
    """
    user_id: str
    """
    The user of the key.
    """
    key_id: str
    """
    The id of the API key.
    """


class Erases(TypedDict):
    """
    What was erased so far. What a gateway erased before it was killed may be missing.
    """

    keys: int
    """
    The number of API keys that were erased.
    """
    runs: int
    """
    The number of runs that were erased.
    """
    files: int
    """
    The number of files that clients had uploaded that were erased.
    """


class OrganisationTombstone(TypedDict):
    """
    What is left of an erased organisation.
    """

    org_id: str
    """
    The id of the organisation.
    """
    requested_at: str
    """
    When the erasure was requested.
    """
    requested_by: RequestedBy
    """
    The API key of the operator who requested it.
    """
    state: Literal['erasing', 'erased']
    """
    Whether everything is erased.

    - `erasing`: Something of it is still to be erased.
    - `erased`: Twice, with ten minutes between, nothing was left but the facts of runs, which leave the log with its age.
    """
    erased_at: str | None
    """
    When nothing was left for the second time. Null while the state is `erasing`.
    """
    erases: Erases
    """
    What was erased so far. What a gateway erased before it was killed may be missing.
    """


class OutputData(TypedDict, extra_items='list[str | MediaItem]'):
    """
    Texts and files by kind: images, files, gifs, text and others. The kind `json` has JSON values.
    """

    json: NotRequired[list[Any]]
    """
    Values of any type, as they are; only present when there are any.
    """


class OutputItem(TypedDict):
    """
    One item of the outputs of a run.
    """

    id: str
    """
    The id of this item.
    """
    run_id: str
    """
    The id of the run.
    """
    output_id: str
    """
    What the item is called in its run, such as the id of the node that made it.
    """
    data: OutputData
    node_meta: dict[str, Any] | None
    """
    What the workflow says about the node. Null when it says nothing.
    """
    created_at: str
    """
    When the run ended.
    """
    updated_at: str
    """
    The same as `created_at`: an output does not change.
    """
    type: str | None
    """
    The kind of the node. Null when no node made it.
    """
    node_id: str | None
    """
    The id of the node. Null when no node made it.
    """


class PasswordChange(TypedDict):
    """
    A new password of the person who is signed in.
    """

    password: str
    """
    A new password. Any characters.
    """
    current_password: NotRequired[str | None]
    """
    The password of the person. Null counts as omitted.
    """


class PooledDeployment(TypedDict):
    """
    The runs of a deployment in a pool.
    """

    deployment_id: str
    """
    The id of the deployment.
    """
    waiting: int
    """
    The number of runs that wait for a slot.
    """
    delayed: int
    """
    The number of runs that wait for a time, and for no slot yet: as their request says (`delay_s`, `start_at`), or before another attempt after an error. They count for the GPU model that they prefer.
    """
    running: int
    """
    The number of runs that hold a slot.
    """
    oldest_queued_at: str | None
    """
    When the run that has waited longest was queued or requeued. Null when none waits.
    """


class PooledOrganisation(TypedDict):
    """
    The runs of an organisation in a pool.
    """

    org_id: str
    """
    The id of the organisation.
    """
    waiting: int
    """
    The number of runs that wait for a slot.
    """
    delayed: int
    """
    The number of runs that wait for a time, and for no slot yet: as their request says (`delay_s`, `start_at`), or before another attempt after an error. They count for the GPU model that they prefer.
    """
    running: int
    """
    The number of runs that hold a slot.
    """
    oldest_queued_at: str | None
    """
    When the run that has waited longest was queued or requeued. Null when none waits.
    """
    starts_per_minute: float
    """
    The number of runs that got a slot, per minute, in the last ten minutes. Too low for ten minutes after all schedulers were restarted.
    """
    deployments: list[PooledDeployment]
    """
    The deployments with runs here, those with the most waiting runs first; of many only the first ones.
    """
    more_deployments: int
    """
    The number of deployments with runs here that are not listed.
    """


class ProgramRunner(TypedDict):
    """
    Executes a program of the executor.
    """

    kind: Literal['program']
    """
    A program.
    """
    program: str
    """
    A name in the allow-list of each executor, never a command.
    """


class ProjectionState(TypedDict):
    """
    How far the views are that this gateway reads, as it saw them in the last two seconds.
    """

    position: int
    """
    The position in the log up to which the views have everything.
    """
    lag_messages: int
    """
    Messages of the log that are not in the views yet.
    """
    lag_seconds: float | None
    """
    The age of the first message that is not in the views yet; 0 when there is none. Null when the message could not be read in time.
    """


class ProviderAnswer(TypedDict):
    """
    The answer of the OpenID Connect provider to a sign-in.
    """

    pending: str
    """
    The sign-in that has begun, sealed: for the page that began it, and for nobody else.
    """
    answer: str
    """
    The query with which the provider led the browser back, which is what follows `#answer=` in the address, decoded.
    """


class ProviderSignIn(TypedDict):
    """
    A sign-in with the OpenID Connect provider.
    """

    invitation: NotRequired[str | None]
    """
    The token of an invitation that the person accepts with the sign-in. None, when it is null or omitted.
    """


class ProviderSignInAddress(TypedDict):
    """
    Where the sign-in goes on.
    """

    url: str
    """
    The address at the provider: the browser goes there.
    """
    pending: str
    """
    The sign-in that has begun, sealed: for the page that began it, and for nobody else.
    """


class ReceiverFailure(TypedDict):
    """
    An attempt of the organisation that failed.
    """

    at: str
    """
    When the attempt ended.
    """
    reason: Literal['accepted', 'gone', 'redirect', 'client_error', 'throttled', 'server_error', 'forbidden', 'name_not_found', 'name_unanswered', 'connect_refused', 'connect_failed', 'connect_timed_out', 'tls_failed', 'reset', 'malformed_answer', 'timed_out', 'proxy_failed', 'no_dns', 'interrupted', 'internal_error']
    """
    How the attempt ended.

    - `accepted`: The receiver answered 2xx: it has the notification.
    - `gone`: It answered 410: it wants no further attempts.
    - `redirect`: It answered 3xx, which is never followed.
    - `client_error`: It answered 4xx, except 410 and 429.
    - `throttled`: It answered 429.
    - `server_error`: It answered 5xx.
    - `forbidden`: The webhook policy does not allow the URL, or an address that its name resolves to.
    - `name_not_found`: The name does not exist, or has no address.
    - `name_unanswered`: The authoritative DNS servers of the name do not answer.
    - `connect_refused`: The connection was refused.
    - `connect_failed`: The receiver is unreachable, or the connection was reset before anything was sent.
    - `connect_timed_out`: The attempt timed out before it was connected.
    - `tls_failed`: The certificate is invalid, or the TLS version is below 1.2.
    - `reset`: The connection ended before the headers of the response were complete.
    - `malformed_answer`: The response was not HTTP.
    - `timed_out`: It was connected, but no final status came within the time of the attempt.
    - `proxy_failed`: The egress proxy cannot be reached, or refuses the request.
    - `no_dns`: No DNS server answers.
    - `interrupted`: The notifier stopped or lost its partition during the attempt.
    - `internal_error`: A failure of the notifier.
    """
    status: int | None
    """
    The HTTP status of the response. Null without a response.
    """
    message: str
    """
    The same for people.
    """


class RedeliverResponse(TypedDict):
    """
    What became of the runs of one page.
    """

    matched: int
    """
    The number of runs of this page that match.
    """
    requested: int
    """
    Of these, the number of runs whose notification is sent again.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class RedrivenDeadLetter(TypedDict):
    """
    The outcome of handling a dead letter again.
    """

    id: str
    """
    The id of the dead letter: its position in DEAD_LETTERS, by which `runledger dead-letters show` finds it too.
    """
    outcome: Literal['taken', 'refused', 'no_response', 'no_responder']
    """
    `taken`: it was handled and removed. It stays otherwise. `refused`: it still cannot be handled. `no_response`: the service did not respond in time. `no_responder`: no service handles messages of this consumer again.
    """
    why: str
    """
    The outcome in words, and what to do.
    """


class Refusal(TypedDict):
    """
    The body of every error response but 422.
    """

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
    The id of the request, as the header `X-Request-Id`. The log of the service has it.
    """


class RequestBounds(TypedDict):
    """
    What requests may ask for. A request beyond a bound is refused with 422. `run_timeout_s` and `start_deadline_s` of the deployment are bounds too.
    """

    min_priority: int
    """
    The lowest `priority` of a request: -100 without a bound.
    """
    max_priority: int
    """
    The highest `priority` of a request: 100 without a bound.
    """
    max_delay_s: float | None
    """
    The most seconds by which a request may delay its run, with `delay_s` or `start_at`. Without it, what the log has room for. Null without a bound.
    """


class RequestedBounds(TypedDict):
    """
    What requests may ask for. A request beyond a bound is refused with 422. `run_timeout_s` and `start_deadline_s` of the deployment are bounds too. An omitted bound stays unchanged, null removes it; null instead of the object removes all.
    """

    min_priority: NotRequired[int | None]
    """
    The lowest `priority` of a request: -100 without a bound. Null removes the bound.
    """
    max_priority: NotRequired[int | None]
    """
    The highest `priority` of a request: 100 without a bound. Null removes the bound.
    """
    max_delay_s: NotRequired[float | None]
    """
    The most seconds by which a request may delay its run, with `delay_s` or `start_at`. Without it, what the log has room for. Null removes the bound.
    """


class RequestedRetryPolicy(TypedDict):
    """
    When a run begins another attempt. An omitted member stays unchanged.
    """

    attempts: NotRequired[int | None]
    """
    The most attempts of a run. It begins another one when its executor is lost, and after an error in `on`. Unchanged when it is null or omitted.
    """
    on: NotRequired[list[Literal['program_exit', 'program_signal', 'out_of_memory', 'crashed', 'setup_failed', 'execution_error', 'input_unavailable', 'no_output', 'not_runnable', 'internal_error', 'storage_full']] | None]
    """
    Errors after which a run begins another attempt, if they are retryable. It waits about 2 s before the second attempt, then twice as long each time, at most 300 s. None by default. Unchanged when it is null or omitted.
    """


class RerunRequest(TypedDict):
    """
    What another run has instead of what the run had.
    """

    inputs: NotRequired[dict[str, str | int | float | bool | list[Any]] | None]
    """
    Replaces all inputs of the run, except that secret inputs which it leaves out are those of the run. Null counts as omitted.
    """


class RefusedItem(TypedDict):
    reason: Literal['deployment_gone', 'workflow_gone', 'inputs_gone', 'invalid_inputs', 'inputs_too_large', 'inputs_over_quota', 'inputs_store_full', 'outlives_log', 'unreadable']
    """
    Why the runs were not queued again.

    - `deployment_gone`: The deployment was archived or deleted.
    - `workflow_gone`: The workflow version was deleted, or its workflow is lost.
    - `inputs_gone`: The inputs have expired or are damaged.
    - `invalid_inputs`: A file of the inputs is gone, or its address is not allowed any more.
    - `inputs_too_large`: The inputs are larger than a run may have.
    - `inputs_over_quota`: The organisation has no room left for the inputs.
    - `inputs_store_full`: The store has no room left for the inputs.
    - `outlives_log`: With its time limits the run could live longer than the log.
    - `unreadable`: The state of the run cannot be read now: repeat the request.
    """
    runs: int
    """
    The number of runs refused for this reason.
    """
    run_id: str
    """
    The newest of them. Its own rerun is refused with a sentence that says more.
    """


class RerunRunsResponse(TypedDict):
    """
    What became of the runs of one page.
    """

    matched: int
    """
    The number of runs of this page that matched the filter and were decided on: the sum of the counts below. Reruns that this Idempotency-Key has queued do not match.
    """
    queued: int
    """
    Of these, the number of runs that were queued again now.
    """
    already_queued: int
    """
    Of these, the number of runs that an earlier request with this Idempotency-Key has queued again.
    """
    refused: list[RefusedItem]
    """
    Of these, runs that could not be queued again: how many for each reason.
    """
    stopped: Literal['queue_full', 'log_nearly_full'] | None
    """
    Why the page ended early.

    - `queue_full`: The organisation has as many queued runs as it may.
    - `log_nearly_full`: The log has no room for another run.

    Then `next_cursor` is the cursor of the runs that were not decided on: send it later, with the same Idempotency-Key. Null when the page did not end early.
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
    """
    Which key seals, and where to go on.
    """

    sealing_key: str
    """
    The key that seals, as `GET /sealed-values` shows it. A gateway that seals with another key refuses the request.
    """
    cursor: NotRequired[str | None]
    """
    `next_cursor` of the previous page. Left out for the first page. Null counts as omitted.
    """


class ResourceUsage(TypedDict):
    """
    What an organisation uses of one resource that all organisations share.
    """

    used: int | None
    """
    What the organisation uses, in `unit`. Null while it cannot be counted.
    """
    limit: int
    """
    What the organisation may use, in `unit`.
    """
    unit: Literal['runs', 'records', 'schedules', 'secrets', 'bytes', 'files', 'uploads', 'streams']
    """
    What `used` and `limit` count.

    - `runs`: Runs.
    - `records`: Records of the catalogue.
    - `schedules`: Schedules.
    - `secrets`: Secrets.
    - `bytes`: Bytes.
    - `files`: Files and unfinished uploads.
    - `uploads`: Uploads at the same time.
    - `streams`: Event streams and waiting reads at the same time.
    """


class Retention(TypedDict):
    """
    For how long runs are kept (`runs_days`, from their creation) and their output files (`outputs_days`, from their end).
    """

    runs_days: KeptDays
    outputs_days: KeptDays


class RetentionChange(TypedDict):
    """
    Omitted members stay unchanged.
    """

    runs_days: NotRequired[int | None]
    """
    Days from the creation of a run for which it is kept, with all that belongs to it. Null: as long as the installation keeps it.
    """
    outputs_days: NotRequired[int | None]
    """
    Days from the end of a run for which its output files are kept. Null: as long as the installation keeps it.
    """


class RetryPolicy(TypedDict):
    """
    When a run begins another attempt.
    """

    attempts: int
    """
    The most attempts of a run. It begins another one when its executor is lost, and after an error in `on`.
    """
    on: NotRequired[list[Literal['program_exit', 'program_signal', 'out_of_memory', 'crashed', 'setup_failed', 'execution_error', 'input_unavailable', 'no_output', 'not_runnable', 'internal_error', 'storage_full']]]
    """
    Errors after which a run begins another attempt, if they are retryable. It waits about 2 s before the second attempt, then twice as long each time, at most 300 s. None by default. Only present when there are any.
    """


class RotateSecretRequest(TypedDict):
    """
    How long the current secret stays valid.
    """

    overlap_s: NotRequired[float | None]
    """
    Seconds for which the current secret also signs. Null counts as omitted.
    """


class RunActivity(TypedDict):
    """
    What runs did, interval by interval.
    """

    since: str
    """
    Where the first interval begins.
    """
    until: str
    """
    Where the last interval ends. It may be later than now, by less than a step.
    """
    step_s: int
    """
    The length of an interval in seconds.
    """
    times: list[str]
    """
    Where each interval begins. It ends where the next one begins, and that moment belongs to the next one.
    """
    queued: list[int]
    """
    Runs that were created in the interval.
    """
    started: list[int]
    """
    Runs that began to execute in the interval, in the first attempt that did. Further attempts do not count.
    """
    succeeded: list[int]
    """
    Runs that ended in the interval as `success`.
    """
    failed: list[int]
    """
    Runs that ended in the interval as `failed`.
    """
    timed_out: list[int]
    """
    Runs that ended in the interval as `timeout`.
    """
    cancelled: list[int]
    """
    Runs that ended in the interval as `cancelled`.
    """
    waiting: list[int]
    """
    At the end of the interval: runs that had not begun to execute and had not ended. Those that an executor prepares still wait here.
    """
    running: list[int]
    """
    At the end of the interval: runs that had begun to execute and had not ended. Those that wait for another attempt are among them.
    """


class RunChange(TypedDict):
    """
    A member of the run that a fact changed.
    """

    member: str
    """
    The member of the run as `GET /run/{run_id}` shows it, such as `status` or `attempts[0].ended_at`.
    """
    before: Any
    """
    What it was. Null where there was nothing.
    """
    after: Any
    """
    What it became. Null where nothing is left.
    """


class RunCountsByStatus(TypedDict):
    """
    Of each status the runs that match every filter; 0 for a status that `status` leaves out.
    """

    queued: int
    """
    Runs that wait for a slot.
    """
    started: int
    """
    Runs that an executor prepares.
    """
    running: int
    """
    Runs whose workflow executes.
    """
    uploading: int
    """
    Runs whose output files are being stored.
    """
    success: int
    """
    Runs that ended without an error.
    """
    failed: int
    """
    Runs that ended with an error.
    """
    timeout: int
    """
    Runs that ended at a time limit.
    """
    cancelled: int
    """
    Runs that were cancelled.
    """


class RunError(TypedDict):
    """
    Why a run or an attempt failed or timed out. Of an attempt that another one followed, the message is at most 512 bytes.
    """

    message: str
    """
    What happened, for people. After its first line come the last lines that a program wrote to its standard error.
    """
    kind: Literal['program_exit', 'program_signal', 'out_of_memory', 'crashed', 'setup_failed', 'prepare_failed', 'execution_error', 'input_unavailable', 'invalid_inputs', 'invalid_output', 'no_output', 'output_too_large', 'limit_exceeded', 'not_runnable', 'internal_error', 'deployment_removed', 'storage_full', 'run_timeout', 'start_deadline', 'executor_lost', 'executor_left', 'no_capacity', 'log_expired']
    """
    What went wrong. Each belongs to one `end_reason`. Later releases may add kinds, and while the system is updated a run may have one that is not in this list: it belongs to `workflow_error`.

    - `program_exit`: The program ended with an exit code other than 0.
    - `program_signal`: A signal ended the program, and neither a cancel nor a time limit sent it.
    - `out_of_memory`: The memory of the machine or of the GPU was not enough.
    - `crashed`: What executed the workflow is gone, and it is not known how it ended.
    - `setup_failed`: What executes the workflow could not be made ready, such as a model that does not load.
    - `prepare_failed`: The code of the version could not be made ready: it cannot be unpacked, its packages cannot be installed, or its weights are not what they should be.
    - `execution_error`: The workflow or its model reports an error; `node` says where, if it has nodes.
    - `input_unavailable`: A file of the inputs cannot be fetched.
    - `invalid_inputs`: The workflow or its model refuses the inputs.
    - `invalid_output`: An output cannot be understood.
    - `no_output`: The workflow made no output, and its deployment has `if_no_output` set to `error`.
    - `output_too_large`: The outputs are more than a run may have.
    - `limit_exceeded`: It used more of the machine than its operator lets it: it was killed, or it failed.
    - `not_runnable`: The executor cannot execute such a run. Another one, or this one with other settings, may.
    - `internal_error`: An error of the system.
    - `deployment_removed`: The workflow that the run was queued with is gone.
    - `storage_full`: A store of the system is full: the message names it.
    - `run_timeout`: An attempt executed longer than `run_timeout_s`, or storing its files took longer than an hour and another one for each GiB.
    - `start_deadline`: It had not begun to execute when its start deadline was over.
    - `executor_lost`: The executor sent no more heartbeats.
    - `executor_left`: The executor was stopped before the attempt ended.
    - `no_capacity`: No executor that could have executed it was there when its start deadline was over.
    - `log_expired`: Its first facts left the log, because of their age, before it had ended.
    """
    exit_code: NotRequired[int]
    """
    The exit code of a program; only present when that was the error.
    """
    signal: NotRequired[str]
    """
    The signal that ended a program; only present when one did.
    """
    node: NotRequired[str]
    """
    The node of the workflow that failed; only present when it is known.
    """
    retryable: bool
    """
    Whether the same run may succeed when it is queued again without a change.
    """


class RunFactCause(TypedDict):
    """
    The fact that made the service write this one: of this run, or, with nulls, another one.
    """

    event_id: str
    """
    The id of the fact.
    """
    sequence: int | None
    """
    A position in the log. Null for a fact that is not of this run.
    """
    type: str | None
    """
    The type of the fact. Null for a fact that is not of this run.
    """


class RunFactDetails(TypedDict):
    """
    How the services know a fact.
    """

    event_id: str
    """
    The id of the fact.
    """
    correlation_id: str
    """
    The same for all facts that one request caused.
    """
    traceparent: str | None
    """
    The W3C trace context. Null when there was none.
    """
    instance: str
    """
    The process of the service that wrote it.
    """
    executor_id: str | None
    """
    The id of the executor, which is new at each start of it. Null for a fact about none.
    """
    data: Any
    """
    What the fact says, as docs/events.md describes it. Secret inputs are null.
    """


TagItem: TypeAlias = str
"""
Your own word for runs.
"""


class RunHistoryDelivery(TypedDict):
    """
    A delivery attempt of a notification of the run.
    """

    kind: Literal['delivery']
    """
    A delivery attempt of a notification.
    """
    time: str
    """
    When it began.
    """
    sentence: str
    """
    What happened, for people. It may have several lines.
    """
    notification: Literal['intermediate', 'final']
    """
    What the notification told.

    - `intermediate`: It told the status of a run that had not ended.
    - `final`: It told the end of the run.
    """
    delivery: DeliveryAttempt


class RunHistoryFact(TypedDict):
    """
    A fact of the run, with what it changed.
    """

    kind: Literal['fact']
    """
    A fact.
    """
    time: str
    """
    When it was stored.
    """
    sequence: int
    """
    Its position in the log. `GET /run/{run_id}?at_seq=` shows the run after it.
    """
    type: str
    """
    What happened, as docs/events.md describes it. Later releases may add types.
    """
    attempt: int | None
    """
    The number of the execution attempt; 0 before the first. Null for a fact about notifications.
    """
    round: int | None
    """
    Of a fact about notifications: its round of deliveries, from 1. Null for other facts.
    """
    executor: str | None
    """
    The name of the executor that the fact is about; null for none.
    """
    writer: str
    """
    The service that wrote it.
    """
    cause: RunFactCause | None
    """
    What made the service write it. Null when a request or the time did.
    """
    sentence: str
    """
    What happened, for people. It may have several lines.
    """
    changes: list[RunChange] | None
    """
    What it changed of the run, except `updated_at`; empty for nothing. Null where facts before it are missing.
    """
    details: RunFactDetails | None
    """
    How the services know it. Null for a key without the scope `admin`.
    """


class RunHistoryGap(TypedDict):
    """
    A place of the history where something is missing.
    """

    kind: Literal['gap']
    """
    A place where something is missing.
    """
    time: str
    """
    The time of what follows it.
    """
    reason: Literal['expired', 'missing', 'refused', 'newer']
    """
    Why something is missing.

    - `expired`: Facts have left the log with their age.
    - `missing`: The log has lost facts.
    - `refused`: A message in the log is no fact of the run, and changed nothing.
    - `newer`: Only a later release understands the fact.
    """
    sequence: int | None
    """
    The position of the message, or of the first one after the gap; null when the log has none.
    """
    sentence: str
    """
    What happened, for people. It may have several lines.
    """


class Cut(TypedDict):
    """
    What is missing at this place.
    """

    lines: int
    """
    The number of lines.
    """
    bytes: int
    """
    Their bytes.
    """


class RunLogCut(TypedDict):
    """
    A place of the log where lines are missing.
    """

    at: str
    """
    When the executor read the line after it; at the end of a log, the line before it.
    """
    attempt: int
    """
    The number of the execution attempt, from 1.
    """
    cut: Cut
    """
    What is missing at this place.
    """


class RunLogLine(TypedDict):
    """
    A line of the log of an attempt.
    """

    at: str
    """
    When the executor read it.
    """
    attempt: int
    """
    The number of the execution attempt, from 1.
    """
    stream: Literal['stdout', 'stderr', 'runner']
    """
    Where it comes from.

    - `stdout`: The standard output of the workflow.
    - `stderr`: The standard error of the workflow.
    - `runner`: What executes the workflow.
    """
    line: str
    """
    The text, without control characters, and with `***` for what the deployment masks.
    """
    truncated: NotRequired[bool]
    """
    Only present, and true, when the line was longer than 4 KiB: its end is cut off.
    """


class RunLogNotice(TypedDict):
    """
    A remark about the log of an attempt.
    """

    attempt: int
    """
    The number of the execution attempt, from 1.
    """
    notice: str
    """
    What is to be known about this log, for people.
    """


class RunPlacement(TypedDict):
    """
    Why an attempt got its slot, and what it had waited for.
    """

    candidates: int
    """
    The number of free slots that fitted, with its own; 10 for that many or more.
    """
    choice: Literal['warm', 'prepared', 'cold']
    """
    How ready its slot was for its workflow version.

    - `warm`: Its slot had its workflow version loaded, as the executor said.
    - `prepared`: Its executor had prepared its version: code, packages and weights were there, and nothing was loaded.
    - `cold`: No free slot had either, as far as known.
    """
    gpu_index: int | None
    """
    Which of the deployment's `gpus` its slot has, from 0; null for a run with one model.
    """
    waited_s: float
    """
    Seconds since the run was queued or queued again, without the wait before a retry.
    """
    warm_wait_s: float | None
    """
    Seconds for which it left free slots to others and waited for a warm one; null for none.
    """
    held_back_by: Literal['organisation_limit', 'concurrency_limit', 'concurrency_key'] | None
    """
    The limit that kept it from a slot last.

    - `organisation_limit`: Its organisation executed as many runs as an operator allows.
    - `concurrency_limit`: As many runs of its deployment as its limit allows executed.
    - `concurrency_key`: Another run with its concurrency key executed.

    Null when none did.
    """
    sentence: str
    """
    The same for people.
    """


class RunProgressEvent(TypedDict):
    """
    `event: progress` of a stream. It has no `id`, and only the latest is sent.
    """

    attempt: int
    """
    The number of the execution attempt, from 1; 0 for an event about no attempt.
    """
    progress: float
    """
    How much of the run is done, from 0 to 1, as its program reports it; 0 while it is queued.
    """
    live_status: str | None
    """
    A short sentence about the current step; null once the run has ended.
    """
    time: str
    """
    When it was reported.
    """


class RunSchedule(TypedDict):
    """
    The schedule that queued it, and for which of its times.
    """

    id: str
    """
    The id of the schedule.
    """
    time: str
    """
    The time of the schedule.
    """


RunStatus: TypeAlias = Literal['not-started', 'queued', 'started', 'running', 'uploading', 'success', 'failed', 'timeout', 'cancelled']
"""
What a run does now, or how it ended. The list is closed.

- `not-started`: Reserved for runs that are held back on purpose. No run has it yet.
- `queued`: It waits for a slot: for the first time, or for another attempt.
- `started`: An executor has it and prepares it: the workflow has not begun to execute.
- `running`: The workflow executes.
- `uploading`: The workflow has ended, and its output files are being stored.
- `success`: Final: the workflow has ended without an error, and its outputs are stored.
- `failed`: Final: it ended with an error. `end_reason` and `error` say which.
- `timeout`: Final: one of its time limits was over.
- `cancelled`: Final: it was cancelled before it ended otherwise.
"""


class RunToken(TypedDict):
    """
    A token that permits little about one run.
    """

    token: str
    """
    The token. It is shown only here, and stored nowhere.
    """
    expires_at: str
    """
    When it expires.
    """


RunTokenScope: TypeAlias = Literal['read', 'events', 'logs']
"""
What a token of a run permits.

- `read`: `GET /run/{run_id}`, without `include`.
- `events`: `GET /run/{run_id}/events`.
- `logs`: `GET /run/{run_id}/logs`.
"""


class RunWarning(TypedDict):
    """
    What is odd about a run that has succeeded.
    """

    kind: Literal['no_output', 'unchecked_input']
    """
    What is odd. Later releases may add kinds.

    - `no_output`: An output node of the workflow made nothing, although the server reports no error.
    - `unchecked_input`: The server does not say whether it could read an input; the run may have gone on without it.
    """
    message: str
    """
    What happened and what to do, for people.
    """
    node: NotRequired[str]
    """
    The node of the workflow; only present when it is about one.
    """


Runner: TypeAlias = ProgramRunner | ComfyuiRunner | CogRunner | CodeRunner
"""
How a machine executes a workflow.
"""


class ScheduleChange(TypedDict):
    """
    Omitted members stay unchanged. Null gives a member of the queued runs its default. `inputs` replaces all inputs.
    """

    name: NotRequired[str | None]
    """
    For people. Not blank, and without control characters and characters that change the direction of text. Unchanged when it is null or omitted.
    """
    deployment_id: NotRequired[str | None]
    """
    The deployment that is to run. Unchanged when it is null or omitted.
    """
    deployment: NotRequired[str | None]
    """
    The deployment by its name, instead of `deployment_id`: the one of this name that is not archived. Behind the name `@` and a number, such as `portraits@12`, is that version of its workflow instead of its own; all else is as the deployment has it. If the name of a deployment itself ends like that, it is that deployment. It is looked up now: the schedule keeps the id of the deployment, and of the version. Unchanged when it is null or omitted.
    """
    cron: NotRequired[str | None]
    """
    Five fields: minute, hour, day of month, month, day of week (0 or 7 is Sunday). `*`, lists, ranges, steps and names such as `MON` or `JAN`, `L` for the last day of the month, `15W` for the nearest weekday, `FRI#2` for the second Friday; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. `day_fields` says what counts when both day fields are given. Unchanged when it is null or omitted.
    """
    time_zone: NotRequired[str | None]
    """
    A name of the IANA time zone database, such as `Europe/Berlin` or `UTC`, with its aliases. Abbreviations such as `BST` and offsets are refused, since they mean several. Where clocks change: a given time of day that is skipped comes right after the gap, and one that occurs twice counts the first time only. An expression with `*` or a step in its minutes or hours follows the elapsed time instead, through both. Unchanged when it is null or omitted.
    """
    day_fields: NotRequired[Literal['or', 'and'] | None]
    """
    What a day has to fit when both day of month and day of week are given.

    - `or`: A day that fits one of them fits, as in cron: `0 9 1-7 * MON` is each Monday and each of the first seven days.
    - `and`: A day has to fit both: `0 9 1-7 * MON` is the first Monday of the month.

    Unchanged when it is null or omitted.
    """
    overlap: NotRequired[Literal['skip', 'allow', 'cancel_other'] | None]
    """
    What happens at a time while an earlier run of the schedule has not ended.

    - `skip`: The time is left out.
    - `allow`: Another run is queued. With a `concurrency_key` the runs execute one after the other.
    - `cancel_other`: The earlier run is asked to be cancelled, and another one is queued at once.

    Unchanged when it is null or omitted.
    """
    catch_up_s: NotRequired[int | None]
    """
    A time that nobody could handle, because the service was down, is made up for within so many seconds. Later it counts as missed. Unchanged when it is null or omitted.
    """
    paused: NotRequired[bool | None]
    """
    Whether it is paused: it then has no times, and those that pass meanwhile are not missed. Unchanged when it is null or omitted.
    """
    inputs: NotRequired[dict[str, str | int | float | bool | list[Any]] | None]
    """
    Values by input name, as the version of the deployment defines them: they have the type and the bounds of their definition, and those left out get its default. Names without a definition are passed to the workflow, with a warning, unless `strict_inputs` refuses them. By default at most 256 inputs, names of 256 characters, 32 levels of nesting, and 256 KiB as JSON in total, with the defaults. Numbers are passed on as they are written, and an input of type integer or number also takes a string of digits. Unchanged when it is omitted; null gives it its default.
    """
    webhook: NotRequired[str | None]
    """
    An absolute http or https URL that receives the final notification of the run; by default at most 2,048 characters, of which those outside ASCII count as 2 to 4. The webhook policy is checked here and before each attempt. Unchanged when it is omitted; null gives it its default.
    """
    webhook_intermediate_status: NotRequired[bool | None]
    """
    Whether the webhook also receives intermediate status, at most once a second. Unchanged when it is omitted; null gives it its default.
    """
    gpu: NotRequired[Literal['T4', 'L4', 'A10G', 'L40S', 'A100', 'A100-80GB', 'H100'] | None]
    """
    The GPU model, instead of the deployment's or the machine's. These models only: for another one, make a deployment on it. Unchanged when it is omitted; null gives it its default.
    """
    priority: NotRequired[int | None]
    """
    A head start of a minute for each step: the run starts before those of its deployment that have a lower priority and were queued less than so many minutes before it. So no run waits for ever. The runs of other deployments are not concerned. The `bounds` of the deployment may allow fewer steps. Unchanged when it is omitted; null gives it its default.
    """
    run_timeout_s: NotRequired[float | None]
    """
    Seconds that an attempt may execute: at most those of the deployment, which are the default. Unchanged when it is omitted; null gives it its default.
    """
    start_deadline_s: NotRequired[float | None]
    """
    Seconds that the run may wait until it begins to execute: at most those of the deployment, which are the default. Unchanged when it is omitted; null gives it its default.
    """
    concurrency_key: NotRequired[str | None]
    """
    1 to 64 printable characters, such as the id of a user or a document. Of the runs of the deployment with the same key one executes at a time; the others wait, and let runs with other keys go first. It is stored and shown as it is, so it must not be a secret. Unchanged when it is omitted; null gives it its default.
    """
    tags: NotRequired[list[Tag] | None]
    """
    Your own words for the run, such as `customer:17`: lists and requests about many runs select by them. At most 16 of 1 to 64 letters, digits and characters of `_ - . : /`. Their order does not count. A rerun has them too. They are stored and shown as they are, so they must not be secret. Unchanged when it is omitted; null gives it its default.
    """


class ScheduleOutcome(TypedDict):
    """
    What came of a time of a schedule.
    """

    time: str
    """
    A time of the schedule; the first one of several that were missed together.
    """
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
    What came of it.

    - `queued`: A run was queued.
    - `skipped`: An earlier run had not ended.
    - `missed`: Nobody could handle it within `catch_up_s`.
    - `refused`: No run could be queued: `message` says why.
    """
    run_id: str | None
    """
    Of `queued`: the run. Of `skipped`: the run that had not ended. Null for the others.
    """
    message: str | None
    """
    Why no run was queued, for people. Null when one was.
    """
    handled_at: str
    """
    When that was known, by the clock of the broker.
    """


class SealedCounts(TypedDict):
    """
    How the values of one kind are sealed.
    """

    kind: Literal['webhook_secrets', 'organisation_secrets']
    """
    What is sealed.

    - `webhook_secrets`: The signing secrets of the organisations.
    - `organisation_secrets`: The secrets that programs of the organisations get.
    """
    current: int
    """
    The number of values that were opened, and were sealed with the sealing key before this request.
    """
    resealed: int
    """
    The number of values that this request has sealed with the sealing key.
    """
    old: int
    """
    The number of values that were opened, and are still sealed with another key.
    """
    unreadable: int
    """
    The number of values that no key opens.
    """


class Secret(TypedDict):
    """
    A secret of the organisation, without its value, which nobody is shown.
    """

    name: str
    """
    Letters, digits and underscores, at most 128, with no digit at the begin.
    """
    created_at: str
    """
    When it was created.
    """
    updated_at: str
    """
    When its value was set last.
    """
    updated_by: str
    """
    The id of the user who set its value last.
    """


class SecretList(TypedDict):
    """
    The secrets of the organisation, without their values.
    """

    secrets: list[Secret]
    """
    All of the organisation, by their names.
    """


class SecretValue(TypedDict):
    """
    The value of a secret.
    """

    value: str
    """
    A text of at most 32,768 bytes in UTF-8, without NUL. It is sealed before it is stored, and shown to nobody.
    """


class ServiceInstance(TypedDict):
    """
    A process of a service, as it says itself.
    """

    service: Literal['gateway', 'scheduler', 'notifier']
    """
    The service of the process.

    - `gateway`: Serves the API and keeps the views.
    - `scheduler`: Assigns runs to executors.
    - `notifier`: Sends webhooks.
    """
    instance: str
    """
    Names the process, and is new at each start. Its log has the same name.
    """
    software_version: str
    """
    The version of its software.
    """
    started_at: str
    """
    When the process started, by its own clock.
    """
    ready: bool
    """
    Whether all its checks are ok, as in `/readyz`.
    """
    problems: list[InstanceProblem]
    """
    Its checks that are not ok; the first 20.
    """
    leads: bool | None
    """
    Of a scheduler: whether it leads. Of a gateway: whether it keeps the views. Null for a notifier: they divide the receivers.
    """
    term: int | None
    """
    The number of its term. Null unless it is a scheduler that leads.
    """
    position: int | None
    """
    Of a gateway that keeps views: the position in the log up to which they have everything. Null for others.
    """
    partitions: int | None
    """
    Of a notifier: the number of partitions of the receivers that it holds. Null for others.
    """


class User(TypedDict):
    """
    Who is signed in. Null when nobody is.
    """

    id: str
    """
    The id of the user.
    """
    email: str
    """
    The e-mail address of a person.
    """
    name: str
    """
    The name of the person.
    """


class Organisation1(TypedDict):
    id: str
    """
    The id of the organisation.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """
    role: Literal['owner', 'developer', 'viewer']
    """
    What the member may do.

    - `owner`: Everything, also members and invitations.
    - `developer`: Reads, and queues, cancels and repeats runs.
    - `viewer`: Reads.
    """
    operator: bool
    """
    Whether the member also runs the installation: sessions of the member have the scope `operator`.
    """


class Organisation2(TypedDict):
    """
    The organisation in which requests with the session act. Null when nobody is signed in, and when the person is no member of it any more: choose another one.
    """

    id: str
    """
    The id of the organisation.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """
    role: Literal['owner', 'developer', 'viewer']
    """
    What the member may do.

    - `owner`: Everything, also members and invitations.
    - `developer`: Reads, and queues, cancels and repeats runs.
    - `viewer`: Reads.
    """
    operator: bool
    """
    Whether the member also runs the installation: sessions of the member have the scope `operator`.
    """
    scopes: list[Literal['runs:read', 'runs:write', 'admin', 'operator']]
    """
    What requests with the session may do.
    """


class Provider(TypedDict):
    """
    The OpenID Connect provider at which people sign in. Null where the installation has none.
    """

    name: str
    """
    How people know it.
    """


class Session(TypedDict):
    """
    Who is signed in, and where their requests act.
    """

    user: User | None
    """
    Who is signed in. Null when nobody is.
    """
    organisations: list[Organisation1]
    """
    The organisations that the person is a member of.
    """
    organisation: Organisation2 | None
    """
    The organisation in which requests with the session act. Null when nobody is signed in, and when the person is no member of it any more: choose another one.
    """
    has_password: bool
    """
    Whether the person can sign in with a password.
    """
    has_identity: bool
    """
    Whether the person can sign in with the OpenID Connect provider of the installation.
    """
    needs_current_password: bool
    """
    Whether a new password needs the present one too. Not within 15 minutes after a sign-in with a link.
    """
    expires_at: str | None
    """
    When the session ends by itself. Null when nobody is signed in.
    """
    sign_in: list[Literal['password', 'oidc']]
    """
    The ways to sign in that the installation offers, beside links.
    """
    provider: Provider | None
    """
    The OpenID Connect provider at which people sign in. Null where the installation has none.
    """


class SessionChange(TypedDict):
    """
    What to change of the session.
    """

    organisation_id: str
    """
    The organisation in which requests shall act.
    """


class SignIn(TypedDict):
    """
    A sign-in with a password.
    """

    email: str
    """
    The e-mail address of a person.
    """
    password: str
    """
    The password of the person.
    """


class SignInLink(TypedDict):
    """
    A link that signs a person in, once. It is shown only here.
    """

    email: str
    """
    The e-mail address of a person.
    """
    token: str
    """
    What follows `#token=` in the link.
    """
    url: str
    """
    The address of the link: open it in a browser.
    """
    expires_at: str
    """
    When the link ends. It ends with its first use, too.
    """


class SlotReady(TypedDict):
    """
    A slot in which the version is kept loaded.
    """

    slot: int
    """
    Of the executor, from 0.
    """
    state: Literal['preparing', 'prepared', 'loading', 'loaded', 'occupied', 'failed']
    """
    How far it is.

    - `preparing`: Its code, packages or weights are being fetched.
    - `prepared`: They are there.
    - `loading`: Its process is starting.
    - `loaded`: Its process is ready, or executes a run.
    - `occupied`: The slot has something else that was used, or executes it.
    - `failed`: It cannot be prepared or loaded; `why` says it. It is tried again after some minutes.
    """
    why: str | None
    """
    Why it failed. Null unless it failed.
    """


class SlotRun(TypedDict):
    """
    The attempt that holds a slot.
    """

    org_id: str
    """
    The organisation of the run.
    """
    run_id: str
    """
    The id of the run.
    """
    attempt: int
    """
    The number of the attempt, from 1.
    """
    assigned_at: str
    """
    When it got the slot.
    """
    placement: RunPlacement | None
    """
    Why it got its slot, and what it had waited for. Null when the scheduler did not say it.
    """


class StreamState(TypedDict):
    """
    What a stream, bucket or object store of the log holds.
    """

    name: str
    """
    Its name at the broker.
    """
    kind: Literal['stream', 'bucket', 'objects']
    """
    What it is for clients of the broker.

    - `stream`: A stream of messages.
    - `bucket`: A key-value bucket.
    - `objects`: An object store.
    """
    messages: int
    """
    Its messages.
    """
    bytes: int
    """
    What they take, in bytes, in one copy.
    """
    max_bytes: int | None
    """
    What they may take, in bytes. Null without a limit.
    """
    max_age_s: float | None
    """
    The age in seconds at which messages expire. Null when they do not expire by their age.
    """
    copies: int
    """
    The number of copies that it should have, each at another broker.
    """
    current_copies: int
    """
    The number of copies that have everything.
    """
    leader: str | None
    """
    The broker that leads it. Null with a single broker, and while there is none.
    """


class System(TypedDict):
    """
    The state of the installation.
    """

    complete: bool
    """
    Whether everything responded in time. If not, `did_not_respond` says what is missing.
    """
    did_not_respond: list[str]
    """
    What did not respond within a second: a service of which no process did, an `instance` that holds a lease, `executors`, `projection`, `leases`, `broker`, or the name of a stream.
    """
    instances: list[ServiceInstance]
    """
    The processes that responded, by service and name; at most 100 of a service.
    """
    leaders: list[Leadership]
    """
    Who holds which lease.
    """
    executors: FleetCounts | None
    """
    Null while no scheduler responds.
    """
    projection: ProjectionState | None
    """
    Null while this gateway does not know it.
    """
    streams: list[StreamState]
    """
    The streams whose leaders responded.
    """
    storage: LogStorage | None
    """
    Null while the broker does not respond.
    """
    untrusted_proxy: str | None
    """
    The first host that sent `X-Forwarded-For` to this gateway without being one of `RUNLEDGER_TRUSTED_PROXIES`. If it is your proxy, name it there: until then all who come through it count as one client. Null while none did.
    """
    dead_letters: int | None
    """
    The number of messages that no consumer could handle. Null while DEAD_LETTERS does not respond.
    """


class DeletedBy(TypedDict):
    """
    Who deleted it.
    """

    user_id: str
    """
    The user of the API key.
    """
    key_id: str
    """
    The API key of the request.
    """


class Erases1(TypedDict):
    """
    What the run had outside of its facts, which is erased.
    """

    files: int
    """
    The number of its output files.
    """
    file_bytes: int
    """
    The bytes of its output files.
    """
    inputs_bytes: int
    """
    The bytes of its inputs, if they had more than 4 KiB as JSON; 0 otherwise.
    """
    outputs_bytes: int
    """
    The bytes of its list of outputs, if that had more than 4 KiB as JSON; 0 otherwise.
    """
    log_bytes: int
    """
    The bytes of its kept log, which is compressed; 0 without one.
    """


class Tombstone(TypedDict):
    """
    What is left of a deleted run.
    """

    run_id: str
    """
    The id of the run.
    """
    number: int
    """
    The number of the run, as the run had it.
    """
    created_at: str
    """
    When it was created.
    """
    deleted_at: str
    """
    When it was deleted.
    """
    deleted_by: DeletedBy
    """
    Who deleted it.
    """
    state: Literal['erasing', 'erased']
    """
    Whether everything is erased.

    - `erasing`: Something of it is still to be erased.
    - `erased`: The files, logs and blobs of the run are gone, except content that another run has too.
    """
    erases: Erases1
    """
    What the run had outside of its facts, which is erased.
    """


class UnreadableValue(TypedDict):
    """
    A sealed value that no key opens.
    """

    kind: Literal['webhook_secrets', 'organisation_secrets']
    """
    What is sealed.

    - `webhook_secrets`: The signing secrets of the organisations.
    - `organisation_secrets`: The secrets that programs of the organisations get.
    """
    id: str
    """
    The id of the value: of a signing secret that of its organisation; of a secret for programs that of its organisation, a dot and its name.
    """
    why: str
    """
    What is wrong, and what to do. It contains no secret.
    """


class UploadedFile(TypedDict):
    """
    A file that a client uploaded, for inputs of runs.
    """

    id: str
    """
    The id of the file: the value of an input that is this file.
    """
    url: str
    """
    The address of its bytes, for API keys of the organisation.
    """
    filename: str
    """
    Its name, as it was uploaded last.
    """
    bytes: int
    """
    Its size in bytes.
    """
    sha256: str
    """
    The SHA-256 of its bytes, in hexadecimal digits.
    """
    content_type: str
    """
    Its MIME type, as it was uploaded last.
    """
    expires_at: str
    """
    When it is erased, unless it is uploaded or named by a new run before.
    """


class Usage(TypedDict):
    """
    What the organisation uses of each resource.

    - `queued_runs`: Runs that wait for a slot.
    - `catalogue_records`: Machines, workflows, versions of workflows and deployments, archived ones included.
    - `schedules`: Schedules, paused ones included.
    - `secrets`: Secrets that its programs get.
    - `workflow_bytes`: The workflows of its versions, equal ones once, with the definitions of their inputs.
    - `blob_bytes`: Inputs and lists of outputs over 4 KiB of its runs, equal ones once.
    - `output_bytes`: The output files of its runs, until they expire.
    - `files`: Files that clients uploaded, and unfinished uploads.
    - `file_bytes`: Their bytes, equal files once.
    - `model_bytes`: The weights that it keeps for its versions, equal ones once.
    - `uploads`: Files that clients and executors upload now, at the gateway that responds.
    - `streams`: Event streams and waiting reads that are open at the gateway that responds.
    """

    queued_runs: ResourceUsage
    catalogue_records: ResourceUsage
    schedules: ResourceUsage
    secrets: ResourceUsage
    workflow_bytes: ResourceUsage
    blob_bytes: ResourceUsage
    output_bytes: ResourceUsage
    files: ResourceUsage
    file_bytes: ResourceUsage
    model_bytes: ResourceUsage
    uploads: ResourceUsage
    streams: ResourceUsage


class ValidationError(TypedDict):
    """
    One thing that is wrong with a request.
    """

    loc: list[str | int]
    """
    The location: `body`, `path`, `query` or `header`, then the names and indexes down to the value.
    """
    msg: str
    """
    What is wrong, for people.
    """
    type: str
    """
    What is wrong, for programs: an error type of pydantic 2.
    """


class WaitingExecutors(TypedDict):
    """
    The executors that could execute it, as numbers: which ones they are is not for clients.
    """

    serving: int
    """
    The number of executors that could execute it and take new runs.
    """
    busy_slots: int
    """
    The number of busy slots of these executors with the run's GPU model.
    """
    free_slots: int
    """
    The number of free slots of these executors with the run's GPU model.
    """
    draining: int
    """
    The number of executors that could execute it and take no new runs.
    """


class WebhookReceiver(TypedDict):
    """
    One origin to which the organisation has webhooks, as its notifier knows it.
    """

    host: str
    """
    Its host, with the port unless it is the default port: the `host` of its deliveries.
    """
    origin: str
    """
    Scheme, host and port of the callback URLs.
    """
    state: Literal['closed', 'open', 'probing']
    """
    The state of its circuit breaker.

    - `closed`: Notifications are sent.
    - `open`: Too many attempts failed. Nothing is sent before `next_probe_at`.
    - `probing`: The time of an opening is over. One attempt shows whether the receiver works again; then 2, 4 and 8 may be in flight.
    """
    shared: bool
    """
    Whether the state is that of the origin, which all organisations share: nobody can connect to it. Otherwise it is that of the organisation: it gets 5xx, 429 or no response in time.
    """
    since: str | None
    """
    When the breaker came into this state. Null for a breaker that never opened, and for one that is shared.
    """
    next_probe_at: str | None
    """
    When an open breaker lets an attempt through. Null unless it is open.
    """
    failures_in_a_row: int
    """
    Attempts of the organisation that failed since the last accepted one.
    """
    failing_since: str | None
    """
    When the first of these ended. Null when the last attempt did not fail.
    """
    waiting: int | None
    """
    Final notifications of the organisation that are neither accepted nor given up, with those in flight. Null when they could not be counted in time.
    """
    in_flight: int
    """
    Attempts of the organisation that are being made.
    """
    max_in_flight: int
    """
    How many of its attempts may be in flight now; 0 while the breaker is open.
    """
    held_up_by: Literal['breaker', 'probe', 'receiver_limit', 'organisation_limit', 'notifier_limit', 'retry_delay'] | None
    """
    What keeps the waiting notifications from being sent now.

    - `breaker`: Its breaker is open.
    - `probe`: Its breaker is probing, and the attempts that are in flight have to end first.
    - `receiver_limit`: As many attempts are in flight as the receiver may have: `max_in_flight`, which grows by one with each success, up to 32, and is one after a failure.
    - `organisation_limit`: Receivers of the organisation that fail, are slow or are new have all attempts in flight that they may have together.
    - `notifier_limit`: The notifier has all attempts in flight that it may have, of all organisations.
    - `retry_delay`: Each waits for the time of its next attempt.

    Null when nothing waits.
    """
    last_success_at: str | None
    """
    When the receiver last accepted a notification of the organisation. Null when it has accepted none since its notifier took it over.
    """
    last_failure: ReceiverFailure | None
    """
    Null when no attempt has failed since its notifier took it over.
    """


class WebhookReceivers(TypedDict):
    """
    The receivers of the webhooks of an organisation.
    """

    complete: bool
    """
    Whether the notifiers of all receivers responded in time. If not, receivers may be missing: a notifier is starting, takes over from another one, or is down.
    """
    receivers: list[WebhookReceiver]
    """
    Those with an open breaker first, then those that are probed, then those that fail; each in the order of their origins.
    """
    more: bool
    """
    Whether there are more than 500. `host` finds each of them.
    """


class Previous(TypedDict):
    """
    The previous secret, which also signs until `expires_at`. Null when there is none that still signs.
    """

    secret: str
    """
    The previous secret.
    """
    expires_at: str
    """
    Until when it also signs.
    """


class WebhookSecret(TypedDict):
    """
    The secret that signs the notifications.
    """

    secret: str
    """
    The signing secret: `whsec_` and base64, as in Standard Webhooks.
    """
    created_at: str
    """
    When it was created.
    """
    previous: Previous | None
    """
    The previous secret, which also signs until `expires_at`. Null when there is none that still signs.
    """


WebhookStatus: TypeAlias = Literal['not-started', 'running', 'success', 'failed']
"""
The state of the notifications of a run.

- `not-started`: Nothing is known of its notifications: none was due yet, or the first attempt is under way.
- `running`: A notification was not accepted at once, and is tried again; or a redelivery was requested.
- `success`: The receiver has accepted the final notification.
- `failed`: The final notification was given up: its deliveries say why.
"""


class Organisation3(TypedDict):
    """
    The organisation of the key: everything that the key reads is of it.
    """

    id: str
    """
    The id of the organisation.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """


class User1(TypedDict):
    """
    The user of the key.
    """

    id: str
    """
    The id of the user.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """


class Whoami(TypedDict):
    """
    Who calls, and which version responds.
    """

    organisation: Organisation3
    """
    The organisation of the key: everything that the key reads is of it.
    """
    user: User1
    """
    The user of the key.
    """
    key: CallingKey
    version: str
    """
    The version of the gateway that responds.
    """


class Workflow(TypedDict):
    """
    What its versions have in common. A version has what is executed.
    """

    id: str
    """
    The id of the workflow.
    """
    org_id: str
    """
    The id of the organisation that it belongs to.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str
    """
    When it was created.
    """


class WorkflowChange(TypedDict):
    """
    Omitted members stay unchanged.
    """

    name: NotRequired[str | None]
    """
    For people. Not blank, and without control characters and characters that change the direction of text. Unchanged when it is null or omitted.
    """
    archived: NotRequired[bool | None]
    """
    Whether it is archived: kept for its runs, and not available for anything new. Unchanged when it is null or omitted.
    """


class WorkflowPage(TypedDict):
    """
    A page of workflows.
    """

    workflows: list[Workflow]
    """
    The newest first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class WorkflowVersion(TypedDict):
    """
    A version of a workflow. Only archived ever changes.
    """

    id: str
    """
    The id of the workflow version.
    """
    org_id: str
    """
    The id of the organisation that it belongs to.
    """
    workflow_id: str
    """
    The id of the workflow.
    """
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
    The size of the workflow as JSON text, in bytes.
    """
    inputs: list[InputDefinition]
    """
    The definitions of the inputs; empty without any.
    """
    code: Code | None
    """
    The archive that the version executes, a tar compressed with zstd. Null for a version without code.
    """
    message: str | None
    """
    What is new in the version, for people. Null without one.
    """
    commit: str | None
    """
    The git commit of the folder; with `+changes` when the folder had others than that commit has. Null without one.
    """
    created_by: str | None
    """
    The user who made it. Null for a version that the installation made.
    """
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str
    """
    When it was created.
    """
    workflow: Any
    """
    What is executed: any JSON value that the runner understands.
    """


class WorkflowVersionChange(TypedDict):
    """
    Nothing else of a version can change. Create a new version instead.
    """

    archived: NotRequired[bool | None]
    """
    Whether it is archived: kept for its runs, and not available for anything new. Unchanged when it is null or omitted.
    """


class WorkflowVersionPage(TypedDict):
    """
    A page of the versions of a workflow.
    """

    versions: list[ListedWorkflowVersion]
    """
    The newest first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class CancelRunResponse(TypedDict):
    """
    What became of a request to cancel a run.
    """

    run_id: str
    """
    The id of the run.
    """
    status: RunStatus
    outcome: Literal['cancelled', 'cancellation_requested', 'already_ended']
    """
    What the request did.

    - `cancelled`: Final.
    - `cancellation_requested`: The run executes, and ends as cancelled within the grace period.
    - `already_ended`: The run had ended otherwise, and is unchanged.
    """


class Deployment(TypedDict):
    """
    A workflow version on a machine, with the settings of its runs. A run keeps the settings and the version with which it was queued.
    """

    id: str
    """
    The id of the deployment.
    """
    org_id: str
    """
    The id of the organisation that it belongs to.
    """
    workflow_id: str
    """
    The id of the workflow.
    """
    workflow_version_id: str
    """
    The id of the workflow version.
    """
    machine_id: str
    """
    The id of the machine.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """
    environment: str
    """
    Your own word, such as production or staging.
    """
    gpu: str | None
    """
    The GPU model of runs that request none: the first one of `gpus`. Null for the default of the machine.
    """
    gpus: list[Gpu]
    """
    The GPU models of runs that request none, in order of preference; empty for the default of the machine.
    """
    labels: list[Label]
    """
    Its runs go only to executors that have all of these labels (EXECUTOR_LABELS), such as `zone:eu-west-1`. An empty list asks for none.
    """
    warm_wait_s: float
    """
    Seconds that a run may leave free GPU slots to others while a slot that has its version loaded is busy: it waits for that one, and then takes any. A free slot that has it loaded is taken first anyway.
    """
    keep_prepared: int
    """
    On how many slots the version is kept prepared, before the first run and after a change of the version: its code, packages and weights are on the disk of their executors. For versions with code.
    """
    keep_loaded: int
    """
    In how many slots the version is kept loaded, so that a run finds its process ready. Only free slots: a process that is kept makes way for another one that stays, when a run of that gets its slot, and is loaded again where a slot is empty. For versions with code whose process stays.
    """
    concurrency_limit: int | None
    """
    The most runs of this deployment that execute at the same time; no limit without it. The others wait. As all settings, a run has the one with which it was queued. Null without one.
    """
    weight: float
    """
    Its part of the GPUs of your organisation while other deployments have waiting runs too: one of weight 2 gets twice the slots of one of weight 1. The last queued run counts.
    """
    strict_inputs: bool
    """
    Whether requests with names in `inputs` that the version does not define are refused with 422. Otherwise such inputs are passed to the workflow, and the response warns of them. A version that defines no inputs takes every name.
    """
    run_timeout_s: float
    """
    Seconds that an attempt of a run may execute. Storing its files is not part of it: that may take an hour, and another one for each GiB. A request may ask for less.
    """
    start_deadline_s: float
    """
    Seconds that a run may wait until it begins to execute. A request may ask for less.
    """
    bounds: RequestBounds
    retry: RetryPolicy
    if_no_output: Literal['warn', 'error', 'ignore']
    """
    What a run becomes that has made no output, although nothing reported an error. Only workflows of ComfyUI have output nodes; `error` holds for all runs without an output.

    - `warn`: It succeeds, with a warning for each output node of its workflow that made nothing.
    - `error`: It fails with `no_output`; also where one of several output nodes made nothing.
    - `ignore`: It succeeds, without such warnings.
    """
    log_masks: list[LogMask] | None
    """
    Patterns of what must not be shown: `***` replaces every match in the lines of logs and in the messages of errors. In the syntax of RE2, which takes linear time. Each line is matched by itself. Null without any.
    """
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str
    """
    When it was created.
    """


class DeploymentChange(TypedDict):
    """
    Omitted members stay unchanged. Start deadline and run timeout of all attempts together have to fit into the time for which the log keeps events; a refusal says how long that is.
    """

    name: NotRequired[str | None]
    """
    For people. Not blank, and without control characters and characters that change the direction of text. Unchanged when it is null or omitted.
    """
    workflow_version_id: NotRequired[str | None]
    """
    The id of the workflow version. Unchanged when it is null or omitted.
    """
    machine_id: NotRequired[str | None]
    """
    The id of the machine. Unchanged when it is null or omitted.
    """
    environment: NotRequired[str | None]
    """
    Your own word, such as production or staging. Unchanged when it is null or omitted.
    """
    gpu: NotRequired[str | None]
    """
    The GPU model of runs that request none: any name, as for a machine. Without it, the machine's default. Null clears it.
    """
    gpus: NotRequired[list[str | GpuFallback] | None]
    """
    The GPU models of runs that request none, in order of preference, such as `["L4", {"gpu": "A10G", "after_s": 60}]`: a run takes a slot of the first model that has a free one, and of a model with `after_s` only once it has waited so many seconds. Instead of `gpu`, which is a list of one. Null or an empty list clears it.
    """
    labels: NotRequired[list[Label] | None]
    """
    Its runs go only to executors that have all of these labels (EXECUTOR_LABELS), such as `zone:eu-west-1`. An empty list asks for none. Unchanged when it is null or omitted.
    """
    warm_wait_s: NotRequired[float | None]
    """
    Seconds that a run may leave free GPU slots to others while a slot that has its version loaded is busy: it waits for that one, and then takes any. A free slot that has it loaded is taken first anyway. Unchanged when it is null or omitted.
    """
    keep_prepared: NotRequired[int | None]
    """
    On how many slots the version is kept prepared, before the first run and after a change of the version: its code, packages and weights are on the disk of their executors. For versions with code. Unchanged when it is null or omitted.
    """
    keep_loaded: NotRequired[int | None]
    """
    In how many slots the version is kept loaded, so that a run finds its process ready. Only free slots: a process that is kept makes way for another one that stays, when a run of that gets its slot, and is loaded again where a slot is empty. For versions with code whose process stays. Unchanged when it is null or omitted.
    """
    concurrency_limit: NotRequired[int | None]
    """
    The most runs of this deployment that execute at the same time; no limit without it. The others wait. As all settings, a run has the one with which it was queued. Null clears it.
    """
    weight: NotRequired[float | None]
    """
    Its part of the GPUs of your organisation while other deployments have waiting runs too: one of weight 2 gets twice the slots of one of weight 1. The last queued run counts. Unchanged when it is null or omitted.
    """
    strict_inputs: NotRequired[bool | None]
    """
    Whether requests with names in `inputs` that the version does not define are refused with 422. Otherwise such inputs are passed to the workflow, and the response warns of them. A version that defines no inputs takes every name. Unchanged when it is null or omitted.
    """
    run_timeout_s: NotRequired[float | None]
    """
    Seconds that an attempt of a run may execute. Storing its files is not part of it: that may take an hour, and another one for each GiB. A request may ask for less. Unchanged when it is null or omitted.
    """
    start_deadline_s: NotRequired[float | None]
    """
    Seconds that a run may wait until it begins to execute. A request may ask for less. Unchanged when it is null or omitted.
    """
    bounds: NotRequired[RequestedBounds | None]
    """
    What requests may ask for. Null removes all bounds.
    """
    retry: NotRequired[RequestedRetryPolicy | None]
    """
    When a run begins another attempt. Unchanged when it is null or omitted.
    """
    if_no_output: NotRequired[Literal['warn', 'error', 'ignore'] | None]
    """
    What a run becomes that has made no output, although nothing reported an error. Only workflows of ComfyUI have output nodes; `error` holds for all runs without an output.

    - `warn`: It succeeds, with a warning for each output node of its workflow that made nothing.
    - `error`: It fails with `no_output`; also where one of several output nodes made nothing.
    - `ignore`: It succeeds, without such warnings.

    Unchanged when it is null or omitted.
    """
    log_masks: NotRequired[list[LogMask] | None]
    """
    Patterns of what must not be shown: `***` replaces every match in the lines of logs and in the messages of errors. In the syntax of RE2, which takes linear time. Each line is matched by itself. Null removes them.
    """
    archived: NotRequired[bool | None]
    """
    Whether it is archived: kept for its runs, and not available for anything new. Unchanged when it is null or omitted.
    """


class DeploymentPage(TypedDict):
    """
    A page of deployments.
    """

    deployments: list[Deployment]
    """
    The newest first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class ExecutorReady(TypedDict):
    """
    An executor that keeps the version ready.
    """

    executor: str
    """
    The name of the executor.
    """
    state: Literal['preparing', 'prepared', 'loading', 'loaded', 'occupied', 'failed'] | None
    """
    How far it is.

    - `preparing`: Its code, packages or weights are being fetched.
    - `prepared`: They are there.
    - `loading`: Its process is starting.
    - `loaded`: Its process is ready, or executes a run.
    - `occupied`: The slot has something else that was used, or executes it.
    - `failed`: It cannot be prepared or loaded; `why` says it. It is tried again after some minutes.

    Null while the executor does not respond.
    """
    why: str | None
    """
    Why it failed. Null unless it failed.
    """
    slots: list[SlotReady]
    """
    The slots in which the version is kept loaded; empty where it is only kept prepared.
    """


class ExecutorSlot(TypedDict):
    """
    A slot of an executor: it executes one run at a time.
    """

    slot: int
    """
    Its index in the executor, from 0.
    """
    gpu: str
    """
    The GPU model of the slot, in upper case; `CPU` without a card.
    """
    loaded_workflow_version_id: str | None
    """
    The id of the workflow version. The workflow version that it has loaded, as its executor said last: the next run of it is warm here. Null when it has none, or when that is not known.
    """
    run: SlotRun | None
    """
    What holds it. Null while it is free.
    """


class FilePage(TypedDict):
    """
    A page of files.
    """

    files: list[UploadedFile]
    """
    The last uploaded one first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class FileUpload(TypedDict):
    """
    A resumable upload of a file.
    """

    id: str
    """
    The id of the upload.
    """
    url: str
    """
    Where the bytes go, by PATCH.
    """
    offset: int
    """
    The number of bytes that are stored: the next ones begin here.
    """
    bytes: int
    """
    The size of the whole file in bytes.
    """
    expires_at: str
    """
    When the upload is erased, unless bytes arrive before. Its file stays.
    """
    file: UploadedFile | None
    """
    The file. Null until all bytes have arrived.
    """


class HTTPValidationError(TypedDict):
    """
    The body of every 422 response, and of no other. Its code is `invalid_request`.
    """

    detail: NotRequired[list[ValidationError]]
    """
    All that is wrong with the request; always present.
    """
    code: str
    """
    For programs: one cause with one remedy. A code never changes its meaning or its status, and clients may meet new ones. The page docs/errors.md of Runledger has the cause and the remedy of each.
    """
    request_id: str
    """
    The id of the request, as the header `X-Request-Id`. The log of the service has it.
    """


class ListedDelivery(TypedDict):
    """
    The state of the notifications of a run.
    """

    run_id: str
    """
    The id of the run.
    """
    url: str
    """
    The callback URL without its query. To a key without the scope `admin` it shows the host only.
    """
    host: str | None
    """
    The host of the webhook, with the port unless it is the default port. Null when the URL cannot be read.
    """
    webhook_status: WebhookStatus
    round: int
    """
    Its round: 1 for the first delivery; every redelivery begins another one.
    """
    state: Literal['retrying', 'deferred'] | None
    """
    What a delivery waits for that is not settled.

    - `retrying`: It is tried again at `next_try_at`.
    - `deferred`: It waits until the receiver accepts notifications again.

    Null when no further attempt is planned.
    """
    next_try_at: str | None
    """
    When the next attempt is made. Null when none is planned, and for a deferred delivery.
    """
    given_up_reason: Literal['gone', 'tries_used_up', 'expired', 'log_expired'] | None
    """
    Why no further attempt is made.

    - `gone`: The receiver answered 410.
    - `tries_used_up`: The last attempt failed.
    - `expired`: The time for it was over.
    - `log_expired`: The first events of the run expired from the log, and it cannot be sent again.

    Null unless the delivery failed.
    """
    message: str | None
    """
    The reason for this state, for people; null if nothing failed.
    """
    tries: int
    """
    The number of attempts in this round.
    """
    last_reason: Literal['accepted', 'gone', 'redirect', 'client_error', 'throttled', 'server_error', 'forbidden', 'name_not_found', 'name_unanswered', 'connect_refused', 'connect_failed', 'connect_timed_out', 'tls_failed', 'reset', 'malformed_answer', 'timed_out', 'proxy_failed', 'no_dns', 'interrupted', 'internal_error'] | None
    """
    How the attempt ended.

    - `accepted`: The receiver answered 2xx: it has the notification.
    - `gone`: It answered 410: it wants no further attempts.
    - `redirect`: It answered 3xx, which is never followed.
    - `client_error`: It answered 4xx, except 410 and 429.
    - `throttled`: It answered 429.
    - `server_error`: It answered 5xx.
    - `forbidden`: The webhook policy does not allow the URL, or an address that its name resolves to.
    - `name_not_found`: The name does not exist, or has no address.
    - `name_unanswered`: The authoritative DNS servers of the name do not answer.
    - `connect_refused`: The connection was refused.
    - `connect_failed`: The receiver is unreachable, or the connection was reset before anything was sent.
    - `connect_timed_out`: The attempt timed out before it was connected.
    - `tls_failed`: The certificate is invalid, or the TLS version is below 1.2.
    - `reset`: The connection ended before the headers of the response were complete.
    - `malformed_answer`: The response was not HTTP.
    - `timed_out`: It was connected, but no final status came within the time of the attempt.
    - `proxy_failed`: The egress proxy cannot be reached, or refuses the request.
    - `no_dns`: No DNS server answers.
    - `interrupted`: The notifier stopped or lost its partition during the attempt.
    - `internal_error`: A failure of the notifier.

    Null when no attempt failed.
    """
    created_at: str
    """
    When the run was created.
    """
    updated_at: str
    """
    When this state was stored.
    """


class Machine(TypedDict):
    """
    A kind of host: a GPU model, and how a workflow is executed there.
    """

    id: str
    """
    The id of the machine.
    """
    org_id: str
    """
    The id of the organisation that it belongs to.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """
    gpu: str
    """
    The GPU model of runs when neither the run nor its deployment names one, in upper case.
    """
    type: str
    """
    Your own word, such as the kind of host. Runs show it as machine_type.
    """
    version: str
    """
    A number. It increases when gpu, type or runner change. Runs show it as machine_version.
    """
    runner: Runner
    archived: bool
    """
    Whether it is archived: kept for its runs, and not available for anything new.
    """
    created_at: str
    """
    When it was created.
    """


class MachineChange(TypedDict):
    """
    Omitted members stay unchanged.
    """

    name: NotRequired[str | None]
    """
    For people. Not blank, and without control characters and characters that change the direction of text. Unchanged when it is null or omitted.
    """
    gpu: NotRequired[str | None]
    """
    The GPU model of runs when neither the run nor its deployment names one: any name, as EXECUTOR_GPUS of an executor names it, or CPU. Upper and lower case mean the same. Runs for a model that no executor has wait until their start deadline, and say so. Unchanged when it is null or omitted.
    """
    type: NotRequired[str | None]
    """
    Your own word, such as the kind of host. Runs show it as machine_type. Unchanged when it is null or omitted.
    """
    runner: NotRequired[Runner | None]
    """
    How it executes a workflow. Unchanged when it is null or omitted.
    """
    archived: NotRequired[bool | None]
    """
    Whether it is archived: kept for its runs, and not available for anything new. Unchanged when it is null or omitted.
    """


class MachinePage(TypedDict):
    """
    A page of machines.
    """

    machines: list[Machine]
    """
    The newest first.
    """
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
    """
    The id of the workflow version.
    """
    machine_id: str
    """
    The id of the machine.
    """
    environment: NotRequired[str | None]
    """
    Your own word, such as production or staging. Null counts as omitted.
    """
    gpu: NotRequired[str | None]
    """
    The GPU model of runs that request none: any name, as for a machine. Without it, the machine's default. Null counts as omitted.
    """
    gpus: NotRequired[list[str | GpuFallback] | None]
    """
    The GPU models of runs that request none, in order of preference, such as `["L4", {"gpu": "A10G", "after_s": 60}]`: a run takes a slot of the first model that has a free one, and of a model with `after_s` only once it has waited so many seconds. Instead of `gpu`, which is a list of one. Null counts as omitted.
    """
    labels: NotRequired[list[Label] | None]
    """
    Its runs go only to executors that have all of these labels (EXECUTOR_LABELS), such as `zone:eu-west-1`. An empty list asks for none. Null counts as omitted.
    """
    warm_wait_s: NotRequired[float | None]
    """
    Seconds that a run may leave free GPU slots to others while a slot that has its version loaded is busy: it waits for that one, and then takes any. A free slot that has it loaded is taken first anyway. Null counts as omitted.
    """
    keep_prepared: NotRequired[int | None]
    """
    On how many slots the version is kept prepared, before the first run and after a change of the version: its code, packages and weights are on the disk of their executors. For versions with code. Null counts as omitted.
    """
    keep_loaded: NotRequired[int | None]
    """
    In how many slots the version is kept loaded, so that a run finds its process ready. Only free slots: a process that is kept makes way for another one that stays, when a run of that gets its slot, and is loaded again where a slot is empty. For versions with code whose process stays. Null counts as omitted.
    """
    concurrency_limit: NotRequired[int | None]
    """
    The most runs of this deployment that execute at the same time; no limit without it. The others wait. As all settings, a run has the one with which it was queued. Null counts as omitted.
    """
    weight: NotRequired[float | None]
    """
    Its part of the GPUs of your organisation while other deployments have waiting runs too: one of weight 2 gets twice the slots of one of weight 1. The last queued run counts. Null counts as omitted.
    """
    strict_inputs: NotRequired[bool | None]
    """
    Whether requests with names in `inputs` that the version does not define are refused with 422. Otherwise such inputs are passed to the workflow, and the response warns of them. A version that defines no inputs takes every name. Null counts as omitted.
    """
    run_timeout_s: NotRequired[float | None]
    """
    Seconds that an attempt of a run may execute. Storing its files is not part of it: that may take an hour, and another one for each GiB. A request may ask for less. Null counts as omitted.
    """
    start_deadline_s: NotRequired[float | None]
    """
    Seconds that a run may wait until it begins to execute. A request may ask for less. Null counts as omitted.
    """
    bounds: NotRequired[RequestedBounds | None]
    """
    What requests may ask for. None when it is null or omitted.
    """
    retry: NotRequired[RequestedRetryPolicy | None]
    """
    When a run begins another attempt. Three attempts when it is null or omitted.
    """
    if_no_output: NotRequired[Literal['warn', 'error', 'ignore'] | None]
    """
    What a run becomes that has made no output, although nothing reported an error. Only workflows of ComfyUI have output nodes; `error` holds for all runs without an output.

    - `warn`: It succeeds, with a warning for each output node of its workflow that made nothing.
    - `error`: It fails with `no_output`; also where one of several output nodes made nothing.
    - `ignore`: It succeeds, without such warnings.

    Null counts as omitted.
    """
    log_masks: NotRequired[list[LogMask] | None]
    """
    Patterns of what must not be shown: `***` replaces every match in the lines of logs and in the messages of errors. In the syntax of RE2, which takes linear time. Each line is matched by itself. Null counts as omitted.
    """


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
    """
    Your own word, such as the kind of host. Runs show it as machine_type. The kind of the runner when it is null or omitted.
    """
    runner: Runner


class NewRunToken(TypedDict):
    """
    A token for one run.
    """

    scopes: list[RunTokenScope]
    """
    What the token permits.
    """
    expires_in_s: NotRequired[int | None]
    """
    Seconds for which the token is valid, 3600 by default, or fewer if the installation allows fewer. It never outlives the API key. Null counts as omitted.
    """


class NotifiedAttempt(TypedDict):
    """
    One try to execute the run on one slot of an executor.
    """

    number: int
    """
    Its number, from 1 for the first.
    """
    executor: str
    """
    The name of its executor, which stays the same over restarts of the executor.
    """
    gpu: str
    """
    The GPU model of its slot, in upper case.
    """
    started_at: str | None
    """
    The time when the workflow began to execute. Null while it has not begun.
    """
    ended_at: str | None
    """
    When it ended. Null while it goes on.
    """
    end_reason: EndReason | None
    """
    Why it ended. Null while it goes on.
    """
    error: RunError | None
    """
    Why it failed or timed out. Null while it goes on, and for other ends.
    """


class Pool(TypedDict):
    """
    What shares the slots of one GPU model.
    """

    gpu: str
    """
    A GPU model, in upper case; `CPU` for a slot without a card.
    """
    slots: int
    """
    The number of slots of executors that take new runs; for an organisation, of those that can take its runs.
    """
    busy_slots: int
    """
    The number of these that are taken.
    """
    waiting: int
    """
    The number of runs that wait for a slot.
    """
    delayed: int
    """
    The number of runs that wait for a time, and for no slot yet: as their request says (`delay_s`, `start_at`), or before another attempt after an error. They count for the GPU model that they prefer.
    """
    running: int
    """
    The number of runs that hold a slot.
    """
    oldest_queued_at: str | None
    """
    When the run that has waited longest was queued or requeued. Null when none waits.
    """
    starts_per_minute: float
    """
    The number of runs that got a slot, per minute, in the last ten minutes. Too low for ten minutes after all schedulers were restarted.
    """
    organisations: list[PooledOrganisation]
    """
    The organisations with runs here, those with the most waiting runs first; of many only the first ones.
    """
    more_organisations: int
    """
    The number of organisations with runs here that are not listed.
    """


class QueuesPage(TypedDict):
    """
    A page of pools.
    """

    pools: list[Pool]
    """
    Ordered by GPU model.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class Filter(TypedDict, closed=True):
    """
    Selects the runs that match every member. It is required, and unknown members are refused, so that nothing is sent again by mistake.
    """

    status: NotRequired[str | list[WebhookStatus] | None]
    """
    Runs whose notifications have one of these states. By default those that failed. Null counts as omitted.
    """
    host: NotRequired[str | None]
    """
    The host of the webhook, with the port unless it is the default port. Null counts as omitted.
    """
    created_after: NotRequired[str | None]
    """
    Runs created at this time or later. Null counts as omitted.
    """
    created_before: NotRequired[str | None]
    """
    Runs created before this time. Null counts as omitted.
    """


class RedeliverRequest(TypedDict, closed=True):
    """
    Which notifications to send again.
    """

    filter: Filter
    """
    Selects the runs that match every member. It is required, and unknown members are refused, so that nothing is sent again by mistake.
    """
    cursor: NotRequired[str | None]
    """
    `next_cursor` of the previous page. Left out for the first page. Null counts as omitted.
    """
    dry_run: NotRequired[bool | None]
    """
    Whether the runs are only counted, and nothing is sent. Null counts as omitted.
    """


class RunAttempt(TypedDict):
    """
    One try to execute a run on one slot of an executor.
    """

    number: int
    """
    Its number, from 1 for the first.
    """
    executor: str
    """
    The name of its executor, which stays the same over restarts of the executor.
    """
    gpu: str
    """
    The GPU model of its slot, in upper case.
    """
    placement: RunPlacement | None
    """
    Why it got its slot, and what it had waited for. Null when the scheduler did not say it.
    """
    started_at: str | None
    """
    The time when the workflow began to execute. Null while it has not begun.
    """
    ended_at: str | None
    """
    When it ended. Null while it goes on.
    """
    end_reason: EndReason | None
    """
    Why it ended. Null while it goes on.
    """
    error: RunError | None
    """
    Why it failed or timed out. Null while it goes on, and for other ends.
    """


class RunCounts(TypedDict):
    """
    How many runs have each status.
    """

    counts: RunCountsByStatus
    total: int
    """
    The sum of `counts`.
    """
    complete: bool
    """
    Whether all runs were looked at. If false, `counts` and `total` are of the newest runs, and there may be more.
    """


class RunDeliveries(TypedDict):
    """
    What became of the notifications of a run.
    """

    run_id: str
    """
    The id of the run.
    """
    webhook: str | None
    """
    The callback URL without its query. To a key without the scope `admin` it shows the host only. Null for a run without one.
    """
    webhook_status: WebhookStatus | None
    """
    The state of its notifications. Null for a run without a webhook.
    """
    round: int
    """
    Its round: 1 for the first delivery; every redelivery begins another one.
    """
    state: Literal['retrying', 'deferred'] | None
    """
    What a delivery waits for that is not settled.

    - `retrying`: It is tried again at `next_try_at`.
    - `deferred`: It waits until the receiver accepts notifications again.

    Null when no further attempt is planned.
    """
    next_try_at: str | None
    """
    When the next attempt is made. Null when none is planned, and for a deferred delivery.
    """
    given_up_reason: Literal['gone', 'tries_used_up', 'expired', 'log_expired'] | None
    """
    Why no further attempt is made.

    - `gone`: The receiver answered 410.
    - `tries_used_up`: The last attempt failed.
    - `expired`: The time for it was over.
    - `log_expired`: The first events of the run expired from the log, and it cannot be sent again.

    Null unless the delivery failed.
    """
    message: str | None
    """
    The reason for this state, for people; null if nothing failed.
    """
    tries: list[DeliveryAttempt]
    """
    Attempts of the final notification, the oldest first.
    """
    intermediate: DeliveryAttempt | None
    """
    The latest attempt of an intermediate notification. Null when there was none.
    """


class RunFactEvent(TypedDict):
    """
    `event: fact` of a stream. It shows the state of the run after this fact.
    """

    sequence: int
    """
    The position of the fact in the log. Send the last one as Last-Event-ID to continue after it.
    """
    type: str | None
    """
    What happened. Later releases may add types. Null for an old run of which only the last state is kept.
    """
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
    """
    A short sentence about the current step; null once the run has ended.
    """
    progress: float
    """
    As far as facts say: 0 until the end. So a fact looks the same while the run runs and later. How far an attempt is, `event: progress` shows.
    """
    finished: bool
    """
    Whether no further status will follow.
    """
    end_reason: EndReason | None
    """
    Why it ended. Null until then.
    """
    error: RunError | None
    """
    Why it failed or timed out. Null until then, and for other ends.
    """
    warnings: list[RunWarning]
    """
    What is odd about a run that has succeeded, such as an output node that made nothing. Usually empty.
    """
    attempts: list[RunAttempt]
    """
    From the first one to the present or last one; empty until the run is assigned.
    """
    outputs: NotRequired[list[OutputItem]]
    """
    Only present in the last fact of a run; the same as in the run.
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
    """
    Runs with one of these statuses. Of those that the operation concerns; all of these without it. Null counts as omitted.
    """
    deployment_id: NotRequired[str | None]
    """
    Runs of this deployment. Null counts as omitted.
    """
    deployment: NotRequired[str | None]
    """
    The deployment by its name, instead of `deployment_id`: the one of exactly this name that is not archived, or else the archived one. Null counts as omitted.
    """
    workflow_id: NotRequired[str | None]
    """
    Runs of this workflow, of any version. Null counts as omitted.
    """
    schedule_id: NotRequired[str | None]
    """
    Runs that this schedule queued, also a deleted one. Null counts as omitted.
    """
    gpu: NotRequired[str | None]
    """
    Runs whose `gpu` is this model, in upper or lower case. Null counts as omitted.
    """
    origin: NotRequired[Literal['api', 'manual', 'replay'] | None]
    """
    Only runs of this origin. What queued it.

    - `api`: A request or a schedule.
    - `manual`: Reserved for runs that people begin by hand. No service queues such a run yet.
    - `replay`: A request to run an earlier run again, which `rerun_of` names.

    Null counts as omitted.
    """
    tag: NotRequired[str | list[TagItem] | None]
    """
    Runs with all of these tags. Null counts as omitted.
    """
    search: NotRequired[str | None]
    """
    Runs whose id begins with this text, of 8 characters or more. If there is none: runs that have the text in a tag, in the name or the value of an input, or in the message of their error, and runs of deployments that have it in their name. Upper and lower case are the same, and so are all spaces. It looks at the first 1,000 characters of each value and the first 2,000 of all inputs, and at the first 500 of a message; not at secret inputs, nor at inputs of more than 4 KiB in total. A page looks at a bounded number of runs. Null counts as omitted.
    """
    created_after: NotRequired[str | None]
    """
    Runs created at this time or later. Null counts as omitted.
    """
    created_before: NotRequired[str | None]
    """
    Runs created before this time. Null counts as omitted.
    """


class RunHistoryLog(TypedDict):
    """
    One of the first and the last lines of the log of an attempt, or what is missing between.
    """

    kind: Literal['log']
    """
    Something of the log of an attempt.
    """
    time: str
    """
    When it was written. Of a notice: when its attempt ended, or the time of the last fact.
    """
    log: RunLogLine | RunLogCut | RunLogNotice
    """
    A line, a place where lines are missing, or a notice.
    """


class RunLogEnd(TypedDict):
    """
    `event: end`, the last one of a stream: the run has ended.
    """

    status: RunStatus


class RunRedelivery(TypedDict):
    """
    The final notification is sent again.
    """

    run_id: str
    """
    The id of the run.
    """
    webhook_status: WebhookStatus
    round: int
    """
    Its round: 1 for the first delivery; every redelivery begins another one.
    """


class Schedule(TypedDict):
    """
    It queues a run of a deployment at each of its times, on the clock of the broker.
    """

    id: str
    """
    The id of the schedule.
    """
    org_id: str
    """
    The id of the organisation that it belongs to.
    """
    user_id: str
    """
    The user who made it, and whose runs it queues.
    """
    name: str
    """
    Its name, for people. Several may have the same.
    """
    cron: str
    """
    Five fields: minute, hour, day of month, month, day of week (0 or 7 is Sunday). `*`, lists, ranges, steps and names such as `MON` or `JAN`, `L` for the last day of the month, `15W` for the nearest weekday, `FRI#2` for the second Friday; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. `day_fields` says what counts when both day fields are given.
    """
    time_zone: str
    """
    A name of the IANA time zone database, such as `Europe/Berlin` or `UTC`, with its aliases. Abbreviations such as `BST` and offsets are refused, since they mean several. Where clocks change: a given time of day that is skipped comes right after the gap, and one that occurs twice counts the first time only. An expression with `*` or a step in its minutes or hours follows the elapsed time instead, through both.
    """
    day_fields: Literal['or', 'and']
    """
    What a day has to fit when both day of month and day of week are given.

    - `or`: A day that fits one of them fits, as in cron: `0 9 1-7 * MON` is each Monday and each of the first seven days.
    - `and`: A day has to fit both: `0 9 1-7 * MON` is the first Monday of the month.
    """
    overlap: Literal['skip', 'allow', 'cancel_other']
    """
    What happens at a time while an earlier run of the schedule has not ended.

    - `skip`: The time is left out.
    - `allow`: Another run is queued. With a `concurrency_key` the runs execute one after the other.
    - `cancel_other`: The earlier run is asked to be cancelled, and another one is queued at once.
    """
    catch_up_s: int
    """
    A time that nobody could handle, because the service was down, is made up for within so many seconds. Later it counts as missed.
    """
    paused: bool
    """
    Whether it is paused: it then has no times, and those that pass meanwhile are not missed.
    """
    deployment_id: str
    """
    The deployment that it queues runs of.
    """
    workflow_version_id: str | None
    """
    The workflow version of its runs. Null for the one that the deployment has at each time.
    """
    inputs: dict[str, Any]
    """
    Values by input name, as the version of the deployment defines them: they have the type and the bounds of their definition, and those left out get its default. Names without a definition are passed to the workflow, with a warning, unless `strict_inputs` refuses them. By default at most 256 inputs, names of 256 characters, 32 levels of nesting, and 256 KiB as JSON in total, with the defaults. Numbers are passed on as they are written, and an input of type integer or number also takes a string of digits.
    """
    webhook: str | None
    """
    The callback URL of its runs. To a key without the scope `admin` it shows the host only. Null without one.
    """
    webhook_intermediate_status: bool
    """
    Whether the webhook also receives intermediate status, at most once a second.
    """
    gpu: str | None
    """
    The GPU model that its runs request, in upper case. Null when they request none.
    """
    priority: int
    """
    A head start of a minute for each step: the run starts before those of its deployment that have a lower priority and were queued less than so many minutes before it. So no run waits for ever. The runs of other deployments are not concerned. The `bounds` of the deployment may allow fewer steps.
    """
    concurrency_key: str | None
    """
    1 to 64 printable characters, such as the id of a user or a document. Of the runs of the deployment with the same key one executes at a time; the others wait, and let runs with other keys go first. It is stored and shown as it is, so it must not be a secret. Null without one.
    """
    run_timeout_s: float | None
    """
    Seconds that an attempt may execute: at most those of the deployment, which are the default. Null for those of the deployment.
    """
    start_deadline_s: float | None
    """
    Seconds that the run may wait until it begins to execute: at most those of the deployment, which are the default. Null for those of the deployment.
    """
    tags: list[Tag]
    """
    Your own words for the run, such as `customer:17`: lists and requests about many runs select by them. At most 16 of 1 to 64 letters, digits and characters of `_ - . : /`. Their order does not count. A rerun has them too. They are stored and shown as they are, so they must not be secret.
    """
    created_at: str
    """
    When it was created.
    """
    next_times: list[str]
    """
    Its next five times; none while it is paused.
    """
    outcomes: list[ScheduleOutcome]
    """
    What came of its last times, at most 20, the latest first.
    """


class SchedulePage(TypedDict):
    """
    A page of schedules.
    """

    schedules: list[Schedule]
    """
    The newest first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class SealedValuesPage(TypedDict):
    """
    How up to 100 values are sealed.
    """

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
    How the values of this page are sealed, by kind.
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
    Why a queued run waits, and how long it may.
    """

    for_s: float
    """
    Seconds since the run was queued or requeued.
    """
    reason: Literal['delayed', 'retrying', 'busy', 'warm', 'organisation_limit', 'concurrency_limit', 'concurrency_key', 'storage_full', 'draining', 'no_gpu', 'not_served', 'no_runner', 'no_label']
    """
    What it waits for.

    - `delayed`: It may not start before `not_before`, as its request says.
    - `retrying`: Its last attempt failed, and it waits before another one.
    - `busy`: The slots of all executors that could execute it are taken.
    - `warm`: Slots are free, and it waits for a busy one that has its version loaded, at most for the `warm_wait_s` of its deployment.
    - `organisation_limit`: Its organisation executes as many runs as an operator allows.
    - `concurrency_limit`: As many runs of its deployment as its limit allows execute.
    - `concurrency_key`: Another run of its deployment with its concurrency key executes.
    - `storage_full`: The log has no room for another attempt until runs end or old ones expire.
    - `draining`: Only draining executors could execute it.
    - `no_gpu`: No executor has its GPU model.
    - `not_served`: Executors have its GPU model, and none of these serves its machine.
    - `no_runner`: Executors with its GPU model serve its machine, and none of these has its runner or program.
    - `no_label`: Executors could execute it, and none of these has all labels that its deployment asks for.
    """
    not_before: str | None
    """
    The time from which it waits for a slot; null when it does so already.
    """
    sentence: str
    """
    The reason for people, as in `live_status` of the run.
    """
    ahead: int
    """
    The number of runs that are assigned before it.
    """
    eta: Eta | None
    """
    When it starts. Null when nobody can say: `eta_sentence` says why.
    """
    eta_sentence: str
    """
    The same for people, or why nobody can say when it starts.
    """
    gpu: str
    """
    The GPU model that the numbers below are about.
    """
    executors: WaitingExecutors
    gives_up_at: str
    """
    The run ends as `timeout` if it has not begun to execute by this time.
    """


class WebhookPayload(TypedDict):
    """
    The status of a run, as its webhook receives it.
    """

    run_id: str
    """
    The id of the run.
    """
    status: RunStatus
    live_status: str | None
    """
    A short sentence about the current step; null once the run has ended.
    """
    progress: float
    """
    How much of the run is done, from 0 to 1, as its program reports it; 0 while it is queued.
    """
    outputs: list[OutputItem]
    """
    The outputs as the run shows them: empty until it has ended.
    """
    sequence: int
    """
    The position in the log that this notification shows. A notification with a lower one is older.
    """
    finished: bool
    """
    Whether nothing about this run follows.
    """
    end_reason: EndReason | None
    """
    Why it ended. Null until then.
    """
    error: NotRequired[RunError | None]
    """
    Why it failed or timed out; present in every notification of this release. Null until the end, and for other ends.
    """
    warnings: NotRequired[list[RunWarning]]
    """
    What is odd about a run that has succeeded; only present when something is.
    """
    attempts: list[NotifiedAttempt]
    """
    From the first one to the present or last one; empty until the run is assigned.
    """
    tags: NotRequired[list[str]]
    """
    The tags of the run; only present when it has some.
    """
    missing_members: NotRequired[list[MissingMember]]
    """
    What is lost or deleted, as the run shows it; only present when outputs are lost or deleted.
    """
    truncated: NotRequired[Literal[True]]
    """
    Only present when the attempts were left out, and outputs if need be. `run_url` shows all of them.
    """
    run_url: NotRequired[str]
    """
    The address of the run in the run API; only present with `truncated`.
    """


class WorkflowRun(TypedDict):
    """
    A run as it is now, or as it was at the requested moment.
    """

    id: str
    """
    The id of the run.
    """
    workflow_version_id: str
    """
    The id of the workflow version.
    """
    workflow_inputs: Any
    """
    The inputs by name, with the defaults of those left out. Null unless requested with `?include=inputs`. Secret inputs are null.
    """
    workflow_id: str
    """
    The id of the workflow.
    """
    workflow_api: Any
    """
    The workflow as JSON; null unless requested with `?include=workflow_api`.
    """
    machine_id: str
    """
    The id of the machine.
    """
    origin: Literal['api', 'manual', 'replay']
    """
    What queued it.

    - `api`: A request or a schedule.
    - `manual`: Reserved for runs that people begin by hand. No service queues such a run yet.
    - `replay`: A request to run an earlier run again, which `rerun_of` names.
    """
    status: RunStatus
    created_at: str
    """
    When it was created.
    """
    updated_at: str
    """
    The time of the last fact about the run.
    """
    gpu_event_id: str | None
    """
    The id of the slot allocation: this attempt in its GPU slot. Null before the first attempt.
    """
    gpu: str
    """
    The GPU model of the slot of its last attempt; before the first attempt the model that it prefers.
    """
    machine_version: str
    """
    The version that the machine had when the run was queued.
    """
    machine_type: str
    """
    The type that the machine had when the run was queued.
    """
    compute_function_call_id: str | None
    """
    The id of the last attempt: the id of the run and its number. Null before the first.
    """
    user_id: str
    """
    The user of the key or the schedule that queued it.
    """
    org_id: str
    """
    The id of the organisation that it belongs to.
    """
    live_status: str | None
    """
    A short sentence about the current step; null once the run has ended.
    """
    webhook: str | None
    """
    The callback URL. To a key without the scope `admin` it shows the host only, since the rest may be a secret. Null for a run without one.
    """
    webhook_status: WebhookStatus | None
    """
    The state of its notifications. Null for a run without a webhook.
    """
    number: int
    """
    Counts the runs of the organisation, in the order in which they were accepted; unique there. Numbers may be left out, and gateways that accept runs at the same time may count in another order.
    """
    duration: float | None
    """
    From created_at to ended_at, in seconds; null until both times are known.
    """
    cold_start_duration: float | None
    """
    Seconds that the last attempt waited for what executes it to load, such as a model; 0 when it was warm. Null while the workflow has not begun to execute.
    """
    cold_start_parts: ColdStartParts | None
    """
    Null while the workflow has not begun to execute.
    """
    code_sha256: str | None
    """
    Identifies the code that executed the last attempt: a hash of the files of its program. Two runs with the same one were executed by the same code, on whichever machine. Null while the workflow has not begun to execute, and where the executor does not know its code, as of a model server.
    """
    environment_sha256: str | None
    """
    Identifies the packages that the executor installed for the code: a hash of what was to be installed, and for which interpreter. Null where it installed none.
    """
    cold_start_duration_total: float | None
    """
    From created_at to started_at, in seconds; null until both times are known.
    """
    run_duration: float | None
    """
    From started_at to ended_at, in seconds; null until both times are known.
    """
    ended_at: str | None
    """
    When it ended. Null until then.
    """
    queued_at: str
    """
    When it was queued, or queued again for another attempt.
    """
    started_at: str | None
    """
    The time when the workflow began to execute. Null while it has not begun.
    """
    progress: float
    """
    How much of the run is done, from 0 to 1, as its program reports it; 0 while it is queued.
    """
    is_realtime: bool
    """
    Always false.
    """
    webhook_intermediate_status: bool
    """
    As requested: whether the webhook also receives intermediate status.
    """
    outputs: list[OutputItem]
    """
    What the run made. Empty until it has ended, and when `missing_members` names them.
    """
    finished: bool
    """
    Whether no further status will follow.
    """
    end_reason: EndReason | None
    """
    Why it ended. Null until then.
    """
    error: RunError | None
    """
    Why it failed or timed out. Null until then, and for other ends.
    """
    warnings: list[RunWarning]
    """
    What is odd about a run that has succeeded, such as an output node that made nothing. Usually empty.
    """
    attempts: list[RunAttempt]
    """
    From the first one to the present or last one; empty until the run is assigned.
    """
    queue_position: int | None
    """
    Of a queued run: 1 is assigned next. An estimate, since organisations and deployments share the GPUs. Null when unknown, while the run waits for the time when it may start, and once it has started.
    """
    priority: int
    """
    As requested, 0 by default: a head start of a minute for each step.
    """
    concurrency_key: str | None
    """
    As requested: of the runs of the deployment with this key one executes at a time. Null without one.
    """
    tags: list[str]
    """
    As requested, in alphabetical order; empty without any.
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
    """
    The time before which it does not start, as requested with `start_at` or `delay_s`. Null without one.
    """
    rerun_of: str | None
    """
    The run that this run repeats. Null when it repeats none.
    """
    schedule: RunSchedule | None
    """
    The schedule that queued it. Null when none did.
    """
    missing_members: list[MissingMember]
    """
    Members that are null, or an empty list, because they are lost or deleted: included ones, and outputs. Usually empty.
    """


class CancelRunsRequest(TypedDict, closed=True):
    """
    Which runs to cancel.
    """

    filter: RunFilter
    dry_run: NotRequired[bool | None]
    """
    Whether the runs are only counted, and nothing is done. Null counts as omitted.
    """
    cursor: NotRequired[str | None]
    """
    `next_cursor` of the previous page. Left out for the first page. Null counts as omitted.
    """


class DeliveryPage(TypedDict):
    """
    A page of runs with webhooks.
    """

    deliveries: list[ListedDelivery]
    """
    Those of the newest runs first.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class DeploymentPlan(TypedDict):
    """
    A deployment with the records that would be made for it. `workflow` and `inputs` are those of a new version.
    """

    deployment_id: NotRequired[str | None]
    """
    The id of the deployment. The deployment that would change. Null or omitted for a new one.
    """
    workflow_id: NotRequired[str | None]
    """
    The id of the workflow. The workflow that would get a version. Null or omitted for a new one.
    """
    workflow_version_id: NotRequired[str | None]
    """
    The id of the workflow version. A version that is there. Null or omitted for a new one.
    """
    machine_id: NotRequired[str | None]
    """
    The id of the machine. A machine that is there. Null or omitted for a new one.
    """
    workflow: NotRequired[Any]
    """
    Any JSON value that the runner understands. At most 512 KiB as JSON, nested at most 32 levels.
    """
    inputs: NotRequired[list[NewInputDefinition] | None]
    """
    The definitions of the inputs, each name once; together at most 64 KiB as JSON. Null counts as omitted.
    """
    machine: NotRequired[NewMachine | None]
    """
    A new machine, or with `machine_id` what that one would become. Null or omitted without either.
    """
    name: NotRequired[str | None]
    """
    For people. Not blank, and without control characters and characters that change the direction of text. Unchanged when it is null or omitted; a new deployment needs one.
    """
    environment: NotRequired[str | None]
    """
    Your own word, such as production or staging. Null counts as omitted.
    """
    gpu: NotRequired[str | None]
    """
    The GPU model of runs that request none: any name, as for a machine. Without it, the machine's default. Null counts as omitted.
    """
    gpus: NotRequired[list[str | GpuFallback] | None]
    """
    The GPU models of runs that request none, in order of preference, such as `["L4", {"gpu": "A10G", "after_s": 60}]`: a run takes a slot of the first model that has a free one, and of a model with `after_s` only once it has waited so many seconds. Instead of `gpu`, which is a list of one. Null counts as omitted.
    """
    labels: NotRequired[list[Label] | None]
    """
    Its runs go only to executors that have all of these labels (EXECUTOR_LABELS), such as `zone:eu-west-1`. An empty list asks for none. Null counts as omitted.
    """
    warm_wait_s: NotRequired[float | None]
    """
    Seconds that a run may leave free GPU slots to others while a slot that has its version loaded is busy: it waits for that one, and then takes any. A free slot that has it loaded is taken first anyway. Null counts as omitted.
    """
    keep_prepared: NotRequired[int | None]
    """
    On how many slots the version is kept prepared, before the first run and after a change of the version: its code, packages and weights are on the disk of their executors. For versions with code. Null counts as omitted.
    """
    keep_loaded: NotRequired[int | None]
    """
    In how many slots the version is kept loaded, so that a run finds its process ready. Only free slots: a process that is kept makes way for another one that stays, when a run of that gets its slot, and is loaded again where a slot is empty. For versions with code whose process stays. Null counts as omitted.
    """
    concurrency_limit: NotRequired[int | None]
    """
    The most runs of this deployment that execute at the same time; no limit without it. The others wait. As all settings, a run has the one with which it was queued. Null counts as omitted.
    """
    weight: NotRequired[float | None]
    """
    Its part of the GPUs of your organisation while other deployments have waiting runs too: one of weight 2 gets twice the slots of one of weight 1. The last queued run counts. Null counts as omitted.
    """
    strict_inputs: NotRequired[bool | None]
    """
    Whether requests with names in `inputs` that the version does not define are refused with 422. Otherwise such inputs are passed to the workflow, and the response warns of them. A version that defines no inputs takes every name. Null counts as omitted.
    """
    run_timeout_s: NotRequired[float | None]
    """
    Seconds that an attempt of a run may execute. Storing its files is not part of it: that may take an hour, and another one for each GiB. A request may ask for less. Null counts as omitted.
    """
    start_deadline_s: NotRequired[float | None]
    """
    Seconds that a run may wait until it begins to execute. A request may ask for less. Null counts as omitted.
    """
    bounds: NotRequired[RequestedBounds | None]
    """
    What requests may ask for. None when it is null or omitted.
    """
    retry: NotRequired[RequestedRetryPolicy | None]
    """
    When a run begins another attempt. Three attempts when it is null or omitted.
    """
    if_no_output: NotRequired[Literal['warn', 'error', 'ignore'] | None]
    """
    What a run becomes that has made no output, although nothing reported an error. Only workflows of ComfyUI have output nodes; `error` holds for all runs without an output.

    - `warn`: It succeeds, with a warning for each output node of its workflow that made nothing.
    - `error`: It fails with `no_output`; also where one of several output nodes made nothing.
    - `ignore`: It succeeds, without such warnings.

    Null counts as omitted.
    """
    log_masks: NotRequired[list[LogMask] | None]
    """
    Patterns of what must not be shown: `***` replaces every match in the lines of logs and in the messages of errors. In the syntax of RE2, which takes linear time. Each line is matched by itself. Null counts as omitted.
    """


class DeploymentReady(TypedDict):
    """
    What a deployment has kept ready now.
    """

    workflow_version_id: str
    """
    The id of the workflow version.
    """
    keep_prepared: int
    """
    On how many slots the version is kept prepared, before the first run and after a change of the version: its code, packages and weights are on the disk of their executors. For versions with code.
    """
    keep_loaded: int
    """
    In how many slots the version is kept loaded, so that a run finds its process ready. Only free slots: a process that is kept makes way for another one that stays, when a run of that gets its slot, and is loaded again where a slot is empty. For versions with code whose process stays.
    """
    executors: list[ExecutorReady]
    """
    Where the version is kept ready; empty where no executor can, or nothing is kept.
    """


class Executor(TypedDict):
    """
    What executes runs on a machine, as the leading scheduler knows it.
    """

    executor_id: str | None
    """
    Its id, which is new at every start. Null for a drained name without a registered executor.
    """
    name: str
    """
    The name of the executor. It stays the same over restarts.
    """
    state: Literal['ready', 'draining', 'unresponsive', 'absent']
    """
    Whether it gets runs.

    - `ready`: It gets runs.
    - `draining`: It gets no runs, because its name is drained or it is stopping.
    - `unresponsive`: It sent no heartbeat for half a heartbeat period; it gets no runs, and is lost after a whole period.
    - `absent`: The name is drained, and no registered executor has it.
    """
    drain: ExecutorDrain | None
    """
    Who drained its name. Null when nobody did.
    """
    slots: list[ExecutorSlot]
    """
    Its slots; empty when it is absent.
    """
    machines: list[str]
    """
    The machines that it serves: ids, or the id of an organisation, a slash and a name; `*` for every machine; of many only the first ones.
    """
    machine_count: int
    """
    The number of all machines that it serves.
    """
    programs: list[str]
    """
    The programs that it may execute; of many only the first ones.
    """
    program_count: int
    """
    The number of all programs that it may execute.
    """
    labels: list[str]
    """
    Its labels, as EXECUTOR_LABELS says: deployments may ask for them.
    """
    isolation: Literal['strong', 'weak', 'none'] | None
    """
    What keeps its programs from everything that is not their run is worth: at its start, a program tried what hostile ones try.

    - `strong`: Nothing of it succeeded.
    - `weak`: Some of it succeeded: `isolation_gaps` says what.
    - `none`: Its operator wants none, and nothing was tried.

    Null when it is absent, or does not say it.
    """
    isolation_gaps: list[IsolationGap]
    """
    What that program could do: each ends a sentence that begins with "A program can". Empty unless the isolation is weak.
    """
    limits: Literal['cgroup', 'rlimits', 'none'] | None
    """
    What holds its programs to their limits of memory, processes, processors and files.

    - `cgroup`: A control group of each attempt.
    - `rlimits`: The resource limits of each process.
    - `none`: Nothing works on this machine.

    Null when it is absent, or does not say it.
    """
    software_version: str | None
    """
    The version of its software. Null when it is absent.
    """
    registered_at: str | None
    """
    When it registered. Null when it is absent.
    """
    last_heartbeat_at: str | None
    """
    When the leading scheduler received its last heartbeat. Null before it has received one.
    """


class ExecutorPage(TypedDict):
    """
    A page of executors.
    """

    executors: list[Executor]
    """
    Ordered by name.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class NamedExecutors(TypedDict):
    """
    All executors with one name.
    """

    name: str
    """
    The name of the executor. It stays the same over restarts.
    """
    executors: list[Executor]
    """
    Usually one. Several while a restarted executor replaces an earlier one; at most 200.
    """


class RerunRunsRequest(TypedDict, closed=True):
    """
    Which runs to queue again.
    """

    filter: RunFilter
    dry_run: NotRequired[bool | None]
    """
    Whether the runs are only counted, and nothing is done. Null counts as omitted.
    """
    cursor: NotRequired[str | None]
    """
    `next_cursor` of the previous page. Left out for the first page. Null counts as omitted.
    """


class RunHistory(TypedDict):
    """
    What happened to a run.
    """

    run_id: str
    """
    The id of the run.
    """
    status: RunStatus | None
    """
    The status of the run. Null when its state is not known.
    """
    finished: bool
    """
    Whether no further status will follow.
    """
    webhook_status: WebhookStatus | None
    """
    The state of its notifications. Null for a run without a webhook, and when its state is not known.
    """
    entries: list[RunHistoryFact | RunHistoryDelivery | RunHistoryLog | RunHistoryGap]
    """
    What happened, in the order of their times; facts in the order of the log.
    """


class RunPage(TypedDict):
    """
    A page of runs.
    """

    runs: list[WorkflowRun]
    """
    The newest first.
    """
    unknown_runs: NotRequired[list[str]]
    """
    Only present with `at`: runs that had been queued by then, and of which neither the log nor the archive has the facts any more. Usually empty.
    """
    searched_to: NotRequired[str | None]
    """
    Only present with `search`: all runs that were created after this time were looked at. A search ends its page after a fraction of a second, even if it found nothing. Null when all runs were looked at. Otherwise `next_cursor` looks further back.
    """
    next_cursor: str | None
    """
    The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.
    """


class RunWaiting(TypedDict):
    """
    Whether a run waits, and for what.
    """

    run_id: str
    """
    The id of the run.
    """
    status: RunStatus
    waiting: Waiting | None
    """
    Why it waits. Null for a run that does not wait.
    """
