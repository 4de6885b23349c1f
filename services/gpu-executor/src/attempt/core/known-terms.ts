import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { toldTerm } from '@runledger/contracts/subjects/terms';
import type { Assignment } from './assignment.ts';

/** Nothing that was stored before the oldest of so many is delivered any more. */
const MAX_TOLD = 100;

/**
 * The terms of leaders that an executor knows. An assignment of an earlier term is void where a later one began before it, in the order of
 * the log: the leader of that one may have given its place within a limit to another run.
 */
export class KnownTerms {
  #registered = 0;
  /** From which sequence in RUNS on it was told which term. */
  #told: { readonly from: number; readonly term: number }[] = [];

  /** The last one that may have begun before the executor registered. */
  get registered(): number {
    return this.#registered;
  }

  /** The executor registers, on the condition that none after this one has begun. */
  onRegister(term: number): void {
    this.#registered = Math.max(this.#registered, term);
  }

  /** Takes a message that tells a term. False when it does not. */
  onTold({ body, sequence }: StoredMessage): boolean {
    const term = toldTerm(body);
    if (term === undefined) return false;
    // The others are of former leaders, or delivered again.
    const isNews = this.#told.every((known) => known.from > sequence || known.term < term);
    if (isNews) this.#told = [...this.#told, { from: sequence, term }].slice(-MAX_TOLD);
    return true;
  }

  /** `head`: the sequence of the assignment. One of an earlier release names no term. */
  isVoid({ event }: Assignment, head: number): boolean {
    const { term } = event.data;
    if (term === undefined) return false;
    const isLater = this.#told.some((told) => told.from < head && told.term > term);
    return isLater || term < this.#registered;
  }
}
