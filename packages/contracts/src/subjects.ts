import { isExecutorId, isOrgId, isRunId, type ExecutorId, type OrgId, type RunId } from './ids.ts';
import { RUN_EVENTS, type RunEvent } from './run-event.ts';
import { WRITERS, type WriterRole } from './writer.ts';

/** Addresses one run: nothing is ever read or written without its organisation. */
export interface RunKey {
  readonly org_id: OrgId;
  readonly run_id: RunId;
}

/** The filter that fences every lifecycle append, and under which a run's whole lifecycle is read. */
export const lifecycleOf = (run: RunKey): string => `runs.${run.org_id}.${run.run_id}.life.>`;

/** Every lifecycle fact of every run. */
export const ALL_LIFECYCLES = 'runs.*.*.life.>';

/** What concerns one executor: the only facts that it may read. */
export const addressedTo = (executor: ExecutorId): string => `runs.*.*.life.*.*.*.${executor}`;

export const subjectOf = (event: RunEvent): string => {
  const { fact, writer } = RUN_EVENTS[event.type];
  return `runs.${event.org_id}.${event.run_id}.life.${fact}.${writer}.${event.attempt}.${event.executor_id ?? 'none'}`;
};

export interface LifecycleSubject extends RunKey {
  readonly fact: string;
  readonly writer: WriterRole;
  readonly attempt: number;
  readonly executor_id: ExecutorId | null;
}

const isWriter = (text: string): text is WriterRole => (WRITERS as readonly string[]).includes(text);

/** Undefined when the subject is none of a lifecycle fact. */
export const parseLifecycleSubject = (subject: string): LifecycleSubject | undefined => {
  const [runs, org, run, life, fact, writer, attempt, executor, ...rest] = subject.split('.');
  if (runs !== 'runs' || life !== 'life' || rest.length > 0) return undefined;
  if (!org || !run || !fact || !writer || !attempt || !executor) return undefined;
  if (!isOrgId(org) || !isRunId(run) || !isWriter(writer) || !/^\d{1,6}$/.test(attempt)) return undefined;
  if (executor !== 'none' && !isExecutorId(executor)) return undefined;
  return {
    org_id: org,
    run_id: run,
    fact,
    writer,
    attempt: Number(attempt),
    executor_id: executor === 'none' ? null : executor,
  };
};

export type ActivityKind = 'progress' | 'log';
/** Progress and logs of one attempt: not fenced; readers drop those of an attempt that is not current or of an ended run. */
export const activityOf = (run: RunKey, attempt: number, executor: ExecutorId, kind: ActivityKind): string =>
  `activity.${run.org_id}.${run.run_id}.${attempt}.${executor}.${kind}`;

export type FleetFact = 'registered' | 'draining' | 'left' | 'lost';
export const fleetOf = (executor: ExecutorId, fact: FleetFact): string => `fleet.${executor}.${fact}`;
export const ALL_FLEET = 'fleet.>';
