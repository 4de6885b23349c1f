import type { ExecutorId } from '@runledger/contracts/ids';
import type { Registration } from './registered-executor.ts';
import type { Departure } from '../decisions/messages.ts';

interface FormerExecutor {
  readonly how: Departure;
  readonly registration: Registration | undefined;
  /** Of the last fact about it, in FLEET. */
  readonly sequence: number;
  lastBeat: string | null;
}

const MOST_REMEMBERED = 10_000;

/** Executors that left or were declared lost; the oldest are forgotten. One that was lost and is heard again was merely away, and takes part again. */
export class FormerExecutors {
  readonly #departed = new Map<ExecutorId, FormerExecutor>();

  remember(id: ExecutorId, departed: FormerExecutor): void {
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

  /** Of the last fact about it, in FLEET; 0 when it is not remembered. */
  sequenceOf(id: ExecutorId): number {
    return this.#departed.get(id)?.sequence ?? 0;
  }

  /** Its registration, if the beat of this broker time is a new one: the last beat before the loss may be told again. */
  heardAgain(id: ExecutorId, time: string): Registration | undefined {
    const departed = this.#departed.get(id);
    if (departed?.how !== 'executor_lost') return undefined;
    const isNew = departed.lastBeat !== null && departed.lastBeat !== time;
    departed.lastBeat = time;
    return isNew ? departed.registration : undefined;
  }
}
