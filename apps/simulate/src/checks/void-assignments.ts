import { executorName, executorId } from '@runledger/contracts/ids';
import type { FleetFact } from '../broker/fleet-log.ts';
import type { Stored, ToldMessage } from '../broker/run-log.ts';

/**
 * Which assignments nobody may begin, by what the log holds when they are stored: a later term had begun before their executor registered,
 * or was told to it, or began when its process was known to be gone.
 */
export class VoidAssignments {
  #lastTerm = 0;
  /** By executor: assignments of earlier terms are void. */
  readonly #terms = new Map<string, number>();
  /** The last executor that registered under each name. */
  readonly #registered = new Map<string, string>();
  readonly #left = new Set<string>();

  onTerm(term: number): void {
    this.#lastTerm = term;
  }

  /** `term`: the last one that had begun. */
  onFleetFact({ event }: FleetFact, term: number): void {
    if (event.type === 'ExecutorLeft') this.#left.add(event.executor_id);
    if (event.type !== 'ExecutorRegistered') return;
    this.#registered.set(executorName(executorId(event.executor_id)), event.executor_id);
    this.#know(event.executor_id, term);
  }

  onTold({ executor, term }: ToldMessage): void {
    this.#know(executor, term);
  }

  isVoid({ event }: Stored): boolean {
    if (event.type !== 'RunAssigned' || event.executor_id === null) return false;
    const { executor_id } = event;
    const { term = 0 } = event.data;
    const isLast = this.#registered.get(executorName(executorId(executor_id))) === executor_id;
    const isGone = this.#left.has(executor_id) || !isLast;
    return term < (isGone ? this.#lastTerm : (this.#terms.get(executor_id) ?? 0));
  }

  #know(executor: string, term: number): void {
    this.#terms.set(executor, Math.max(this.#terms.get(executor) ?? 0, term));
  }
}
