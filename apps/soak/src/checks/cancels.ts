import { isEnded } from '@runledger/contracts/fold/run';
import type { Check, Evidence, Violation } from '../evidence/evidence.ts';
import { factsUntilEnd, lastOf, type LoggedRun } from '../evidence/logged-run.ts';
import { outageMsIn } from '../cluster/outages.ts';

const guarantee =
  'After a cancel request the only end is cancelled: at once for a queued run, within a time limit for others.';

/** For a busy machine. */
const SLACK_MS = 30_000;

export const cancels: Check = (evidence) => {
  const violations: Violation[] = [];
  for (const [run, logged] of evidence.runs) {
    const message = endsWithAnotherStatus(logged) ?? continues(logged) ?? takesTooLong(logged, evidence);
    if (message !== undefined) violations.push({ guarantee, run, message });
  }
  for (const { answer, run, gateway } of evidence.records.exchanges) {
    if (answer.kind !== 'cancelled' || answer.outcome === 'already_ended' || run === null) continue;
    const logged = evidence.runs.get(run);
    if (logged === undefined || lastOf(logged)?.status === 'cancelled') continue;
    const message = `${gateway} answered the cancel request with ${answer.outcome}, but the run is ${lastOf(logged)?.status}.`;
    violations.push({ guarantee, run, message });
  }
  return violations;
};

const requestIn = ({ facts }: LoggedRun) => facts.find(({ event }) => event.type === 'RunCancelRequested');

const endsWithAnotherStatus = (logged: LoggedRun): string | undefined => {
  const run = lastOf(logged);
  if (!requestIn(logged) || !run || !isEnded(run) || run.status === 'cancelled') return undefined;
  return `Its cancellation was requested, but it ended as ${run.status}.`;
};

/** A cancel request ends a queued run. */
const continues = (logged: LoggedRun): string | undefined => {
  const request = requestIn(logged);
  const last = factsUntilEnd(logged).at(-1);
  if (!request || request.event.executor_id !== null || request === last) return undefined;
  return `It was cancelled in the queue, but ${last?.event.type} followed.`;
};

/** A cancel request waits while the broker, the schedulers or the executor is down, and shortly after. */
const takesTooLong = (logged: LoggedRun, { faults, size }: Evidence): string | undefined => {
  const request = requestIn(logged);
  const last = factsUntilEnd(logged).at(-1);
  if (!request || !last) return undefined;
  const span = { from: Date.parse(request.time), to: Date.parse(last.time) };
  const settleMs = size.heartbeatPeriodS * 3_000;
  const outageMs = outageMsIn(faults.outages, {
    roles: ['broker', 'scheduler', 'gpu-executor'],
    settleMs,
    ...span,
  });
  const allowedMs = size.cancelEnforceS * 1_000 + SLACK_MS + outageMs;
  const tookMs = span.to - span.from;
  if (tookMs <= allowedMs) return undefined;
  return `Its cancellation took ${seconds(tookMs)} s with outages of ${seconds(outageMs)} s. The limit was ${seconds(allowedMs)} s.`;
};

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
