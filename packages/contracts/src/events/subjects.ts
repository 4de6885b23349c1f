import {
  EXECUTOR_ID_AT_END,
  isOrgId,
  isRunId,
  UUID_PATTERN,
  type ExecutorId,
  type OrgId,
  type RunId,
} from '../ids.ts';
import { WRITERS, type WriterRole } from './event-envelope.ts';
import { followsEnd, RUN_EVENTS, type RunEvent } from './run-event.ts';
import { WEBHOOK_EVENTS, type WebhookEvent } from './webhook-event.ts';

/** Addresses one run. Every read and write names its organisation. */
export interface RunKey {
  readonly org_id: OrgId;
  readonly run_id: RunId;
}

/** The filter that fences every lifecycle append, and by which a run's lifecycle is read. */
export const lifecycleFilter = (run: RunKey): string => `runs.${run.org_id}.${run.run_id}.life.>`;

/** What services wrote in the lifecycle of a run: no executor may write under these. */
export const serviceFilters = (run: RunKey): readonly string[] =>
  [...new Set(Object.values(RUN_EVENTS).map(({ writer }) => writer))]
    .filter((writer) => writer !== 'executor')
    .map((writer) => `runs.${run.org_id}.${run.run_id}.life.*.${writer}.>`);

/** What the executor of an attempt wrote in the lifecycle of a run. */
export const attemptFilter = (
  run: RunKey,
  { attempt, executor_id }: { readonly attempt: number; readonly executor_id: ExecutorId },
): string => `runs.${run.org_id}.${run.run_id}.life.*.executor.${attempt}.${executor_id}`;

/** Every lifecycle fact of every run. */
export const ALL_LIFECYCLES = 'runs.*.*.life.>';

/** The lifecycle facts of every run that begin runs, and that end them: without those of attempts, which are most. */
export const ALL_BEGINNINGS_AND_ENDS = ['queued', 'cancel_requested', 'ended'].map(
  (fact) => `runs.*.*.life.${fact}.>`,
);

/** All facts of a run: its lifecycle and its webhook facts. */
export const runFilter = (run: RunKey): string => `runs.${run.org_id}.${run.run_id}.>`;

/** The filter that fences every webhook fact of a run. */
export const webhookFilter = (run: RunKey): string => `runs.${run.org_id}.${run.run_id}.webhook.>`;

/** Every webhook fact of every run. */
export const ALL_WEBHOOKS = 'runs.*.*.webhook.>';

/** The requests for redelivery of every run. */
export const ALL_REDELIVERY_REQUESTS = 'runs.*.*.webhook.redelivery_requested.gateway.*';

/** The facts that concern one executor, and the terms that it is told. It may read nothing else. */
export const executorFilter = (executor: string): string => `runs.*.*.*.*.*.*.${executor}`;

export const runEventSubject = (event: RunEvent): string => subjectOfFact(event, RUN_EVENTS[event.type]);

const subjectOfFact = (
  about: Pick<RunEvent, 'org_id' | 'run_id' | 'attempt' | 'executor_id'>,
  { fact, writer }: { readonly fact: string; readonly writer: WriterRole },
): string =>
  `runs.${about.org_id}.${about.run_id}.life.${fact}.${writer}.${about.attempt}.${about.executor_id ?? 'none'}`;

/** Every subject that a fact about one attempt can have, after its assignment. */
export const attemptSubjects = (
  about: RunKey & { readonly attempt: number; readonly executor_id: ExecutorId },
): readonly string[] => [
  ...new Set(
    Object.values(RUN_EVENTS)
      .filter(({ fact }) => fact !== 'queued' && fact !== 'assigned' && !followsEnd(fact))
      .map((type) => subjectOfFact(about, type)),
  ),
];

/** The subject of the assignment of an attempt. */
export const assignmentSubject = (
  about: RunKey & { readonly attempt: number; readonly executor_id: ExecutorId },
): string => subjectOfFact(about, RUN_EVENTS.RunAssigned);

export interface LifecycleSubject extends RunKey {
  readonly fact: string;
  readonly writer: WriterRole;
  readonly attempt: number;
  readonly executor_id: ExecutorId | null;
}

const WRITTEN_BY = String.raw`([^.]+)\.(${WRITERS.join('|')})`;
const LIFECYCLE_SUBJECT = new RegExp(
  String.raw`^runs\.(${UUID_PATTERN})\.(${UUID_PATTERN})\.life\.${WRITTEN_BY}\.(\d{1,6})\.(?:none|(${EXECUTOR_ID_AT_END}))$`,
);

/** What was parsed last: a reader and the fold ask behind each other for the same subject. */
let latest: { readonly subject: string; readonly parsed: LifecycleSubject | undefined } | undefined;

/** Undefined when the subject is not one of a lifecycle fact. */
export const parseLifecycleSubject = (subject: string): LifecycleSubject | undefined => {
  if (latest?.subject !== subject) latest = { subject, parsed: parseLifecycle(subject) };
  return latest.parsed;
};

const parseLifecycle = (subject: string): LifecycleSubject | undefined => {
  const tokens = LIFECYCLE_SUBJECT.exec(subject);
  if (!tokens) return undefined;
  const [, org_id, run_id, fact, writer, attempt, executor_id = null] = tokens;
  // The expression has checked them.
  return { org_id, run_id, fact, writer, attempt: Number(attempt), executor_id } as LifecycleSubject;
};

export const webhookEventSubject = (event: WebhookEvent): string => {
  const { fact, writer } = WEBHOOK_EVENTS[event.type];
  return `runs.${event.org_id}.${event.run_id}.webhook.${fact}.${writer}.${event.round}`;
};

interface WebhookSubject extends RunKey {
  readonly fact: string;
  readonly writer: WriterRole;
  readonly round: number;
}

const WEBHOOK_SUBJECT = new RegExp(
  String.raw`^runs\.(${UUID_PATTERN})\.(${UUID_PATTERN})\.webhook\.${WRITTEN_BY}\.(\d{1,6})$`,
);

/** Undefined when the subject is not one of a webhook fact. */
export const parseWebhookSubject = (subject: string): WebhookSubject | undefined => {
  const tokens = WEBHOOK_SUBJECT.exec(subject);
  if (!tokens) return undefined;
  const [, org_id, run_id, fact, writer, round] = tokens;
  return { org_id, run_id, fact, writer, round: Number(round) } as WebhookSubject;
};

/**
 * The subject of the messages without content by which a gateway proves that it does not read from a broker that has fallen behind. It
 * is no fact's subject, and no reader of facts has it in its filter.
 */
export const READ_MARKER = 'runs.read_marker';

/** The run that a message of RUNS is about, even if the rest of its subject is invalid. */
export const runOfSubject = (subject: string): RunKey | undefined => {
  const [runs, org_id = '', run_id = ''] = subject.split('.');
  return runs === 'runs' && isOrgId(org_id) && isRunId(run_id) ? { org_id, run_id } : undefined;
};

const OF_EXECUTORS: ReadonlySet<string> = new Set(['registered', 'draining', 'left']);

/**
 * The name of the executor that may write under this subject of RUNS or FLEET, and so has written what is there; undefined for the
 * subjects of other services.
 */
export const executorWriterOf = (subject: string): string | undefined => {
  const tokens = subject.split('.');
  if (tokens[0] === 'runs') return tokens[5] === 'executor' ? tokens[7] : undefined;
  return tokens[0] === 'fleet' && OF_EXECUTORS.has(tokens[3] ?? '') ? tokens[1] : undefined;
};

/** Whether a NATS filter covers a subject: `*` is one token, `>` at the end one or more. */
export const matchesFilter = (filter: string, subject: string): boolean => {
  const wanted = filter.split('.');
  const tokens = subject.split('.');
  const isOpen = wanted.at(-1) === '>';
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  if (isOpen ? tokens.length <= fixed.length : tokens.length !== fixed.length) return false;
  return fixed.every((token, at) => token === '*' || token === tokens[at]);
};

/** Whether one of these filters covers a subject. No filters cover every subject. */
export const matchesAny = (filters: readonly string[], subject: string): boolean =>
  filters.length === 0 || filters.some((filter) => matchesFilter(filter, subject));
