import { parseFleetEvent } from '@runledger/contracts/events/fleet-event';
import { executorId, executorName } from '@runledger/contracts/ids';
import { capabilitiesOf, type Capabilities } from '@runledger/scheduler/core/requirements';
import type { SliceFact } from '@runledger/contracts/slices/slice';

/** An executor from its start to its end, in milliseconds of the clock. */
export interface ExecutorLifetime {
  readonly name: string;
  /** The GPU model of each slot. */
  readonly slots: readonly string[];
  /** What it can execute. */
  readonly capabilities: Capabilities;
  readonly fromMs: number;
  /** Of the day when it was still there. */
  toMs: number;
  /** It left in order, or was lost; null when it was still there. */
  end: 'left' | 'lost' | null;
}

/** A name that was drained. */
export interface DrainTime {
  readonly name: string;
  readonly fromMs: number;
  toMs: number;
}

export interface FleetOfDay {
  readonly executors: readonly ExecutorLifetime[];
  readonly drains: readonly DrainTime[];
}

/** Folds the facts of FLEET. */
export class Fleet {
  readonly #executors: ExecutorLifetime[] = [];
  readonly #present = new Map<string, ExecutorLifetime>();
  readonly #drains: DrainTime[] = [];
  readonly #drained = new Map<string, DrainTime>();

  add({ event: body, time }: SliceFact): void {
    const parsed = parseFleetEvent(body);
    if (parsed.kind !== 'event') return;
    const { event } = parsed;
    const atMs = Date.parse(time);
    if ('executor_name' in event) return this.#request(event.type, event.executor_name, atMs);
    const name = executorName(executorId(event.executor_id));
    if (event.type === 'ExecutorRegistered') {
      this.#end(name, atMs, 'lost');
      const slots = event.slots.map(({ gpu }) => gpu);
      const capabilities = capabilitiesOf(event);
      const executor = { name, slots, capabilities, fromMs: atMs, toMs: Infinity, end: null };
      this.#executors.push(executor);
      this.#present.set(name, executor);
    } else if (event.type !== 'ExecutorDraining') {
      this.#end(name, atMs, event.type === 'ExecutorLeft' ? 'left' : 'lost');
    }
  }

  /** What is still there ends with the day. */
  until(time: string): FleetOfDay {
    const toMs = Date.parse(time);
    for (const lifetime of [...this.#executors, ...this.#drains])
      lifetime.toMs = Math.min(lifetime.toMs, toMs);
    return { executors: this.#executors, drains: this.#drains };
  }

  #end(name: string, atMs: number, end: 'left' | 'lost'): void {
    const executor = this.#present.get(name);
    if (executor) Object.assign(executor, { toMs: atMs, end });
    this.#present.delete(name);
  }

  #request(type: 'ExecutorDrainRequested' | 'ExecutorResumeRequested', name: string, atMs: number): void {
    const drained = this.#drained.get(name);
    if (type === 'ExecutorResumeRequested') {
      if (drained) drained.toMs = atMs;
      this.#drained.delete(name);
    } else if (!drained) {
      const drain = { name, fromMs: atMs, toMs: Infinity };
      this.#drains.push(drain);
      this.#drained.set(name, drain);
    }
  }
}
