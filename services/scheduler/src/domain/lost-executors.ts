import type { ExecutorRegistered } from '@runledger/contracts/fleet';
import type { ExecutorId } from '@runledger/contracts/ids';

interface Lost {
  readonly registration: ExecutorRegistered;
  lastBeat: number | null;
}

const MOST_REMEMBERED = 1_000;

/** Executors that were declared lost. One that is heard again was merely away, and takes part again. */
export class LostExecutors {
  readonly #lost = new Map<ExecutorId, Lost>();

  remember(id: ExecutorId, lost: Lost): void {
    this.#lost.set(id, lost);
    const [oldest] = this.#lost.keys();
    if (this.#lost.size > MOST_REMEMBERED && oldest !== undefined) this.#lost.delete(oldest);
  }

  forget(id: ExecutorId): void {
    this.#lost.delete(id);
  }

  /** Its registration, if this beat is a new one: the last beat before the loss may be told again. */
  heardAgain(id: ExecutorId, beat: number): ExecutorRegistered | undefined {
    const lost = this.#lost.get(id);
    if (!lost) return undefined;
    const isNew = lost.lastBeat !== null && beat > lost.lastBeat;
    lost.lastBeat = Math.max(beat, lost.lastBeat ?? beat);
    return isNew ? lost.registration : undefined;
  }
}
