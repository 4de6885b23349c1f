import type { ExecutorRegistered } from '@runledger/contracts/fleet';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { Departure } from './sentences.ts';

interface Departed {
  readonly how: Departure;
  readonly registration: ExecutorRegistered | undefined;
  lastBeat: string | null;
}

const MOST_REMEMBERED = 10_000;

/** Executors that left or were declared lost; the oldest are forgotten. One that was lost and is heard again was merely away, and takes part again. */
export class DepartedExecutors {
  readonly #departed = new Map<ExecutorId, Departed>();

  remember(id: ExecutorId, departed: Departed): void {
    this.#departed.delete(id);
    this.#departed.set(id, departed);
    const [oldest] = this.#departed.keys();
    if (this.#departed.size > MOST_REMEMBERED && oldest !== undefined) this.#departed.delete(oldest);
  }

  forget(id: ExecutorId): void {
    this.#departed.delete(id);
  }

  howOf(id: ExecutorId): Departure | undefined {
    return this.#departed.get(id)?.how;
  }

  /** Its registration, if the beat of this broker time is a new one: the last beat before the loss may be told again. */
  heardAgain(id: ExecutorId, time: string): ExecutorRegistered | undefined {
    const departed = this.#departed.get(id);
    if (departed?.how !== 'executor_lost') return undefined;
    const isNew = departed.lastBeat !== null && departed.lastBeat !== time;
    departed.lastBeat = time;
    return isNew ? departed.registration : undefined;
  }
}
