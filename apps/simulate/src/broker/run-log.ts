import {
  acceptMessage,
  EMPTY_HISTORY,
  type Accepted,
  type Chain,
  type StoredMessage,
} from '@runledger/contracts/fold/chain';
import { isEnded, isDeleted, type Run, type RunState } from '@runledger/contracts/fold/run';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import type { RunEvent, RunEventType } from '@runledger/contracts/events/run-event';
import { orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import { lifecycleFilter, runEventSubject, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { termBegan, toldTermSubject } from '@runledger/contracts/subjects/terms';
import { runOf } from '../plan/ids.ts';
import type { Timeline } from '../time/timeline.ts';
import type { Broker } from './broker.ts';

export type Appended =
  | { readonly kind: 'stored'; readonly sequence: number }
  | { readonly kind: 'conflict'; readonly head: number }
  | { readonly kind: 'full' };

/** A message, and what every reader makes of its text. */
export interface LoggedMessage extends StoredMessage {
  readonly key: RunKey;
  readonly chain: Chain<RunEventType, RunEvent, RunState>;
}

/** A message that tells an executor a term. */
export interface ToldMessage extends StoredMessage {
  readonly executor: ExecutorId;
  readonly term: number;
}

/** A message that was stored, and what it did to its run. */
export interface Stored {
  readonly message: LoggedMessage;
  readonly event: RunEvent;
  readonly before: Run | undefined;
  readonly accepted: Accepted<RunEvent, RunState>;
}

/** How long the broker recognises the id of an event, at least. */
const REMEMBERED_MS = 120_000;
/** Executors may still ask for their facts. */
const MAX_ENDED = 10_000;

interface KnownRun {
  history: RunHistory;
  /** Its messages since the last assignment. */
  messages: LoggedMessage[];
}

/** The stream RUNS: an append is refused when another one came first, and a second one of the same event is the first one. */
export class RunLog {
  readonly #timeline: Timeline;
  readonly #broker: Broker;
  readonly #runs = new Map<string, KnownRun>();
  /** Those from `#first` on. */
  #messages: (LoggedMessage | ToldMessage)[] = [];
  #first = 1;
  #sequence = 0;
  readonly #ended: string[] = [];
  /** Of runs that are forgotten. */
  readonly #heads = new Map<number, number>();
  #recent = new Map<string, number>();
  #before = new Map<string, number>();
  #recentSince = 0;
  onStored: (stored: Stored) => void = () => undefined;
  onTold: (told: ToldMessage) => void = () => undefined;

  constructor(timeline: Timeline, broker: Broker) {
    this.#timeline = timeline;
    this.#broker = broker;
  }

  get lastSequence(): number {
    return this.#sequence;
  }

  append(event: RunEvent, expected: number): Appended {
    if (this.#broker.isFull) return { kind: 'full' };
    const known = this.#knownSequence(event.event_id);
    if (known !== undefined) return { kind: 'stored', sequence: known };
    const { head } = this.historyOf(event.run_id);
    if (head !== expected) return { kind: 'conflict', head };
    this.#recent.set(event.event_id, this.#sequence + 1);
    this.#store(event, expected);
    return { kind: 'stored', sequence: this.#sequence };
  }

  /** Where the executor is told the term; undefined while the stream is full. */
  tell(executor: ExecutorId, term: number): number | undefined {
    if (this.#broker.isFull) return undefined;
    this.#sequence += 1;
    const told = {
      subject: toldTermSubject(executor),
      sequence: this.#sequence,
      time: this.#broker.time,
      fence: null,
      expectedSequence: null,
      body: termBegan('', term),
      executor,
      term,
    };
    this.#messages.push(told);
    this.onTold(told);
    return this.#sequence;
  }

  historyOf(run_id: string): RunHistory {
    const known = this.#runs.get(run_id);
    if (known) return known.history;
    const head = this.#heads.get(runOf(run_id));
    return head === undefined ? EMPTY_HISTORY : { head, state: undefined };
  }

  /** The messages about the last attempt of the run. */
  messagesOf(run_id: string): readonly LoggedMessage[] {
    return this.#runs.get(run_id)?.messages ?? [];
  }

  at(sequence: number): LoggedMessage | ToldMessage | undefined {
    return this.#messages[sequence - this.#first];
  }

  /** Adds a message to a history, as every reader does. */
  accept(history: RunHistory, message: LoggedMessage): Accepted<RunEvent, RunState> {
    return acceptMessage(message.chain, history, message);
  }

  /** Nobody reads messages before this one any more. */
  forgetBefore(sequence: number): void {
    const count = sequence - this.#first;
    if (count < 10_000) return;
    this.#messages = this.#messages.slice(count);
    this.#first = sequence;
  }

  #store(event: RunEvent, expectedSequence: number): void {
    this.#sequence += 1;
    const subject = runEventSubject(event);
    const key = { org_id: orgId(event.org_id), run_id: runId(event.run_id) };
    const fence = lifecycleFilter(key);
    const message: LoggedMessage = {
      subject,
      sequence: this.#sequence,
      time: this.#broker.time,
      fence,
      expectedSequence,
      body: event,
      key,
      chain: readChain(subject, event),
    };
    this.#messages.push(message);
    const known = this.#runs.get(event.run_id) ?? {
      history: this.historyOf(event.run_id),
      messages: [],
    };
    this.#runs.set(event.run_id, known);
    const { state } = known.history;
    const before = state && !isDeleted(state) ? state : undefined;
    const accepted = this.accept(known.history, message);
    if (event.type === 'RunAssigned') known.messages = [];
    known.messages.push(message);
    if ('history' in accepted) known.history = accepted.history;
    this.onStored({ message, event, before, accepted });
    if (accepted.kind === 'accepted' && isEnded(accepted.state)) this.#forgetEnded(event.run_id);
  }

  /** Of a run that ended long ago only the head is known. */
  #forgetEnded(run_id: string): void {
    this.#ended.push(run_id);
    if (this.#ended.length < 2 * MAX_ENDED) return;
    for (const old of this.#ended.splice(0, MAX_ENDED)) {
      this.#heads.set(runOf(old), this.historyOf(old).head);
      this.#runs.delete(old);
    }
  }

  #knownSequence(event_id: string): number | undefined {
    if (this.#timeline.now - this.#recentSince > REMEMBERED_MS) {
      this.#before = this.#recent;
      this.#recent = new Map();
      this.#recentSince = this.#timeline.now;
    }
    return this.#recent.get(event_id) ?? this.#before.get(event_id);
  }
}

/** What depends on the text of a message alone is read once, for all readers. */
const readChain = (subject: string, event: RunEvent): LoggedMessage['chain'] => {
  const parsed = RUN_CHAIN.parse(event);
  const key = RUN_CHAIN.keyOf(subject);
  const filter = key && RUN_CHAIN.filterOf(key);
  return {
    ...RUN_CHAIN,
    parse: () => parsed,
    keyOf: () => key,
    filterOf: (of) => filter ?? RUN_CHAIN.filterOf(of),
    subjectOf: () => subject,
  };
};
