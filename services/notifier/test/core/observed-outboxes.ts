import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { partitionOf } from '@runledger/contracts/deliveries/timers';
import { newUuid, orgId, runId, type RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { AttemptReport, FinalDelivery } from '../../src/core/delivery.ts';
import { LowWatermark } from '../../src/core/partition.ts';
import { SECOND, simulateCore, STORED, type SimulatedCore } from './simulated-core.ts';

export { SECOND } from './simulated-core.ts';

/** An attempt that is being made; the test ends it. */
interface ObservedAttempt {
  readonly run: RunId;
  /** Of a final one. */
  readonly delivery: FinalDelivery | undefined;
  /** Of an intermediate one. */
  readonly atLeast: number | undefined;
  end(report: DeliveryAttemptResult | 'nothing' | 'superseded'): void;
}

export interface ObservedOutboxes {
  readonly core: SimulatedCore;
  readonly pass: (ms?: number) => void;
  readonly finals: ObservedAttempt[];
  readonly intermediates: ObservedAttempt[];
  /** Sequences of the sources of final deliveries: those that were deferred, and those that were settled. */
  readonly deferred: number[];
  readonly settled: number[];
  /** Sequences of RUNS and ACTIVITY that intermediate notifications came from, and that were settled. */
  readonly settledNews: number[];
  /** Ends what is being deferred; at once when it is undefined. */
  defer: ((done: () => void) => void) | undefined;
  addFinal(delivery: FinalDelivery): void;
  addIntermediate(key: RunKey, at: { readonly runs?: number; readonly activity?: number }): void;
  /** Opens the breaker of the receiver for 30 seconds. */
  trip(): void;
  close(): void;
  isClosed(): boolean;
}

const ORG = orgId(newUuid());
const ORIGIN = 'https://receiver.example';
const PARTITION = partitionOf(ORIGIN);
export const aRun = (): RunKey => ({ org_id: ORG, run_id: runId(newUuid()) });

export const finalOf = (
  key: RunKey,
  sequence: number,
  { round = 1, kind = 'fact' }: { round?: number; kind?: FinalDelivery['source']['kind'] } = {},
): FinalDelivery => ({
  key,
  origin: ORIGIN,
  partition: PARTITION,
  round,
  attempts: 0,
  expiresAt: Date.parse('2026-01-07T00:00:00.000Z'),
  fact: sequence,
  source: { kind, sequence },
  mayBeSuperseded: false,
});

/** The real core. What it sends, and where it defers things, is made up. */
export const observeOutboxes = ({ maxInFlight = 100 } = {}): ObservedOutboxes => {
  const core = simulateCore({ maxInFlight });
  const { handle } = core;
  const finalSources = new Set<number>();
  const observed: ObservedOutboxes = {
    core,
    pass: core.pass,
    finals: [],
    intermediates: [],
    deferred: [],
    settled: [],
    settledNews: [],
    defer: undefined,
    addFinal: (delivery) => {
      finalSources.add(delivery.source.sequence);
      handle({ type: 'delivery_due', delivery });
    },
    addIntermediate: (key, { runs, activity }) => {
      const message = { key, origin: ORIGIN, partition: PARTITION };
      if (runs !== undefined) handle({ type: 'run_changed', ...message, sequence: runs });
      if (activity !== undefined) handle({ type: 'progress_reported', ...message, sequence: activity });
    },
    trip: () => {
      const until = core.now() + 30 * SECOND;
      handle({ type: 'opening_found', origin: ORIGIN, org_id: ORG, opens: 1, until });
    },
    close: () => handle({ type: 'partition_closing', partition: PARTITION }),
    isClosed: () => core.others.some(({ type }) => type === 'partition_idle'),
  };
  const settle = (sequence: number): void =>
    void (finalSources.has(sequence) ? observed.settled : observed.settledNews).push(sequence);
  const partition = core.state.partitions.get(PARTITION);
  if (partition) partition.runs = partition.activity = observedWatermark(settle);

  core.surroundings.attempt = (effect) => {
    const isFinal = effect.type === 'attempt_final';
    const { run_id } = isFinal ? effect.delivery.key : effect.key;
    (isFinal ? observed.finals : observed.intermediates).push({
      run: run_id,
      delivery: isFinal ? effect.delivery : undefined,
      atLeast: isFinal ? undefined : effect.atLeast,
      end: (how) =>
        handle({ type: 'attempt_finished', attempt: effect.attempt, report: reportOf(how, core.now()) }),
    });
  };
  core.surroundings.defer = ({ delivery }) => {
    observed.deferred.push(delivery.source.sequence);
    const done = (): void => handle({ type: 'deferral_finished', run: delivery.key.run_id, outcome: STORED });
    if (observed.defer) observed.defer(done);
    else done();
  };
  return observed;
};

/** Reports what is settled, and takes every sequence, in any order. */
const observedWatermark = (settle: (sequence: number) => void): LowWatermark =>
  Object.assign(new LowWatermark(0), { settle, open: () => undefined, take: () => undefined });

const reportOf = (how: DeliveryAttemptResult | 'nothing' | 'superseded', now: number): AttemptReport => {
  if (how === 'nothing' || how === 'superseded' || how === 'interrupted') return { kind: how };
  const result = { reason: how, message: '', status: null, retry_after: null };
  return { kind: 'sent', result, round: 1, attempts: 0, expiresAt: Infinity, endedAt: now };
};
