import { RecordsQuery } from '@runledger/contracts/http/fields';
import {
  type ListedVersion,
  NewWorkflowVersion,
  WorkflowVersion,
  WorkflowVersionChange,
  WorkflowVersionPage,
  WorkflowVersionPath,
  NewInputDefinition,
  WorkflowPath,
} from '@runledger/contracts/http/catalogue/workflows';
import type { NumberedVersion } from '@runledger/contracts/catalogue/records';
import { jsonBytes, type JsonValue } from '@runledger/contracts/json';
import type { OrgId } from '@runledger/contracts/ids';
import type { Static } from 'typebox';
import { EXPORT_API, isEditorWorkflow } from '@runledger/contracts/catalogue/comfyui-workflow';
import { MAX_WORKFLOW_BYTES } from '@runledger/contracts/limits';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { changeUnlessUsed } from './catalogue.ts';
import { manifestProblems, type CodeArchives } from './version-code.ts';
import type { WorkflowVersions } from './workflow-versions.ts';
import { inputDefinitions, definitionProblems } from './input-definitions.decide.ts';
import { operation, route, type Route, type ExtraCheck } from '../../door/operation.ts';
import { found, Refused, invalid, wrongValue, type Conflict, type Invalid } from '../../door/refusal.ts';
import { cursorAt } from '../../door/pagination.ts';
import {
  changed,
  refusedBy,
  deleted,
  newIdentity,
  tooBusy,
  withinRecordQuota,
  withinWorkflowQuota,
  checkNumberCursor,
  recordSpan,
  type CatalogueOperations,
} from './record-answers.ts';
import { nestingProblems } from '../../door/checked-request.ts';
import { nearestName } from '../../door/unknown-names.ts';
import { isRecord, own } from '../../door/compiled.ts';
import { EXTRA } from '../../door/words.decide.ts';
import type { Kit } from '../../kit.ts';

const tag = 'Catalogue';
const path = '/workflows/{workflow_id}/versions';

const createWorkflowVersion = operation({
  id: 'createWorkflowVersion',
  method: 'POST',
  path,
  tag,
  summary: 'Create a version of a workflow',
  description: 'The version gets the next number and never changes: create another version instead.',
  scope: 'admin',
  audit: { action: 'workflow_version.created' },
  request: { path: WorkflowPath, body: NewWorkflowVersion },
  response: {
    status: 201,
    description: 'The version.',
    body: WorkflowVersion,
    links: {
      to: ['getWorkflowVersion', 'changeWorkflowVersion', 'deleteWorkflowVersion'],
      parameters: { workflow_id: '/workflow_id', version_id: '/id' },
    },
  },
  refusals: [404, 409, 507],
});

const listWorkflowVersions = operation({
  id: 'listWorkflowVersions',
  method: 'GET',
  path,
  tag,
  summary: 'List the versions of a workflow',
  description:
    'Newest first, without the workflows themselves. A page may have fewer items than the limit although others follow.',
  scope: 'runs:read',
  request: { path: WorkflowPath, query: RecordsQuery },
  response: { status: 200, description: 'A page of versions.', body: WorkflowVersionPage },
  refusals: [404],
});

const getWorkflowVersion = operation({
  id: 'getWorkflowVersion',
  method: 'GET',
  path: `${path}/{version_id}`,
  tag,
  summary: 'Read a version of a workflow',
  scope: 'runs:read',
  request: { path: WorkflowVersionPath },
  response: { status: 200, description: 'The version, with the workflow.', body: WorkflowVersion },
  refusals: [404, 410],
});

const getWorkflowVersionCode = operation({
  id: 'getWorkflowVersionCode',
  method: 'GET',
  path: `${path}/{version_id}/code`,
  tag,
  summary: 'Download the code of a version',
  description: 'The archive that executors unpack: a tar, compressed with zstd.',
  scope: 'runs:read',
  request: { path: WorkflowVersionPath },
  response: { status: 200, description: 'The archive.', contentTypes: ['application/zstd'] },
  refusals: [404, 410],
});

const changeWorkflowVersion = operation({
  id: 'changeWorkflowVersion',
  method: 'PATCH',
  path: `${path}/{version_id}`,
  tag,
  summary: 'Archive or restore a version of a workflow',
  description: 'A version that a deployment uses cannot be archived.',
  scope: 'admin',
  audit: { action: 'workflow_version.changed', target: 'version_id' },
  request: { path: WorkflowVersionPath, body: WorkflowVersionChange },
  response: { status: 200, description: 'The version as it is now.', body: WorkflowVersion },
  refusals: [404, 409, 410],
});

const deleteWorkflowVersion = operation({
  id: 'deleteWorkflowVersion',
  method: 'DELETE',
  path: `${path}/{version_id}`,
  tag,
  summary: 'Delete a version of a workflow',
  description:
    'It must have been archived for a minute. A version that a deployment or a run in progress uses, and the newest one, cannot be deleted. Runs of it keep showing its id; they cannot be run again, and their `workflow_api` is `gone` soon.',
  scope: 'admin',
  audit: { action: 'workflow_version.deleted', target: 'version_id' },
  request: { path: WorkflowVersionPath },
  response: { status: 204, description: 'The version is deleted.' },
  refusals: [404, 409],
});

export const workflowVersionRoutes = (
  { now }: Kit,
  { records: { workflows, versions, deployments }, deletion, quotas }: CatalogueOperations,
  archives: CodeArchives,
): Route[] => {
  const workflowOf = async (org_id: OrgId, { workflow_id }: { readonly workflow_id: string }) =>
    found(await workflows.get(org_id, workflow_id), 'Workflow');
  return [
    route(
      createWorkflowVersion,
      async ({ path, body }, { org_id, user_id }) => {
        const workflow = await workflowOf(org_id, path);
        if (workflow.archived) throw new Refused(WORKFLOW_ARCHIVED);
        const { code, message, commit } = body;
        const version = {
          ...newIdentity(org_id, now),
          workflow_id: workflow.id,
          workflow: body.workflow,
          inputs: inputDefinitions(body.inputs),
          ...(typeof message === 'string' ? { message } : {}),
          ...(typeof commit === 'string' ? { commit } : {}),
          created_by: user_id,
        };
        const archive =
          typeof code === 'string' ? await archives.find(org_id, { ...version, code }) : undefined;
        const bytes = jsonBytes(version.workflow) + jsonBytes(version.inputs) + (archive?.bytes ?? 0);
        const added = await withinRecordQuota(quotas, org_id, 1, () =>
          withinWorkflowQuota(quotas, org_id, bytes, async () =>
            versions.add(
              archive ? { ...version, ...modelsOf(archive), code: await archive.keep() } : version,
            ),
          ),
        );
        if (added.kind === 'too_busy') throw tooBusy('Workflow version');
        return { ...shown(added.version), workflow: body.workflow };
      },
      checkNewVersion,
    ),
    route(
      listWorkflowVersions,
      async ({ path, query }, { org_id }) => {
        const { id } = await workflowOf(org_id, path);
        const { after: behind, ...span } = recordSpan(query);
        const below = behind === undefined ? {} : { below: Number(behind) };
        const page = await versions.page(org_id, id, { ...span, ...below });
        return {
          versions: page.versions.map(shown),
          next_cursor: cursorAt(page.below?.toString()),
        };
      },
      checkNumberCursor,
    ),
    route(getWorkflowVersion, async ({ path }, { org_id }) => {
      const version = await versionAt(versions, org_id, path);
      return { ...shown(version), workflow: await workflowIn(versions, version) };
    }),
    route(getWorkflowVersionCode, async ({ path }, { org_id }, ctx) => {
      const { code, ...version } = await versionAt(versions, org_id, path);
      if (!code) throw new Refused({ code: 'version_has_no_code', why: NO_CODE });
      await archives.send(ctx, { ...version, code });
    }),
    route(changeWorkflowVersion, async ({ path, body }, { org_id }) => {
      const version = await versionAt(versions, org_id, path);
      const workflow = await workflowIn(versions, version);
      const result = await versions.change(version, (entry) =>
        changeUnlessUsed(deployments, 'workflow_version_id', entry, {
          ...entry,
          archived: body.archived ?? entry.archived,
        }),
      );
      return { ...shown(changed(result, 'Workflow version', refusedBy)), workflow };
    }),
    route(deleteWorkflowVersion, async ({ path }, { org_id }) =>
      deleted(await deletion.version(await versionAt(versions, org_id, path)), 'Workflow version'),
    ),
  ];
};

const modelsOf = ({ models }: { readonly models: string[] }): Pick<NumberedVersion, 'models'> =>
  models.length === 0 ? {} : { models };

/** As clients see it: without the pieces of its code, and with its models in its manifest only. */
const shown = ({
  models: _models,
  code,
  message,
  commit,
  created_by,
  ...version
}: NumberedVersion): ListedVersion => ({
  ...version,
  code: code ? { sha256: code.sha256, bytes: code.bytes } : null,
  message: message ?? null,
  commit: commit ?? null,
  created_by: created_by ?? null,
});

const NO_CODE = 'The version has a workflow only, and no code: read the workflow';

const WORKFLOW_ARCHIVED: Conflict = {
  code: 'workflow_archived',
  why: 'The workflow is archived, so it accepts no new versions: restore it first',
};

const versionAt = async (
  versions: WorkflowVersions,
  org_id: OrgId,
  { workflow_id, version_id }: Static<typeof WorkflowVersionPath>,
): Promise<NumberedVersion> => {
  const version = await versions.get(org_id, version_id);
  return found(version?.workflow_id === workflow_id ? version : undefined, 'Workflow version');
};

const workflowIn = async (versions: WorkflowVersions, version: NumberedVersion): Promise<JsonValue> => {
  const workflow = await versions.workflowOf(version);
  if (workflow !== undefined) return workflow;
  throw new Refused({
    code: 'workflow_lost',
    why: `The workflow of version ${version.id} is lost or damaged: create another version with the same workflow, which also repairs this one`,
  });
};

const MAX_INPUTS_BYTES = 64 * 1024;

/** What is wrong with a new workflow version beyond the types of its members. Refuses a version that is too large. */
export const checkNewVersion: ExtraCheck = ({ body }) => {
  const workflow = own(body, 'workflow');
  const inputs = own(body, 'inputs');
  const deep = [
    ...nestingProblems(workflow, ['body', 'workflow']),
    ...nestingProblems(inputs, ['body', 'inputs']),
  ];
  if (deep.length > 0) return deep;
  refuseLarger(workflow, MAX_WORKFLOW_BYTES, 'The workflow');
  refuseLarger(inputs, MAX_INPUTS_BYTES, 'The definitions of all inputs together');
  return [
    ...(typeof own(body, 'code') === 'string' ? manifestProblems(workflow) : formatProblems(workflow)),
    ...unknownMembersOf(inputs),
    ...inputsProblems(inputs, workflow),
  ];
};

const formatProblems = (workflow: JsonValue | undefined): Invalid[] =>
  isEditorWorkflow(workflow) ? [wrongValue(['body', 'workflow', 'nodes'], EXPORT_API)] : [];

const KNOWN = Object.keys(NewInputDefinition.properties);
/** Of other systems, by which these are known. */
const ALSO_CALLED: Readonly<Record<string, string>> = { min: 'minimum', max: 'maximum' };

/** A bound that nobody reads would let every value through. */
const unknownMembersOf = (inputs: JsonValue | undefined): Invalid[] =>
  (Array.isArray(inputs) ? inputs : []).flatMap((definition: unknown, index) =>
    isRecord(definition)
      ? Object.keys(definition)
          .filter((member) => !KNOWN.includes(member))
          .map((member) => invalid(['body', 'inputs', index, member], EXTRA.type, unknownMember(member)))
      : [],
  );

const unknownMember = (member: string): string => {
  const nearest = nearestName(member, [...KNOWN, ...Object.keys(ALSO_CALLED)]);
  const meant = nearest === undefined ? undefined : (ALSO_CALLED[nearest] ?? nearest);
  return meant === undefined
    ? `${EXTRA.msg}. A definition has ${KNOWN.join(', ')}`
    : `${EXTRA.msg}; did you mean ${meant}?`;
};

const refuseLarger = (value: JsonValue | undefined, most: number, what: string): void => {
  if (value === undefined || jsonBytes(value) <= most) return;
  throw new Refused({ code: 'workflow_too_large', why: `${what} may have at most ${most} bytes as JSON` });
};

const definition = compiledSchema(NewInputDefinition);

/** Problems of the definitions that fit their schema. The schema reports the others. */
const inputsProblems = (inputs: JsonValue | undefined, workflow: JsonValue | undefined): Invalid[] => {
  const fitting = (Array.isArray(inputs) ? inputs : []).flatMap((value: unknown, index) =>
    definition.Check(value) ? [[index, value] as const] : [],
  );
  return definitionProblems(fitting, workflow).map(({ index, member, why }) =>
    wrongValue(['body', 'inputs', index, member], why),
  );
};
