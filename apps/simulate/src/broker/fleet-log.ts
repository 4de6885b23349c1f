import type { FleetEvent, Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { Timeline } from '../time/timeline.ts';
import type { Broker } from './broker.ts';

/** A fact of the fleet, its sequence in FLEET, and the broker's time. */
export interface FleetFact {
  readonly event: FleetEvent;
  readonly sequence: number;
  readonly time: string;
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
  readonly #facts: FleetFact[] = [];
  readonly #heartbeats = new Map<string, StoredHeartbeat>();
  onFact: (fact: FleetFact) => void = () => undefined;
  onHeartbeat: (stored: StoredHeartbeat) => void = () => undefined;

  constructor(timeline: Timeline, broker: Broker) {
    this.#timeline = timeline;
    this.#broker = broker;
  }

  get lastSequence(): number {
    return this.#facts.length;
  }

  append(event: FleetEvent): void {
    // The second append of one event is the first one.
    if (this.#facts.slice(-100).some((fact) => fact.event.event_id === event.event_id)) return;
    const fact = { event, sequence: this.#facts.length + 1, time: this.#broker.time };
    this.#facts.push(fact);
    this.onFact(fact);
  }

  at(sequence: number): FleetFact | undefined {
    return this.#facts[sequence - 1];
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
