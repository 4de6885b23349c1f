import type { FleetEvent, Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { Timeline } from '../virtual-time.ts';
import type { Broker } from './broker.ts';

/** A fact of the fleet, its sequence in FLEET, and the broker's time. */
export interface FleetFact {
  readonly event: FleetEvent;
  readonly sequence: number;
  readonly time: string;
}

/** A scheduler began to lead: the sequence is the number of its term. */
export interface BegunTerm {
  readonly sequence: number;
}

export interface StoredHeartbeat {
  readonly heartbeat: Heartbeat;
  /** The broker's time. */
  readonly time: string;
  /** The virtual time of it. */
  readonly atMs: number;
}

/** The stream FLEET, and the bucket EXECUTORS. */
export class FleetLog {
  readonly #timeline: Timeline;
  readonly #broker: Broker;
  readonly #messages: (FleetFact | BegunTerm)[] = [];
  #lastTerm = 0;
  readonly #heartbeats = new Map<string, StoredHeartbeat>();
  /** `term`: the last one that had begun. */
  onFact: (fact: FleetFact, term: number) => void = () => undefined;
  onTerm: (term: number) => void = () => undefined;
  onHeartbeat: (stored: StoredHeartbeat) => void = () => undefined;

  constructor(timeline: Timeline, broker: Broker) {
    this.#timeline = timeline;
    this.#broker = broker;
  }

  get lastSequence(): number {
    return this.#messages.length;
  }

  append(event: FleetEvent): void {
    // The second append of one event is the first one.
    const isKnown = this.#messages
      .slice(-100)
      .some((message) => 'event' in message && message.event.event_id === event.event_id);
    if (isKnown) return;
    const fact = { event, sequence: this.lastSequence + 1, time: this.#broker.time };
    this.#messages.push(fact);
    this.onFact(fact, this.#lastTerm);
  }

  /** The number of the term. */
  beginTerm(): number {
    this.#lastTerm = this.lastSequence + 1;
    this.#messages.push({ sequence: this.#lastTerm });
    this.onTerm(this.#lastTerm);
    return this.#lastTerm;
  }

  /** Refused, with the last term, when one has begun after `term`. */
  register(event: FleetEvent, term: number): { readonly isStored: boolean; readonly term: number } {
    const isStored = term === this.#lastTerm;
    if (isStored) this.append(event);
    return { isStored, term: this.#lastTerm };
  }

  get lastTerm(): number {
    return this.#lastTerm;
  }

  at(sequence: number): FleetFact | BegunTerm | undefined {
    return this.#messages[sequence - 1];
  }

  put(heartbeat: Heartbeat): void {
    const stored = { heartbeat, time: this.#broker.time, atMs: this.#timeline.now };
    this.#heartbeats.set(heartbeat.executor_id, stored);
    this.onHeartbeat(stored);
  }

  lastHeartbeat(executor: string): StoredHeartbeat | undefined {
    return this.#heartbeats.get(executor);
  }

  /** The last one of each executor. */
  heartbeats(): Iterable<StoredHeartbeat> {
    return this.#heartbeats.values();
  }
}
