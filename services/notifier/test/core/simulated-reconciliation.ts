import type { Found } from '../../src/core/inputs-and-effects.ts';
import { hasFinal } from '../../src/core/state.ts';
import { SECOND, type SimulatedCore } from './simulated-core.ts';
import { pendingOf, runOf, type SimulatedLog, type SimulatedRun } from './simulated-log.ts';

/** A round as the service does it, in one moment. */
export const reconcile = (log: SimulatedLog, { state, take, now }: SimulatedCore): void => {
  const behind = [...state.partitions.values()].filter(({ sweptUpTo, runs }) => sweptUpTo < runs.low());
  const partitions = behind.map(({ number }) => number);
  take({ type: 'round_begun', partitions });
  for (const message of log.messages) {
    if (message.type !== 'run_ended' && message.type !== 'redelivery_requested') continue;
    const held = state.partitions.get(message.partition);
    const run = runOf(log, message.key.run_id);
    if (!held?.round || message.sequence <= held.sweptUpTo || message.sequence > held.round.upTo) continue;
    if (run.settled) continue;
    take({ ...message, type: 'unsettled_found', found: whereIs(log, run, state, now()) });
  }
  take({ type: 'round_ended', partitions });
};

const OVERDUE_MS = 60 * SECOND;

const whereIs = (log: SimulatedLog, run: SimulatedRun, state: SimulatedCore['state'], now: number): Found => {
  if (hasFinal(state, run.key.run_id)) return { kind: 'in_memory' };
  const pending = pendingOf(log, run);
  if (pending?.state === 'wait' && now - pending.at > OVERDUE_MS)
    return { kind: 'overdue', delivery: { ...pending.delivery, mayBeSuperseded: true } };
  if (pending) return { kind: 'timer', isDeferred: pending.state === 'deferred' };
  return { kind: 'outside', round: run.round };
};
