import { PARTITIONS, partitionOf } from '@runledger/contracts/deliveries/timers';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import { BREAKER_SETTINGS } from '@runledger/notifier/core/breaker';
import type { AttemptReport } from '@runledger/notifier/core/delivery';
import { isInTimers } from '@runledger/notifier/core/delivery';
import type { Effect, Found, NotifierInput, RunMessage } from '@runledger/notifier/core/inputs-and-effects';
import { createNotifierState, hasFinal, nextTick, type NotifierState } from '@runledger/notifier/core/state';
import { decide } from '@runledger/notifier/core/decide';
import type { NotifiedRun } from '../broker/delivery-store.ts';
import { timeAt } from '../broker/broker.ts';
import type { RunLog } from '../broker/run-log.ts';
import type { World } from '../broker/world.ts';
import type { Violate } from '../checks/violation.ts';
import { runOf as numberOf } from '../plan/ids.ts';
import type { PlannedNotifier, PlannedRun } from '../plan/plan.ts';
import { LogReader } from '../scheduler/log-reader.ts';
import type { Life, Process } from '../virtual-time.ts';

const ASK_WITHIN_MS = 5_000;
const AGAIN_AFTER_MS = 500;
const ROUND_EVERY_MS = 20_000;
/** A message of TIMERS whose time was over for so long, and of which the broker has not said so, is taken from there. */
const OVERDUE_MS = 60_000;
const GIVE_UP_AFTER_MS = 518_400_000;
/** Between two intermediate notifications of a run. */
const INTERMEDIATE_EVERY_MS = 1_000;
const CREATED = timeAt(0);

type EffectOf<Type> = Extract<Effect, { readonly type: Type }>;

export interface NotifierLifeOptions {
  readonly world: World;
  readonly process: Process;
  readonly planned: PlannedNotifier;
  readonly runOf: (run_id: string) => PlannedRun | undefined;
  readonly violate: Violate;
  /** Receivers accept everything. */
  readonly isCalm: () => boolean;
}

/** As services/notifier/src, in virtual time: a notifier that holds every partition, from its start until it is killed. */
export class NotifierLife implements Life {
  readonly #options: NotifierLifeOptions;
  readonly #state: NotifierState;
  readonly #log: LogReader;
  readonly #timers: LogReader;
  /** The last message of RUNS that was read, and of TIMERS. */
  #read = 0;
  #dueRead = 0;
  readonly #inputs: NotifierInput[] = [];
  #isTaking = false;
  #armedFor = Infinity;
  #clock = 0;
  /** Of the attempt of each run that is being made. */
  readonly #inFlight = new Set<string>();
  readonly #rounds = new Map<number, number>();
  readonly #sentRound = new Map<string, number>();
  readonly #lastIntermediate = new Map<string, number>();

  constructor(options: NotifierLifeOptions) {
    this.#options = options;
    const { world, process, planned } = options;
    const settings = {
      maxInFlight: planned.maxInFlight,
      breaker: BREAKER_SETTINGS,
      giveUpAfterMs: GIVE_UP_AFTER_MS,
      instantOf: Date.parse,
    };
    this.#state = createNotifierState(settings, process.clock);
    this.#log = new LogReader(world, process, { readNext: () => this.#takeNextMessage(), batch: 8 });
    this.#timers = new LogReader(world, process, { readNext: () => this.#takeNextDue(), batch: 4 });
    const { deliveries, log } = world;
    for (let number = 0; number < PARTITIONS; number += 1) {
      const start = { number, created: CREATED, lastSequence: log.lastSequence, lastReport: 0 };
      const position = deliveries.positions.get(number);
      this.#take({ type: 'partition_gained', start: { ...start, position } });
    }
    for (const opening of deliveries.openings.values()) this.#take({ type: 'opening_found', ...opening });
    for (const [sequence, opening] of deliveries.dueOpenings)
      this.#take({ type: 'opening_due', sequence, restore: true, ...opening });
    this.#dueRead = 0;
    this.onRunFact();
    this.onDue();
    process.after(ROUND_EVERY_MS, () => this.#reconcile());
  }

  onRunFact(): void {
    this.#log.wake();
  }

  onDue(): void {
    this.#timers.wake();
  }

  /** What was delivered and not acknowledged comes again. */
  onReconnect(): void {
    this.#dueRead = 0;
    this.onRunFact();
    this.onDue();
  }

  stop(onStopped: () => void): void {
    this.#options.process.after(100, onStopped);
  }

  /** What is left although everything is settled. */
  leftovers(): string | undefined {
    const { outboxes, attempts, leftRetries, waiting, limits, partitions } = this.#state;
    const left = { outboxes: outboxes.size, attempts: attempts.size, leftRetries: leftRetries.size };
    const counts = { ...left, waiting, inFlight: limits.inFlight };
    const [name] = Object.entries(counts).find(([, count]) => count > 0) ?? [];
    if (name !== undefined) return `the notifier still has ${name}`;
    const unread = [...partitions.values()].find(({ runs, busy }) => busy > 0 || runs.low() !== runs.taken());
    return unread && `partition ${unread.number} does not go on behind ${unread.runs.low()}`;
  }

  #take(input: NotifierInput): void {
    this.#inputs.push(input);
    if (this.#isTaking) return;
    this.#isTaking = true;
    const { world, process } = this.#options;
    for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) {
      this.#clock = Math.max(this.#clock, process.clock);
      const moment = { at: this.#clock, now: world.broker.clock, chance: process.random.fraction() };
      for (const effect of decide(this.#state, next, moment)) this.#perform(effect);
    }
    this.#isTaking = false;
    this.#arm();
  }

  #arm(): void {
    const next = nextTick(this.#state);
    if (next >= this.#armedFor) return;
    this.#armedFor = next;
    const { process } = this.#options;
    process.after(next - process.clock, () => {
      if (this.#armedFor !== next) return;
      this.#armedFor = Infinity;
      this.#clock = Math.max(this.#clock, next);
      this.#take({ type: 'tick' });
    });
  }

  #takeNextMessage(): boolean {
    const message = this.#options.world.log.nextFrom(this.#read + 1);
    if (!message) return false;
    this.#read = message.sequence;
    this.#takeMessage(message);
    return true;
  }

  #takeMessage(message: NonNullable<ReturnType<RunLog['at']>>): void {
    const { world, runOf } = this.#options;
    const run_id = 'key' in message ? message.key.run_id : 'redelivery' in message ? message.redelivery : '';
    const notified = world.deliveries.runs.get(run_id);
    const at = { sequence: message.sequence, time: Date.parse(message.time) };
    if ('redelivery' in message && notified) {
      const { round } = message;
      this.#take({
        type: 'redelivery_requested',
        round,
        ...endOf(notified, at),
      });
    } else if ('key' in message) {
      const planned = runOf(run_id);
      const { state, head } = world.log.historyOf(run_id);
      if (planned?.webhook === undefined || !state || isDeleted(state)) return;
      if (notified && isEnded(state) && head === message.sequence)
        this.#take({ type: 'run_ended', ...endOf(notified, at) });
      else if (planned.notices)
        this.#take({
          type: 'run_changed',
          ...messageOf(message.key, originOf(planned.webhook), at.sequence),
        });
    }
  }

  #takeNextDue(): boolean {
    const { deliveries } = this.#options.world;
    const timer = deliveries
      .timers()
      .find(({ state, sequence }) => state === 'due' && sequence > this.#dueRead);
    const due = [...deliveries.dueOpenings].find(([sequence]) => sequence > this.#dueRead);
    const next = Math.min(timer?.sequence ?? Infinity, due?.[0] ?? Infinity);
    if (next === Infinity) return false;
    this.#dueRead = next;
    if (timer?.sequence === next)
      this.#take({ type: 'delivery_due', delivery: { ...timer.delivery, mayBeSuperseded: true } });
    else if (due) this.#take({ type: 'opening_due', sequence: next, restore: false, ...due[1] });
    return true;
  }

  #perform(effect: Effect): void {
    const { deliveries } = this.#options.world;
    switch (effect.type) {
      case 'attempt_final':
        return this.#attemptFinal(effect);
      case 'attempt_intermediate':
        return this.#attemptIntermediate(effect);
      case 'conclude_attempt': {
        const { attempt, delivery, conclusion } = effect;
        const round = this.#rounds.get(attempt) ?? delivery.round;
        this.#rounds.delete(attempt);
        return this.#store(
          () => deliveries.conclude(delivery, round, conclusion),
          (kind) => {
            const retry = {
              at: this.#options.world.broker.clock + ROUND_EVERY_MS,
              attempts: delivery.attempts + 1,
            };
            const outcome = kind === 'stored' ? { kind } : { kind, retry };
            this.#take({ type: 'attempt_concluded', attempt, outcome });
          },
        );
      }
      case 'defer_delivery': {
        const { delivery, reminder } = effect;
        return this.#store(
          () => deliveries.defer(delivery, reminder),
          (kind) => this.#take({ type: 'deferral_finished', run: delivery.key.run_id, outcome: { kind } }),
        );
      }
      case 'load_deferred':
        return this.#load(effect);
      case 'store_opening':
        return this.#store(() => deliveries.open(effect.opening));
      case 'remove_opening':
        return this.#store(() => deliveries.close(effect.receiver, effect.due));
      case 'remove_timer':
        return this.#store(() => deliveries.remove(effect.sequence));
      case 'store_position': {
        const { partition, position } = effect;
        return this.#store(
          () => void deliveries.positions.set(partition, position),
          () => this.#take({ type: 'position_stored', partition, position }),
        );
      }
      case 'partition_idle':
        throw new Error('no partition is handed over');
    }
  }

  /** The same again until the broker answers. */
  #store<Answer>(work: () => Answer, then: (answer: Answer) => void = () => undefined): void {
    const { world, process } = this.#options;
    world.broker.ask(
      process,
      ASK_WITHIN_MS,
      () => ({ answer: work() }),
      (done) => {
        if (done) then(done.answer);
        else process.after(AGAIN_AFTER_MS, () => this.#store(work, then));
      },
    );
  }

  #attemptFinal({ attempt, delivery }: EffectOf<'attempt_final'>): void {
    const { deliveries } = this.#options.world;
    const { run_id } = delivery.key;
    const finish = this.#begin(run_id, attempt);
    this.#store(
      () => {
        const run = deliveries.runs.get(run_id);
        if (!run || run.isSettled) return 'nothing';
        if (delivery.mayBeSuperseded && deliveries.isSuperseded(delivery)) return 'superseded';
        return delivery.round < run.round && isInTimers(delivery) ? 'nothing' : { ...run };
      },
      (run) => {
        if (typeof run === 'string') return finish({ kind: run });
        const { round, endedAt } = run;
        const attempts = round === delivery.round ? delivery.attempts : 0;
        const expiresAt = Math.min(delivery.expiresAt, endedAt + GIVE_UP_AFTER_MS);
        this.#rounds.set(attempt, round);
        if ((this.#sentRound.get(run_id) ?? 0) > round)
          this.#violate(`run ${numberOf(run_id)} is notified of round ${round} after a later one`);
        this.#sentRound.set(run_id, round);
        this.#send(run_id, (result) => finish({ kind: 'sent', result, round, attempts, expiresAt, endedAt }));
      },
    );
  }

  #attemptIntermediate({ attempt, key }: EffectOf<'attempt_intermediate'>): void {
    const { world, process } = this.#options;
    const { run_id } = key;
    const finish = this.#begin(run_id, attempt);
    const sinceMs = process.clock - (this.#lastIntermediate.get(run_id) ?? -Infinity);
    if (sinceMs < INTERMEDIATE_EVERY_MS - 1)
      this.#violate(`run ${numberOf(run_id)} has two intermediate notifications within ${sinceMs} ms`);
    this.#lastIntermediate.set(run_id, process.clock);
    // The run is read before each attempt: behind its end nothing is sent.
    if (world.deliveries.runs.has(run_id)) return finish({ kind: 'nothing' });
    const progress = { round: 1, attempts: 0, expiresAt: Infinity, endedAt: world.broker.clock };
    this.#send(run_id, (result) => finish({ kind: 'sent', result, ...progress }));
  }

  /** One at a time for each run, and not more than permits. */
  #begin(run_id: string, attempt: number): (report: AttemptReport) => void {
    const { planned } = this.#options;
    if (this.#inFlight.has(run_id)) this.#violate(`run ${numberOf(run_id)} is notified twice at a time`);
    this.#inFlight.add(run_id);
    const { inFlight } = this.#state.limits;
    if (inFlight > planned.maxInFlight)
      this.#violate(`${inFlight} notifications are sent at a time, and ${planned.maxInFlight} may be`);
    return (report) => {
      this.#inFlight.delete(run_id);
      this.#take({ type: 'attempt_finished', attempt, report });
    };
  }

  #send(run_id: string, then: (result: Extract<AttemptReport, { kind: 'sent' }>['result']) => void): void {
    const { process, planned, runOf, isCalm } = this.#options;
    const answers = planned.receivers[runOf(run_id)?.webhook ?? 0] ?? [];
    const answer = isCalm() ? undefined : answers[process.random.integer(0, Math.max(answers.length - 1, 0))];
    const { reason, afterMs } = answer ?? ({ reason: 'accepted', afterMs: 5 } as const);
    process.after(afterMs, () => then({ reason, message: '', status: null, retry_after: null }));
  }

  #load({ receiver, after, max }: EffectOf<'load_deferred'>): void {
    this.#store(
      () => this.#options.world.deliveries.deferredAt(receiver, after),
      (there) => {
        let [lastSequence, found] = [after, 0];
        for (const delivery of there) {
          if (found >= max) break;
          lastSequence = delivery.source.sequence;
          if (hasFinal(this.#state, delivery.key.run_id)) continue;
          this.#take({ type: 'deferred_found', delivery });
          found += 1;
        }
        const end = found >= max ? 'more' : lastSequence > after ? 'end' : 'nothing_found';
        this.#take({ type: 'deferred_loaded', receiver, lastSequence, end });
      },
    );
  }

  /** As services/notifier/src/reconcile-often.ts: looks for what no fact settles, and where it is. */
  #reconcile(): void {
    const { world, process } = this.#options;
    const again = (): void => process.after(ROUND_EVERY_MS, () => this.#reconcile());
    const behind = [...this.#state.partitions.values()].filter(
      ({ sweptUpTo, runs }) => sweptUpTo < runs.low(),
    );
    const partitions = behind.map(({ number }) => number);
    this.#take({ type: 'round_begun', partitions });
    for (let at = 1; at <= world.log.lastSequence; at += 1) {
      const message = world.log.at(at);
      const run_id =
        message &&
        ('redelivery' in message ? message.redelivery : 'key' in message ? message.key.run_id : '');
      const run = world.deliveries.runs.get(run_id ?? '');
      if (!message || !run || run.isSettled) continue;
      if ('key' in message && world.log.historyOf(run.key.run_id).head !== message.sequence) continue;
      const end = endOf(run, { sequence: at, time: Date.parse(message.time) });
      const held = this.#state.partitions.get(end.partition);
      if (!held?.round || at <= held.sweptUpTo || at > held.round.upTo) continue;
      this.#take({ type: 'unsettled_found', ...end, found: this.#whereIs(run) });
    }
    this.#take({ type: 'round_ended', partitions });
    again();
  }

  #whereIs(run: NotifiedRun): Found {
    const { world } = this.#options;
    if (hasFinal(this.#state, run.key.run_id)) return { kind: 'in_memory' };
    const pending = world.deliveries.pendingOf(run.key);
    if (!pending) return { kind: 'outside', round: run.round };
    if (pending.state === 'wait' && world.broker.clock - pending.at > OVERDUE_MS)
      return { kind: 'overdue', delivery: { ...pending.delivery, mayBeSuperseded: true } };
    return { kind: 'timer', isDeferred: pending.state === 'deferred' };
  }

  #violate(what: string): void {
    this.#options.violate('notifications', what);
  }
}

export const originOf = (receiver: number): string => `https://receiver-${receiver}.example`;

const messageOf = (key: RunMessage['key'], origin: string, sequence: number): RunMessage => ({
  partition: partitionOf(origin),
  key,
  origin,
  sequence,
});

const endOf = (
  { key, receiver, endedAt }: NotifiedRun,
  { sequence, time }: { readonly sequence: number; readonly time: number },
) => ({ ...messageOf(key, receiver.origin, sequence), time, oldestFactAt: endedAt });
