import { isEnded } from '@runledger/contracts/fold/run';
import type { Check, Evidence, Violation } from '../evidence/evidence.ts';
import { lastOf, type LoggedRun } from '../evidence/logged-run.ts';
import { outageMsIn } from '../cluster/outages.ts';

const guarantee =
  'After a cancel request the only end is cancelled: at once for a queued run, within its bound for another one.';

/** For a machine that has other things to do. */
const SLACK_MS = 30_000;

export const cancels: Check = (evidence) => {
  const violations: Violation[] = [];
  for (const [run, logged] of evidence.runs) {
    const says = endsOtherwise(logged) ?? goesOn(logged) ?? takesTooLong(logged, evidence);
    if (says !== undefined) violations.push({ guarantee, run, says });
  }
  for (const { answer, run, gateway } of evidence.records.exchanges) {
    if (answer.kind !== 'cancelled' || answer.outcome === 'already_ended' || run === null) continue;
    const logged = evidence.runs.get(run);
    if (logged === undefined || lastOf(logged)?.status === 'cancelled') continue;
    const says = `${gateway} answered its cancellation with ${answer.outcome}, and it is ${lastOf(logged)?.status}.`;
    violations.push({ guarantee, run, says });
  }
  return violations;
};

const requestIn = ({ facts }: LoggedRun) => facts.find(({ event }) => event.type === 'RunCancelRequested');

const endsOtherwise = (logged: LoggedRun): string | undefined => {
  const run = lastOf(logged);
  if (!requestIn(logged) || !run || !isEnded(run) || run.status === 'cancelled') return undefined;
  return `Its cancellation was requested, and it ended as ${run.status}.`;
};

/** A cancel of a queued run is its end. */
const goesOn = (logged: LoggedRun): string | undefined => {
  const request = requestIn(logged);
  const last = logged.facts.at(-1);
  if (!request || request.event.executor_id !== null || request === last) return undefined;
  return `It was cancelled while it was queued, and ${last?.event.type} followed.`;
};

/** While the broker, the schedulers or its executor are away nothing can take effect, and soon after that they have to find out. */
const takesTooLong = (logged: LoggedRun, { faults: troubles, size }: Evidence): string | undefined => {
  const request = requestIn(logged);
  const last = logged.facts.at(-1);
  if (!request || !last) return undefined;
  const span = { from: Date.parse(request.time), to: Date.parse(last.time) };
  const settleMs = size.heartbeatPeriodS * 3_000;
  const troubledMs = outageMsIn(troubles.outages, ['broker', 'scheduler', 'gpu-executor'], settleMs, span);
  const allowedMs = size.cancelEnforceS * 1_000 + SLACK_MS + troubledMs;
  const tookMs = span.to - span.from;
  if (tookMs <= allowedMs) return undefined;
  return `Its cancellation took ${seconds(tookMs)} s, with trouble of ${seconds(troubledMs)} s: ${seconds(allowedMs)} s were allowed.`;
};

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
