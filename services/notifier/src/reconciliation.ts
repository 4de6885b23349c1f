import { isEnded } from '@runledger/contracts/fold/run';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { RunId } from '@runledger/contracts/ids';
import {
  ALL_BEGINNINGS_AND_ENDS,
  ALL_WEBHOOKS,
  parseWebhookSubject,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow } from '@runledger/event-log/follow/follow';
import { readRun, webhookEndOf, settles } from '@runledger/event-log/read/read-run';
import { sleep, untilAborted } from '@runledger/resilience/abort';
import type { EndMessage, Found, NotifierInput } from './core/inputs-and-effects.ts';
import type { Partition } from './core/partition.ts';
import { deliveryIn, findPending } from './timers.ts';
import { type WebhookTargets, runNotice } from './webhook-targets.ts';

export interface ReconciliationOptions {
  readonly log: EventLog;
  readonly now: () => Date;
  readonly targets: WebhookTargets;
  readonly partitions: () => IteratorObject<Partition>;
  readonly hasFinal: (run: RunId) => boolean;
  /** Whether a delivery in the overflow has to wait there. */
  readonly waitsInLog: (message: EndMessage) => boolean;
  /** How many deliveries are being given up right now. */
  readonly countExpiring: () => number;
  readonly handle: (input: NotifierInput) => void;
  /** A notification was found that nothing accounts for: a bug, or a TIMERS or a log that lost messages. */
  readonly onForgotten: (run: RunId) => void;
  /** As CheckTurns has it by default, if absent. */
  readonly firstChecks?: number;
  readonly signal: AbortSignal;
}

/** Messages that are checked together: soon enough that the broker keeps the reader's consumer. */
const WINDOW = 512;
const MAX_AT_ONCE = 32;
const CHECK_AGAIN_MS = 20;
/** The broker's timers come within a second, or soon after an outage. One that is so late never comes: it has lost the schedule. */
const OVERDUE_MS = 60_000;

/**
 * One round of the reconciliation. It trusts nothing that the core remembers: from the first run on that was not settled, it checks that
 * the final notification of every run that ended is settled, in memory or in TIMERS. The others are sent from the log.
 */
export const reconcile = async (options: ReconciliationOptions): Promise<void> => {
  const { partitions, handle, signal } = options;
  const behind = [...partitions()].filter(
    ({ closing, sweptUpTo, runs }) => !closing && sweptUpTo < runs.low(),
  );
  if (behind.length === 0) return;
  const numbers = behind.map(({ number }) => number);
  const from = Math.min(...behind.map(({ sweptUpTo }) => sweptUpTo));
  const to = Math.max(...behind.map(({ runs }) => runs.low()));
  handle({ type: 'round_begun', partitions: numbers });
  const round = { ...options, numbers, turns: new CheckTurns(options.firstChecks) };
  for (let after = from; after < to && !signal.aborted; after = round.turns.leftOutFrom - 1) {
    if (after > from) round.turns.next();
    await readWindows(options, after, to, (messages) => checkWindow(round, messages));
  }
  if (!signal.aborted) handle({ type: 'round_ended', partitions: numbers });
};

/** @throws what ends the reading */
const readWindows = async (
  { log, signal }: ReconciliationOptions,
  from: number,
  to: number,
  check: (messages: readonly StoredMessage[]) => Promise<void>,
): Promise<void> => {
  const done = Promise.withResolvers<undefined>();
  let window: StoredMessage[] = [];
  let isOver = false;
  await using following = await follow(log, {
    stream: 'RUNS',
    subjects: [...ALL_BEGINNINGS_AND_ENDS, ALL_WEBHOOKS],
    after: from,
    // What is not read is taken for settled: a round that ends too early would pass over runs for ever.
    atLeast: to,
    onBatch: async (messages) => {
      if (isOver || signal.aborted) return;
      window.push(...messages.filter(({ sequence }) => sequence <= to));
      isOver = (messages.at(-1)?.sequence ?? 0) >= to;
      if (isOver) return done.resolve(undefined);
      if (window.length < WINDOW) return;
      await check(window);
      window = [];
    },
    onCaughtUp: () => done.resolve(undefined),
  });
  const failure = await untilAborted(Promise.race([done.promise, following.failed]), signal);
  if (failure) throw failure;
  isOver = true;
  if (!signal.aborted) await check(window);
};

interface Round extends ReconciliationOptions {
  /** Of the partitions that it is for. */
  readonly numbers: readonly number[];
  readonly turns: CheckTurns;
}

/** Takes half of the time: deliveries go first. */
const checkWindow = async (round: Round, messages: readonly StoredMessage[]): Promise<void> => {
  const { targets, handle, turns, numbers, countExpiring, signal } = round;
  const began = performance.now();
  const ended = unsettledIn(messages, targets);
  for (let at = 0; at < ended.length && !signal.aborted; at += MAX_AT_ONCE) {
    while (countExpiring() >= MAX_AT_ONCE && !signal.aborted) await sleep(CHECK_AGAIN_MS, signal);
    const some = await Promise.all(ended.slice(at, at + MAX_AT_ONCE).map((one) => withTarget(round, one)));
    await Promise.all(some.map(async (message) => message && check(round, message)));
  }
  const sequence = Math.min(messages.at(-1)?.sequence ?? 0, turns.leftOutFrom - 1);
  if (!signal.aborted) handle({ type: 'checked_up_to', partitions: numbers, sequence });
  await sleep(performance.now() - began, signal);
};

/** Undefined for a run that this round is not about. */
const withTarget = async (
  { targets, partitions, numbers }: Round,
  { key, sequence, time }: Ended,
): Promise<EndMessage | undefined> => {
  const target = await targets.find(key, sequence);
  if (!target) return undefined;
  const { origin, oldestFactAt } = target;
  const number = partitionOf(origin);
  const partition = partitions().find((one) => one.number === number);
  if (!partition?.round || !numbers.includes(number)) return undefined;
  if (sequence <= partition.sweptUpTo || sequence > partition.round.upTo) return undefined;
  return { partition: number, key, sequence, time, origin, oldestFactAt };
};

const check = async (round: Round, message: EndMessage): Promise<void> => {
  const { turns, handle } = round;
  const { key, sequence } = message;
  const known = whereKnown(round, message);
  if (!turns.take(key.org_id, sequence, known !== undefined)) return;
  const found = known ?? (await whereIs(round, message));
  if (found) handle({ type: 'unsettled_found', ...message, found });
};

/** Nothing is read for those that are in memory or have to wait in the log: there may be a hundred thousand of them. */
const whereKnown = ({ hasFinal, waitsInLog }: Round, message: EndMessage): Found | undefined => {
  if (hasFinal(message.key.run_id)) return { kind: 'in_memory' };
  return waitsInLog(message) ? { kind: 'outside', round: 1 } : undefined;
};

/** Undefined when there is nothing to send. */
const whereIs = async (
  { log, now, hasFinal, partitions, onForgotten }: Round,
  message: EndMessage,
): Promise<Found | undefined> => {
  const { key, sequence, origin, partition } = message;
  const round = await unsettledRound(log, key, sequence);
  if (round === undefined) return undefined;
  const pending = await findPending(log, { origin, ...key });
  if (pending) {
    const { delivery, isDeferred, isWaiting } = pending;
    const isOverdue = isWaiting && now().getTime() - Date.parse(delivery.due_at) > OVERDUE_MS;
    if (!isOverdue) return { kind: 'timer', isDeferred };
    log.logger.warn(
      { run_id: key.run_id, due_at: delivery.due_at },
      'a timer did not come; its delivery goes on',
    );
    return { kind: 'overdue', delivery: deliveryIn(pending, 'due', true) };
  }
  // Taken from TIMERS since it was looked for in memory: by the end of the next read it may be settled, and in neither.
  if (hasFinal(key.run_id)) return { kind: 'in_memory' };
  const held = () => partitions().find(({ number }) => number === partition);
  if (sequence < (held()?.left.from ?? 0)) {
    // It may have been settled, or taken from TIMERS into memory, between the two reads.
    if ((await unsettledRound(log, key, sequence)) === undefined) return undefined;
    if (hasFinal(key.run_id)) return { kind: 'in_memory' };
    // Or the partition was lost meanwhile, with what was in memory. Whoever holds it reads that from the log again.
    if (!held()?.round) return undefined;
    onForgotten(key.run_id);
  }
  return { kind: 'outside', round };
};

/** Undefined for a run whose notification is settled, for a deleted run, and for a forged end. */
const unsettledRound = async (log: EventLog, key: RunKey, atLeast: number): Promise<number | undefined> => {
  const read = await readRun(log, key, { atLeast });
  if (read.kind === 'none' || read.kind === 'deleted' || (read.kind === 'found' && !isEnded(read.run)))
    return undefined;
  const end = await webhookEndOf(log, key, read);
  return end.status === 'settled' ? undefined : end.round;
};

/** Some seconds of checks, for which the other organisations wait. */
const FIRST_CHECKS = 5_000;

/**
 * In which order a round of the reconciliation checks what may be unsettled. It passes through the log several times, and each
 * organisation gets a part of each pass: so a hundred thousand of one do not delay the few of another, which lie behind them.
 */
export class CheckTurns {
  #perPass: number;
  /** The first of each organisation that the pass before left out; undefined in the first pass. */
  #begin: ReadonlyMap<string, number> | undefined;
  readonly #checked = new Map<string, number>();
  readonly #leftOut = new Map<string, number>();

  /** `firstChecks`: of one organisation in the first pass. Each pass that follows has twice as many. */
  constructor(firstChecks = FIRST_CHECKS) {
    this.#perPass = firstChecks;
  }

  /** Whether it is checked in this pass. `isFree`: without a read. To be asked once in each pass, in the order of the sequences. */
  take(org_id: string, sequence: number, isFree: boolean): boolean {
    if (this.#begin && sequence < (this.#begin.get(org_id) ?? Infinity)) return false;
    if (this.#leftOut.has(org_id)) return false;
    if (isFree) return true;
    const checked = this.#checked.get(org_id) ?? 0;
    if (checked >= this.#perPass) {
      this.#leftOut.set(org_id, sequence);
      return false;
    }
    this.#checked.set(org_id, checked + 1);
    return true;
  }

  /** The first that this pass has left out, where the next one begins; Infinity when there is none. */
  get leftOutFrom(): number {
    return Math.min(...this.#leftOut.values());
  }

  next(): void {
    this.#begin = new Map(this.#leftOut);
    this.#leftOut.clear();
    this.#checked.clear();
    this.#perPass *= 2;
  }
}

/** A fact that a final notification follows from: the run's end, or the request to send it again. */
interface Ended {
  readonly key: RunKey;
  /** Of RUNS. */
  readonly sequence: number;
  /** The broker's, in milliseconds since 1970. */
  readonly time: number;
}

/**
 * The runs whose notification is to be sent according to these messages of RUNS, and is not settled in them. Nearly all are settled
 * within seconds, so few are left to look up.
 */
const unsettledIn = (messages: readonly StoredMessage[], { note }: Pick<WebhookTargets, 'note'>): Ended[] => {
  const open = new Map<RunId, Ended>();
  for (const message of messages) {
    const notice = runNotice(message);
    if (notice && 'target' in notice && notice.target !== undefined) note(notice.key.run_id, notice.target);
    if (notice?.type === 'run_ended' || notice?.type === 'redelivery_requested') {
      const { key } = notice;
      const ended = { key, sequence: message.sequence, time: Date.parse(message.time) };
      if (!open.has(key.run_id)) open.set(key.run_id, ended);
    } else if (!notice) {
      const webhook = parseWebhookSubject(message.subject);
      if (webhook && settles(webhook.fact)) open.delete(webhook.run_id);
    }
  }
  return [...open.values()];
};
