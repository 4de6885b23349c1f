import type { SliceFact } from '@runledger/contracts/slices/slice';
import { TERMS } from '@runledger/contracts/subjects/terms';
import { fleetSubjectOf } from '@runledger/contracts/subjects/fleet-subjects';
import type { FleetFact } from '../broker/fleet-log.ts';
import type { LoggedMessage } from '../broker/run-log.ts';

/** Facts as a slice of the simulated log would hold them. */

export const runFactOf = ({
  sequence,
  time,
  subject,
  fence,
  expectedSequence,
  body,
}: LoggedMessage): SliceFact => ({
  kind: 'fact',
  stream: 'RUNS',
  sequence,
  time,
  subject,
  fence,
  expected_sequence: expectedSequence,
  event: Object(body),
});

export const fleetFactOf = ({ event, sequence, time }: FleetFact): SliceFact => ({
  ...inFleet(sequence, time),
  subject: fleetSubjectOf(event),
  event,
});

export const termOf = (sequence: number, time: string): SliceFact => ({
  ...inFleet(sequence, time),
  subject: TERMS,
  event: null,
});

const inFleet = (sequence: number, time: string) =>
  ({ kind: 'fact', stream: 'FLEET', sequence, time, fence: null, expected_sequence: null }) as const;
