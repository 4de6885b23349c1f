import type { BlobStream } from '@runledger/contracts/blobs';
import { newUuid } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { publishUntilAcknowledged, LogFull } from '@runledger/event-log/append/publish';
import { BlobStoreFull } from '../store/blob-store.ts';

export interface Copy {
  readonly stream: BlobStream;
  readonly subject: string;
  readonly data: Uint8Array;
  /** The sequence of the copy that it replaces; 0 for none. */
  readonly replaces: number;
}

/**
 * Stores a copy of a blob. False when another copy was stored first; it may be that of an earlier try, which does no harm.
 * @throws {BlobStoreFull} @throws {LogUnavailable}
 */
export const storeCopy = async (log: EventLog, copy: Copy): Promise<boolean> => {
  const { stream, subject, data, replaces } = copy;
  const fence = { filter: subject, sequence: replaces };
  try {
    const stored = await publishUntilAcknowledged(log, { stream, subject, data, id: newUuid(), fence });
    return stored.kind !== 'conflict';
  } catch (error) {
    if (!(error instanceof LogFull)) throw error;
    throw new BlobStoreFull(`The store ${stream} is full, and ${WHAT_TO_DO[stream]}.`, { cause: error });
  }
};

const WHAT_TO_DO: Readonly<Record<BlobStream, string>> = {
  WORKFLOWS: 'its workflows stay: raise workflowsMaxBytes of the log settings, and provision again',
  BLOBS:
    'accepts blobs again when old ones expire: wait, or raise blobsMaxBytes of the log settings and provision again',
};
