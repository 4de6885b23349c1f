import type { ExecutorFact, Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { ExecutorId } from '@runledger/contracts/ids';
import { gpuModel } from '@runledger/contracts/gpu';
import type { World } from '../broker/world.ts';
import type { Process } from '../time/process.ts';

/** As services/gpu-executor/src/fleet/fleet-presence.ts, in virtual time. */
const RETRY_AFTER_MS = 500;
const APPEND_WITHIN_MS = 12_000;
const HEARTBEAT_WITHIN_MS = 2_000;
const LEAVE_WITHIN_MS = 1_000;

export interface PresenceOptions {
  readonly world: World;
  readonly process: Process;
  readonly id: ExecutorId;
  /** The GPU model of each slot. */
  readonly slots: readonly string[];
  /** The run of each busy slot. */
  readonly busy: () => Heartbeat['runs'];
}

type FactType = 'ExecutorRegistered' | 'ExecutorDraining' | 'ExecutorLeft';

/** Registers the executor, and sends heartbeats. */
export class Presence {
  readonly #options: PresenceOptions;
  #count = 0;
  #isDraining = false;
  #hasLeft = false;
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

  #register(then: () => void): void {
    this.#append('ExecutorRegistered', APPEND_WITHIN_MS, (isStored) => {
      if (isStored) then();
      else this.#options.process.after(RETRY_AFTER_MS, () => this.#register(then));
    });
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
    const { world, process, id, busy } = this.#options;
    const heartbeat = { executor_id: id, count: this.#count, draining: this.#isDraining, runs: busy() };
    const restMs = world.plan.heartbeatPeriodMs / 3;
    const next = (ms: number): void => process.after(ms, () => this.#sendOne());
    world.broker.ask(
      process,
      HEARTBEAT_WITHIN_MS,
      () => (world.fleet.put(heartbeat), true),
      (isStored) => {
        if (!isStored) return next(Math.min(restMs, RETRY_AFTER_MS));
        this.#count += 1;
        const late = this.#isLate();
        this.#lastHeartbeatMs = process.clock;
        if (late && !this.#isDraining) this.#register(() => next(restMs));
        else next(restMs);
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
    const { world, id, slots } = this.#options;
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
      programs: ['render-image'],
      dedicated: {},
      public_key: 'key',
      software_version: '0.1.0',
    };
  }
}
