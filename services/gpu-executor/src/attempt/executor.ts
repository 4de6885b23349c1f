import type { Logger } from '@runledger/event-log/connect/observability';
import { errorOf } from '@runledger/contracts/events/run-error';
import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import { isTermAnnouncement } from '@runledger/contracts/events/leader-terms';
import type { AttemptUnderWay } from '@runledger/contracts/fold/evolve-attempt';
import { inSpan } from '@runledger/service-kit/spans';
import { openLedger, type AttemptLedger, type LedgerSettings } from './attempt-ledger.ts';
import {
  attemptName,
  readAssignment,
  type Assignment,
  type KnownTerms,
  attemptAttributes,
} from './assignment.decide.ts';
import { type EventDraft, beginFacts } from './attempt-facts.decide.ts';
import { endOf, giveBack, NO_OUTPUTS } from './end-of-attempt.decide.ts';
import { executeAttempt, type AttemptTools } from './execute-attempt.ts';
import { openTimeLimit, type TimeLimit } from './time-limit.ts';

/** The outcome of handling a message. */
type Handled = { readonly kind: 'accepted' } | { readonly kind: 'no_fact'; readonly why: string };

export interface Executor {
  /** Takes a message addressed to this executor. Returns at once; the work continues in the background. */
  readonly handle: (message: StoredMessage) => Handled;
  /** The run of each slot, also a run that waits for the previous one to end. */
  busy(): Heartbeat['runs'];
  /** Resolves when no attempt is under way. */
  idle(): Promise<void>;
}

export interface ExecutorSettings {
  readonly ledger: LedgerSettings;
  /** The terms that it knows. */
  readonly terms: KnownTerms;
  readonly tools: AttemptTools;
  readonly log: Logger;
  readonly onOver: (assignment: Assignment) => void;
}

/** Redeliveries arrive within seconds. This number of attempts takes longer. */
const MAX_REMEMBERED_ATTEMPTS = 10_000;

export const createExecutor = (settings: ExecutorSettings): Executor => {
  const underWay = new Map<string, AttemptLedger>();
  /** By slot: a requeued run may still be ending when the next one is assigned. */
  const occupied = new Map<number, Promise<void>>();
  const voided = openVoided(settings.log);
  const seen = new Set<string>();

  const assign = (message: StoredMessage): Handled => {
    const read = readAssignment(message);
    if (read.kind === 'refused') return { kind: 'no_fact', why: read.why };
    if (read.kind === 'newer_version') {
      const why = `this release cannot read ${read.type} in version ${read.version}`;
      return { kind: 'no_fact', why };
    }
    const { assignment, head } = read;
    const name = attemptName(assignment);
    if (seen.has(name)) return { kind: 'accepted' };
    remember(seen, name);
    const ledger = openLedger(beginFacts(assignment, head), settings.ledger);
    if (settings.terms.isVoid(assignment, head)) {
      voided.giveBack(name, ledger);
      return { kind: 'accepted' };
    }
    underWay.set(name, ledger);
    const { slot } = assignment.event.data;
    const before = occupied.get(slot);
    const startLimit = openTimeLimit(ledger.stop, assignment.startWithinS);
    startLimit.start();
    const done = attemptSpan(assignment, message, async () => {
      await before;
      await execute(settings, ledger, startLimit);
      startLimit[Symbol.dispose]();
      underWay.delete(name);
      settings.onOver(assignment);
    });
    occupied.set(slot, done);
    void done.finally(() => occupied.get(slot) === done && occupied.delete(slot));
    return { kind: 'accepted' };
  };

  return {
    handle: (message) => {
      if (isTermAnnouncement(message.subject)) return applyTerm(settings.terms, message);
      const subject = parseLifecycleSubject(message.subject);
      if (subject === undefined) {
        return { kind: 'no_fact', why: 'its subject is not the subject of a lifecycle fact' };
      }
      if (subject.fact === 'assigned') return assign(message);
      const about = attemptName(subject);
      const why = (underWay.get(about) ?? voided.get(about))?.receive(message) ?? null;
      return why === null ? { kind: 'accepted' } : { kind: 'no_fact', why };
    },
    busy: () =>
      [...underWay.values()].map(({ assignment: { run_id, attempt, event } }) => ({
        slot: event.data.slot,
        run_id,
        attempt,
      })),
    idle: async () => {
      const all = (): Promise<void>[] => [...occupied.values(), ...voided.pending()];
      for (let left = all(); left.length > 0; left = all()) await Promise.all(left);
    },
  };
};

const applyTerm = (terms: KnownTerms, message: StoredMessage): Handled =>
  terms.onTold(message) ? { kind: 'accepted' } : { kind: 'no_fact', why: 'it tells no term' };

const execute = async (
  { tools, log }: ExecutorSettings,
  ledger: AttemptLedger,
  startLimit: TimeLimit,
): Promise<void> => {
  const { run_id, attempt } = ledger.assignment;
  log.debug({ run_id, attempt }, 'executing');
  try {
    await executeAttempt(ledger, tools, startLimit);
  } catch (err) {
    // The scheduler ends or requeues an attempt without an end. This process continues with its other runs.
    log.error({ err, run_id, attempt }, 'an attempt was given up because of a bug');
    await ledger.append((state) => failure(state)).catch(() => undefined);
  }
  log.debug({ run_id, attempt }, 'over');
};

/** Attempts whose assignments are void. They use no slot, and last until they are given back. */
interface Voided {
  readonly giveBack: (name: string, ledger: AttemptLedger) => void;
  readonly get: (name: string) => AttemptLedger | undefined;
  readonly pending: () => readonly Promise<void>[];
}

const openVoided = (log: Logger): Voided => {
  const pending = new Map<string, { readonly ledger: AttemptLedger; readonly done: Promise<void> }>();
  const giveBackTo = async (name: string, ledger: AttemptLedger): Promise<void> => {
    const { run_id, attempt } = ledger.assignment;
    log.debug({ run_id, attempt }, 'given back: its assignment is void');
    try {
      await ledger.append(giveBack);
    } catch (err) {
      log.error({ err, run_id, attempt }, 'a void assignment could not be given back because of a bug');
    }
    pending.delete(name);
  };
  return {
    giveBack: (name, ledger) => void pending.set(name, { ledger, done: giveBackTo(name, ledger) }),
    get: (name) => pending.get(name)?.ledger,
    pending: () => [...pending.values()].map(({ done }) => done),
  };
};

/** What the bug is says the log of the executor alone. */
const failure = (state: AttemptUnderWay): EventDraft | null =>
  endOf(state, {
    result: {
      outcome: 'failed',
      error: errorOf('internal_error', 'The executor failed because of a bug. Its log says more.'),
      files: [],
    },
    storing: { kind: 'stopped' },
    outputs: NO_OUTPUTS,
    progress: 0,
    retryAfterS: () => null,
  });

const remember = (seen: Set<string>, name: string): void => {
  seen.add(name);
  const [oldest] = seen;
  if (seen.size > MAX_REMEMBERED_ATTEMPTS && oldest !== undefined) seen.delete(oldest);
};

/** From the assignment to the end of the attempt, below the append of the assignment. */
const attemptSpan = (
  assignment: Assignment,
  { traceparent }: StoredMessage,
  work: () => Promise<void>,
): Promise<void> => {
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'RUNS',
    'messaging.message.id': assignment.event.event_id,
    'runledger.slot': assignment.event.data.slot,
    ...attemptAttributes(assignment),
  };
  const parent = traceparent ?? assignment.event.traceparent;
  return inSpan('process RunAssigned', { kind: 'consumer', parent, attributes }, work);
};
