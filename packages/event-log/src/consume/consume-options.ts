import type { NewerVersion } from '../follow/newer-version.ts';
import type { Owner } from './consumer-owner.ts';

export interface ConsumeOptions {
  /** The durable name: the broker keeps the position under it. Letters, digits, "_" and "-". */
  readonly name: string;
  readonly stream: string;
  readonly subjects: readonly string[];
  /** Where a new consumer begins: with everything that is stored, or with what comes. */
  readonly deliver: 'all' | 'new';
  /** 1 when left out: strictly in order. More are handled side by side, in any order. */
  readonly maxInFlight?: number;
  /** The broker forgets the consumer when nobody asked for it this long. For ever when left out. */
  readonly expireAfterMs?: number;
  /**
   * The consumer is for one process at a time, and for one subject. It is not opened while another process waits on it.
   * The consumption stops with TakenOver when another one has it all the same, and with ConsumerChanged when somebody
   * has changed it.
   */
  readonly owner?: Owner;
  /** Told before the consumption stops at an event that this release cannot read. */
  readonly onNewer?: (newer: NewerVersion) => void;
}
