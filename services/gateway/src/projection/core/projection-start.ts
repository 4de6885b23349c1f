import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunsIdentity } from '@runledger/event-log/messages/stream-identity';

/** How far the projection has come, and in which log: another log may have other events at the same sequences. */
export interface ProjectionPosition {
  /** The broker's time of the stream's creation. */
  readonly stream_created: string;
  readonly sequence: number;
  /** Of the event at `sequence`; null at the beginning. */
  readonly event_id: string | null;
}

export type ProjectionStart =
  | { readonly kind: 'continue'; readonly after: number }
  /** The views were made from another log. */
  | { readonly kind: 'start_again'; readonly because: string };

/** Where the projection begins. `last` is the log's message at the position's sequence. */
export const projectionStart = (
  position: ProjectionPosition | undefined,
  log: RunsIdentity,
  last: StoredMessage | undefined,
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
  // An expired message cannot be compared.
  if (sequence === 0 || sequence < log.firstSequence) return { kind: 'continue', after: sequence };
  if (last === undefined || eventIdOf(last) !== event_id) {
    return {
      kind: 'start_again',
      because: `the log does not hold event ${event_id ?? '(none)'} at sequence ${sequence}`,
    };
  }
  return { kind: 'continue', after: sequence };
};

/** Null for a message that is not an event. */
export const eventIdOf = ({ body }: StoredMessage): string | null =>
  typeof body === 'object' && body !== null && 'event_id' in body && typeof body.event_id === 'string'
    ? body.event_id
    : null;
