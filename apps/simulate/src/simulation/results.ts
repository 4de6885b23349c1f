import { gpuOf, isDeleted, isEnded, type FinalStatus } from '@runledger/contracts/fold/run';
import type { Stored } from '../broker/run-log.ts';
import type { Timeline } from '../virtual-time.ts';
import { deploymentOf, organisationOf, runOf } from '../plan/ids.ts';

/** Makes the result of each run from its facts. */
export const resultsFrom = (
  timeline: Timeline,
  onResult: (result: RunResult) => void,
): ((stored: Stored) => void) => {
  const times = new Map<string, { queuedMs: number; assignedMs: number | null; startedMs: number | null }>();
  return ({ event: { type, run_id }, after }) => {
    if (!after) return;
    const time = times.get(run_id) ?? { queuedMs: timeline.now, assignedMs: null, startedMs: null };
    times.set(run_id, time);
    if (type === 'RunAssigned') Object.assign(time, { assignedMs: timeline.now, startedMs: null });
    else if (type === 'RunStarted') time.startedMs = timeline.now;
    if (isDeleted(after) || !isEnded(after)) return;
    times.delete(run_id);
    const { org_id, request, status, attempt } = after;
    onResult({
      ...time,
      run: runOf(run_id),
      organisation: organisationOf(org_id),
      deployment: deploymentOf(request.deployment_id),
      status,
      endedMs: timeline.now,
      gpu: gpuOf(after),
      slot: attempt && `${attempt.executor_id} slot ${attempt.slot}`,
      attempts: attempt?.number ?? 0,
    });
  };
};

/** A run that has ended, in virtual milliseconds. */
export interface RunResult {
  readonly run: number;
  readonly organisation: number;
  readonly deployment: number;
  readonly status: FinalStatus;
  readonly queuedMs: number;
  /** When its last attempt got its slot; null when it had none. */
  readonly assignedMs: number | null;
  readonly startedMs: number | null;
  readonly endedMs: number;
  /** Of its last attempt, such as `executor-2.000000000001 slot 0`. */
  readonly slot: string | null;
  /** Of its slot, else the first one that it asked for. */
  readonly gpu: string;
  readonly attempts: number;
}
