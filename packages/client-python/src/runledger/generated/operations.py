# Made by `npm run client:python` from the OpenAPI document with the SHA-256 194d3849a8502c38b2d4118353b2242ccf3363d4c6f87b674cbb3d19d6398603.
"""
The operations of the run API. A function checks and sends nothing: `client.call(operations.list_machines())` does, and
`client.each` gives the items of all pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Literal

from .._core.operation import Operation, Pages, Stream, headers_of, path_of
from . import models


def change_password(
    body: models.PasswordChange,
) -> Operation[None]:
    """
    Choose a password.

    Of the person who is signed in. The present password is needed, unless the person has none, or signed in with
    a link within the last 15 minutes. All their other sessions end.

    It needs no API key. Its audit records have the action `password.changed`.
    """
    return Operation(
        "POST",
        "/account/password",
        body=body,
    )


def make_sign_in_link(
    body: models.NewSignInLink,
) -> Operation[models.SignInLink]:
    """
    Make a link that signs a person in.

    For a member of the organisation of the calling key who cannot sign in any more. It replaces an earlier link
    of the person.

    The API key needs the scope `operator`. Its audit records have the action `link.created`.
    """
    return Operation(
        "POST",
        "/accounts/links",
        body=body,
    )


def list_api_keys() -> Operation[models.ApiKeyList]:
    """
    List API keys.

    The keys of the user that the calling key belongs to. A key with the scope admin lists the keys of the
    organisation.

    The API key needs the scope `runs:read`.
    """
    return Operation(
        "GET",
        "/api-keys",
        idempotent=True,
    )


def create_api_key(
    body: models.NewApiKey,
) -> Operation[models.CreatedApiKey]:
    """
    Create an API key.

    The new key belongs to the organisation of the calling key, and to its user; with the scope `admin` it may
    belong to another user. It has no scope that the calling key lacks, expires no later, and shares its rate: a
    key and all keys derived from it are limited together. Revoking the calling key, or a key above it, revokes
    the new key as well. A key that a person makes with a session has no key above it, and lasts as long as the
    person has a role that permits as much. An organisation has at most 1,000 keys, and a key at most 32 keys
    above it.

    The API key needs the scope `runs:write`. Its audit records have the action `key.created`.
    """
    return Operation(
        "POST",
        "/api-keys",
        body=body,
    )


def delete_api_key(
    key_id: str,
    *,
    keep_descendants: bool | None = None,
) -> Operation[None]:
    """
    Revoke an API key.

    All keys that were made with it are revoked too, and those that were made with these, unless
    `keep_descendants` is true. A key can always revoke itself. To revoke another key of its user, it needs the
    scope `runs:write` and every scope of that key. With the scope `admin` it can revoke the keys of the
    organisation. A revoked key is refused everywhere within a second. After a 503, or no response, repeat the
    request: the key is valid or listed until all of this is done.

    The API key needs the scope `runs:read`. Its audit records have the action `key.revoked`.

    key_id: The id of the API key.
    keep_descendants: True revokes this key alone. The keys that were made with it stay valid.
    """
    return Operation(
        "DELETE",
        path_of("/api-keys/{key_id}", key_id=key_id),
        query={"keep_descendants": keep_descendants},
    )


def list_audit(
    *,
    action: Literal['key.created', 'key.revoked', 'session.created', 'session.ended', 'session.refused', 'link.created', 'identity.linked', 'password.changed', 'member.added', 'member.changed', 'member.removed', 'invitation.created', 'invitation.accepted', 'invitation.revoked', 'secret.read', 'secret.rotated', 'machine.created', 'machine.changed', 'machine.deleted', 'workflow.created', 'workflow.changed', 'workflow.deleted', 'workflow_version.created', 'workflow_version.changed', 'workflow_version.deleted', 'deployment.created', 'deployment.changed', 'deployment.deleted', 'schedule.created', 'schedule.changed', 'schedule.deleted', 'organisation_secret.set', 'organisation_secret.removed', 'retention.changed', 'run.cancelled', 'runs.cancelled', 'runs.rerun', 'run.deleted', 'run.outputs_deleted', 'file.deleted', 'executor.drained', 'executor.resumed', 'sealed_values.resealed', 'organisation.created', 'organisation.erased', 'log.provisioned', 'dead_letter.redriven', 'dead_letter.removed', 'views.rebuilt', 'credential.refused'] | None = None,
    organisation: str | None = None,
    key_id: str | None = None,
    user_id: str | None = None,
    target: str | None = None,
    since: str | date | datetime | None = None,
    until: str | date | datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.AuditPage, models.AuditEntry]:
    """
    List audit records.

    Who did what in the organisation, newest first; with the scope `operator` in all organisations, and with the
    executors, unless `organisation` is given. Most actions have two records with one id: `requested`, stored
    before the action is carried out, and `completed`, with its outcome. Nobody can change or remove a record.
    Records are kept for a year by default, and of each kind only the newest: `left` says where older ones may be
    missing. Pages skip no record and repeat none, also while records are stored.

    The API key needs the scope `admin` or `operator`.

    action: Only records of this action. What was done.  - `key.created`: An API key was made. The record has its
    scopes, its user and its expiry. - `key.revoked`: An API key was revoked, with the keys below it unless the
    record says otherwise. - `session.created`: A person signed in. The record has in which way. -
    `session.ended`: A person signed out. - `session.refused`: Sign-ins were refused: how many in about a minute,
    from one network. - `link.created`: An operator made a link that signs a person in, once. - `identity.linked`:
    A person signed in with the OpenID Connect provider for the first time. The record has whether a password was
    removed, which somebody else may have chosen. - `password.changed`: A person chose a password. Their other
    sessions ended. - `member.added`: A person became a member of the organisation. The record has the role. -
    `member.changed`: The role of a member was changed, or whether the member is an operator. - `member.removed`:
    A person is no member of the organisation any more. Their API keys of it were revoked. - `invitation.created`:
    A person was invited. The record has the role. - `invitation.accepted`: A person accepted an invitation. -
    `invitation.revoked`: An invitation was revoked. - `secret.read`: The organisation's signing secret was shown.
    - `secret.rotated`: The organisation's signing secret was replaced. - `machine.created`: A machine was
    created. - `machine.changed`: A machine was changed, archived or restored. - `machine.deleted`: A machine was
    deleted. - `workflow.created`: A workflow was created. - `workflow.changed`: A workflow was changed, archived
    or restored. - `workflow.deleted`: A workflow was deleted. - `workflow_version.created`: A workflow version
    was created. - `workflow_version.changed`: A workflow version was archived or restored. -
    `workflow_version.deleted`: A workflow version was deleted. - `deployment.created`: A deployment was created.
    - `deployment.changed`: A deployment was changed, archived or restored. - `deployment.deleted`: A deployment
    was deleted. - `schedule.created`: A schedule was created. - `schedule.changed`: A schedule was changed,
    paused or resumed. - `schedule.deleted`: A schedule was deleted. - `organisation_secret.set`: The value of a
    secret of the organisation was set. - `organisation_secret.removed`: A secret of the organisation was removed.
    - `retention.changed`: The organisation chose for how long its runs are kept. - `run.cancelled`: A key of
    another user than that of the run asked to cancel it. - `runs.cancelled`: Many runs were cancelled by a
    filter. The record has how many. - `runs.rerun`: Many runs were queued again by a filter. The record has how
    many. - `run.deleted`: A run was deleted, with its files. - `run.outputs_deleted`: The outputs of a run were
    deleted. - `file.deleted`: A file that a client had uploaded was deleted. - `executor.drained`: An operator
    drained an executor. - `executor.resumed`: An operator resumed an executor. - `sealed_values.resealed`: Up to
    100 sealed values were sealed with the sealing key. - `organisation.created`: An organisation was created,
    with its first key. - `organisation.erased`: The erasure of an organisation was requested. Its tombstone says
    when it is complete. - `log.provisioned`: The streams of the log were created, or brought to their settings. -
    `dead_letter.redriven`: An operator had dead letters handled again. - `dead_letter.removed`: An operator
    removed a dead letter. Its message stays in its stream. - `views.rebuilt`: An operator had the views of runs
    built again from the log. - `credential.refused`: Requests without a valid credential, or with a key that
    lacks the scope, were refused: how many in about a minute, from one network.
    organisation: Only records of this organisation. Needs the scope `operator`, unless it is that of the key.
    key_id: Only what was done with this API key.
    user_id: Only what was done with a key of this user.
    target: The id of what it was done to, such as that of a key.
    since: Only records that were stored at this time or later.
    until: Only records that were stored before this time.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        "/audit",
        query={"action": action, "organisation": organisation, "key_id": key_id, "user_id": user_id, "target": target, "since": since, "until": until, "limit": limit, "cursor": cursor},
        idempotent=True,
        items="records",
    )


def export_audit(
    *,
    action: Literal['key.created', 'key.revoked', 'session.created', 'session.ended', 'session.refused', 'link.created', 'identity.linked', 'password.changed', 'member.added', 'member.changed', 'member.removed', 'invitation.created', 'invitation.accepted', 'invitation.revoked', 'secret.read', 'secret.rotated', 'machine.created', 'machine.changed', 'machine.deleted', 'workflow.created', 'workflow.changed', 'workflow.deleted', 'workflow_version.created', 'workflow_version.changed', 'workflow_version.deleted', 'deployment.created', 'deployment.changed', 'deployment.deleted', 'schedule.created', 'schedule.changed', 'schedule.deleted', 'organisation_secret.set', 'organisation_secret.removed', 'retention.changed', 'run.cancelled', 'runs.cancelled', 'runs.rerun', 'run.deleted', 'run.outputs_deleted', 'file.deleted', 'executor.drained', 'executor.resumed', 'sealed_values.resealed', 'organisation.created', 'organisation.erased', 'log.provisioned', 'dead_letter.redriven', 'dead_letter.removed', 'views.rebuilt', 'credential.refused'] | None = None,
    organisation: str | None = None,
    key_id: str | None = None,
    user_id: str | None = None,
    target: str | None = None,
    since: str | date | datetime | None = None,
    until: str | date | datetime | None = None,
) -> Stream:
    """
    Export audit records.

    All records that match, newest first, as JSON lines: each as an item of `listAudit`. A response that was cut
    off ends without the end of a chunk; go on with `until`.

    The API key needs the scope `admin` or `operator`.

    action: Only records of this action. What was done.  - `key.created`: An API key was made. The record has its
    scopes, its user and its expiry. - `key.revoked`: An API key was revoked, with the keys below it unless the
    record says otherwise. - `session.created`: A person signed in. The record has in which way. -
    `session.ended`: A person signed out. - `session.refused`: Sign-ins were refused: how many in about a minute,
    from one network. - `link.created`: An operator made a link that signs a person in, once. - `identity.linked`:
    A person signed in with the OpenID Connect provider for the first time. The record has whether a password was
    removed, which somebody else may have chosen. - `password.changed`: A person chose a password. Their other
    sessions ended. - `member.added`: A person became a member of the organisation. The record has the role. -
    `member.changed`: The role of a member was changed, or whether the member is an operator. - `member.removed`:
    A person is no member of the organisation any more. Their API keys of it were revoked. - `invitation.created`:
    A person was invited. The record has the role. - `invitation.accepted`: A person accepted an invitation. -
    `invitation.revoked`: An invitation was revoked. - `secret.read`: The organisation's signing secret was shown.
    - `secret.rotated`: The organisation's signing secret was replaced. - `machine.created`: A machine was
    created. - `machine.changed`: A machine was changed, archived or restored. - `machine.deleted`: A machine was
    deleted. - `workflow.created`: A workflow was created. - `workflow.changed`: A workflow was changed, archived
    or restored. - `workflow.deleted`: A workflow was deleted. - `workflow_version.created`: A workflow version
    was created. - `workflow_version.changed`: A workflow version was archived or restored. -
    `workflow_version.deleted`: A workflow version was deleted. - `deployment.created`: A deployment was created.
    - `deployment.changed`: A deployment was changed, archived or restored. - `deployment.deleted`: A deployment
    was deleted. - `schedule.created`: A schedule was created. - `schedule.changed`: A schedule was changed,
    paused or resumed. - `schedule.deleted`: A schedule was deleted. - `organisation_secret.set`: The value of a
    secret of the organisation was set. - `organisation_secret.removed`: A secret of the organisation was removed.
    - `retention.changed`: The organisation chose for how long its runs are kept. - `run.cancelled`: A key of
    another user than that of the run asked to cancel it. - `runs.cancelled`: Many runs were cancelled by a
    filter. The record has how many. - `runs.rerun`: Many runs were queued again by a filter. The record has how
    many. - `run.deleted`: A run was deleted, with its files. - `run.outputs_deleted`: The outputs of a run were
    deleted. - `file.deleted`: A file that a client had uploaded was deleted. - `executor.drained`: An operator
    drained an executor. - `executor.resumed`: An operator resumed an executor. - `sealed_values.resealed`: Up to
    100 sealed values were sealed with the sealing key. - `organisation.created`: An organisation was created,
    with its first key. - `organisation.erased`: The erasure of an organisation was requested. Its tombstone says
    when it is complete. - `log.provisioned`: The streams of the log were created, or brought to their settings. -
    `dead_letter.redriven`: An operator had dead letters handled again. - `dead_letter.removed`: An operator
    removed a dead letter. Its message stays in its stream. - `views.rebuilt`: An operator had the views of runs
    built again from the log. - `credential.refused`: Requests without a valid credential, or with a key that
    lacks the scope, were refused: how many in about a minute, from one network.
    organisation: Only records of this organisation. Needs the scope `operator`, unless it is that of the key.
    key_id: Only what was done with this API key.
    user_id: Only what was done with a key of this user.
    target: The id of what it was done to, such as that of a key.
    since: Only records that were stored at this time or later.
    until: Only records that were stored before this time.
    """
    return Stream(
        "GET",
        "/audit/export",
        query={"action": action, "organisation": organisation, "key_id": key_id, "user_id": user_id, "target": target, "since": since, "until": until},
        idempotent=True,
    )


def list_dead_letters(
    *,
    stream: str | None = None,
    consumer: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.DeadLetterPage, models.DeadLetter]:
    """
    List dead letters.

    Messages of all organisations that no consumer could handle, oldest first, with the reason and their content.
    They stay for 30 days, unless the installation says otherwise.

    The API key needs the scope `operator`.

    stream: Only messages of this stream.
    consumer: Only those that this consumer could not handle.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        "/dead-letters",
        query={"stream": stream, "consumer": consumer, "limit": limit, "cursor": cursor},
        idempotent=True,
        items="dead_letters",
    )


def remove_dead_letter(
    id: str,
) -> Operation[None]:
    """
    Remove a dead letter.

    The message itself stays in its stream until it expires there.

    The API key needs the scope `operator`. Its audit records have the action `dead_letter.removed`.

    id: The id of the dead letter: its position in DEAD_LETTERS, by which `runledger dead-letters show` finds it
    too.
    """
    return Operation(
        "DELETE",
        path_of("/dead-letters/{id}", id=id),
    )


def redrive_dead_letter(
    id: str,
) -> Operation[models.RedrivenDeadLetter]:
    """
    Have a dead letter handled again.

    The service whose consumer could not handle the message takes it again, with its present release, and the dead
    letter is removed if that succeeds. Repeating the request is safe: nothing is handled twice.

    The API key needs the scope `operator`. Its audit records have the action `dead_letter.redriven`.

    id: The id of the dead letter: its position in DEAD_LETTERS, by which `runledger dead-letters show` finds it
    too.
    """
    return Operation(
        "POST",
        path_of("/dead-letters/{id}/redrive", id=id),
    )


def list_deployments(
    *,
    archived: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    name: str | None = None,
    workflow_id: str | None = None,
) -> Pages[models.DeploymentPage, models.Deployment]:
    """
    List deployments.

    Newest first.

    The API key needs the scope `runs:read`.

    archived: True lists the archived records instead of the others.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    name: Only records with exactly this name; several may have it.
    workflow_id: Only deployments of this workflow, of any version.
    """
    return Pages(
        "GET",
        "/deployments",
        query={"archived": archived, "limit": limit, "cursor": cursor, "name": name, "workflow_id": workflow_id},
        idempotent=True,
        items="deployments",
    )


def create_deployment(
    body: models.NewDeployment,
) -> Operation[models.Deployment]:
    """
    Create a deployment.

    A workflow version on a machine, with the settings of its runs. Runs are queued on a deployment. When no
    executor that is there could take its runs, the header `Runledger-Warning` says why.

    The API key needs the scope `admin`. Its audit records have the action `deployment.created`.
    """
    return Operation(
        "POST",
        "/deployments",
        body=body,
    )


def check_deployment(
    body: models.DeploymentPlan,
) -> Operation[None]:
    """
    Check a deployment before it is made.

    Refuses what the requests would be refused for that make or change the deployment, its version and its
    machine, and the workflow of these. Nothing is stored.

    The API key needs the scope `admin`.
    """
    return Operation(
        "POST",
        "/deployments/check",
        body=body,
    )


def delete_deployment(
    deployment_id: str,
) -> Operation[None]:
    """
    Delete a deployment.

    It must have been archived for a minute. A deployment with runs in progress cannot be deleted. Runs that have
    ended keep showing its id, and cannot be run again.

    The API key needs the scope `admin`. Its audit records have the action `deployment.deleted`.

    deployment_id: The id of the deployment.
    """
    return Operation(
        "DELETE",
        path_of("/deployments/{deployment_id}", deployment_id=deployment_id),
    )


def get_deployment(
    deployment_id: str,
) -> Operation[models.Deployment]:
    """
    Read a deployment.

    The API key needs the scope `runs:read`.

    deployment_id: The id of the deployment.
    """
    return Operation(
        "GET",
        path_of("/deployments/{deployment_id}", deployment_id=deployment_id),
        idempotent=True,
    )


def change_deployment(
    deployment_id: str,
    body: models.DeploymentChange,
) -> Operation[models.Deployment]:
    """
    Change, archive or restore a deployment.

    Queued runs keep the version and the settings that they were queued with. An archived deployment accepts no
    runs.

    The API key needs the scope `admin`. Its audit records have the action `deployment.changed`.

    deployment_id: The id of the deployment.
    """
    return Operation(
        "PATCH",
        path_of("/deployments/{deployment_id}", deployment_id=deployment_id),
        body=body,
    )


def get_deployment_ready(
    deployment_id: str,
) -> Operation[models.DeploymentReady]:
    """
    Read what is kept ready.

    Where the version of the deployment is prepared and loaded before its runs come, as `keep_prepared` and
    `keep_loaded` say, and how far that is.

    The API key needs the scope `runs:read`.

    deployment_id: The id of the deployment.
    """
    return Operation(
        "GET",
        path_of("/deployments/{deployment_id}/ready", deployment_id=deployment_id),
        idempotent=True,
    )


def list_executors(
    *,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.ExecutorPage, models.Executor]:
    """
    List executors.

    All executors that the leading scheduler knows, with runs of all organisations in their slots, and the drained
    names without an executor.

    The API key needs the scope `operator`.

    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        "/executors",
        query={"limit": limit, "cursor": cursor},
        idempotent=True,
        items="executors",
    )


def get_executor(
    name: str,
) -> Operation[models.NamedExecutors]:
    """
    Read an executor.

    The API key needs the scope `operator`.

    name: The name of the executor. It stays the same over restarts.
    """
    return Operation(
        "GET",
        path_of("/executors/{name}", name=name),
        idempotent=True,
    )


def drain_executor(
    name: str,
) -> Operation[models.Draining]:
    """
    Drain an executor.

    The executor gets no new runs until it is resumed, also after a restart. Its present runs continue. Repeating
    the request changes nothing. Of a drain and a resume at the same time, the one that was stored last holds, and
    both responses show it.

    The API key needs the scope `operator`. Its audit records have the action `executor.drained`.

    name: The name of the executor. It stays the same over restarts.
    """
    return Operation(
        "POST",
        path_of("/executors/{name}/drain", name=name),
    )


def resume_executor(
    name: str,
) -> Operation[models.Draining]:
    """
    Resume an executor.

    The executor gets runs again, unless it is stopping. Of a drain and a resume at the same time, the one that
    was stored last holds, and both responses show it.

    The API key needs the scope `operator`. Its audit records have the action `executor.resumed`.

    name: The name of the executor. It stays the same over restarts.
    """
    return Operation(
        "POST",
        path_of("/executors/{name}/resume", name=name),
    )


def list_files(
    *,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.FilePage, models.UploadedFile]:
    """
    List files.

    Of the organisation, the last uploaded one first. Unfinished uploads are not among them.

    The API key needs the scope `runs:read`.

    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        "/files",
        query={"limit": limit, "cursor": cursor},
        idempotent=True,
        items="files",
    )


def upload_file(
    content: bytes,
    *,
    filename: str | None = None,
    content_type: str = "application/octet-stream",
) -> Operation[models.UploadedFile]:
    """
    Upload a file.

    The body is the file, with its `Content-Type` and `Content-Length`. Its `id` is the value of an input of type
    `file`, `image`, `audio` or `video`. The address of an output of a run is such a value too. Equal bytes are
    one file: it then has the name and the type that were sent last. A file is kept for some days after it was
    uploaded or a run with it was queued. Send a file that is larger than 64 MiB by a resumable upload.

    The API key needs the scope `runs:write`.

    filename: The name of the file. Its last part is used, without characters that some system forbids.
    """
    return Operation(
        "POST",
        "/files",
        query={"filename": filename},
        headers=headers_of({"Content-Type": content_type}),
        content=content,
    )


def begin_file_upload(
    *,
    tus_resumable: Literal['1.0.0'] | None = None,
    upload_length: int,
    upload_metadata: str | None = None,
) -> Operation[models.FileUpload]:
    """
    Begin a resumable upload.

    As [tus 1.0](https://tus.io/protocols/resumable-upload) describes it, with its extensions creation, expiration
    and termination: any client of tus can upload here. `Location` is the address of the upload, at every gateway.
    An upload that receives nothing for a day is erased.

    The API key needs the scope `runs:write`.

    tus_resumable: The version of tus: `1.0.0`.
    upload_length: The size of the whole file in bytes.
    upload_metadata: Names with values in base64, of which `filename` and `filetype` are used: `filename
    cGhvdG8ucG5n,filetype aW1hZ2UvcG5n`. With the name `model`, without a value, the file goes when it is kept as
    a model, unless something else named it.
    """
    return Operation(
        "POST",
        "/files/uploads",
        headers=headers_of({"Tus-Resumable": tus_resumable, "Upload-Length": upload_length, "Upload-Metadata": upload_metadata}),
    )


def delete_file_upload(
    id: str,
) -> Operation[None]:
    """
    End an upload.

    What was stored is erased. The file of a finished upload stays.

    The API key needs the scope `runs:write`.

    id: The id of the upload.
    """
    return Operation(
        "DELETE",
        path_of("/files/uploads/{id}", id=id),
    )


def get_file_upload(
    id: str,
) -> Operation[models.FileUpload]:
    """
    Read how far an upload is.

    `HEAD` gives the same in the headers `Upload-Offset` and `Upload-Length`. `file` is the file once all bytes
    have arrived.

    The API key needs the scope `runs:read`.

    id: The id of the upload.
    """
    return Operation(
        "GET",
        path_of("/files/uploads/{id}", id=id),
        idempotent=True,
    )


def continue_file_upload(
    id: str,
    content: bytes,
    *,
    tus_resumable: Literal['1.0.0'] | None = None,
    upload_offset: int,
    content_type: str = "application/octet-stream",
) -> Operation[None]:
    """
    Send bytes of an upload.

    The bytes follow those that are stored. When the connection breaks, what arrived stays: read `Upload-Offset`,
    and continue there. One request at a time sends bytes of an upload; another one is refused with 409.

    The API key needs the scope `runs:write`.

    id: The id of the upload.
    tus_resumable: The version of tus: `1.0.0`.
    upload_offset: Where the bytes begin: the number of bytes that are stored.
    """
    return Operation(
        "PATCH",
        path_of("/files/uploads/{id}", id=id),
        headers=headers_of({"Tus-Resumable": tus_resumable, "Upload-Offset": upload_offset, "Content-Type": content_type}),
        content=content,
    )


def delete_file(
    id: str,
) -> Operation[None]:
    """
    Delete a file.

    A run that names it and has not begun will fail, because its input cannot be fetched.

    The API key needs the scope `runs:write`. Its audit records have the action `file.deleted`.

    id: The id of the file.
    """
    return Operation(
        "DELETE",
        path_of("/files/{id}", id=id),
    )


def get_file(
    id: str,
) -> Operation[models.UploadedFile]:
    """
    Read what a file is.

    The API key needs the scope `runs:read`.

    id: The id of the file.
    """
    return Operation(
        "GET",
        path_of("/files/{id}", id=id),
        idempotent=True,
    )


def get_file_content(
    id: str,
) -> Stream:
    """
    Download a file.

    The response has the type of the file. A part of it can be requested with `Range`.

    The API key needs the scope `runs:read`.

    id: The id of the file.
    """
    return Stream(
        "GET",
        path_of("/files/{id}/content", id=id),
        idempotent=True,
    )


def list_invitations() -> Operation[models.InvitationList]:
    """
    List the open invitations.

    The API key needs the scope `admin`.
    """
    return Operation(
        "GET",
        "/invitations",
        idempotent=True,
    )


def create_invitation(
    body: models.NewInvitation,
) -> Operation[models.CreatedInvitation]:
    """
    Invite a person.

    The response has a link, which you send to the person. It can be accepted once, within 7 days, by the person
    with this e-mail only: one who has an account signs in to accept it. A person without one gets it if you are
    an operator, who answers for the e-mail, or signs in with the provider. An operator may invite into any
    organisation.

    The API key needs the scope `admin`. Its audit records have the action `invitation.created`.
    """
    return Operation(
        "POST",
        "/invitations",
        body=body,
    )


def accept_invitation(
    body: models.InvitationAcceptance,
) -> Operation[models.Session]:
    """
    Accept an invitation.

    Whoever has an account with the e-mail of the invitation is signed in with it, or sends its password. Whoever
    has none gets one, with this name and password, if an operator invites: nobody else answers for an e-mail.
    Otherwise the person signs in with the provider, which has verified the e-mail. Requests with the session then
    act in the organisation of the invitation.

    It needs no API key. Its audit records have the action `invitation.accepted`.
    """
    return Operation(
        "POST",
        "/invitations/accept",
        body=body,
    )


def preview_invitation(
    body: models.InvitationPreviewRequest,
) -> Operation[models.InvitationPreview]:
    """
    Read the invitation of a link.

    It needs no API key.
    """
    return Operation(
        "POST",
        "/invitations/preview",
        body=body,
    )


def revoke_invitation(
    invitation_id: str,
) -> Operation[None]:
    """
    Revoke an invitation.

    The API key needs the scope `admin`. Its audit records have the action `invitation.revoked`.

    invitation_id: The id of the invitation.
    """
    return Operation(
        "DELETE",
        path_of("/invitations/{invitation_id}", invitation_id=invitation_id),
    )


def list_machines(
    *,
    archived: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    name: str | None = None,
) -> Pages[models.MachinePage, models.Machine]:
    """
    List machines.

    Newest first.

    The API key needs the scope `runs:read`.

    archived: True lists the archived records instead of the others.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    name: Only records with exactly this name; several may have it.
    """
    return Pages(
        "GET",
        "/machines",
        query={"archived": archived, "limit": limit, "cursor": cursor, "name": name},
        idempotent=True,
        items="machines",
    )


def create_machine(
    body: models.NewMachine,
) -> Operation[models.Machine]:
    """
    Create a machine.

    A kind of host that runs execute on: a GPU model, and how a workflow is executed there.

    The API key needs the scope `admin`. Its audit records have the action `machine.created`.
    """
    return Operation(
        "POST",
        "/machines",
        body=body,
    )


def delete_machine(
    machine_id: str,
) -> Operation[None]:
    """
    Delete a machine.

    It must have been archived for a minute. A machine that a deployment or a run in progress uses cannot be
    deleted.

    The API key needs the scope `admin`. Its audit records have the action `machine.deleted`.

    machine_id: The id of the machine.
    """
    return Operation(
        "DELETE",
        path_of("/machines/{machine_id}", machine_id=machine_id),
    )


def get_machine(
    machine_id: str,
) -> Operation[models.Machine]:
    """
    Read a machine.

    The API key needs the scope `runs:read`.

    machine_id: The id of the machine.
    """
    return Operation(
        "GET",
        path_of("/machines/{machine_id}", machine_id=machine_id),
        idempotent=True,
    )


def change_machine(
    machine_id: str,
    body: models.MachineChange,
) -> Operation[models.Machine]:
    """
    Change, archive or restore a machine.

    Queued runs keep the machine as it was when they were queued. A machine that a deployment uses cannot be
    archived, nor begin or cease to run code.

    The API key needs the scope `admin`. Its audit records have the action `machine.changed`.

    machine_id: The id of the machine.
    """
    return Operation(
        "PATCH",
        path_of("/machines/{machine_id}", machine_id=machine_id),
        body=body,
    )


def list_members() -> Operation[models.MemberList]:
    """
    List the members.

    The people who may sign in to the organisation: at most 200.

    The API key needs the scope `admin`.
    """
    return Operation(
        "GET",
        "/members",
        idempotent=True,
    )


def remove_member(
    user_id: str,
) -> Operation[None]:
    """
    Remove a member.

    Their sessions lose the organisation within a second. Their API keys of it are revoked, and so are keys and
    invitations that they made for others, and invitations for them. The account of a person who is a member of no
    other organisation is removed. An organisation keeps an owner. After a 503, or no response, repeat the
    request: it goes on where it was interrupted.

    The API key needs the scope `admin`. Its audit records have the action `member.removed`.

    user_id: The id of the user.
    """
    return Operation(
        "DELETE",
        path_of("/members/{user_id}", user_id=user_id),
    )


def change_member(
    user_id: str,
    body: models.MemberChange,
) -> Operation[models.Member]:
    """
    Change a member.

    The role, and whether the member is an operator, which needs the scope `operator` too. Their sessions have the
    new rights within a second. API keys that permit more are revoked, theirs and those that they made for others,
    and so are the invitations of somebody who may not invite any more. An organisation keeps an owner.

    The API key needs the scope `admin`. Its audit records have the action `member.changed`.

    user_id: The id of the user.
    """
    return Operation(
        "PATCH",
        path_of("/members/{user_id}", user_id=user_id),
        body=body,
    )


def list_models(
    *,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.ModelPage, models.Model]:
    """
    List models.

    Files with weights that the organisation keeps for its versions, the last kept one first.

    The API key needs the scope `runs:read`.

    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        "/models",
        query={"limit": limit, "cursor": cursor},
        idempotent=True,
        items="models",
    )


def get_model(
    sha256: str,
) -> Operation[models.Model]:
    """
    Read what a model is.

    Not its bytes. 404 when the organisation does not keep it, or it is lost in the store.

    The API key needs the scope `runs:read`.

    sha256: The SHA-256 of its bytes, in hexadecimal digits.
    """
    return Operation(
        "GET",
        path_of("/models/{sha256}", sha256=sha256),
        idempotent=True,
    )


def keep_model(
    sha256: str,
    body: models.KeepModel,
) -> Operation[models.Model]:
    """
    Keep an uploaded file as a model.

    Copies the file to where nothing expires, so that versions with code can name it: `{"sha256": "…", "bytes":
    123}` in `models` of their manifest. It may be repeated; a model that the organisation has already is not
    copied again. Large files take minutes. A model that no version names is removed a day after it was kept.

    The API key needs the scope `admin`.

    sha256: The SHA-256 of its bytes, in hexadecimal digits.
    """
    return Operation(
        "PUT",
        path_of("/models/{sha256}", sha256=sha256),
        body=body,
    )


def erase_organisation(
    org_id: str,
    *,
    name: str,
) -> Operation[models.OrganisationTombstone]:
    """
    Erase an organisation.

    Erases everything of an organisation, and cannot be undone. Its API keys and the tokens made with them are
    refused within seconds, its runs are cancelled and deleted, and then its files, logs, workflows, records and
    signing secrets go. The facts of its runs, which include inputs and outputs of up to 4 KiB, are shown to
    nobody and leave the log with its age, after 7 days by default. What stays is the tombstone, and the audit
    records for their year. Repeating the request, with any name, shows the tombstone.

    The API key needs the scope `operator`. Its audit records have the action `organisation.erased`.

    org_id: The id of the organisation.
    name: The name of the organisation, so that no other one is erased by mistake.
    """
    return Operation(
        "DELETE",
        path_of("/organisations/{org_id}", org_id=org_id),
        query={"name": name},
    )


def get_organisation_tombstone(
    org_id: str,
) -> Operation[models.OrganisationTombstone]:
    """
    Read what the erasure of an organisation erased.

    When and by whom it was requested, and whether it is complete. It is kept for ever.

    The API key needs the scope `operator`.

    org_id: The id of the organisation.
    """
    return Operation(
        "GET",
        path_of("/organisations/{org_id}/tombstone", org_id=org_id),
        idempotent=True,
    )


def list_queues(
    *,
    gpu: str | None = None,
    organisation: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.QueuesPage, models.Pool]:
    """
    List queues.

    By GPU model: slots, and the runs that wait for them and hold them, by organisation and deployment, as the
    leading scheduler knows them. With the scope `operator` of all organisations, and all models that executors
    have, unless `organisation` is given; with another key only the runs of its own organisation, in the models
    that it uses, and the slots of the executors that can take them.

    The API key needs the scope `runs:read` or `operator`.

    gpu: Only this GPU model, in upper case.
    organisation: Only runs of this organisation. Needs the scope `operator`, unless it is that of the key.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        "/queues",
        query={"gpu": gpu, "organisation": organisation, "limit": limit, "cursor": cursor},
        idempotent=True,
        items="pools",
    )


def get_retention() -> Operation[models.Retention]:
    """
    Read for how long runs and their output files are kept.

    The API key needs the scope `runs:read`.
    """
    return Operation(
        "GET",
        "/retention",
        idempotent=True,
    )


def change_retention(
    body: models.RetentionChange,
) -> Operation[models.Retention]:
    """
    Choose for how long runs and their output files are kept.

    `runs_days` counts from the creation of a run. Then the run goes, with its inputs, outputs and files: it is
    404, and its idempotency key is free. A run that has not ended stays, and one whose final notification is not
    settled, or of which the log still holds something. `outputs_days` counts from the end of a run. Then its
    output files go: the run stays, and their addresses are 404. It is applied within minutes, also to runs that
    are there already.

    The API key needs the scope `admin`. Its audit records have the action `retention.changed`.
    """
    return Operation(
        "PATCH",
        "/retention",
        body=body,
    )


def queue_run(
    body: models.DeploymentRunRequest,
    *,
    idempotency_key: str | None = None,
) -> Operation[models.CreateRunResponse]:
    """
    Queue a run of a deployment.

    The response comes once the run is stored: the run is never lost, and a GET right after the response finds it.
    The run keeps the version and the settings that the deployment has now.

    The API key needs the scope `runs:write`.

    idempotency_key: 1 to 255 printable characters. The same key of the same organisation gives the same run while
    that run is kept, so a request whose response was lost can be repeated. With another body the request is
    refused with 409.
    """
    return Operation(
        "POST",
        "/run/deployment/queue",
        headers=headers_of({"Idempotency-Key": idempotency_key}),
        body=body,
        idempotent=idempotency_key is not None,
    )


def delete_run(
    run_id: str,
) -> Operation[models.DeleteRunResponse]:
    """
    Delete a run.

    Deletes a run that has ended, with its inputs, outputs, logs and files. From then on it is not shown: 404,
    also for this request when it is repeated, with the code `run_deleted` while the log has the deletion. All of
    that is erased within seconds, except content that another run has too; `GET /run/{run_id}/tombstone` says
    when it is done. The facts of the run, which include inputs and outputs of up to 4 KiB, are shown to nobody
    and leave the log with its age, after 7 days by default.

    The API key needs the scope `runs:write`. Its audit records have the action `run.deleted`.

    run_id: The id of the run.
    """
    return Operation(
        "DELETE",
        path_of("/run/{run_id}", run_id=run_id),
    )


def get_run(
    run_id: str,
    *,
    include: Literal['inputs', 'workflow_api'] | Sequence[Literal['inputs', 'workflow_api']] | None = None,
    wait: float | None = None,
    at_seq: int | None = None,
    at: str | date | datetime | None = None,
) -> Operation[models.WorkflowRun]:
    """
    Read a run.

    The response never shows less than any earlier response, webhook or event. With `at_seq` or `at` it shows the
    run as it was, as far as the log still has its facts: without the progress, live status and queue position of
    that time, which no fact says, and without outputs that were deleted since.

    The API key needs the scope `runs:read`. A token of the run needs `read`.

    run_id: The id of the run.
    include: Members that are null unless requested, because they may be large. A page with them may be shorter.
    wait: How many seconds to wait for the end of the run. Then the response shows the run as it is.
    at_seq: The run as it was after the fact at this position in the log, as `sequence` in its history and its
    events.
    at: The run as it was at this time of the broker.
    """
    return Operation(
        "GET",
        path_of("/run/{run_id}", run_id=run_id),
        query={"include": include, "wait": wait, "at_seq": at_seq, "at": at},
        idempotent=True,
    )


def cancel_run(
    run_id: str,
) -> Operation[models.CancelRunResponse]:
    """
    Cancel a run.

    A queued run is cancelled at once. A run that executes is asked to stop, and is cancelled within the grace
    period, by force if necessary. Repeating the request, or sending it after the end, changes nothing.

    The API key needs the scope `runs:write`. Its audit records have the action `run.cancelled`.

    run_id: The id of the run.
    """
    return Operation(
        "POST",
        path_of("/run/{run_id}/cancel", run_id=run_id),
    )


def get_deliveries(
    run_id: str,
) -> Operation[models.RunDeliveries]:
    """
    Read the outcome of a run's notifications.

    Every delivery attempt of the run, and the state of its delivery.

    The API key needs the scope `runs:read`.

    run_id: The id of the run.
    """
    return Operation(
        "GET",
        path_of("/run/{run_id}/deliveries", run_id=run_id),
        idempotent=True,
    )


def watch_run(
    run_id: str,
    *,
    last_event_id: int | None = None,
) -> Stream:
    """
    Stream the events of a run.

    Server-sent events. `event: fact` (RunFactEvent) is a fact of the run. The facts come in order, from the first
    one, with their sequence in the log as `id`. Each is the same while the run runs and when it is read again.
    `event: progress` (RunProgressEvent) is the progress of the current attempt, once a second at most; it is no
    fact, so it comes only while the run executes. A comment comes every 15 s. The stream closes after the final
    fact. A client that was disconnected sends the last `id` as `Last-Event-ID` and misses nothing.

    The API key needs the scope `runs:read`. A token of the run needs `events`.

    run_id: The id of the run.
    last_event_id: The id of the last received event: the stream continues after it.
    """
    return Stream(
        "GET",
        path_of("/run/{run_id}/events", run_id=run_id),
        headers=headers_of({"Last-Event-ID": last_event_id}),
        idempotent=True,
    )


def get_run_history(
    run_id: str,
    *,
    log_lines: int | None = None,
) -> Operation[models.RunHistory]:
    """
    Read what happened to a run.

    Every fact of the run that the log or the archive has, with what it changed, and between them the delivery
    attempts of its notifications and lines of its logs. It says where facts are missing. A key with the scope
    `admin` also sees what the services know.

    The API key needs the scope `runs:read`.

    run_id: The id of the run.
    log_lines: How many lines of the beginning and of the end of the log of each attempt are in it.
    """
    return Operation(
        "GET",
        path_of("/run/{run_id}/history", run_id=run_id),
        query={"log_lines": log_lines},
        idempotent=True,
    )


def get_run_history_picture(
    run_id: str,
) -> Stream:
    """
    See where the time of a run went.

    A picture of its history: for each attempt how long it was queued, started, loaded, ran and uploaded, and when
    its notifications were sent.

    The API key needs the scope `runs:read`.

    run_id: The id of the run.
    """
    return Stream(
        "GET",
        path_of("/run/{run_id}/history.svg", run_id=run_id),
        idempotent=True,
    )


def get_run_logs(
    run_id: str,
    *,
    attempt: int | None = None,
    tail: int | None = None,
    follow: bool | None = None,
    last_event_id: str | None = None,
) -> Stream:
    """
    Read the logs of a run.

    What its attempts write, as JSON objects, one on each line: RunLogLine, RunLogCut where lines are missing,
    RunLogNotice about an attempt. The beginning and the end of each log are kept, at most 1 MiB of text. With
    `follow`, server-sent events with the same objects as data: `event: line`, `cut`, `notice`, and `end`
    (RunLogEnd) when the run has ended. A client that was disconnected sends the last `id` as `Last-Event-ID` and
    misses nothing that is kept.

    The API key needs the scope `runs:read`. A token of the run needs `logs`.

    run_id: The id of the run.
    attempt: Only this attempt; without it all, in order.
    tail: Only this number of last lines.
    follow: Whether to stream what is written, as server-sent events.
    last_event_id: With `follow`: the id of the last received event. The stream continues after it.
    """
    return Stream(
        "GET",
        path_of("/run/{run_id}/logs", run_id=run_id),
        query={"attempt": attempt, "tail": tail, "follow": follow},
        headers=headers_of({"Last-Event-ID": last_event_id}),
        idempotent=True,
    )


def delete_run_outputs(
    run_id: str,
) -> Operation[models.DeleteOutputsResponse]:
    """
    Delete the outputs of a run.

    Deletes the outputs of a run that has ended, with their files, which are erased within seconds. The run stays:
    its `outputs` are empty, and `missing_members` says so. Repeating the request changes nothing.

    The API key needs the scope `runs:write`. Its audit records have the action `run.outputs_deleted`.

    run_id: The id of the run.
    """
    return Operation(
        "DELETE",
        path_of("/run/{run_id}/outputs", run_id=run_id),
    )


def redeliver_run(
    run_id: str,
) -> Operation[models.RunRedelivery]:
    """
    Send a run's final notification again.

    The API key needs the scope `runs:write`.

    run_id: The id of the run.
    """
    return Operation(
        "POST",
        path_of("/run/{run_id}/redeliver", run_id=run_id),
    )


def rerun_run(
    run_id: str,
    body: models.RerunRequest | None = None,
    *,
    idempotency_key: str | None = None,
) -> Operation[models.CreateRunResponse]:
    """
    Run it again.

    Queues another run with the inputs of this run, or with others. It has the version, the GPU, the webhook and
    all settings of this run, also when the deployment has changed. `rerun_of` names this run.

    The API key needs the scope `runs:write`.

    run_id: The id of the run.
    idempotency_key: 1 to 255 printable characters. The same key of the same organisation gives the same run while
    that run is kept, so a request whose response was lost can be repeated. With another body the request is
    refused with 409.
    """
    return Operation(
        "POST",
        path_of("/run/{run_id}/rerun", run_id=run_id),
        headers=headers_of({"Idempotency-Key": idempotency_key}),
        body=body,
        idempotent=idempotency_key is not None,
    )


def create_run_token(
    run_id: str,
    body: models.NewRunToken,
) -> Operation[models.RunToken]:
    """
    Create a token for one run.

    A credential for a browser: it reads this run, as far as its scopes say, and permits nothing else. It is sent
    as an API key is. An `EventSource` sends it as `access_token` in the query of its URL, which the operations
    say that accept it there; an API key is never accepted there. It ends with its time, with the run, and with
    the API key that made it: whatever revokes that key revokes the token, and ends its streams, within a second.
    All tokens of a key and of the keys derived from it share a rate, which is as high as that of the key.

    The API key needs the scope `runs:read`.

    run_id: The id of the run.
    """
    return Operation(
        "POST",
        path_of("/run/{run_id}/tokens", run_id=run_id),
        body=body,
    )


def get_tombstone(
    run_id: str,
) -> Operation[models.Tombstone]:
    """
    Read what a deletion erased.

    When and by whom a run was deleted, what it had, and whether all of that is erased. It is the last fact of the
    run, which leaves the log with its age, after 7 days by default.

    The API key needs the scope `runs:read`.

    run_id: The id of the run.
    """
    return Operation(
        "GET",
        path_of("/run/{run_id}/tombstone", run_id=run_id),
        idempotent=True,
    )


def get_run_waiting(
    run_id: str,
) -> Operation[models.RunWaiting]:
    """
    Read why a run waits.

    What the run waits for, how many runs are ahead of it, and how many executors can run it, from the leading
    scheduler.

    The API key needs the scope `runs:read`.

    run_id: The id of the run.
    """
    return Operation(
        "GET",
        path_of("/run/{run_id}/waiting", run_id=run_id),
        idempotent=True,
    )


def list_runs(
    *,
    status: models.RunStatus | Sequence[models.RunStatus] | None = None,
    deployment_id: str | None = None,
    deployment: str | None = None,
    workflow_id: str | None = None,
    schedule_id: str | None = None,
    gpu: str | None = None,
    origin: Literal['api', 'manual', 'replay'] | None = None,
    tag: str | Sequence[str] | None = None,
    search: str | None = None,
    created_after: str | date | datetime | None = None,
    created_before: str | date | datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    include: Literal['inputs', 'workflow_api'] | Sequence[Literal['inputs', 'workflow_api']] | None = None,
    at: str | date | datetime | None = None,
) -> Pages[models.RunPage, models.WorkflowRun]:
    """
    List runs.

    The runs that match every filter, newest first. The request waits up to 2 seconds until the list shows
    everything that was stored before. Pages skip no run and repeat none, also while runs are queued. With `at` it
    shows the runs as they were then, as far as the log or the archive still has their facts; deleted ones are not
    in it. With `search` a page says how far back it has looked.

    The API key needs the scope `runs:read`.

    status: Runs with one of these statuses.
    deployment_id: Runs of this deployment.
    deployment: The deployment by its name, instead of `deployment_id`: the one of exactly this name that is not
    archived, or else the archived one.
    workflow_id: Runs of this workflow, of any version.
    schedule_id: Runs that this schedule queued, also a deleted one.
    gpu: Runs whose `gpu` is this model, in upper or lower case.
    origin: Only runs of this origin. What queued it.  - `api`: A request or a schedule. - `manual`: Reserved for
    runs that people begin by hand. No service queues such a run yet. - `replay`: A request to run an earlier run
    again, which `rerun_of` names.
    tag: Runs with all of these tags.
    search: Runs whose id begins with this text, of 8 characters or more. If there is none: runs that have the
    text in a tag, in the name or the value of an input, or in the message of their error, and runs of deployments
    that have it in their name. Upper and lower case are the same, and so are all spaces. It looks at the first
    1,000 characters of each value and the first 2,000 of all inputs, and at the first 500 of a message; not at
    secret inputs, nor at inputs of more than 4 KiB in total. A page looks at a bounded number of runs.
    created_after: Runs created at this time or later.
    created_before: Runs created before this time.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    include: Members that are null unless requested, because they may be large. A page with them may be shorter.
    at: The runs as they were at this time of the broker: those that were queued by then, and `status` is that of
    then. A page may have fewer runs than the limit.
    """
    return Pages(
        "GET",
        "/runs",
        query={"status": status, "deployment_id": deployment_id, "deployment": deployment, "workflow_id": workflow_id, "schedule_id": schedule_id, "gpu": gpu, "origin": origin, "tag": tag, "search": search, "created_after": created_after, "created_before": created_before, "limit": limit, "cursor": cursor, "include": include, "at": at},
        idempotent=True,
        items="runs",
    )


def get_run_activity(
    *,
    since: str | date | datetime | None = None,
    until: str | date | datetime | None = None,
    step: int | None = None,
) -> Operation[models.RunActivity]:
    """
    Read the activity of runs.

    How many runs were queued, began to execute and ended in each interval, and how many waited and executed at
    its end, for a chart: every list has one number for each interval. Without parameters it is of the last hour,
    minute by minute. Ends are moved to whole steps since 1970 (UTC), so repeated requests have the same
    intervals. The request waits up to 2 seconds until all that was stored before is counted. Deleted runs, and
    those that were removed because of their age, are not counted. It reads at most 1,000,000 runs, those that had
    not ended at `since` and all later ones: with more, it is a 422 that says so.

    The API key needs the scope `runs:read`.

    since: Where the first interval begins. An hour before `until` when it is left out.
    until: Where the last interval ends. Now when it is left out, or later.
    step: The length of an interval in seconds; there are 1,000 intervals at most. When it is left out, a minute,
    or as many as that needs.
    """
    return Operation(
        "GET",
        "/runs/activity",
        query={"since": since, "until": until, "step": step},
        idempotent=True,
    )


def cancel_runs(
    body: models.CancelRunsRequest,
) -> Operation[models.CancelRunsResponse]:
    """
    Cancel many runs.

    Cancels up to 1,000 runs that have not ended and match the filter, newest first. `next_cursor` continues with
    the older ones. Each is cancelled like a single run. Repeating the request is harmless. To cancel only the
    runs that a dry run counted, use the `created_before` of its first page that has one in the filter.

    The API key needs the scope `runs:write`. Its audit records have the action `runs.cancelled`.
    """
    return Operation(
        "POST",
        "/runs/cancel",
        body=body,
    )


def count_runs(
    *,
    status: models.RunStatus | Sequence[models.RunStatus] | None = None,
    deployment_id: str | None = None,
    deployment: str | None = None,
    workflow_id: str | None = None,
    schedule_id: str | None = None,
    gpu: str | None = None,
    origin: Literal['api', 'manual', 'replay'] | None = None,
    tag: str | Sequence[str] | None = None,
    search: str | None = None,
    created_after: str | date | datetime | None = None,
    created_before: str | date | datetime | None = None,
) -> Operation[models.RunCounts]:
    """
    Count runs.

    How many runs that match every filter have each status now. The request waits up to 2 seconds until the counts
    show everything that was stored before. It looks at the newest 100,000 runs of each status at most; with
    filters other than `status` and times, at the newest 100,000 of all runs that have ended. If there are more,
    `complete` is false.

    The API key needs the scope `runs:read`.

    status: Runs with one of these statuses.
    deployment_id: Runs of this deployment.
    deployment: The deployment by its name, instead of `deployment_id`: the one of exactly this name that is not
    archived, or else the archived one.
    workflow_id: Runs of this workflow, of any version.
    schedule_id: Runs that this schedule queued, also a deleted one.
    gpu: Runs whose `gpu` is this model, in upper or lower case.
    origin: Only runs of this origin. What queued it.  - `api`: A request or a schedule. - `manual`: Reserved for
    runs that people begin by hand. No service queues such a run yet. - `replay`: A request to run an earlier run
    again, which `rerun_of` names.
    tag: Runs with all of these tags.
    search: Runs whose id begins with this text, of 8 characters or more. If there is none: runs that have the
    text in a tag, in the name or the value of an input, or in the message of their error, and runs of deployments
    that have it in their name. Upper and lower case are the same, and so are all spaces. It looks at the first
    1,000 characters of each value and the first 2,000 of all inputs, and at the first 500 of a message; not at
    secret inputs, nor at inputs of more than 4 KiB in total. A page looks at a bounded number of runs.
    created_after: Runs created at this time or later.
    created_before: Runs created before this time.
    """
    return Operation(
        "GET",
        "/runs/counts",
        query={"status": status, "deployment_id": deployment_id, "deployment": deployment, "workflow_id": workflow_id, "schedule_id": schedule_id, "gpu": gpu, "origin": origin, "tag": tag, "search": search, "created_after": created_after, "created_before": created_before},
        idempotent=True,
    )


def rerun_runs(
    body: models.RerunRunsRequest,
    *,
    idempotency_key: str | None = None,
) -> Operation[models.RerunRunsResponse]:
    """
    Run many runs again.

    Queues up to 1,000 runs again that have ended and match the filter, newest first, each as a single rerun
    without other inputs. `next_cursor` continues with the older ones. With one `Idempotency-Key` each run is
    queued again once at most, whatever becomes of the responses: send the same key with every page and every
    repetition, and a new one to queue the same runs once more. What the key has queued does not match itself.
    Reruns of other requests match like all runs: `origin` and the times of creation tell them apart. Deleted runs
    do not match. When the queue is full, the page ends early, and `next_cursor` continues later. To queue only
    runs that existed at a dry run, use the `created_before` of its first page that has one in the filter.

    The API key needs the scope `runs:write`. Its audit records have the action `runs.rerun`.

    idempotency_key: 1 to 255 printable characters. Required, except for a dry run. Of one key of an organisation
    each run is queued again once at most, also on other pages and with other filters, while its rerun is kept.
    """
    return Operation(
        "POST",
        "/runs/rerun",
        headers=headers_of({"Idempotency-Key": idempotency_key}),
        body=body,
        idempotent=idempotency_key is not None,
    )


def list_schedules(
    *,
    deployment_id: str | None = None,
    deployment: str | None = None,
    name: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.SchedulePage, models.Schedule]:
    """
    List schedules.

    Newest first.

    The API key needs the scope `runs:read`.

    deployment_id: Only schedules of this deployment.
    deployment: The deployment by its name, instead of `deployment_id`: the one of exactly this name that is not
    archived, or else the archived one.
    name: Only schedules with exactly this name; several may have it.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        "/schedules",
        query={"deployment_id": deployment_id, "deployment": deployment, "name": name, "limit": limit, "cursor": cursor},
        idempotent=True,
        items="schedules",
    )


def create_schedule(
    body: models.NewSchedule,
) -> Operation[models.Schedule]:
    """
    Create a schedule.

    It queues a run of a deployment at the times of a cron expression, each time once, on the clock of the broker.
    Its runs belong to the user of this API key, and it goes on when the key is revoked: pause or delete it then.

    The API key needs the scope `admin`. Its audit records have the action `schedule.created`.
    """
    return Operation(
        "POST",
        "/schedules",
        body=body,
    )


def delete_schedule(
    schedule_id: str,
) -> Operation[None]:
    """
    Delete a schedule.

    Its runs go on, and keep showing its id.

    The API key needs the scope `admin`. Its audit records have the action `schedule.deleted`.

    schedule_id: The id of the schedule.
    """
    return Operation(
        "DELETE",
        path_of("/schedules/{schedule_id}", schedule_id=schedule_id),
    )


def get_schedule(
    schedule_id: str,
) -> Operation[models.Schedule]:
    """
    Read a schedule, its next times, and what came of the last ones.

    The API key needs the scope `runs:read`.

    schedule_id: The id of the schedule.
    """
    return Operation(
        "GET",
        path_of("/schedules/{schedule_id}", schedule_id=schedule_id),
        idempotent=True,
    )


def change_schedule(
    schedule_id: str,
    body: models.ScheduleChange,
) -> Operation[models.Schedule]:
    """
    Change, pause or resume a schedule.

    Queued runs keep what they were queued with. Other times begin now: those that have come before are handled as
    they were.

    The API key needs the scope `admin`. Its audit records have the action `schedule.changed`.

    schedule_id: The id of the schedule.
    """
    return Operation(
        "PATCH",
        path_of("/schedules/{schedule_id}", schedule_id=schedule_id),
        body=body,
    )


def check_sealed_values(
    *,
    cursor: str | None = None,
) -> Operation[models.SealedValuesPage]:
    """
    Check the sealed values.

    Reads and opens stored values that are sealed, and counts those that the sealing key sealed and those that
    another key did. No value is shown. When all pages together have `old` and `unreadable` 0, no other key is
    needed any more, except for the secret inputs of runs that were queued before, which are never written again.

    The API key needs the scope `operator`.

    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Operation(
        "GET",
        "/sealed-values",
        query={"cursor": cursor},
        idempotent=True,
    )


def reseal_values(
    body: models.ResealRequest,
) -> Operation[models.SealedValuesPage]:
    """
    Seal values again.

    Seals values that another key sealed with the sealing key, each at once: what a client changes at the same
    time stays as the client changed it. Follow `next_cursor` until it is null. A request can be repeated, and
    after an interruption the first one finds what is left.

    The API key needs the scope `operator`. Its audit records have the action `sealed_values.resealed`.
    """
    return Operation(
        "POST",
        "/sealed-values/reseal",
        body=body,
    )


def list_secrets() -> Operation[models.SecretList]:
    """
    List the secrets.

    All of the organisation, by their names, and never with a value.

    The API key needs the scope `runs:read`.
    """
    return Operation(
        "GET",
        "/secrets",
        idempotent=True,
    )


def remove_secret(
    name: str,
) -> Operation[None]:
    """
    Remove a secret.

    At once, also when present versions name it: their runs end as `prepare_failed` from then on, with a sentence
    that names it.

    The API key needs the scope `admin`. Its audit records have the action `organisation_secret.removed`.

    name: Letters, digits and underscores, at most 128, with no digit at the begin.
    """
    return Operation(
        "DELETE",
        path_of("/secrets/{name}", name=name),
    )


def set_secret(
    name: str,
    body: models.SecretValue,
) -> Operation[models.Secret]:
    """
    Set a secret.

    Creates it, or gives it another value. Code of versions that names it in `secrets` of its manifest gets the
    value as a variable, from the next run on: no version is made for it. Nobody is shown the value.

    The API key needs the scope `admin`. Its audit records have the action `organisation_secret.set`.

    name: Letters, digits and underscores, at most 128, with no digit at the begin.
    """
    return Operation(
        "PUT",
        path_of("/secrets/{name}", name=name),
        body=body,
    )


def sign_out() -> Operation[None]:
    """
    Sign out.

    The session ends everywhere within a second. Without a session, nothing is done.

    It needs no API key. Its audit records have the action `session.ended`.
    """
    return Operation(
        "DELETE",
        "/session",
    )


def get_session() -> Operation[models.Session]:
    """
    Read who is signed in.

    Whose session the request has, and where requests with it act. A session has two halves, which a sign-in
    gives: a cookie, which the browser sends by itself, and a token in the response header `Runledger-Session`,
    which the page keeps and sends in the request header of this name. A request with both, and without an API
    key, is made in the name of this person, with the scopes of their role in the organisation. One half is
    refused with `session_incomplete` wherever a session is needed; here it is nobody.

    It needs no API key.
    """
    return Operation(
        "GET",
        "/session",
        idempotent=True,
    )


def choose_organisation(
    body: models.SessionChange,
) -> Operation[models.Session]:
    """
    Choose the organisation of a session.

    Requests with the session act in this organisation from now on, in all windows of the browser.

    It needs no API key.
    """
    return Operation(
        "PATCH",
        "/session",
        body=body,
    )


def sign_in(
    body: models.SignIn,
) -> Operation[models.Session]:
    """
    Sign in with a password.

    The session ends after a week. After five wrong passwords a person waits, longer each time; so does an address
    after twenty. One of them is forgotten in half a minute.

    It needs no API key. Its audit records have the action `session.created`.
    """
    return Operation(
        "POST",
        "/session",
        body=body,
    )


def sign_in_with_link(
    body: models.LinkSignIn,
) -> Operation[models.Session]:
    """
    Sign in with a link.

    A link signs in once, within 15 minutes. Afterwards the person may choose a password without the present one.

    It needs no API key. Its audit records have the action `session.created`.
    """
    return Operation(
        "POST",
        "/session/link",
        body=body,
    )


def begin_provider_sign_in(
    body: models.ProviderSignIn,
) -> Operation[models.ProviderSignInAddress]:
    """
    Begin a sign-in with the provider.

    The page keeps `pending` where only pages of its own origin can read it, and leads the browser to `url`, where
    the person signs in. The provider leads it back to `GET /session/oidc/callback`, and that to
    `/console/sign-in#answer=…`, from where the page finishes the sign-in within 10 minutes.

    It needs no API key.
    """
    return Operation(
        "POST",
        "/session/oidc",
        body=body,
    )


def finish_provider_sign_in(
    body: models.ProviderAnswer,
) -> Operation[models.Session]:
    """
    Finish a sign-in with the provider.

    Only the page that began it can finish it, once.

    It needs no API key. Its audit records have the action `session.created`.
    """
    return Operation(
        "POST",
        "/session/oidc/answer",
        body=body,
    )


def get_system() -> Operation[models.System]:
    """
    Read the state of the installation.

    The processes that respond, who leads, how far the views are, and what the streams hold. It responds within
    two seconds: what has not responded by then is named in `did_not_respond`, and `complete` is false. A process
    that does not respond is left out: compare with what should run.

    The API key needs the scope `operator`.
    """
    return Operation(
        "GET",
        "/system",
        idempotent=True,
    )


def get_usage() -> Operation[models.Usage]:
    """
    Read what the organisation uses, and what it may use.

    All organisations share the stores of this installation, and each may use its part of them. The limits of
    `uploads` and `streams` are of each gateway.

    The API key needs the scope `runs:read`.
    """
    return Operation(
        "GET",
        "/usage",
        idempotent=True,
    )


def list_deliveries(
    *,
    status: models.WebhookStatus | Sequence[models.WebhookStatus] | None = None,
    host: str | None = None,
    created_after: str | date | datetime | None = None,
    created_before: str | date | datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.DeliveryPage, models.ListedDelivery]:
    """
    List runs with a webhook.

    Newest first, with the outcome of their notifications.

    The API key needs the scope `runs:read`.

    status: Runs whose notifications have one of these states.
    host: The host of the webhook, with the port unless it is the default port.
    created_after: Runs created at this time or later.
    created_before: Runs created before this time.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        "/webhooks/deliveries",
        query={"status": status, "host": host, "created_after": created_after, "created_before": created_before, "limit": limit, "cursor": cursor},
        idempotent=True,
        items="deliveries",
    )


def list_receivers(
    *,
    host: str | None = None,
) -> Operation[models.WebhookReceivers]:
    """
    List the receivers of webhooks.

    Each origin to which the organisation has or had webhooks lately, as the notifier that sends them knows it:
    whether its circuit breaker is open and when the next attempt is let through, how much waits, what holds it
    up, and what became of the last attempts. What a notifier knows of attempts begins when it starts or takes the
    receiver over. Numbers are those of the organisation only. It responds within two seconds: when a notifier has
    not responded by then, `complete` is false.

    The API key needs the scope `runs:read`.

    host: Only receivers at this host, with the port unless it is the default port.
    """
    return Operation(
        "GET",
        "/webhooks/receivers",
        query={"host": host},
        idempotent=True,
    )


def redeliver_many(
    body: models.RedeliverRequest,
) -> Operation[models.RedeliverResponse]:
    """
    Send final notifications again.

    Redelivers the final notifications of up to 1,000 runs that match the filter, newest first. `next_cursor`
    continues with the older ones.

    The API key needs the scope `runs:write`.
    """
    return Operation(
        "POST",
        "/webhooks/redeliver",
        body=body,
    )


def get_webhook_secret() -> Operation[models.WebhookSecret]:
    """
    Read the signing secret.

    Receivers verify the organisation's webhooks with it.

    The API key needs the scope `admin`. Its audit records have the action `secret.read`.
    """
    return Operation(
        "GET",
        "/webhooks/secret",
        idempotent=True,
    )


def rotate_webhook_secret(
    body: models.RotateSecretRequest | None = None,
) -> Operation[models.WebhookSecret]:
    """
    Rotate the signing secret.

    The previous secret also signs for a while, so that receivers can change over.

    The API key needs the scope `admin`. Its audit records have the action `secret.rotated`.
    """
    return Operation(
        "POST",
        "/webhooks/secret",
        body=body,
    )


def get_whoami() -> Operation[models.Whoami]:
    """
    Read whose the API key of the request is.

    The organisation and the user that the calling key belongs to, the scopes of the key and when it expires, and
    the version of the gateway. A client can check a key with it, and a person which server and organisation they
    work with.

    The API key needs the scope `runs:read` or `operator`.
    """
    return Operation(
        "GET",
        "/whoami",
        idempotent=True,
    )


def list_workflows(
    *,
    archived: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    name: str | None = None,
) -> Pages[models.WorkflowPage, models.Workflow]:
    """
    List workflows.

    Newest first.

    The API key needs the scope `runs:read`.

    archived: True lists the archived records instead of the others.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    name: Only records with exactly this name; several may have it.
    """
    return Pages(
        "GET",
        "/workflows",
        query={"archived": archived, "limit": limit, "cursor": cursor, "name": name},
        idempotent=True,
        items="workflows",
    )


def create_workflow(
    body: models.NewWorkflow,
) -> Operation[models.Workflow]:
    """
    Create a workflow.

    A name for a series of versions. A run executes one version.

    The API key needs the scope `admin`. Its audit records have the action `workflow.created`.
    """
    return Operation(
        "POST",
        "/workflows",
        body=body,
    )


def delete_workflow(
    workflow_id: str,
) -> Operation[None]:
    """
    Delete a workflow with its newest version.

    It must have been archived for a minute. Its other versions, and the deployments that use it, must be deleted
    first, and no run in progress may use it.

    The API key needs the scope `admin`. Its audit records have the action `workflow.deleted`.

    workflow_id: The id of the workflow.
    """
    return Operation(
        "DELETE",
        path_of("/workflows/{workflow_id}", workflow_id=workflow_id),
    )


def get_workflow(
    workflow_id: str,
) -> Operation[models.Workflow]:
    """
    Read a workflow.

    The API key needs the scope `runs:read`.

    workflow_id: The id of the workflow.
    """
    return Operation(
        "GET",
        path_of("/workflows/{workflow_id}", workflow_id=workflow_id),
        idempotent=True,
    )


def change_workflow(
    workflow_id: str,
    body: models.WorkflowChange,
) -> Operation[models.Workflow]:
    """
    Rename, archive or restore a workflow.

    An archived workflow gets no new versions and no new deployments. One that a deployment uses cannot be
    archived.

    The API key needs the scope `admin`. Its audit records have the action `workflow.changed`.

    workflow_id: The id of the workflow.
    """
    return Operation(
        "PATCH",
        path_of("/workflows/{workflow_id}", workflow_id=workflow_id),
        body=body,
    )


def list_workflow_versions(
    workflow_id: str,
    *,
    archived: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Pages[models.WorkflowVersionPage, models.ListedWorkflowVersion]:
    """
    List the versions of a workflow.

    Newest first, without the workflows themselves. A page may have fewer items than the limit although others
    follow.

    The API key needs the scope `runs:read`.

    workflow_id: The id of the workflow.
    archived: True lists the archived records instead of the others.
    limit: The most items on a page.
    cursor: `next_cursor` of the previous page. Left out for the first page.
    """
    return Pages(
        "GET",
        path_of("/workflows/{workflow_id}/versions", workflow_id=workflow_id),
        query={"archived": archived, "limit": limit, "cursor": cursor},
        idempotent=True,
        items="versions",
    )


def create_workflow_version(
    workflow_id: str,
    body: models.NewWorkflowVersion,
) -> Operation[models.WorkflowVersion]:
    """
    Create a version of a workflow.

    The version gets the next number and never changes: create another version instead.

    The API key needs the scope `admin`. Its audit records have the action `workflow_version.created`.

    workflow_id: The id of the workflow.
    """
    return Operation(
        "POST",
        path_of("/workflows/{workflow_id}/versions", workflow_id=workflow_id),
        body=body,
    )


def delete_workflow_version(
    workflow_id: str,
    version_id: str,
) -> Operation[None]:
    """
    Delete a version of a workflow.

    It must have been archived for a minute. A version that a deployment or a run in progress uses, and the newest
    one, cannot be deleted. Runs of it keep showing its id; they cannot be run again, and their `workflow_api` is
    `gone` soon.

    The API key needs the scope `admin`. Its audit records have the action `workflow_version.deleted`.

    workflow_id: The id of the workflow.
    version_id: The id of the workflow version.
    """
    return Operation(
        "DELETE",
        path_of("/workflows/{workflow_id}/versions/{version_id}", workflow_id=workflow_id, version_id=version_id),
    )


def get_workflow_version(
    workflow_id: str,
    version_id: str,
) -> Operation[models.WorkflowVersion]:
    """
    Read a version of a workflow.

    The API key needs the scope `runs:read`.

    workflow_id: The id of the workflow.
    version_id: The id of the workflow version.
    """
    return Operation(
        "GET",
        path_of("/workflows/{workflow_id}/versions/{version_id}", workflow_id=workflow_id, version_id=version_id),
        idempotent=True,
    )


def change_workflow_version(
    workflow_id: str,
    version_id: str,
    body: models.WorkflowVersionChange,
) -> Operation[models.WorkflowVersion]:
    """
    Archive or restore a version of a workflow.

    A version that a deployment uses cannot be archived.

    The API key needs the scope `admin`. Its audit records have the action `workflow_version.changed`.

    workflow_id: The id of the workflow.
    version_id: The id of the workflow version.
    """
    return Operation(
        "PATCH",
        path_of("/workflows/{workflow_id}/versions/{version_id}", workflow_id=workflow_id, version_id=version_id),
        body=body,
    )


def get_workflow_version_code(
    workflow_id: str,
    version_id: str,
) -> Stream:
    """
    Download the code of a version.

    The archive that executors unpack: a tar, compressed with zstd.

    The API key needs the scope `runs:read`.

    workflow_id: The id of the workflow.
    version_id: The id of the workflow version.
    """
    return Stream(
        "GET",
        path_of("/workflows/{workflow_id}/versions/{version_id}/code", workflow_id=workflow_id, version_id=version_id),
        idempotent=True,
    )
