import type { Entry } from '@runledger/event-log/streams/bucket';
import type { StoredFile, Upload } from './file-records.ts';

/** From the last bytes that arrived. */
export const UPLOAD_KEPT_MS = 24 * 3_600_000;

export interface FileTimes {
  /** How long a file is kept from its last use on. */
  readonly fileKeptMs: number;
  /** How long the output store keeps a part. */
  readonly partKeptMs: number;
}

/** Milliseconds since 1970. */
export const fileExpiresAt = (
  { value, changedAt }: Pick<Entry<StoredFile>, 'value' | 'changedAt'>,
  { fileKeptMs, partKeptMs }: FileTimes,
): number => Math.min(changedAt.getTime() + fileKeptMs, Date.parse(value.stored_at) + partKeptMs);

export const uploadExpiresAt = ({ changedAt }: Pick<Entry<Upload>, 'changedAt'>): number =>
  changedAt.getTime() + UPLOAD_KEPT_MS;
