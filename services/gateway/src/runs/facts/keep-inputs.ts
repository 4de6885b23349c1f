import { jsonBlob } from '@runledger/blob-store/json-blob';
import { BlobDamaged, BlobStoreFull, type BlobStore } from '@runledger/blob-store/store/blob-store';
import type { InlineOrBlob } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';
import type { JsonObject } from '@runledger/contracts/json';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { BlobQuota } from '../../records/quotas/blob-quota.ts';
import type { KeptInputs } from './queue-run.decide.ts';

/** What one request may store. */
interface InputBounds {
  readonly org_id: OrgId;
  /** The largest inputs, as JSON, that the first fact of the run has room for. */
  readonly maxInlineBytes: number;
  /** The most bytes that inputs may have as JSON. */
  readonly maxBytes: number;
}

type Kept =
  /** `blob`: the bytes of inputs that became a blob. */
  | { readonly kind: 'kept'; readonly inputs: KeptInputs; readonly blob?: Uint8Array }
  /** The blob of the earlier run has expired, or is damaged. */
  | { readonly kind: 'inputs_gone' }
  | { readonly kind: 'inputs_store_full' }
  /** With the defaults of its version they are too large. */
  | { readonly kind: 'inputs_too_large'; readonly limit: number }
  /** The organisation would exceed its quota. */
  | { readonly kind: 'inputs_over_quota' };

/**
 * Small inputs stay in the first fact of a run. Larger ones become a blob, which is stored before the fact; a blob whose fact is
 * never stored is erased after an hour.
 * @throws {LogUnavailable}
 */
export const keepInputs = async (
  logger: Logger,
  blobs: BlobStore,
  quota: BlobQuota,
  inputs: InlineOrBlob<JsonObject>,
  { org_id, maxInlineBytes, maxBytes }: InputBounds,
): Promise<Kept> => {
  try {
    const bytes =
      inputs.kind === 'blob' ? await blobs.get(org_id, inputs.ref.sha256) : jsonBlob(inputs.value);
    if (!bytes) return { kind: 'inputs_gone' };
    if (inputs.kind === 'inline') {
      if (bytes.byteLength > maxBytes) return { kind: 'inputs_too_large', limit: maxBytes };
      if (bytes.byteLength <= maxInlineBytes)
        return { kind: 'kept', inputs: { inputs: inputs.value, inputs_blob: null } };
    }
    const ref = await quota.put(org_id, bytes);
    return ref === 'over_quota'
      ? { kind: 'inputs_over_quota' }
      : { kind: 'kept', inputs: { inputs: null, inputs_blob: ref }, blob: bytes };
  } catch (error) {
    if (error instanceof BlobStoreFull) {
      logger.error({ err: error, org_id }, 'the inputs of a run do not fit into their store');
      return { kind: 'inputs_store_full' };
    }
    if (!(error instanceof BlobDamaged)) throw error;
    logger.error({ err: error, org_id }, 'the inputs of a run that is run again are damaged');
    return { kind: 'inputs_gone' };
  }
};
