import { attemptSubjects } from '@runledger/contracts/events/subjects';
import { eventIdOf, type StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { AttemptUnderWay } from '@runledger/contracts/fold/evolve-attempt';
import type { Assignment } from '@runledger/gpu-executor/attempt/assignment.decide';
import {
  eventOf,
  type EventDraft,
  beginFacts,
  skipTo,
  applyMessage,
  applyOwn,
  underWay,
  type AttemptFacts,
} from '@runledger/gpu-executor/attempt/attempt-facts.decide';
import type { Appended } from '../broker/run-log.ts';
import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';

/** As services/gpu-executor/src/attempt/attempt-ledger.ts, in virtual time. */
const APPEND_WITHIN_MS = 12_000;
const LOOK_UP_AFTER_MS = 2_000;
const LOOK_UP_WITHIN_MS = 5_000;
const RETRY_AFTER_MS = 500;
const FORMER_LEADER_MS = 15_000;
const MAX_REFUSED = 8;

type Decide = (attempt: AttemptUnderWay) => EventDraft | null;

interface Attempted {
  readonly event: RunEvent;
  readonly expected: number;
  /** When the log first answered that it does not hold `expected`. */
  behindSince?: number;
}

interface Append {
  readonly decide: Decide;
  readonly done: (isStored: boolean) => void;
  last: Attempted | null;
  refused: number;
}

/** One attempt in the log: what its executor has read of it, and stores. */
export class Ledger {
  readonly assignment: Assignment;
  readonly #world: World;
  readonly #process: Process;
  readonly #onStop: () => void;
  /** By event id: why the event is not a fact of the attempt, else null. */
  readonly #received = new Map<string, string | null>();
  #facts: AttemptFacts;
  /** What waits for a change of the facts. */
  #waiting: (() => void)[] = [];
  #isClosing = false;
  #mustStop = false;

  /** `onStop` is called once, when the workflow has to stop. */
  constructor(
    { world, process, onStop }: { world: World; process: Process; onStop: () => void },
    assignment: Assignment,
    head: number,
  ) {
    this.#world = world;
    this.#process = process;
    this.#onStop = onStop;
    this.assignment = assignment;
    this.#facts = beginFacts(assignment, head);
  }

  get mustStop(): boolean {
    return this.#mustStop;
  }

  receive(message: StoredMessage): void {
    const { facts, refused } = applyMessage(this.#facts, message);
    const id = eventIdOf(message);
    if (id !== null && !this.#received.has(id)) this.#received.set(id, refused);
    this.#setFacts(facts);
  }

  /** The executor stops: nothing more is stored. */
  close(): void {
    this.#isClosing = true;
    this.#stop();
  }

  /** Stores the event that `decide` returns, and decides again when another fact came first. */
  append(decide: Decide, done: (isStored: boolean) => void): void {
    this.#try({ decide, done, last: null, refused: 0 });
  }

  #try(append: Append): void {
    if (this.#isClosing || append.refused >= MAX_REFUSED) return append.done(false);
    // The acknowledgement was lost, but the fact was delivered.
    if (append.last && this.#received.get(append.last.event.event_id) === null) return append.done(true);
    const next = this.#nextEvent(append);
    append.last = next;
    if (!next) return append.done(false);
    this.#world.broker.ask(
      this.#process,
      APPEND_WITHIN_MS,
      () => this.#world.log.append(next.event, next.expected),
      (appended) => this.#onAppended(append, next, appended),
    );
  }

  #nextEvent({ decide, last }: Append): Attempted | null {
    const attempt = underWay(this.#facts);
    const draft = attempt && decide(attempt);
    if (!draft) return null;
    const expected = this.#facts.history.head;
    if (last?.expected === expected) return last;
    const { newEventId, broker } = this.#world;
    return {
      event: eventOf(this.assignment, draft, { event_id: newEventId(), time: broker.time }),
      expected,
    };
  }

  #onAppended(append: Append, attempted: Attempted, appended: Appended | undefined): void {
    const { event, expected } = attempted;
    const again = (): void => this.#try(append);
    if (appended?.kind === 'stored') return this.#count(append, event, appended.sequence);
    const isBehind = appended?.kind === 'conflict' && appended.head > expected;
    if (isBehind) return this.#readUpTo(appended.head, again);
    // The log has forgotten what the attempt rests on.
    const now = this.#process.clock;
    if (appended?.kind === 'conflict') attempted.behindSince ??= now;
    if (now - (attempted.behindSince ?? now) >= FORMER_LEADER_MS) {
      const { history } = this.#facts;
      this.#setFacts({ ...this.#facts, history: { ...history, state: { status: 'over' } } });
      again();
    } else this.#process.after(RETRY_AFTER_MS, again);
  }

  /** After a skipped message, only the delivery of a stored fact shows that it counts. */
  #count(append: Append, event: RunEvent, sequence: number): void {
    if (this.#facts.skipped.length === 0) {
      this.#setFacts(applyOwn(this.#facts, { event, sequence, time: this.#world.broker.time }));
      return append.done(true);
    }
    const wait = (): void => {
      const refused = this.#received.get(event.event_id);
      if (refused === null) append.done(true);
      else if (refused !== undefined) {
        append.refused += 1;
        this.#try(append);
      } else if (this.#isClosing) append.done(false);
      else this.#waiting.push(wait);
    };
    wait();
  }

  /** Waits for the facts up to `head`, and looks them up when they are late. */
  #readUpTo(head: number, then: () => void): void {
    const isBehind = (): boolean => this.#facts.history.head < head;
    let isOver = false;
    const finish = (): void => {
      if (!isOver) then();
      isOver = true;
    };
    const wait = (): void => {
      if (isOver) return;
      if (isBehind()) this.#waiting.push(wait);
      else finish();
    };
    wait();
    this.#process.after(LOOK_UP_AFTER_MS, () => {
      if (!isOver) this.#lookUp(head, finish);
    });
  }

  #lookUp(head: number, then: () => void): void {
    const { log, broker } = this.#world;
    const { run_id } = this.assignment;
    const subjects = new Set(attemptSubjects(this.assignment));
    broker.ask(
      this.#process,
      LOOK_UP_WITHIN_MS,
      () => log.messagesOf(run_id).filter(({ subject }) => subjects.has(subject)),
      (found) => {
        for (const late of found ?? []) if (late.sequence > this.#facts.history.head) this.receive(late);
        if (found && this.#facts.history.head < head) this.#setFacts(skipTo(this.#facts, head));
        then();
      },
    );
  }

  #setFacts(next: AttemptFacts): void {
    this.#facts = next;
    const attempt = underWay(next);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
    if (attempt === null || attempt.cancel !== null) this.#stop();
  }

  #stop(): void {
    if (this.#mustStop) return;
    this.#mustStop = true;
    this.#onStop();
  }
}
