import { eventIdOf, type StoredMessage } from '@runledger/contracts/fold/chain';
import { NO_RUNS, type RunCounts } from '@runledger/contracts/fold/log-capacity';
import type { RunsIdentity } from '@runledger/event-log/read/stream-identity';

/** How far the projection has come, and in which log: another log may have other events at the same sequences. */
export interface ProjectionPosition {
  /** The broker's time of the stream's creation. */
  readonly stream_created: string;
  /** Counts how often the views were derived from the beginning of the log, from 1. A later one is ahead of each earlier one. */
  readonly derivation: number;
  /** The broker's time from which on the log had every message when the views were derived: earlier runs may be missing. */
  readonly derived_from: string;
  readonly sequence: number;
  /** Of the event at `sequence`; null at the beginning. */
  readonly event_id: string | null;
  /** From the facts up to `sequence`. */
  readonly counts: RunCounts;
  /** What the views lack that the log has not, until it is recovered from the archive or lost for good; null as a rule. */
  readonly missed: Missed | null;
}

/**
 * Facts that left the log before the views had them: those behind the sequence `after`, up to `up_to`. With them, all that the archive has
 * of another log, when these views or this log began.
 */
export interface Missed {
  readonly after: number;
  readonly up_to: number;
  /** The organisations whose runs still lack them, since an object of theirs could not be read; null for all. */
  readonly of: readonly string[] | null;
}

/** Whether the views may lack something of an organisation that the log has not. */
export const lacksOf = ({ missed }: ProjectionPosition, org_id: string): boolean =>
  missed !== null && (missed.of?.includes(org_id) ?? true);

export type ProjectionStart =
  | { readonly kind: 'continue'; readonly from: ProjectionPosition }
  /** The views were made from another log. */
  | { readonly kind: 'start_again'; readonly because: string };

/** When a log was created, and from when on it has every message. */
interface LogAge {
  readonly created: string;
  readonly since: string;
}

/** The beginning of a log. */
export const beginningOf = ({ created, since }: LogAge, derivation: number): ProjectionPosition => ({
  stream_created: created,
  derivation,
  derived_from: since,
  sequence: 0,
  event_id: null,
  counts: NO_RUNS,
  missed: null,
});

/**
 * Whether the views have forgotten something: they were emptied, or restored from a copy, since `known` was read or written.
 * Within one log a position only moves forward, from one derivation to the next.
 */
export const isBehind = (
  position: ProjectionPosition | undefined,
  known: ProjectionPosition | undefined,
): boolean =>
  known !== undefined &&
  (position === undefined ||
    (position.stream_created === known.stream_created &&
      (position.derivation < known.derivation ||
        (position.derivation === known.derivation && position.sequence < known.sequence))));

/** Whether the views are exactly there. What they missed of the log before is no part of it. */
export const isAt = (position: ProjectionPosition | undefined, expected: ProjectionPosition): boolean =>
  position?.stream_created === expected.stream_created &&
  position.derivation === expected.derivation &&
  position.sequence === expected.sequence &&
  position.event_id === expected.event_id;

/** Whether the views have only moved forward from one position to the other: nothing was taken from them in between. */
export const isContinued = (from: ProjectionPosition, to: ProjectionPosition | undefined): boolean =>
  to?.stream_created === from.stream_created &&
  to.derivation === from.derivation &&
  to.sequence >= from.sequence;

/** What the log still has. */
export interface LogBeginning {
  readonly created: string;
  readonly firstSequence: number;
}

/** Whether facts that the views do not have yet have left the log. Of another log they have none. */
export const hasMissed = (
  { stream_created, sequence }: ProjectionPosition,
  { created, firstSequence }: LogBeginning,
): boolean => (stream_created === created ? sequence : 0) + 1 < firstSequence;

/** The position behind all that has left the log, with what the views lack of that. */
export const withMissed = (position: ProjectionPosition, log: RunsIdentity): ProjectionPosition => {
  if (!hasMissed(position, log)) return position;
  const sequence = log.firstSequence - 1;
  const missed = { after: position.missed?.after ?? position.sequence, up_to: sequence, of: null };
  return { ...position, sequence, event_id: null, derived_from: log.since, counts: NO_RUNS, missed };
};

/** The same position of views that may lack what only the archive has. */
export const withUnread = (
  position: ProjectionPosition,
  { firstSequence }: LogBeginning,
): ProjectionPosition => {
  const left = Math.max(firstSequence - 1, 0);
  return { ...position, missed: { after: position.missed?.after ?? left, up_to: left, of: null } };
};

/**
 * Whether the views have everything of an organisation that the log has not: then views and log together have every fact. Otherwise the
 * archive may know more of a run than they do.
 */
export const areComplete = (
  position: ProjectionPosition | undefined,
  log: LogBeginning,
  org_id: string,
): boolean =>
  position?.stream_created === log.created && !lacksOf(position, org_id) && !hasMissed(position, log);

export interface StoredPosition {
  readonly position: ProjectionPosition | undefined;
  /** The latest position that this process has seen. */
  readonly known: ProjectionPosition | undefined;
  /** The log's message at the position's sequence. */
  readonly last: StoredMessage | undefined;
}

/** Where the projection begins. */
export const projectionStart = (
  { position, known, last }: StoredPosition,
  log: RunsIdentity,
): ProjectionStart => {
  if (!position) return { kind: 'start_again', because: 'the views have no position yet' };
  const { stream_created, sequence, event_id } = position;
  if (stream_created !== log.created) {
    return {
      kind: 'start_again',
      because: `the views come from a log created at ${stream_created}, and this log was created at ${log.created}`,
    };
  }
  if (sequence > log.lastSequence) {
    return {
      kind: 'start_again',
      because: `the views are at sequence ${sequence}, and the log ends at ${log.lastSequence}: it has lost its end`,
    };
  }
  if (isBehind(position, known)) {
    return {
      kind: 'start_again',
      because: `the views had come to ${known?.sequence}, and now they are at ${sequence}: they were restored from a copy`,
    };
  }
  if (hasMissed(position, log)) return { kind: 'continue', from: withMissed(position, log) };
  // An expired message cannot be compared.
  if (sequence === 0 || sequence < log.firstSequence) return { kind: 'continue', from: position };
  if (last === undefined || eventIdOf(last) !== event_id) {
    return {
      kind: 'start_again',
      because: `the log does not hold event ${event_id ?? '(none)'} at sequence ${sequence}`,
    };
  }
  return { kind: 'continue', from: position };
};
