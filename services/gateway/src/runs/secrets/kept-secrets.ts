import { readJsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobStore } from '@runledger/blob-store/store/blob-store';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { Run } from '@runledger/contracts/fold/run';
import { isJsonObject, type JsonObject } from '@runledger/contracts/json';
import { UnreadableSecret } from '@runledger/webhooks/signing/secret-box';
import type { InputSecrets } from './input-secrets.ts';

export interface KeptSecretsOptions {
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly secrets: Pick<InputSecrets, 'open'>;
}

/**
 * The inputs for a rerun. Secrets that they leave out are those of the run, since nobody is shown them. One that is lost is left out.
 * @throws {LogUnavailable}
 */
export type KeepSecrets = (run: Run, inputs: JsonObject) => Promise<JsonObject>;

export const keepSecrets =
  ({ blobs, secrets }: KeptSecretsOptions): KeepSecrets =>
  async ({ org_id, request }, inputs) => {
    const names = (request.secret_inputs ?? []).filter((name) => !Object.hasOwn(inputs, name));
    if (names.length === 0) return inputs;
    const kept = readInlineOrBlob(request.inputs, request.inputs_blob);
    const found = kept.kind === 'inline' ? kept : await readJsonBlob(blobs, org_id, kept.ref.sha256);
    if (!('value' in found) || !isJsonObject(found.value)) return inputs;
    try {
      return { ...inputs, ...secrets.open(org_id, names, found.value) };
    } catch (error) {
      if (error instanceof UnreadableSecret) return inputs;
      throw error;
    }
  };
