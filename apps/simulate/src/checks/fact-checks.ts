import { RUN_EVENTS, type RunEvent } from '@runledger/contracts/events/run-event';
import { isDeleted, isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { Stored } from '../broker/run-log.ts';
import { deploymentOf, organisationOf, runOf } from '../plan/ids.ts';
import type { Plan } from '../plan/plan.ts';
import type { Violate } from './violation.ts';

/** Checks each fact that the log stores. */
export type CheckFact = (stored: Stored) => void;

/**
 * Every accepted run ends once, and only the attempt to which it is assigned says so. It knows the facts, and not the fold. `isLost`: a run may
 * expire although it has ended, when its end is lost.
 */
export const checkAttempts = (violate: Violate, isLost: (stored: Stored) => boolean): CheckFact => {
  const current = new Map<string, { readonly attempt: number; readonly executor: string } | null>();
  /** Runs that expired while no view knew their attempt. Its executor is not told, and may store what readers refuse. */
  const untold = new Set<string>();
  return (stored) => {
    const { event, accepted } = stored;
    const run = `run ${runOf(event.run_id)}`;
    const attempt = current.get(event.run_id);
    if (event.type === 'RunExpired' && attempt === undefined) {
      if (!isLost(stored)) violate('ends_once', `${event.type} of ${run} was stored after its end`);
      return;
    }
    if (accepted.kind !== 'accepted') {
      if (untold.has(event.run_id)) return;
      const why = 'why' in accepted ? accepted.why : accepted.kind;
      return violate('one_result', `${event.type} of ${run} was stored, but it is not possible: ${why}`);
    }
    if (event.type === 'RunQueued') {
      if (attempt !== undefined) violate('ends_once', `${run} was accepted twice`);
      return void current.set(event.run_id, null);
    }
    if (attempt === undefined) {
      return violate('ends_once', `${event.type} of ${run} was stored after its end`);
    }
    if (event.type === 'RunAssigned') {
      const { executor_id } = event;
      if (attempt) violate('one_result', `${run} was assigned to ${executor_id} and to ${attempt.executor}`);
      return void current.set(event.run_id, { attempt: event.attempt, executor: executor_id ?? '' });
    }
    const isOfAttempt = event.attempt === attempt?.attempt && event.executor_id === attempt.executor;
    if (RUN_EVENTS[event.type].writer === 'executor' && !isOfAttempt) {
      violate('one_result', `${event.type} of ${run} is not from the attempt to which it is assigned`);
    }
    if (event.type === 'RunExpired' && attempt && event.executor_id !== attempt.executor)
      untold.add(event.run_id);
    if (isEnd(event, attempt !== null)) current.delete(event.run_id);
    else if (event.type === 'RunRequeued' || event.type === 'RunAttemptFailed') {
      current.set(event.run_id, null);
    }
  };
};

const isEnd = ({ type }: RunEvent, isExecuting: boolean): boolean => {
  switch (type) {
    case 'RunSucceeded':
    case 'RunFailed':
    case 'RunCancelled':
    case 'RunTimedOut':
    case 'RunGivenUp':
    case 'RunCancelEnforced':
    case 'RunExpired':
      return true;
    case 'RunCancelRequested':
      return !isExecuting;
    case 'RunQueued':
    case 'RunAssigned':
    case 'RunStarted':
    case 'RunUploading':
    case 'RunRequeued':
    case 'RunAttemptFailed':
    case 'RunOutputsDeleted':
    case 'RunDeleted':
      return false;
  }
};

interface LimitOptions {
  readonly isVoid: (stored: Stored) => boolean;
  /** Whether the log still has the beginning of the run. Otherwise a scheduler that starts does not know it. */
  readonly isWhole: (run_id: string) => boolean;
  readonly violate: Violate;
}

/** No limit is exceeded, and no slot is held twice, by runs that have begun or may begin, counted from the facts. */
export const checkLimits = (
  { organisations }: Plan,
  { isVoid, isWhole, violate }: LimitOptions,
): CheckFact => {
  /** By what they hold. */
  const held = new Map<string, Set<string>>();
  /** Runs whose present assignment is void. */
  const voided = new Set<string>();
  const release = (run: Run): void => {
    for (const { name } of holdsOf(run, organisations)) {
      const runs = held.get(name);
      runs?.delete(run.run_id);
      if (runs?.size === 0) held.delete(name);
    }
  };
  const hold = (run: Run): void => {
    for (const { name, limit } of holdsOf(run, organisations)) {
      const runs = held.get(name) ?? new Set<string>();
      held.set(name, runs.add(run.run_id));
      if (runs.size <= limit || [...runs].filter(isWhole).length <= limit) continue;
      const check = name.startsWith('GPU slot') ? 'slots' : 'limits';
      violate(check, `${runs.size} runs hold ${name}, and ${limit} may; the last one is ${runName(run)}`);
    }
  };
  return (stored) => {
    const { event, before, accepted } = stored;
    if (accepted.kind !== 'accepted') return;
    const { state } = accepted;
    const held = before && isExecuting(before) ? before : undefined;
    const holds = !isDeleted(state) && isExecuting(state) ? state : undefined;
    if (event.type === 'RunStarted' && voided.has(event.run_id))
      violate('limits', `${runName(state)} begins, although its assignment is void`);
    if (held && !holds && !voided.delete(held.run_id)) release(held);
    if (held || !holds) return;
    if (isVoid(stored)) voided.add(holds.run_id);
    else hold(holds);
  };
};

const runName = ({ run_id }: Pick<Run, 'run_id'>): string => `run ${runOf(run_id)}`;

/** What an executing run holds, and how many may hold it. */
const holdsOf = (
  { org_id, request, attempt }: Run,
  organisations: Plan['organisations'],
): { readonly name: string; readonly limit: number }[] => {
  const organisation = organisationOf(org_id);
  const deployment = `deployment ${deploymentOf(request.deployment_id)}`;
  const { concurrency_limit = Infinity, concurrency_key } = request;
  return [
    { name: `slots of organisation ${organisation}`, limit: organisations[organisation]?.limit ?? Infinity },
    { name: `slots of ${deployment}`, limit: concurrency_limit },
    ...(attempt ? [{ name: `GPU slot ${attempt.slot} of ${attempt.executor_id}`, limit: 1 }] : []),
    ...(concurrency_key === undefined ? [] : [{ name: `key ${concurrency_key} of ${deployment}`, limit: 1 }]),
  ];
};
