import type { ExecutorFact, Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { ExecutorId } from '@runledger/contracts/ids';
import { gpuModel } from '@runledger/contracts/gpu';
import type { KnownTerms } from '@runledger/gpu-executor/attempt/assignment.decide';
import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';

/** As services/gpu-executor/src/fleet-presence.ts, in virtual time. */
const RETRY_AFTER_MS = 500;
const APPEND_WITHIN_MS = 12_000;
const HEARTBEAT_WITHIN_MS = 2_000;
const LEAVE_WITHIN_MS = 1_000;
/** A heartbeat after a change comes this part of the period after it, with all other changes until then. */
const AFTER_CHANGE = 1 / 24;

export interface PresenceOptions {
  readonly world: World;
  readonly process: Process;
  readonly id: ExecutorId;
  /** The GPU model of each slot. */
  readonly slots: readonly string[];
  readonly labels: readonly string[];
  /** The run of each busy slot. */
  readonly busy: () => Heartbeat['runs'];
  /** What is loaded in the slots. */
  readonly loaded: () => NonNullable<Heartbeat['loaded']>;
  readonly prepared: () => string[];
  readonly terms: KnownTerms;
}

type FactType = 'ExecutorRegistered' | 'ExecutorDraining' | 'ExecutorLeft';

/** Registers the executor, and sends heartbeats. */
export class Presence {
  readonly #options: PresenceOptions;
  #count = 0;
  #isDraining = false;
  #hasLeft = false;
  /** What is loaded has changed since the last heartbeat. */
  #hasChanged = false;
  /** The rest before the next heartbeat, while there is one. */
  #rest: object | undefined;
  #lastHeartbeatMs: number;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#lastHeartbeatMs = options.process.clock;
    this.#register(() => this.#sendOne());
  }

  drain(): void {
    this.#isDraining = true;
    this.#append('ExecutorDraining', LEAVE_WITHIN_MS, () => undefined);
  }

  /** Returns the runs under way to the scheduler. */
  leave(then: () => void): void {
    this.#hasLeft = true;
    this.#append('ExecutorLeft', LEAVE_WITHIN_MS, then);
  }

  /** What is loaded has changed: a heartbeat says it soon. */
  onLoadedChange(): void {
    if (this.#hasChanged) return;
    this.#hasChanged = true;
    if (this.#rest) this.#sendAfter(this.#afterChangeMs);
  }

  get #afterChangeMs(): number {
    return this.#options.world.plan.heartbeatPeriodMs * AFTER_CHANGE;
  }

  /** A later call replaces an earlier one. */
  #sendAfter(ms: number): void {
    const rest = {};
    this.#rest = rest;
    this.#options.process.after(ms, () => {
      if (this.#rest !== rest) return;
      this.#rest = undefined;
      this.#sendOne();
    });
  }

  #register(then: () => void, event = this.#fact('ExecutorRegistered')): void {
    const { world, process, terms } = this.#options;
    const term = terms.registered;
    world.broker.ask(
      process,
      APPEND_WITHIN_MS,
      () => world.fleet.register(event, term),
      (registered) => {
        if (registered?.isStored) return then();
        if (!registered) return process.after(RETRY_AFTER_MS, () => this.#register(then, event));
        // Before it is sent: an assignment may come before the answer.
        terms.onRegister(registered.term);
        this.#register(then, event);
      },
    );
  }

  #sendOne(): void {
    const { process } = this.#options;
    if (this.#hasLeft) return;
    // Without a heartbeat for a period the scheduler may have declared the loss.
    if (this.#isLate() && !this.#isDraining) {
      this.#register(() => {
        this.#lastHeartbeatMs = process.clock;
        this.#send();
      });
    } else this.#send();
  }

  #send(): void {
    const { world, process, id, busy, loaded, prepared } = this.#options;
    this.#hasChanged = false;
    const heartbeat = {
      executor_id: id,
      count: this.#count,
      draining: this.#isDraining,
      runs: busy(),
      loaded: loaded(),
      prepared: prepared(),
    };
    const restMs = world.plan.heartbeatPeriodMs / 3;
    const rest = (): void => this.#sendAfter(this.#hasChanged ? this.#afterChangeMs : restMs);
    world.broker.ask(
      process,
      HEARTBEAT_WITHIN_MS,
      () => (world.fleet.put(heartbeat), true),
      (isStored) => {
        if (!isStored) return process.after(Math.min(restMs, RETRY_AFTER_MS), () => this.#sendOne());
        this.#count += 1;
        const late = this.#isLate();
        this.#lastHeartbeatMs = process.clock;
        if (late && !this.#isDraining) this.#register(rest);
        else rest();
      },
    );
  }

  #isLate(): boolean {
    const { world, process } = this.#options;
    return process.clock - this.#lastHeartbeatMs > world.plan.heartbeatPeriodMs;
  }

  #append(type: FactType, withinMs: number, then: (isStored: boolean) => void): void {
    const { world, process } = this.#options;
    const event = this.#fact(type);
    const append = (): true => (world.fleet.append(event), true);
    world.broker.ask(process, withinMs, append, (stored) => then(stored ?? false));
  }

  #fact(type: FactType): ExecutorFact {
    const { world, id, slots, labels } = this.#options;
    const fact = {
      version: 1,
      event_id: world.newEventId(),
      executor_id: id,
      time: world.broker.time,
    } as const;
    if (type !== 'ExecutorRegistered') return { type, ...fact };
    return {
      type,
      ...fact,
      slots: slots.map((gpu, slot) => ({ slot, gpu: gpuModel(gpu) })),
      machines: ['*'],
      programs: ['render-image', 'runner:code'],
      dedicated: {},
      ...(labels.length > 0 && { labels: [...labels] }),
      public_key: 'key',
      software_version: '0.1.0',
    };
  }
}
