import { type ExecutorId, executorName } from '@runledger/contracts/ids';
import type { RemovalReason } from './messages.ts';
import type { Registration } from './registered-executor.ts';
import type { Fleet } from './fleet.ts';

interface FormerExecutor {
  readonly reason: RemovalReason;
  readonly registration: Registration | undefined;
  /** Of the last fact about it, in FLEET. */
  readonly sequence: number;
  lastHeartbeat: string | null;
}

const MAX_FORMER_EXECUTORS = 10_000;

/**
 * Executors that left or were declared lost; the oldest are forgotten. A lost executor that sends a heartbeat was only
 * disconnected, and takes part again.
 */
export class FormerExecutors {
  readonly #former = new Map<ExecutorId, FormerExecutor>();

  add(id: ExecutorId, former: FormerExecutor): void {
    this.#former.delete(id);
    this.#former.set(id, former);
    const [oldest] = this.#former.keys();
    if (this.#former.size > MAX_FORMER_EXECUTORS && oldest !== undefined) this.#former.delete(oldest);
  }

  delete(id: ExecutorId): void {
    this.#former.delete(id);
  }

  removalReasonOf(id: ExecutorId): RemovalReason | undefined {
    return this.#former.get(id)?.reason;
  }

  /** They may live, and begin what is assigned to them. */
  *lost(): Generator<ExecutorId> {
    for (const [id, { reason }] of this.#former) if (reason === 'executor_lost') yield id;
  }

  /** Of the last fact about it, in FLEET; 0 when it is not known. */
  sequenceOf(id: ExecutorId): number {
    return this.#former.get(id)?.sequence ?? 0;
  }

  /**
   * Returns the registration of a lost executor if the heartbeat of this broker time is new: the last one before the loss
   * may be received again.
   */
  heartbeatOf(id: ExecutorId, time: string): Registration | undefined {
    const former = this.#former.get(id);
    if (former?.reason !== 'executor_lost') return undefined;
    const isNew = former.lastHeartbeat !== null && former.lastHeartbeat !== time;
    former.lastHeartbeat = time;
    return isNew ? former.registration : undefined;
  }
}

/**
 * The executors that may begin what is assigned to them: those that are registered, and those that were declared lost, unless another process
 * of their name has registered. That one has their consumer, and one that left begins nothing more.
 */
export const mayBegin = ({ executors }: Fleet, former: FormerExecutors): ExecutorId[] => {
  const registered = [...executors.keys()];
  const names = new Set(registered.map((id) => executorName(id)));
  const lost = [...former.lost()].filter((id) => !names.has(executorName(id)));
  return [...registered, ...lost];
};
