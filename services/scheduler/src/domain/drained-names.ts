import type { FleetRequest } from '@runledger/contracts/fleet-requests';
import type { ExecutorState } from '@runledger/contracts/executor-state';

export type Drain = NonNullable<ExecutorState['drain']>;

/** Which names of executors are drained. Requests may be told twice or late: of each name the last one in the log counts. */
export class DrainedNames {
  readonly #last = new Map<string, { readonly sequence: number; readonly drain: Drain | null }>();

  /** False when this request, or a later one of the name, is known. */
  isNew(name: string, sequence: number): boolean {
    return sequence > (this.#last.get(name)?.sequence ?? 0);
  }

  /** `time` is the broker's. */
  take({ type, executor_name, requested_by }: FleetRequest, sequence: number, time: string): void {
    const drain = type === 'ExecutorDrainRequested' ? { requested_at: time, requested_by } : null;
    this.#last.set(executor_name, { sequence, drain });
  }

  drainOf(name: string): Drain | null {
    return this.#last.get(name)?.drain ?? null;
  }

  *names(): Generator<string> {
    for (const [name, { drain }] of this.#last) if (drain) yield name;
  }
}
