import type { Broker } from '../broker/broker.ts';
import type { Plan } from '../plan/plan.ts';
import type { CheckedLoss, WatchedScheduler } from '../scheduler/watcher.ts';
import type { Violate } from './violation.ts';

/** An executor is lost after a whole period without a heartbeat in which the scheduler led and was connected. */
export class LossCheck {
  readonly #plan: Plan;
  readonly #broker: Broker;
  readonly #violate: Violate;
  readonly #leadsSince = new Map<string, number>();

  constructor(plan: Plan, broker: Broker, violate: Violate) {
    this.#plan = plan;
    this.#broker = broker;
    this.#violate = violate;
  }

  onLead({ name }: WatchedScheduler, atMs: number): void {
    this.#leadsSince.set(name, atMs);
  }

  onLoss({ name, process }: WatchedScheduler, { executor, readAtMs, lastAtMs = 0 }: CheckedLoss): void {
    const since = Math.max(
      lastAtMs,
      this.#leadsSince.get(name) ?? 0,
      Math.min(process.cutUntil, readAtMs),
      Math.min(this.#broker.upSince, readAtMs),
    );
    const waitedMs = (readAtMs - since) * process.clockRate;
    if (waitedMs >= this.#plan.heartbeatPeriodMs) return;
    const seconds = Math.round(waitedMs) / 1_000;
    this.#violate('losses', `${name} declares ${executor} lost after ${seconds} s without a heartbeat`);
  }
}
