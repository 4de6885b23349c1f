import type { AssignmentDocument } from '@runledger/contracts/assignment-document';
import { HAS_WORKFLOW } from '@runledger/contracts/assignment-document';
import {
  inputTargets,
  namedFiles,
  readFileValue,
  type InputTarget,
} from '@runledger/contracts/catalogue/workflow-inputs';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/blob-store';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import { isUuid, type OrgId } from '@runledger/contracts/ids';
import { isJsonObject, parseJson, type JsonObject } from '@runledger/contracts/json';
import type { Kit } from '../../kit.ts';
import type { Middleware } from 'koa';
import { UnreadableSecret } from '@runledger/webhooks/secret-box';
import type { Files } from '../../files/files.ts';
import { sendModel } from '../../files/model-routes.ts';
import type { Models } from '../../files/models.ts';
import { readParts } from '../../files/file-records.ts';

import { noSuchPath, Refused } from '../../door/refusal.ts';
import { sendFile } from '../../files/send-file.ts';
import type { OutputStore } from '../../files/output-store.ts';
import type { Catalogue } from '../../records/catalogue/catalogue.ts';
import { sendCode } from '../../files/code-archives.ts';
import type { NumberedVersion } from '@runledger/contracts/catalogue/records';
import { namedAttempt, permittedRun } from './attempt-permission.ts';
import type { SecretRecords } from '../../records/catalogue/secret-records.ts';
import type { InputSecrets } from '../facts/input-secrets.ts';

/**
 * `GET /executions/{org_id}/{run_id}/{attempt}/assignment`: all that the executor needs before it begins, in one document. What the run
 * does not have is not looked for, nor a workflow that the executor says it has.
 */
export const assignmentRoute =
  (
    kit: Kit,
    secrets: InputSecrets,
    { deployments, versions, secrets: organisation }: AssignedRecords,
  ): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(kit.log, ctx, namedAttempt(ctx));
    const { org_id, request } = run;
    const {
      workflow_sha256,
      inputs_blob,
      secret_inputs = [],
      has_input_targets,
      has_log_masks,
      runner,
    } = request;
    const isCached = ctx.query[HAS_WORKFLOW] === workflow_sha256;
    // The executor does not need it again. The names of the secrets are in it.
    const isCode = runner.kind === 'code';
    const read = isCached && !isCode ? null : await readWorkflow(kit, workflowOf(run));
    const workflow = isCached ? null : read;
    const inputs = inputs_blob && (await readText(kit.stores.blobs, inputsOf(run, inputs_blob.sha256)));
    const document: AssignmentDocument = {
      workflow,
      inputs,
      secret_inputs:
        secret_inputs.length === 0
          ? {}
          : openSecrets(kit, secrets, run, inputs === null ? request.inputs : objectIn(inputs)),
      input_targets: has_input_targets === true ? await targetsOf(versions, run) : [],
      log_masks:
        has_log_masks === true
          ? ((await deployments.get(org_id, request.deployment_id))?.log_masks ?? null)
          : null,
      secrets:
        isCode && read !== null
          ? await openVariables(kit, organisation, { org_id, run_id: run.run_id }, read)
          : {},
    };
    ctx.set('Cache-Control', 'no-store');
    ctx.body = document;
  };

/** Of which an attempt gets something. */
export interface AssignedRecords extends Catalogue {
  readonly secrets: SecretRecords;
}

/** The values of the variables that the manifest names, without those whose secret does not exist. @throws {Refused} */
export const openVariables = async (
  { logger }: Kit,
  secrets: SecretRecords,
  { org_id, ...about }: { readonly org_id: OrgId; readonly run_id?: string },
  manifest: string,
): Promise<Record<string, string>> => {
  const named = parseJson(manifest);
  const variables = isJsonObject(named) && isJsonObject(named['secrets']) ? named['secrets'] : {};
  const open = async ([variable, name]: [string, unknown]): Promise<[string, string][]> => {
    try {
      const value = await secrets.open(org_id, String(name));
      return value === undefined ? [] : [[variable, value]];
    } catch (error) {
      if (!(error instanceof UnreadableSecret)) throw error;
      logger.error({ err: error, ...about, secret: name }, 'a secret of an organisation cannot be opened');
      throw new Refused({
        code: 'secrets_unreadable',
        why: `The secret ${String(name)} cannot be opened: its key is no longer in RUNLEDGER_SECRET_KEYS, or it was changed. Set it again with: runledger secrets set ${String(name)}`,
      });
    }
  };
  return Object.fromEntries((await Promise.all(Object.entries(variables).map(open))).flat());
};

const targetsOf = async (versions: Catalogue['versions'], run: ExecutingRun): Promise<InputTarget[]> =>
  inputTargets((await versionOf(versions, run)).inputs);

/** @throws {Refused} */
const versionOf = async (
  versions: Catalogue['versions'],
  { org_id, request: { workflow_version_id } }: ExecutingRun,
): Promise<NumberedVersion> => {
  const version = await versions.get(org_id, workflow_version_id);
  if (version) return version;
  const why = `The workflow version ${workflow_version_id}, which this run was queued with, is deleted. Create another one, and queue the run again.`;
  throw new Refused({ code: 'assigned_version_deleted', why });
};

/** `GET /executions/{org_id}/{run_id}/{attempt}/code`: the archive of the version that the run was queued with. */
export const codeRoute =
  (kit: Kit, { versions }: Catalogue): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(kit.log, ctx, namedAttempt(ctx));
    const { code, ...version } = await versionOf(versions, run);
    if (!code) throw noSuchPath(ctx);
    await sendCode(kit, ctx, { ...version, code });
  };

/** `GET /executions/{org_id}/{run_id}/{attempt}/models/{sha256}`: weights that the version names and the gateway keeps. */
export const modelRoute =
  (kit: Kit, { versions }: Catalogue, models: Models): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(kit.log, ctx, namedAttempt(ctx));
    const { sha256 }: Record<string, unknown> = ctx['params'] ?? {};
    await sendModel(kit, models, ctx, await versionOf(versions, run), String(sha256));
  };

const openSecrets = (
  { logger }: Kit,
  secrets: InputSecrets,
  { org_id, run_id, request }: ExecutingRun,
  inputs: JsonObject | null,
): Record<string, string> => {
  try {
    return secrets.open(org_id, request.secret_inputs ?? [], inputs ?? {});
  } catch (error) {
    if (!(error instanceof UnreadableSecret)) throw error;
    logger.error({ err: error, run_id }, 'the secret inputs of a run cannot be opened');
    throw new Refused({ code: 'secret_inputs_unreadable', why: LOST });
  }
};

const LOST =
  'The secret inputs of this run cannot be opened: their key is no longer in RUNLEDGER_SECRET_KEYS, or they were changed. Queue it again, with its inputs.';

/** `GET /executions/{org_id}/{run_id}/{attempt}/files/{id}`: the executor of an attempt fetches a file that the inputs of the run name. */
export const inputFileRoute =
  (kit: Kit, files: Files, store: OutputStore): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(kit.log, ctx, namedAttempt(ctx));
    const { id: named }: Record<string, unknown> = ctx['params'] ?? {};
    const id = String(named);
    if (!isUuid(id)) throw noSuchPath(ctx);
    const { file_inputs = [], inputs, inputs_blob } = run.request;
    const given = readInlineOrBlob(inputs, inputs_blob);
    const all =
      given.kind === 'inline'
        ? given.value
        : objectIn(await readText(kit.stores.blobs, inputsOf(run, given.ref.sha256)));
    const isNamed = names(file_inputs, all, id);
    const file = isNamed ? await files.find(run.org_id, id) : undefined;
    if (!file) {
      const why = `The file ${id} is gone: it was deleted or has expired. Upload it, and queue the run again.`;
      throw new Refused({
        code: 'input_file_gone',
        why: isNamed ? why : `The inputs of this run do not name the file ${id}.`,
      });
    }
    const { parts, ...described } = file.value;
    const read = readParts.bind(undefined, store, parts);
    await sendFile(ctx, { file: described, cacheControl: 'no-store', read }, kit.logger);
  };

/** Whether one of these inputs is the file. */
const names = (
  fileInputs: readonly string[],
  inputs: Readonly<Record<string, unknown>>,
  id: string,
): boolean =>
  fileInputs
    .flatMap((name) => namedFiles(inputs[name]))
    .some((named) => {
      const value = readFileValue(named);
      return value?.kind === 'id' && value.id === id;
    });

const objectIn = (text: string): JsonObject => {
  const value = parseJson(text);
  return isJsonObject(value) ? (value as JsonObject) : {};
};

/** A text that the run was queued with, and what is said when nobody has it any more. */
interface AssignedText {
  readonly org_id: string;
  readonly sha256: string;
  /** Begins the sentence. */
  readonly what: string;
  readonly todo: string;
  readonly lost: 'assigned_workflow_lost' | 'assigned_inputs_lost';
  readonly damaged: 'assigned_workflow_damaged' | 'assigned_inputs_damaged';
}

const workflowOf = ({ org_id, request }: ExecutingRun): WorkflowText => ({
  org_id,
  sha256: request.workflow_sha256,
  version: request.workflow_version_id,
});

interface WorkflowText {
  readonly org_id: string;
  readonly sha256: string;
  /** Its id. */
  readonly version: string;
}

/** The workflow of a version, as it is stored. @throws {Refused} when it is lost @throws {LogUnavailable} */
export const readWorkflow = (
  { stores }: Pick<Kit, 'stores'>,
  { version, ...stored }: WorkflowText,
): Promise<string> =>
  readText(stores.workflows, {
    ...stored,
    what: `The workflow of version ${version} is`,
    todo: 'Create another version with the same workflow, and queue the run again.',
    lost: 'assigned_workflow_lost',
    damaged: 'assigned_workflow_damaged',
  });

const inputsOf = ({ org_id }: ExecutingRun, sha256: string): AssignedText => ({
  org_id,
  sha256,
  what: 'The inputs of this run are',
  todo: 'Queue it again, with its inputs.',
  lost: 'assigned_inputs_lost',
  damaged: 'assigned_inputs_damaged',
});

/** @throws {Refused} @throws {LogUnavailable} */
const readText = async (
  store: BlobStore,
  { org_id, sha256, what, todo, lost, damaged }: AssignedText,
): Promise<string> => {
  try {
    const text = await store.get(org_id, sha256);
    if (text) return Buffer.from(text).toString('utf8');
  } catch (error) {
    if (!(error instanceof BlobDamaged)) throw error;
    throw new Refused({ code: damaged, why: `${what} damaged in the store. ${todo}` });
  }
  throw new Refused({ code: lost, why: `${what} no longer in the store. ${todo}` });
};
