import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { ChainEvent } from '@runledger/event-log/append/append';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import type { ExpiryEnvelope } from './core/expiring.ts';
import type { ReadLostOptions } from './read-lost.ts';

export interface ExpiryOptions extends ReadLostOptions {
  readonly writer: ExpiryEnvelope['writer'];
  readonly now: () => Date;
  readonly onConflict: () => void;
}

/** What ends with the log's facts of a run. */
interface Expiry<Known> {
  /** Undefined when nothing can be decided on what is known now. */
  readonly read: (atLeast: number | undefined) => Promise<Known | undefined>;
  /** Undefined when nothing expires. */
  readonly decide: (known: Known, envelope: ExpiryEnvelope) => ExpiryFact | undefined;
  /** For the operator, when the fact is stored. */
  readonly message: string;
}

interface ExpiryFact {
  readonly event: ChainEvent;
  /** The head of its chain. */
  readonly expected: number;
}

/**
 * An expiry that another gateway stored could have left the log again, so that the fence of an empty chain holds, while this one stood still.
 * Far less than the shortest age of the log.
 */
const DECIDED_WITHIN_MS = 30_000;

/**
 * Stores that something of a run has expired with the log. False when it has not, or when reading took so long that it has to be read again.
 * @throws {LogUnavailable} @throws what `read` throws
 */
export const appendExpiry = async <Known>(
  { log, writer, now, onConflict }: ExpiryOptions,
  key: RunKey,
  { read, decide, message }: Expiry<Known>,
): Promise<boolean> => {
  let readFrom = now();
  const decided = await decideAndAppend<Known | undefined, undefined>(log, {
    read: (atLeast) => {
      readFrom = now();
      return read(atLeast);
    },
    decide: (known) => {
      const time = now();
      const isFresh = time.getTime() - readFrom.getTime() < DECIDED_WITHIN_MS;
      const envelope = { event_id: newUuid(), ...key, time: time.toISOString(), writer };
      const fact = known && isFresh ? decide(known, envelope) : undefined;
      return fact ? { kind: 'append', ...fact, answer: undefined } : { kind: 'answer', answer: undefined };
    },
    onConflict,
  });
  if (decided.kind !== 'appended') return false;
  log.logger.error({ run_id: key.run_id, sequence: decided.sequence }, message);
  return true;
};
