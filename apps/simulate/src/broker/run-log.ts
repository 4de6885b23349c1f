import {
  acceptMessage,
  EMPTY_HISTORY,
  type Accepted,
  type Chain,
  type StoredMessage,
} from '@runledger/contracts/fold/chain';
import { isEnded, isDeleted, type RunState } from '@runledger/contracts/fold/run';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import { readChain, type ReadChain } from '@runledger/contracts/fold/read-chain';
import type { RunEvent, RunEventType } from '@runledger/contracts/events/run-event';
import { orgId, runId, type ExecutorId, type RunId } from '@runledger/contracts/ids';
import {
  lifecycleFilter,
  runEventSubject,
  webhookFilter,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import { termBegan, termAnnouncementSubject } from '@runledger/contracts/events/leader-terms';
import type { LogAge, RunsIdentity } from '@runledger/event-log/read/stream-identity';
import type { JudgedFact } from '@runledger/testing/invariants';
import { runOf } from '../plan/ids.ts';
import type { Timeline } from '../virtual-time.ts';
import { timeAt, type Broker } from './broker.ts';

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

/** A client asks that the final notification of a run is sent once more. */
export interface RedeliveryMessage extends StoredMessage {
  readonly redelivery: RunId;
  readonly round: number;
}

/** A message that was stored, and what it did to its run. */
export interface Stored extends JudgedFact {
  readonly message: LoggedMessage;
}

/** A virtual time for whoever asks when the stream was created. */
const CREATED = timeAt(0);
/** How long the broker recognises the id of an event, at least. */
const REMEMBERED_MS = 120_000;
/** Executors may still ask for their facts. */
const MAX_ENDED = 10_000;

interface KnownRun {
  /** By everything that was ever stored. */
  history: RunHistory;
  /** Its messages since the last assignment; all that were ever stored, in a log that forgets. */
  messages: LoggedMessage[];
}

/**
 * The stream RUNS: an append is refused when another one came first, and a second one of the same event is the first one. When the plan says
 * so, it forgets messages that are too old.
 */
export class RunLog {
  readonly #timeline: Timeline;
  readonly #broker: Broker;
  readonly #runs = new Map<string, KnownRun>();
  /** Those from `#first` on. */
  #messages: (LoggedMessage | ToldMessage | RedeliveryMessage)[] = [];
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
  onRedelivery: () => void = () => undefined;
  /** How old its messages become by the broker's clock, which changes. */
  maxAgeMs: number;
  readonly #forgets: boolean;

  constructor(timeline: Timeline, broker: Broker, maxAgeMs = Infinity) {
    this.#timeline = timeline;
    this.#broker = broker;
    this.maxAgeMs = maxAgeMs;
    this.#forgets = maxAgeMs < Infinity;
  }

  get lastSequence(): number {
    return this.#sequence;
  }

  /** As `runsIdentity` of packages/event-log. The first message is behind the last one when it has none. */
  get identity(): RunsIdentity {
    this.#forget();
    const since = this.#messages[0]?.time ?? this.#broker.time;
    const [firstSequence, lastSequence] = [this.#first, this.#sequence];
    return { stream: 'RUNS', created: CREATED, firstSequence, lastSequence, since, bytes: 0, maxBytes: -1 };
  }

  /** As `readLogAge` of packages/event-log. */
  get age(): LogAge {
    this.#forget();
    const { clock: now } = this.#broker;
    const [first] = this.#messages;
    return { now, maxAgeMs: this.maxAgeMs, beginsAt: first ? Date.parse(first.time) : now };
  }

  append(event: RunEvent, expected: number): Appended {
    if (this.#broker.isFull) return { kind: 'full' };
    const known = this.#knownSequence(event.event_id);
    if (known !== undefined) return { kind: 'stored', sequence: known };
    const head = this.headOf(event.run_id);
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
      subject: termAnnouncementSubject(executor),
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

  requestRedelivery({ key, round }: { readonly key: RunKey; readonly round: number }): void {
    this.#sequence += 1;
    this.#messages.push({
      subject: `${webhookFilter(key).slice(0, -1)}redelivery`,
      sequence: this.#sequence,
      time: this.#broker.time,
      fence: null,
      expectedSequence: null,
      body: null,
      redelivery: key.run_id,
      round,
    });
    this.onRedelivery();
  }

  /** The last message of the run that the log still has; 0 for none. */
  headOf(run_id: string): number {
    this.#forget();
    const { head } = this.historyOf(run_id);
    return this.#forgets && head < this.#first ? 0 : head;
  }

  /** The run as the log still has it. */
  read(run_id: string): ReadChain<RunEvent, RunState> {
    return readChain(READ_CHAIN, this.messagesOf(run_id));
  }

  /** Whether it has forgotten nothing of the run. */
  isWhole(run_id: string): boolean {
    return !this.#forgets || this.messagesOf(run_id).length === this.everOf(run_id).length;
  }

  /** The run by everything that was ever stored. */
  historyOf(run_id: string): RunHistory {
    const known = this.#runs.get(run_id);
    if (known) return known.history;
    const head = this.#heads.get(runOf(run_id));
    return head === undefined ? EMPTY_HISTORY : { head, state: undefined };
  }

  /** The messages about the last attempt of the run, at least, that the log still has. */
  messagesOf(run_id: string): readonly LoggedMessage[] {
    this.#forget();
    const messages = this.everOf(run_id);
    return this.#forgets ? messages.filter(({ sequence }) => sequence >= this.#first) : messages;
  }

  /** Of a log that forgets: all messages of the run that were ever stored. */
  everOf(run_id: string): readonly LoggedMessage[] {
    return this.#runs.get(run_id)?.messages ?? [];
  }

  /** Of a log that forgets: whose run it is. */
  orgOf(run_id: string): string {
    return this.everOf(run_id)[0]?.key.org_id ?? '';
  }

  /** Runs of which something was ever stored. */
  get runs(): IterableIterator<string> {
    return this.#runs.keys();
  }

  at(sequence: number): LoggedMessage | ToldMessage | RedeliveryMessage | undefined {
    this.#forget();
    return this.#messages[sequence - this.#first];
  }

  /** The first message from there on that the log still has. */
  nextFrom(sequence: number): LoggedMessage | ToldMessage | RedeliveryMessage | undefined {
    this.#forget();
    return this.#messages[Math.max(sequence - this.#first, 0)];
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
      chain: chainOf(subject, event),
    };
    this.#messages.push(message);
    const known = this.#runs.get(event.run_id) ?? {
      history: this.historyOf(event.run_id),
      messages: [],
    };
    this.#runs.set(event.run_id, known);
    const { state: before } = known.history;
    const accepted = this.accept(known.history, message);
    if (event.type === 'RunAssigned' && !this.#forgets) known.messages = [];
    known.messages.push(message);
    if ('history' in accepted) known.history = accepted.history;
    const after = accepted.kind === 'accepted' ? accepted.state : undefined;
    const refused = 'why' in accepted ? accepted.why : accepted.kind;
    this.onStored({ message, event, before, after, refused });
    if (after && !isDeleted(after) && isEnded(after)) this.#forgetEnded(event.run_id);
  }

  /** What is too old, from the first message on. */
  #forget(): void {
    if (!this.#forgets) return;
    const since = this.#broker.clock - this.maxAgeMs;
    let count = 0;
    for (const { time } of this.#messages) {
      if (Date.parse(time) >= since) break;
      count += 1;
    }
    if (count === 0) return;
    this.#messages = this.#messages.slice(count);
    this.#first += count;
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

const READ = new WeakMap<object, ReturnType<typeof RUN_CHAIN.parse>>();

/** For whoever reads a run again and again. */
export const READ_CHAIN: LoggedMessage['chain'] = {
  ...RUN_CHAIN,
  parse: (body) => {
    const event = Object(body);
    const parsed = READ.get(event) ?? RUN_CHAIN.parse(body);
    READ.set(event, parsed);
    return parsed;
  },
};

/** What depends on the text of a message alone is read once, for all readers. */
const chainOf = (subject: string, event: RunEvent): LoggedMessage['chain'] => {
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
