import { Type, type Static } from 'typebox';
import { isExecutorId, isOrgId, isRunId, type ExecutorId } from '../ids.ts';
import { MAX_LIVE_STATUS } from '../limits.ts';
import type { RunKey } from './subjects.ts';

/** Progress of an attempt, as its executor reports it. The latest wins; it is not fenced, and expires. */
export const ProgressReport = Type.Object({
  /** 0 to 1, never going back within an attempt. */
  progress: Type.Number({ minimum: 0, maximum: 1 }),
  live_status: Type.Union([Type.String({ maxLength: MAX_LIVE_STATUS }), Type.Null()]),
  time: Type.String({ format: 'date-time' }),
});
export type ProgressReport = Static<typeof ProgressReport>;

/** The progress of one attempt. Not fenced: readers drop that of an earlier attempt or an ended run. */
export const progressSubject = (run: RunKey, attempt: number, executor: ExecutorId): string =>
  `activity.${run.org_id}.${run.run_id}.${attempt}.${executor}.progress`;

/** The progress of every attempt of one run. */
export const progressFilter = (run: RunKey): string => `activity.${run.org_id}.${run.run_id}.*.*.*.progress`;

/** The progress of every attempt of every run. */
export const ALL_PROGRESS = 'activity.*.*.*.*.*.progress';

interface ProgressSubject extends RunKey {
  readonly attempt: number;
  readonly executor_id: ExecutorId;
}

/** Undefined when the subject is not one of an attempt's progress. */
export const parseProgressSubject = (subject: string): ProgressSubject | undefined => {
  const [activity, org = '', run = '', attempt = '', ...tokens] = subject.split('.');
  const kind = tokens.pop();
  const executor = tokens.join('.');
  if (activity !== 'activity' || kind !== 'progress' || !/^\d{1,6}$/.test(attempt)) return undefined;
  if (!isOrgId(org) || !isRunId(run) || !isExecutorId(executor)) return undefined;
  return { org_id: org, run_id: run, attempt: Number(attempt), executor_id: executor };
};
