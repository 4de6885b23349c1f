import { readJsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobStore } from '@runledger/blob-store/store/blob-store';
import type { OrgId } from '@runledger/contracts/ids';
import { isJsonObject, type JsonObject } from '@runledger/contracts/json';
import type { InvalidRequest } from '../../http/refusal.ts';
import { fileInputsOf, withFiles } from './core/file-inputs.ts';
import type { NewRun, QueuedVersion, QueueDecision } from './core/queue-run.ts';
import type { KeepFiles } from './keep-files.ts';

export interface KeepRunFilesOptions {
  /** Of large inputs. */
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly keepFiles: KeepFiles;
}

/** Keeps the files that a new run names; refused when it cannot have them. @throws as `KeepFiles` does */
export type KeepRunFiles = (
  org_id: OrgId,
  run: NewRun,
  version: Pick<QueuedVersion, 'inputs'> | undefined,
) => Promise<QueueDecision<InvalidRequest>>;

export const keepRunFiles =
  ({ blobs, keepFiles }: KeepRunFilesOptions): KeepRunFiles =>
  async (org_id, run, version) => {
    const definitions = version?.inputs ?? [];
    const inputs = fileInputsOf(definitions).length === 0 ? undefined : await read(blobs, org_id, run.inputs);
    const names = inputs === undefined ? [] : fileInputsOf(definitions, inputs);
    if (inputs === undefined || names.length === 0) return { kind: 'queued', run };
    const kept = await keepFiles(org_id, inputs, names);
    if (kept.kind === 'invalid') return { kind: 'refused', why: kept };
    // The inputs of an earlier run name files already, and stay as they are.
    const same = run.inputs.kind === 'blob' ? run.inputs : { kind: 'inline' as const, value: kept.inputs };
    return { kind: 'queued', run: withFiles(run, names, same) };
  };

/** Undefined when the inputs of an earlier run are lost: the run is then refused for that. */
const read = async (
  blobs: KeepRunFilesOptions['blobs'],
  org_id: OrgId,
  inputs: NewRun['inputs'],
): Promise<JsonObject | undefined> => {
  if (inputs.kind === 'inline') return inputs.value;
  const found = await readJsonBlob(blobs, org_id, inputs.ref.sha256);
  return found.kind === 'found' && isJsonObject(found.value) ? found.value : undefined;
};
