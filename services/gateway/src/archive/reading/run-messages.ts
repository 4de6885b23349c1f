import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { parseLifecycleSubject, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createdAt } from '@runledger/event-log/messages/stream-identity';
import { readAllOfRun, type MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { messageOfLine, type SegmentLine } from '../segment/segment-line.ts';
import {
  erasureKey,
  logName,
  positionKey,
  type ArchivedErasure,
  type ArchiveRecords,
} from '../store/archive-records.ts';
import type { ArchivedPart, ArchivedSegments } from './archived-segments.ts';

/** All that the log and the archive have of a run. */
interface ReadMessages extends MessagesOfRun {
  /** They are of another log, in whose positions nobody can name a moment of this one. */
  readonly isOfOtherLog: boolean;
  /** What segments have of it. */
  readonly archived: readonly ArchivedPart[];
}

/**
 * Undefined for more messages than a run can have. A run that is older than its organisation keeps runs, or whose deletion the log does
 * not have any more, has none. @throws {LogUnavailable} @throws {ArchiveUnavailable}
 */
export type ReadRunMessages = (key: RunKey) => Promise<ReadMessages | undefined>;

export interface RunMessagesOptions {
  readonly log: EventLog;
  /** Undefined where nothing is archived. */
  readonly archive:
    | {
        readonly segments: Pick<ArchivedSegments, 'find'>;
        readonly records: Pick<ArchiveRecords, 'positions' | 'erasures'>;
        /** Runs that were created before are not kept: milliseconds since 1970. */
        readonly keptSince: (org_id: RunKey['org_id']) => Promise<number>;
      }
    | undefined;
}

/** A run has some hundreds of messages at most: more are forged. */
const MOST = 2_500;

export const runMessages =
  ({ log, archive }: RunMessagesOptions): ReadRunMessages =>
  async (key) => {
    const stored = await readAllOfRun(log, key);
    if (!stored) return undefined;
    const only = { ...stored, isOfOtherLog: false, archived: [] };
    if (!archive || beginsWithRun(stored)) return only;
    const erasure = await archive.records.erasures.get(erasureKey({ ...key, what: 'run' }));
    const found = behindErasure(await archive.segments.find(key), erasure?.value);
    if (found.length === 0) return only;
    const created = await createdAt(log, 'RUNS');
    const position = await archive.records.positions.get(positionKey(created));
    const name = position && logName(position.value);
    const merged = merge(key, stored, found, name);
    if (merged.life.length + merged.webhook.length > MOST) return undefined;
    const isForgotten = stored.life.length + stored.webhook.length === 0;
    if (isForgotten && firstTime(merged) < (await archive.keptSince(key.org_id))) return only;
    return merged;
  };

/** Of a run that was deleted, what segments have before that is about to be erased. */
const behindErasure = (
  found: readonly ArchivedPart[],
  erasure: ArchivedErasure | undefined,
): readonly ArchivedPart[] =>
  erasure === undefined
    ? found
    : found.flatMap(({ segment, lines }) => {
        const left = lines.filter(
          ({ sequence }) => segment.log === erasure.log && sequence >= erasure.sequence,
        );
        return left.length === 0 ? [] : [{ segment, lines: left }];
      });

/** Then the log has all of it. */
const beginsWithRun = ({ life: [first] }: MessagesOfRun): boolean =>
  first !== undefined && parseLifecycleSubject(first.subject)?.fact === 'queued';

/** Milliseconds since 1970. */
export const firstTime = ({ life, webhook }: MessagesOfRun): number =>
  Math.min(...[...life, ...webhook].map(({ time }) => Date.parse(time)), Infinity);

/**
 * Segments of this log continue what the log has. Those of another one count only when this one has nothing of the run: of several, the
 * one that has its latest message.
 */
const merge = (
  key: RunKey,
  stored: MessagesOfRun,
  found: readonly ArchivedPart[],
  present: string | undefined,
): ReadMessages => {
  const ofPresent = found.filter(({ segment }) => segment.log === present);
  const isStored = stored.life.length + stored.webhook.length > 0;
  if (isStored || ofPresent.length > 0)
    return { ...together(key, stored, ofPresent), isOfOtherLog: false, archived: ofPresent };
  const latest = found.toSorted((a, b) => compare(a.segment.last_time, b.segment.last_time)).at(-1);
  const parts = found.filter(({ segment }) => segment.log === latest?.segment.log);
  return { ...together(key, stored, parts), isOfOtherLog: true, archived: parts };
};

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const together = (key: RunKey, stored: MessagesOfRun, parts: readonly ArchivedPart[]): MessagesOfRun => {
  const all = new Map<number, StoredMessage>();
  for (const { lines } of parts)
    for (const message of messagesOfLines(lines)) all.set(message.sequence, message);
  // What the log has is whole, and may have been withheld since.
  for (const message of [...stored.life, ...stored.webhook]) all.set(message.sequence, message);
  return messagesByChain(key, [...all.values()]);
};

/** Without those that are erased. */
export const messagesOfLines = (lines: readonly SegmentLine[]): StoredMessage[] =>
  lines.flatMap((line) => messageOfLine(line) ?? []);

/** In the order of the log. */
export const messagesByChain = (key: RunKey, all: readonly StoredMessage[]): MessagesOfRun => {
  const ordered = all.toSorted((a, b) => a.sequence - b.sequence);
  const prefix = `runs.${key.org_id}.${key.run_id}`;
  return {
    life: ordered.filter(({ subject }) => subject.startsWith(`${prefix}.life.`)),
    webhook: ordered.filter(({ subject }) => subject.startsWith(`${prefix}.webhook.`)),
  };
};
