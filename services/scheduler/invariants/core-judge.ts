import { executorName } from '@runledger/contracts/ids';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import type { InvariantName } from '@runledger/testing/invariants';
import type { Assign, Decision, DeclareLost } from '../src/core/decision.ts';
import type { ShareOf } from '../src/core/runs/fair-queue.ts';
import type { RunUpdate, SchedulerInput } from '../src/core/scheduler-input.ts';
import type { Scheduling } from '../src/core/scheduling.ts';
import { Fairness } from './fairness.ts';
import { beforeDecision, knownSlots, misjudgedSlot, type RunThen } from './known-slots.ts';
import { warmerSlot, modelsAt, type TickClock, waitsBesideSlot } from './placement.ts';

/** So many assignments are judged one after the other, each time. */
const SAMPLED = 20;

/** The core of a scheduler, and whoever is told what is wrong with it. */
export interface JudgedCore {
  readonly scheduling: Scheduling;
  readonly shareOf: ShareOf;
  readonly heartbeatPeriodMs: number;
  /** The id of a run, for people. */
  readonly nameOf: (run_id: string) => string;
  /** Milliseconds since 1970. */
  readonly instantOf: (time: string) => number;
  readonly violate: (check: InvariantName, what: string) => void;
  /** Of a long history all runs and slots, and some assignments one after the other, are compared so often; otherwise after each step. */
  readonly sample?: { readonly everyMs: number; readonly now: () => number };
}

/** What must hold after each input of a core, by what it was given and decided: whoever plays it, with whatever generator. */
export class CoreJudge {
  readonly #core: JudgedCore;
  readonly #fairness = new Fairness();
  #isLeading = false;
  #hasCapacity = true;
  /** The broker's clock at the last tick, and the latest of all ticks: it may have been set back. */
  #now = 0;
  #latest = 0;
  #connectedMs = 0;
  #comparedAt = -Infinity;
  #sampledAt = -Infinity;
  #left = 0;
  /** Of runs that have not ended: the head that was delivered last, and that which was decided on last. */
  readonly #heads = new Map<string, number>();
  readonly #decidedOn = new Map<string, number>();
  /** The last request of each name, and the names that are drained. */
  readonly #requests = new Map<string, number>();
  readonly #drained = new Set<string>();
  /** When each executor was seen last, from when on its silence counts, and its last heartbeat. */
  readonly #seenAt = new Map<string, number>();
  readonly #heartbeats = new Map<string, string>();

  constructor(core: JudgedCore) {
    this.#core = core;
  }

  /** The clock of the last tick. */
  get clock(): TickClock {
    return { now: this.#now, instantOf: this.#core.instantOf };
  }

  readonly isDrained = (name: string): boolean => this.#drained.has(name);

  onInput(input: SchedulerInput, decisions: readonly Decision[]): void {
    if ('connectedMs' in input) this.#connectedMs = input.connectedMs;
    this.#remember(input);
    for (const decision of decisions) this.#judgeDecision(decision);
    const assigned = decisions.filter((decision) => decision.type === 'assign');
    // The state before several decisions is not known.
    const [only, ...others] = assigned;
    if (only && others.length === 0) this.#isWarmIfPossible(only);
    // Others have the slot of a decision that failed first.
    if (input.type === 'settled' && input.outcome === 'failed') this.#fairness.forget();
    else
      for (const [n, decision] of decisions.entries())
        if (decision.type === 'assign') this.#isFair(decision, decisions.slice(n));
    // Others free no slot, and no run begins to wait.
    const mayChange = !['tick', 'heartbeat', 'log_size'].includes(input.type) || decisions.length > 0;
    if (mayChange && this.#isLeading) this.#compareSlots();
  }

  #remember(input: SchedulerInput): void {
    switch (input.type) {
      case 'run_fact':
      case 'run_read_again':
        return this.#rememberRun(input);
      case 'fleet_fact': {
        const { event, sequence } = input;
        if (event.type === 'ExecutorRegistered') this.#seenAt.set(event.executor_id, input.connectedMs);
        if (!('executor_name' in event) || sequence <= (this.#requests.get(event.executor_name) ?? 0)) return;
        this.#requests.set(event.executor_name, sequence);
        if (event.type === 'ExecutorDrainRequested') this.#drained.add(event.executor_name);
        else this.#drained.delete(event.executor_name);
        return;
      }
      case 'drained_name':
        this.#drained.add(input.drained.name);
        return;
      case 'heartbeat': {
        const { executor_id } = input.heartbeat;
        if (this.#heartbeats.get(executor_id) !== input.time)
          this.#seenAt.set(executor_id, input.connectedMs);
        this.#heartbeats.set(executor_id, input.time);
        return;
      }
      case 'lead':
      case 'reset_heartbeats':
        // Another scheduler may have given slots away.
        if (input.type === 'lead') {
          this.#isLeading = true;
          this.#fairness.forget();
        }
        for (const executor of this.#seenAt.keys()) this.#seenAt.set(executor, input.connectedMs);
        return;
      case 'stand_by':
        this.#isLeading = false;
        this.#decidedOn.clear();
        return;
      case 'tick':
        this.#now = input.now;
        this.#latest = Math.max(this.#latest, input.now);
        return;
      case 'log_size':
        this.#hasCapacity = input.maxBytes < 0;
        return;
      case 'settled':
        // It may be decided again.
        if (input.outcome === 'failed' && input.decision.type !== 'declare_lost')
          this.#decidedOn.delete(input.decision.key.run_id);
        return;
      case 'durations':
      case 'run_unreadable':
    }
  }

  #rememberRun({ key: { run_id }, history: { head, state } }: RunUpdate): void {
    if (!state || isDeleted(state) || isEnded(state)) {
      this.#heads.delete(run_id);
      this.#decidedOn.delete(run_id);
    } else this.#heads.set(run_id, Math.max(head, this.#heads.get(run_id) ?? 0));
  }

  #judgeDecision(decision: Decision): void {
    const { violate, scheduling, nameOf } = this.#core;
    if (!this.#isLeading) violate('decisions', `a scheduler decides ${decision.type}, and does not lead`);
    if (decision.type === 'declare_lost') return this.#judgeLoss(decision);
    const { key, expected } = decision;
    const run = `run ${nameOf(key.run_id)}`;
    if ((this.#decidedOn.get(key.run_id) ?? 0) >= expected)
      violate('decisions', `a scheduler decides twice on ${run} at ${expected}`);
    this.#decidedOn.set(key.run_id, expected);
    const { state } = scheduling.historyOf(key);
    const isOver = !state || isDeleted(state) || isEnded(state);
    if (isOver || (this.#heads.get(key.run_id) ?? expected) !== expected)
      violate('decisions', `a scheduler decides on ${run} at ${expected}, which is not where it is`);
    if (decision.type === 'assign') this.#judgePlace(decision);
  }

  #judgeLoss({ executor }: DeclareLost): void {
    const silentMs = this.#connectedMs - (this.#seenAt.get(executor) ?? -Infinity);
    if (silentMs < this.#core.heartbeatPeriodMs)
      this.#core.violate('losses', `${executor} is declared lost after ${silentMs} ms without a heartbeat`);
  }

  #judgePlace({ run, gpu, executor }: Assign): void {
    const { violate, nameOf, scheduling } = this.#core;
    const name = `run ${nameOf(run.run_id)}`;
    if (this.isDrained(executorName(executor)))
      violate('drains', `${executorName(executor)} is drained, and gets ${name}`);
    // The clock may have been set back since the run began to wait for the model.
    if (!modelsAt(run, { ...this.clock, now: this.#latest }).includes(gpu))
      violate('placement', `${name} gets a slot of ${gpu}, which it may not take, or not yet`);
    const { labels = [] } = run.request;
    if (labels.length === 0) return;
    const has =
      [...scheduling.executors()].find(({ id }) => id === executor)?.registration.event.labels ?? [];
    const missing = labels.filter((label) => !has.includes(label));
    if (missing.length > 0)
      violate('placement', `${name} gets ${executor}, which has no label ${missing.join(' and ')}`);
  }

  /** A warmer slot goes before all others that fit. */
  #isWarmIfPossible({ run, executor, slot: number }: Assign): void {
    const { scheduling, nameOf, violate } = this.#core;
    const runs = [...scheduling.runs()];
    const known = runs.find(({ key }) => key.run_id === run.run_id);
    const slots = knownSlots(scheduling, runs, this.isDrained);
    const taken = slots.find(({ slot }) => slot.executor.id === executor && slot.number === number);
    if (!known || !taken) return;
    const warmer = warmerSlot(known, taken.slot, slots, this.clock);
    if (warmer)
      violate(
        'placement',
        `run ${nameOf(run.run_id)} gets a slot of ${executor}, and ${warmer.executor.id} has a warmer one`,
      );
  }

  #isSampled(): boolean {
    const { sample } = this.#core;
    if (!sample) return true;
    const now = sample.now();
    if (now - this.#sampledAt >= sample.everyMs) {
      [this.#sampledAt, this.#left] = [now, SAMPLED];
      this.#fairness.forget();
    }
    this.#left -= 1;
    return this.#left >= 0;
  }

  /** Whoever gets the slot is next for it. `decisions`: this one and those after it. */
  #isFair(decision: Assign, decisions: readonly Decision[]): void {
    if (!this.#isSampled()) return;
    const { scheduling, shareOf, violate } = this.#core;
    const moment = beforeDecision(scheduling, decisions, this.isDrained);
    // Set back, the clock does not say what a run that waits for a time may take, as that was so before.
    if (this.#now < this.#latest && moment.runs.some(waitsForTime)) return this.#fairness.forget();
    const circumstances = { shareOf, isDrained: this.isDrained, clock: this.clock };
    const problem = this.#fairness.problemOf(moment, decision, circumstances);
    if (problem !== undefined) violate('fair-share', problem);
  }

  #compareSlots(): void {
    const { scheduling, shareOf, nameOf, violate, sample } = this.#core;
    if (sample && sample.now() - this.#comparedAt < sample.everyMs) return;
    this.#comparedAt = sample?.now() ?? 0;
    const misjudged = misjudgedSlot(scheduling, this.isDrained);
    if (misjudged) {
      const { slot, isFree } = misjudged;
      const [is, judged] = isFree ? ['free', 'busy'] : ['not free', 'free'];
      const name = `slot ${slot.number} of ${slot.executor.id}`;
      violate('slots', `${name} is ${is}, and the leader takes it for ${judged}`);
    }
    const circumstances = { shareOf, isDrained: this.isDrained, clock: this.clock };
    const found = this.#hasCapacity ? waitsBesideSlot(scheduling, circumstances) : undefined;
    if (found) {
      const run = `run ${nameOf(found.run.key.run_id)}`;
      violate('idle-slots', `${run} waits, and ${found.executor} has a free slot that could take it`);
    }
  }
}

const waitsForTime = ({ waits, run }: RunThen): boolean =>
  waits &&
  (run.not_before !== null ||
    run.request.warm_wait_s !== undefined ||
    (run.request.gpu_fallbacks ?? []).some(({ after_s }) => after_s > 0));
