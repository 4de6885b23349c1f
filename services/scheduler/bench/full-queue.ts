/** The queue of the bench of takeovers: its messages, its executors, and a scheduler that takes them. */
import { acceptMessage, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { executorId, newUuid } from '@runledger/contracts/ids';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { createScheduling, type Scheduling } from '../src/core/scheduling.ts';

export const NOW = '2026-01-01T00:00:00.000Z';
const SLOTS_OF_ONE = 8;

export interface QueueOwner {
  readonly org_id: string;
  readonly deployment_id: string;
}

const digits = (): string => newUuid().replaceAll('-', '');

/** The run that is queued with this sequence. */
export const message = (owners: readonly QueueOwner[], sequence: number): StoredMessage => {
  const { org_id, deployment_id } = owners[sequence % owners.length] as QueueOwner;
  const key = aRun(org_id);
  const event = {
    ...queued(key, { deployment_id, inputs: { seed: sequence } }),
    event_id: newUuid(),
    correlation_id: newUuid(),
    traceparent: `00-${digits()}-${digits().slice(16)}-01`,
  };
  return {
    subject: runEventSubject(event),
    sequence,
    time: new Date(Date.parse(NOW) + sequence).toISOString(),
    fence: lifecycleFilter(key),
    expectedSequence: 0,
    body: event,
  };
};

export const executorIds = (slots: number): string[] =>
  Array.from({ length: Math.ceil(slots / SLOTS_OF_ONE) }, (_, n) => executorId(`box.${n}`));

/** A scheduler that knows its executors, and no run yet. */
export const aScheduling = (executors: readonly string[]): Scheduling => {
  const scheduling = createScheduling({
    heartbeatPeriodMs: 6_000,
    cancelEnforceMs: 20_000,
    shareOf: () => ({ weight: 1, limit: Infinity }),
  });
  for (const [n, executor_id] of executors.entries()) {
    const slots = Array.from({ length: SLOTS_OF_ONE }, (_, slot) => ({ slot, gpu: 'A10G' as const }));
    const able = { machines: ['*'], programs: ['render-image'], dedicated: {} };
    const about = { version: 1, event_id: newUuid(), executor_id, time: NOW, software_version: '0' } as const;
    scheduling.take({
      type: 'fleet_fact',
      event: { type: 'ExecutorRegistered', ...about, slots, ...able, public_key: 'key' },
      sequence: n + 1,
      time: NOW,
      connectedMs: 0,
    });
  }
  return scheduling;
};

/** As a scheduler follows the log. */
export const follow = (scheduling: Scheduling, stored: StoredMessage): void => {
  const key = RUN_CHAIN.keyOf(stored.subject);
  const accepted = key && acceptMessage(RUN_CHAIN, scheduling.historyOf(key), stored);
  if (!key || accepted?.kind !== 'accepted')
    throw new Error(`a message is not accepted: ${JSON.stringify(accepted)}`);
  const { history, fact } = accepted;
  scheduling.take({ type: 'run_fact', key, history, event_id: fact.event.event_id, writer: 'gateway' });
};

/** Takes the lead, and assigns a run to each slot as heartbeats come. */
export const leadAndDecide = (
  scheduling: Scheduling,
  executors: readonly string[],
): { readonly leadMs: number; readonly decideMs: number; readonly decided: number } => {
  const [leadMs] = timed(() => scheduling.take({ type: 'lead', connectedMs: 0 }));
  const [decideMs, decided] = timed(() =>
    executors.reduce((count, executor_id) => {
      const heartbeat = { executor_id, count: 1, draining: false, runs: [] };
      return count + scheduling.take({ type: 'heartbeat', heartbeat, time: NOW, connectedMs: 1 }).length;
    }, 0),
  );
  return { leadMs, decideMs, decided };
};

export const timed = <Of>(work: () => Of): [number, Of] => {
  const began = performance.now();
  const result = work();
  return [performance.now() - began, result];
};
