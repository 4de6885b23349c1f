/** How many requests may be in flight: one probe, then twice as many whenever so many have succeeded. */
type ProbeLimit = 1 | 2 | 4 | 8;

export interface OpenState {
  readonly kind: 'open';
  /** How often in a row, 1 or more. */
  readonly opens: number;
  /** Milliseconds since 1970. The probe is due then, or up to a thirtieth of the first opening later. */
  readonly until: number;
}

interface ProbingState {
  readonly kind: 'probing';
  readonly limit: ProbeLimit;
}

export type BreakerState = { readonly kind: 'closed' } | OpenState | ProbingState;

export const CLOSED: BreakerState = { kind: 'closed' };
export const PROBE: ProbingState = { kind: 'probing', limit: 1 };

/** What follows when as many requests have succeeded as might be in flight. */
export const afterRound = (limit: ProbeLimit): BreakerState => {
  switch (limit) {
    case 1:
      return { kind: 'probing', limit: 2 };
    case 2:
      return { kind: 'probing', limit: 4 };
    case 4:
      return { kind: 'probing', limit: 8 };
    case 8:
      return CLOSED;
  }
};

/** What is remembered of a receiver, with or without an opossum breaker. */
export interface Receiver {
  readonly state: BreakerState;
  /** How often it opened in a row, also while it is probed, and when closed until it has had a success. */
  readonly opens: number;
  /** The number of the change that led here: tickets from before it are late. */
  readonly since: number;
}
