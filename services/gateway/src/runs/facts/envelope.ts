import type { RunEvent } from '@runledger/contracts/events/run-event';

/** The members of every event that depend on chance and time, so they come in as a parameter. */
export type Envelope = Pick<
  RunEvent,
  'event_id' | 'run_id' | 'org_id' | 'time' | 'writer' | 'correlation_id' | 'traceparent'
>;

/** Of a fact of a run that is there: the run has the correlation id. */
export type EnvelopeForRun = Omit<Envelope, 'correlation_id'>;
