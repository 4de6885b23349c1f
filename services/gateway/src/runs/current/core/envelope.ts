import type { RunEvent } from '@runledger/contracts/events/run-event';

/** What every event says of its writing; it comes in from outside, since it is made of chance and time. */
export type Envelope = Pick<
  RunEvent,
  'event_id' | 'run_id' | 'org_id' | 'time' | 'writer' | 'correlation_id' | 'traceparent'
>;
