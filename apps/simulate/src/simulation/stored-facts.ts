import type { SliceFact } from '@runledger/contracts/slices/slice';
import { TERMS } from '@runledger/contracts/events/leader-terms';
import { fleetSubjectOf } from '@runledger/contracts/events/fleet-event';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { FleetFact } from '../broker/fleet-log.ts';
import type { LoggedMessage, Stored } from '../broker/run-log.ts';
import { deploymentOf, runOf } from '../plan/ids.ts';

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

/** A fact of a run in words. */
export const describeFact = ({ event }: Stored): string => {
  const run = `run ${runOf(event.run_id)}`;
  const by = event.writer.instance === 'gateway' ? '' : ` (${event.writer.instance})`;
  if (event.type === 'RunAssigned') {
    const { slot, gpu, reason } = event.data;
    const warm = reason?.choice === 'warm' ? ', warm' : '';
    return `${run} is assigned to ${event.executor_id} slot ${slot} (${gpu}${warm}), attempt ${event.attempt}${by}`;
  }
  if (event.type === 'RunQueued') return `${run}: RunQueued, ${describeRequest(event.data)}`;
  const reason = 'reason' in event.data ? `, ${event.data.reason}` : '';
  return `${run}: ${event.type}${reason}${by}`;
};

/** What it asks for. */
const describeRequest = (request: RunEventOf<'RunQueued'>['data']): string => {
  const { deployment_id, gpu, gpu_fallbacks = [], labels = [], warm_wait_s, delay_s, start_at } = request;
  const models = gpu_fallbacks.map((other) => `, ${other.gpu} after ${other.after_s} s`);
  return [
    `deployment ${deploymentOf(deployment_id)} on ${gpu}${models.join('')}`,
    ...(labels.length > 0 ? [`with ${labels.join(' and ')}`] : []),
    ...(warm_wait_s === undefined ? [] : [`waits ${warm_wait_s} s for a slot with its version`]),
    ...(delay_s === undefined ? [] : [`not before ${delay_s} s`]),
    ...(start_at === undefined ? [] : [`not before ${start_at}`]),
  ].join(', ');
};
