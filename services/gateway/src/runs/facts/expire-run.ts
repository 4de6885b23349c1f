import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import type { OwnEnvelope } from '@runledger/contracts/events/event-envelope';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readLogAge } from '@runledger/event-log/read/stream-identity';
import { newUuid } from '@runledger/contracts/ids';
import type { ChainEvent } from '@runledger/event-log/append/append';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import { head as headOf, readRun, readWebhookEnd, type ReadRun } from '@runledger/event-log/read/read-run';
import { isUnsettled } from '@runledger/contracts/fold/webhook';
import {
  isExpiring,
  runExpired,
  decideLost,
  notificationExpired,
  type LostRunDecision,
} from './expiring.decide.ts';
import type { Kit } from '../../kit.ts';
import type { Reading } from './current-run.ts';
import { existing } from '../../views/run-view.ts';

/** Ends the run if its log has expired, or is about to. @throws {LogUnavailable} @throws {ViewsUnavailable} */
export const expireRun = async (kit: Kit, reading: Reading, key: RunKey): Promise<void> => {
  const isAppended = await appendExpiry(kit, key, {
    read: async (atLeast) => {
      const read = await readOrLost(kit, reading, key, atLeast);
      if (!read) return undefined;
      const age = await readLogAge(kit.log);
      return read.kind === 'found'
        ? ({ run: read.run, head: read.history.head, held: 'everything', age } as const)
        : { run: read.view.run, head: read.head, held: read.held, age };
    },
    decide: ({ run, head, held, age }, envelope) =>
      !isEnded(run) && !isDeleted(run) && (held === 'nothing' || isExpiring(run, age, held === 'everything'))
        ? { event: runExpired(run, age, envelope), expected: head }
        : undefined,
    message:
      'the log no longer holds the beginning of a run that has not ended, or is about to lose it: the run is ended',
  });
  if (isAppended) kit.metrics.expired();
};

/** What ends with the log's facts of a run. */
interface Expiry<Known> {
  /** Undefined when nothing can be decided on what is known now. */
  readonly read: (atLeast: number | undefined) => Promise<Known | undefined>;
  /** Undefined when nothing expires. */
  readonly decide: (known: Known, envelope: OwnEnvelope) => ExpiryFact | undefined;
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
  { log, writer, now, metrics }: Kit,
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
    onConflict: metrics.conflict,
  });
  if (decided.kind !== 'appended') return false;
  log.logger.error({ run_id: key.run_id, sequence: decided.sequence }, message);
  return true;
};

type Lost = Extract<LostRunDecision, { kind: 'lost' }>;

/** Undefined when nothing may end because the log has lost it. */
type ReadOrLost = Extract<ReadRun, { kind: 'found' }> | Lost | undefined;

/**
 * The run as the log's leader has it, or its view when neither the log nor the archive has more of it. What the archive has more comes into
 * the views. `atLeast`: as `readRun`. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {ArchiveUnavailable}
 */
const readOrLost = async (kit: Kit, reading: Reading, key: RunKey, atLeast?: number): Promise<ReadOrLost> => {
  const { log } = kit;
  const head = atLeast ?? (await headOf(log, key));
  const read = await readRun(log, key, { atLeast: head });
  switch (read.kind) {
    case 'found':
      return read;
    case 'none':
      return lostOrRecovered(kit, reading, key, 'nothing', read.head);
    case 'damaged':
      return lostOrRecovered(kit, reading, key, 'a part', head);
    case 'deleted':
    case 'newer_version':
      return undefined;
  }
};

/** Behind the read of the log, in this order: see `LostRun`. */
const lostOrRecovered = async (
  { views }: Kit,
  { fresh, archived }: Reading,
  key: RunKey,
  held: Lost['held'],
  head: number,
): Promise<Lost | undefined> => {
  const areViewsComplete = await fresh.areComplete(key.org_id);
  const view = await views.find(key);
  const decision = decideLost({
    held,
    head,
    areViewsComplete,
    view,
    archived: areViewsComplete ? await archived(key, view) : undefined,
  });
  if (decision.kind === 'recover') await views.save([decision.view]);
  return decision.kind === 'lost' ? decision : undefined;
};

/**
 * Gives up the final notification of a run whose beginning the log has lost. A notification is made from the facts of its run, and the
 * notifier knows of it from them, or from TIMERS. The first fact says where it goes. When the log has lost that one and TIMERS had no room
 * for the notification, only the view says that it was not settled. @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
export const expireNotification = async (kit: Kit, reading: Reading, key: RunKey): Promise<void> => {
  await appendExpiry(kit, key, {
    read: async () => {
      const read = await readOrLost(kit, reading, key);
      const view = read?.kind === 'lost' ? existing(read.view) : undefined;
      // Its webhook facts may be younger.
      return view && { view, end: await readWebhookEnd(kit.log, key) };
    },
    decide: ({ view, end }, envelope) =>
      end.status !== 'settled' && isUnsettled(view.run, view.webhook.state)
        ? { event: notificationExpired(view, end, envelope), expected: end.head }
        : undefined,
    message:
      'the log has lost the beginning of a run whose final notification was not settled: the notification is given up',
  });
};
