import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createdAt } from '@runledger/event-log/messages/stream-identity';
import type { Entry } from '@runledger/event-log/streams/bucket';
import { byRun } from './erase-lines.ts';
import {
  erasureKey,
  ERASURES,
  logName,
  positionKey,
  type ArchivedErasure,
  type ArchivePosition,
  type ArchiveRecords,
} from '../store/archive-records.ts';
import { eraseFromSegments, type RewriteOptions } from './rewrite-segments.ts';

export interface EraseArchivedOptions extends RewriteOptions {
  readonly log: EventLog;
  readonly records: ArchiveRecords;
}

/** Notes that a run, or its outputs, were deleted by the fact at this sequence: from then on nobody reads it in the archive. */
export type NoteErasure = (key: RunKey, what: ArchivedErasure['what'], sequence: number) => Promise<void>;

/** It is stored when this resolves, and done in the next round. @throws {LogUnavailable} */
export const noteErasure =
  ({ log, records }: Pick<EraseArchivedOptions, 'log' | 'records'>): NoteErasure =>
  async ({ org_id, run_id }, what, sequence) => {
    const created = await createdAt(log, 'RUNS');
    const position = (await records.positions.get(positionKey(created)))?.value;
    const name = logName(position ?? { log_created: created, branch: 0 });
    const erasure = { org_id, run_id, what, log: name, sequence, swept_to: null };
    await records.erasures.create(erasureKey(erasure), erasure);
  };

/** Of one organisation in a step. */
const AT_ONCE = 1_000;

/**
 * Takes what was deleted out of the segments. What is archived later is looked at again when it is. @throws {LogUnavailable}
 * @throws {ArchiveUnavailable}
 */
export const eraseArchived = async (options: EraseArchivedOptions, stop: AbortSignal): Promise<void> => {
  const { log, records } = options;
  const position = (await records.positions.get(positionKey(await createdAt(log, 'RUNS'))))?.value;
  let together: Entry<ArchivedErasure>[] = [];
  for (let behind = 0; !stop.aborted;) {
    const next = await records.erasures.next(ERASURES, behind);
    const isOther = next?.value.org_id !== together[0]?.value.org_id;
    if (together.length > 0 && (isOther || together.length >= AT_ONCE)) {
      await eraseTogether(options, together, position);
      together = [];
    }
    if (!next) return;
    behind = next.revision;
    if (isDue(next.value, position)) together.push(next);
  }
};

/** After a look at the segments up to this position nothing changes until there are more. */
const isDue = ({ swept_to }: ArchivedErasure, position: ArchivePosition | undefined): boolean =>
  swept_to === null || (position !== undefined && position.sequence > swept_to);

const eraseTogether = async (
  options: EraseArchivedOptions,
  together: readonly Entry<ArchivedErasure>[],
  position: ArchivePosition | undefined,
): Promise<void> => {
  const { erasures } = options.records;
  const org_id = together[0]?.value.org_id;
  if (org_id === undefined) return;
  await eraseFromSegments(options, org_id, byRun(together.map(({ value }) => value)));
  const swept_to = position?.sequence ?? 0;
  for (const { key, value, revision } of together) {
    const isOfThisLog = position === undefined || value.log === logName(position);
    if (isOfThisLog && swept_to < value.sequence)
      await erasures.update(key, { ...value, swept_to }, revision);
    else await erasures.eraseAt(key, revision);
  }
};
