import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/blob-store';
import type { Run } from '@runledger/contracts/fold/run';
import { parseJson } from '@runledger/contracts/json';
import {
  LOG_HEAD_CHUNKS,
  LOG_TAIL_CHUNKS,
  boundedLogs,
  RetainedLogs,
  MAX_LOG_JSON_BYTES,
} from '@runledger/contracts/run-logs';
import { MAX_LOGS_BYTES } from '@runledger/contracts/limits';
import type { TSchema, Static } from 'typebox';
import { Value } from 'typebox/value';
import { countLogSlots, dropOldLogs, logsFill } from '@runledger/event-log/streams/logs';
import type { Kit } from '../kit.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Compressed JSON that matches the schema; undefined for anything else. */
export const readCompressed = async <Schema extends TSchema>(
  schema: Schema,
  bytes: Uint8Array,
): Promise<Static<Schema> | undefined> => {
  const json = await decompress(bytes, { maxOutputLength: MAX_LOG_JSON_BYTES }).catch(() => undefined);
  const value = json && parseJson(json.toString('utf8'));
  return Value.Check(schema, value) ? value : undefined;
};

/** As one blob. Text that can hardly be compressed has less room: of its middle, more is left out. */
export const compressLogs = async (logs: RetainedLogs): Promise<Uint8Array> => {
  let [head, tail] = [LOG_HEAD_CHUNKS, LOG_TAIL_CHUNKS];
  for (;;) {
    const bytes = await compress(JSON.stringify(boundedLogs(logs, head, tail)));
    if (bytes.byteLength <= MAX_LOGS_BYTES) return bytes;
    [head, tail] = [head - SMALLER_BY, tail - SMALLER_BY];
  }
};

const SMALLER_BY = 8;

export type FoundLogs =
  | { readonly kind: 'found'; readonly logs: RetainedLogs }
  | { readonly kind: 'none' | 'gone' | 'damaged' };

/** The logs that are kept with a run. @throws {LogUnavailable} */
export const readStoredLogs = async (blobs: BlobStore, { org_id, log_blob }: Run): Promise<FoundLogs> => {
  if (!log_blob) return { kind: 'none' };
  try {
    const bytes = await blobs.get(org_id, log_blob.sha256);
    if (!bytes) return { kind: 'gone' };
    const logs = await readCompressed(RetainedLogs, bytes);
    return logs ? { kind: 'found', logs } : { kind: 'damaged' };
  } catch (error) {
    if (error instanceof BlobDamaged) return { kind: 'damaged' };
    throw error;
  }
};

/** The broker drops the oldest logs of anybody when LOGS is full. What is written until the next look must fit. */
const FULL = 0.75;
const ROOM = 0.625;

/** When LOGS gets full, the oldest logs go of the organisations that have most. @throws {LogUnavailable} */
export const shareLogs = async ({ log, logger }: Kit): Promise<void> => {
  const fill = await logsFill(log);
  if (fill < FULL) return;
  const slots = await countLogSlots(log);
  const all = [...slots.values()];
  const sum = all.reduce((total, each) => total + each, 0);
  // Slots are of about the same size, except the last one of each attempt.
  const part = fairPart(all, (sum * ROOM) / fill);
  if (part === undefined) return;
  for (const [org_id, used] of slots) {
    if (used <= part) continue;
    logger.warn({ org_id, dropped: used - part, kept: part }, 'LOGS is nearly full; old logs are dropped');
    await dropOldLogs(log, org_id, part);
  }
};

/**
 * The largest part that each may have so that all together fit into the room: whoever has less keeps all of it. Undefined when
 * everything fits.
 */
export const fairPart = (amounts: readonly number[], room: number): number | undefined => {
  let left = room;
  for (const [index, amount] of amounts.toSorted((a, b) => a - b).entries()) {
    const part = Math.floor(left / (amounts.length - index));
    if (amount > part) return part;
    left -= amount;
  }
  return undefined;
};
