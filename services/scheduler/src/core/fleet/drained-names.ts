import type { ExecutorState } from '@runledger/contracts/requests/executor-state';

/** Who drained a name, and when. */
export type Drain = NonNullable<ExecutorState['drain']>;

export interface DrainedName {
  readonly name: string;
  /** Of the request, in FLEET. */
  readonly sequence: number;
  readonly drain: Drain;
}

/** Which executor names are drained. Requests may arrive twice or late: of each name the last one in the log counts. */
export class DrainedNames {
  readonly #last = new Map<string, { readonly sequence: number; readonly drain: Drain | null }>();

  /** False when this request, or a later one for the name, is known. */
  isNew(name: string, sequence: number): boolean {
    return sequence > (this.#last.get(name)?.sequence ?? 0);
  }

  /** Without a drain the name is resumed. */
  set(name: string, sequence: number, drain: Drain | null): void {
    this.#last.set(name, { sequence, drain });
  }

  drainOf(name: string): Drain | null {
    return this.#last.get(name)?.drain ?? null;
  }

  *all(): Generator<DrainedName> {
    for (const [name, { sequence, drain }] of this.#last) if (drain) yield { name, sequence, drain };
  }
}
