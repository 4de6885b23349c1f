import { newerRunEvent } from '@runledger/contracts/events/run-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import {
  attemptName,
  readAssignment,
  type Assignment,
  KnownTerms,
} from '@runledger/gpu-executor/attempt/assignment.decide';
import {
  beginFacts,
  applyMessage,
  underWay,
  type AttemptFacts,
} from '@runledger/gpu-executor/attempt/attempt-facts.decide';
import { NewerFact, oldestBeyond } from '../slice.ts';

/** An attempt, and what its executor knows of it. */
export interface PlayedAttempt {
  readonly facts: AttemptFacts;
  /** Its assignment was void when it was stored, as the slice shows. */
  readonly isVoid: boolean;
  /** The sequence of its assignment. */
  readonly from: number;
  /** The last term that had begun then; 0 for none. */
  readonly lastTerm: number;
}

interface NumberedAttempt {
  readonly run_id: string;
  readonly attempt: number;
}

/** So many attempts that are over are told from those that the slice does not have. */
const MAX_OVER = 10_000;

/** The attempts of all executors, as each knows its own. */
export class PlayedAttempts {
  /** By run: one at a time is under way. */
  readonly #underWay = new Map<string, PlayedAttempt>();
  /** By executor. */
  readonly #terms = new Map<string, KnownTerms>();
  /** The last ones, by their names. */
  readonly #over = new Set<string>();
  #lastTerm = 0;

  get(run_id: string): PlayedAttempt | undefined {
    return this.#underWay.get(run_id);
  }

  isOver(attempt: NumberedAttempt): boolean {
    return this.#over.has(attemptName(attempt));
  }

  /** A scheduler began to lead. */
  beginTerm(term: number): void {
    this.#lastTerm = term;
  }

  /** An executor registers, on the condition that no term began after the last one. */
  register(executor_id: string): void {
    const terms = this.#terms.get(executor_id) ?? new KnownTerms();
    terms.onRegister(this.#lastTerm);
    this.#terms.set(executor_id, terms);
  }

  /** An executor left, or is lost: if it comes back, it registers again. */
  remove(executor_id: string): void {
    this.#terms.delete(executor_id);
  }

  assign(message: StoredMessage): void {
    const read = readAssignment(message);
    if (read.kind !== 'assignment') return;
    const { assignment, head } = read;
    const { run_id, attempt } = assignment;
    const before = this.#underWay.get(run_id);
    if (this.isOver(assignment) || before?.facts.assignment.attempt === attempt) return;
    if (before) this.#end(before);
    const isVoid = this.#termsOf(assignment).isVoid(assignment, head);
    const facts = beginFacts(assignment, head);
    this.#underWay.set(run_id, { facts, isVoid, from: head, lastTerm: this.#lastTerm });
  }

  /** A fact of an attempt, after its assignment. @throws {NewerFact} */
  take({ run_id, attempt }: NumberedAttempt, message: StoredMessage): void {
    const known = this.#underWay.get(run_id);
    if (known?.facts.assignment.attempt !== attempt) return;
    const { facts } = applyMessage(known.facts, message);
    const newer = facts.unreadable ? newerRunEvent(message.body) : undefined;
    if (newer) throw new NewerFact({ ...newer, sequence: message.sequence });
    const state = underWay(facts);
    if (!state) return this.#end(known);
    // One that has begun was not void for its executor.
    this.#underWay.set(run_id, { ...known, facts, isVoid: known.isVoid && state.status === 'started' });
  }

  /**
   * Whether its executor may have known that the assignment is void. A slice does not have what executors are told, but without a later
   * term before the assignment there was nothing to tell.
   */
  mayBeVoid({ facts: { assignment }, isVoid, from, lastTerm }: PlayedAttempt): boolean {
    const { term = Infinity } = assignment.event.data;
    return isVoid || lastTerm > term || this.#termsOf(assignment).isVoid(assignment, from);
  }

  #termsOf({ executor_id }: Pick<Assignment, 'executor_id'>): KnownTerms {
    return this.#terms.get(executor_id) ?? new KnownTerms();
  }

  #end({ facts: { assignment } }: PlayedAttempt): void {
    this.#underWay.delete(assignment.run_id);
    this.#over.add(attemptName(assignment));
    const oldest = oldestBeyond(this.#over, MAX_OVER);
    if (oldest !== undefined) this.#over.delete(oldest);
  }
}
