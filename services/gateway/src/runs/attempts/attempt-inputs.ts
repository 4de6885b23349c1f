import { namedFiles, readFileValue, inputTargets } from '@runledger/contracts/catalogue/workflow-inputs';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import { isUuid, type OrgId } from '@runledger/contracts/ids';
import { isJsonObject, parseJson, type JsonObject } from '@runledger/contracts/json';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Kit } from '../../kit.ts';
import type { Middleware } from 'koa';
import type { WorkflowVersion } from '@runledger/contracts/catalogue/records';
import { UnreadableSecret } from '@runledger/webhooks/secret-box';
import type { BlobStores } from '@runledger/blob-store/blob-stores';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/blob-store';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { Files } from '../../files/files.ts';
import { readParts } from '../../files/file-records.ts';
import { noSuchPath } from '../../door/nearest-name.ts';
import { Refused } from '../../door/refusal.ts';
import { sendFile } from '../../files/send-file.ts';
import type { OutputStore } from '../../files/output-store.ts';
import { namedAttempt, permittedRun, type AssignedJson, type LostCode } from './attempt-permission.ts';
import type { InputSecrets } from '../facts/input-secrets.ts';

/** `GET /executions/{org_id}/{run_id}/{attempt}/files/{id}`: the executor of an attempt fetches a file that the inputs of the run name. */
export const inputFileRoute =
  (kit: Kit, files: Files, store: OutputStore): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(kit.log, ctx, namedAttempt(ctx));
    const { id: named }: Record<string, unknown> = ctx['params'] ?? {};
    const id = String(named);
    if (!isUuid(id)) throw noSuchPath(ctx);
    const json = await inputsOf(kit.stores)(run);
    if (json.kind === 'lost') throw new Refused({ code: json.code, why: json.why });
    const isNamed = names(run.request.file_inputs ?? [], objectIn(json.text), id);
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

const objectIn = (text: Uint8Array): JsonObject => {
  const value = parseJson(Buffer.from(text).toString('utf8'));
  return isJsonObject(value) ? (value as JsonObject) : {};
};

export type FindVersion = (org_id: OrgId, id: string) => Promise<Pick<WorkflowVersion, 'inputs'> | undefined>;

/** `GET /executions/{org_id}/{run_id}/{attempt}/input-targets`: which nodes of the workflow take the inputs of the run. */
export const inputTargetsRoute =
  (log: EventLog, find: FindVersion): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(log, ctx, namedAttempt(ctx));
    const { workflow_version_id } = run.request;
    const version = await find(run.org_id, workflow_version_id);
    if (!version) {
      const why = `The workflow version ${workflow_version_id}, which this run was queued with, is deleted. Create another one, and queue the run again.`;
      throw new Refused({ code: 'assigned_version_deleted', why });
    }
    ctx.set('Cache-Control', 'no-store');
    ctx.body = inputTargets(version.inputs);
  };

/** `GET /executions/{org_id}/{run_id}/{attempt}/secret-inputs`: the values, for the executor of the attempt alone. */
export const secretInputsRoute =
  (kit: Kit, secrets: InputSecrets): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(kit.log, ctx, namedAttempt(ctx));
    const json = await inputsOf(kit.stores)(run);
    if (json.kind === 'lost') throw new Refused({ code: json.code, why: json.why });
    ctx.set('Cache-Control', 'no-store');
    try {
      ctx.body = secrets.open(run.org_id, run.request.secret_inputs ?? [], objectIn(json.text));
    } catch (error) {
      if (!(error instanceof UnreadableSecret)) throw error;
      kit.logger.error({ err: error, run_id: run.run_id }, 'the secret inputs of a run cannot be opened');
      throw new Refused({ code: 'secret_inputs_unreadable', why: LOST });
    }
  };

const LOST =
  'The secret inputs of this run cannot be opened: their key is no longer in RUNLEDGER_SECRET_KEYS, or they were changed. Queue it again, with its inputs.';

/** The workflow that the run was queued with. */
export const workflowOf =
  ({ workflows }: BlobStores) =>
  async ({ org_id, request }: ExecutingRun): Promise<AssignedJson> =>
    find(
      workflows,
      { org_id, sha256: request.workflow_sha256 },
      {
        what: `The workflow of version ${request.workflow_version_id}, which this run was queued with, is`,
        todo: 'Create another version with the same workflow, and queue the run again.',
        lost: 'assigned_workflow_lost',
        damaged: 'assigned_workflow_damaged',
      },
    );

/** The inputs that the run was queued with. */
export const inputsOf =
  ({ blobs }: BlobStores) =>
  async ({ org_id, request }: ExecutingRun): Promise<AssignedJson> => {
    const inputs = readInlineOrBlob(request.inputs, request.inputs_blob);
    if (inputs.kind === 'inline') return { kind: 'found', text: jsonBlob(inputs.value) };
    const { sha256 } = inputs.ref;
    return find(
      blobs,
      { org_id, sha256 },
      {
        what: 'The inputs of this run are',
        todo: 'Queue it again, with its inputs.',
        lost: 'assigned_inputs_lost',
        damaged: 'assigned_inputs_damaged',
      },
    );
  };

interface LostBlob {
  /** Begins the sentence about a blob that is lost or damaged. */
  readonly what: string;
  /** What to do then. */
  readonly todo: string;
  readonly lost: LostCode;
  readonly damaged: LostCode;
}

/** @throws {LogUnavailable} */
const find = async (
  store: BlobStore,
  { org_id, sha256 }: { readonly org_id: string; readonly sha256: string },
  { what, todo, lost, damaged }: LostBlob,
): Promise<AssignedJson> => {
  try {
    const text = await store.get(org_id, sha256);
    return text
      ? { kind: 'found', text }
      : { kind: 'lost', code: lost, why: `${what} no longer in the store. ${todo}` };
  } catch (error) {
    if (error instanceof BlobDamaged)
      return { kind: 'lost', code: damaged, why: `${what} damaged in the store. ${todo}` };
    throw error;
  }
};
