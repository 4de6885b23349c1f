import { parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import { attemptSpan } from './attempt-spans.ts';
import { openLedger, type AttemptLedger, type LedgerSettings } from './attempt-ledger.ts';
import { attemptName, readAssignment, type Assignment } from './core/assignment.ts';
import { endOf } from './core/end-of-attempt.ts';
import type { EventDraft } from './core/attempt-event.ts';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import { beginFacts } from './core/attempt-facts.ts';
import { executeAttempt, type AttemptTools } from './execute-attempt.ts';

/** What becomes of a message: taken, or no fact at all and why. */
type Handled = { kind: 'taken' } | { kind: 'no_fact'; why: string };

export interface Executor {
  /** Takes a message addressed to this executor. It answers at once; the work goes on by itself. */
  handle(message: StoredMessage): Handled;
  /** The runs in the slots, the waiting ones included. */
  busy(): Heartbeat['runs'];
  /** Settles when nothing is in hand. */
  idle(): Promise<void>;
}

export interface ExecutorSettings {
  readonly ledger: LedgerSettings;
  readonly tools: AttemptTools;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
  /** An attempt is over. */
  readonly onOver?: (assignment: Assignment) => void;
}

/** Redeliveries come within seconds; so many attempts take longer. */
const MAX_REMEMBERED_ATTEMPTS = 10_000;

export const createExecutor = ({ ledger, tools, log, onOver }: ExecutorSettings): Executor => {
  const inHand = new Map<string, AttemptLedger>();
  /** By slot: a run that was taken away may still be dying when the next one is assigned. */
  const occupied = new Map<number, Promise<void>>();
  const seen = new Set<string>();

  const execute = async (
    name: string,
    opened: AttemptLedger,
    before: Promise<void> | undefined,
  ): Promise<void> => {
    await before;
    const { run_id, attempt } = opened.assignment;
    log.info({ run_id, attempt }, 'executing');
    try {
      await executeAttempt(opened, tools);
    } catch (err) {
      // The scheduler ends or requeues what has no end; this process goes on with its other runs.
      log.error({ err, run_id, attempt }, 'an attempt was given up because of a bug');
      await opened.tell((run) => failure(run, err)).catch(() => undefined);
    }
    inHand.delete(name);
    log.info({ run_id, attempt }, 'over');
    onOver?.(opened.assignment);
  };

  const assign = (message: StoredMessage): Handled => {
    const read = readAssignment(message);
    if (read.kind === 'refused') return { kind: 'no_fact', why: read.why };
    if (read.kind === 'newer_version')
      return {
        kind: 'no_fact',
        why: `RunAssigned has version ${read.version}, which this release does not know`,
      };
    const name = attemptName(read.assignment);
    if (seen.has(name)) return { kind: 'taken' };
    remember(seen, name);
    const opened = openLedger(read.assignment, beginFacts(read.history), ledger);
    inHand.set(name, opened);
    const { slot } = read.assignment.event.data;
    const before = occupied.get(slot);
    const done = attemptSpan(read.assignment, message, () => execute(name, opened, before));
    occupied.set(slot, done);
    void done.finally(() => occupied.get(slot) === done && occupied.delete(slot));
    return { kind: 'taken' };
  };

  return {
    handle: (message) => {
      const subject = parseLifecycleSubject(message.subject);
      if (subject === undefined) return { kind: 'no_fact', why: 'its subject is none of a lifecycle fact' };
      if (subject.fact === 'assigned') return assign(message);
      const why = inHand.get(attemptName(subject))?.receive(message) ?? null;
      return why === null ? { kind: 'taken' } : { kind: 'no_fact', why };
    },
    busy: () =>
      [...inHand.values()].map(({ assignment: { run_id, attempt, event } }) => ({
        slot: event.data.slot,
        run_id,
        attempt,
      })),
    idle: async () => {
      while (occupied.size > 0) await Promise.all(occupied.values());
    },
  };
};

const failure = (run: ExecutingRun, error: unknown): EventDraft | null =>
  endOf(run, {
    result: {
      outcome: 'not_runnable',
      why: `the executor failed: ${error instanceof Error ? error.message : String(error)}`,
    },
    storing: { kind: 'stopped' },
    outputs: [],
    progress: 0,
  });

const remember = (seen: Set<string>, name: string): void => {
  seen.add(name);
  const [oldest] = seen;
  if (seen.size > MAX_REMEMBERED_ATTEMPTS && oldest !== undefined) seen.delete(oldest);
};
