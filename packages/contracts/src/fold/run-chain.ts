import type { FactVersions } from '../events/run-event-data.ts';
import {
  isRunEventType,
  newerRunEvent,
  parseRunEvent,
  RUN_EVENTS,
  type RunEvent,
  type RunEventType,
} from '../events/run-event.ts';
import { lifecycleFilter, parseLifecycleSubject, runEventSubject, type RunKey } from '../events/subjects.ts';
import { isWebhookEventType } from '../events/webhook-event.ts';
import type { ExecutorId } from '../ids.ts';
import type { Chain, FactNeeds, History, StoredMessage } from './chain.ts';
import { evolveRun } from './evolve-run.ts';
import { isDeleted, isExecuting, type RunState } from './run.ts';

/** A reader's state of a run's lifecycle. */
export type RunHistory = History<RunState>;

const NEEDS: Readonly<Partial<Record<RunEventType, FactNeeds>>> = {
  RunExpired: 'nothing',
  RunOutputsDeleted: 'state',
  RunDeleted: 'nothing',
};

/**
 * What every executor may write in version 1, whatever its assignment says. This list is for ever: a type of executors that a later release
 * adds is no fact unless the assignment names it, also for those who know the type.
 */
const NEED_NO_NAME: ReadonlySet<string> = new Set<RunEventType>([
  'RunStarted',
  'RunUploading',
  'RunAttemptFailed',
  'RunSucceeded',
  'RunFailed',
  'RunCancelled',
]);

/**
 * The latest version in which the writer of this subject may write an event of this type; 0 for none. An executor may use what its
 * assignment names; services may write anything, and what a reader does not know of theirs stops it.
 */
export const latestVersionUnder = (
  subject: string,
  type: string,
  assigned: FactVersions | undefined,
): number => {
  if (parseLifecycleSubject(subject)?.writer !== 'executor') return Infinity;
  return assigned?.[type] ?? (NEED_NO_NAME.has(type) ? 1 : 0);
};

/** Undefined unless the subject is about the attempt that is under way. */
const assignedVersions = (state: RunState | undefined, subject: string): FactVersions | undefined => {
  if (!state || isDeleted(state) || !isExecuting(state)) return undefined;
  const { number, executor_id, fact_versions } = state.attempt;
  const about = parseLifecycleSubject(subject);
  return about?.attempt === number && about.executor_id === executor_id ? fact_versions : undefined;
};

/** The lifecycle of a run. */
export const RUN_CHAIN: Chain<RunEventType, RunEvent, RunState> = {
  filterOf: lifecycleFilter,
  keyOf: parseLifecycleSubject,
  parse: parseRunEvent,
  newerVersionOf: newerRunEvent,
  subjectOf: runEventSubject,
  belongsUnder: (type, subject) => {
    if (!isRunEventType(type)) return !isWebhookEventType(type);
    const { fact, writer } = parseLifecycleSubject(subject) ?? {};
    return RUN_EVENTS[type].fact === fact && RUN_EVENTS[type].writer === writer;
  },
  latestVersion: (state, subject, type) =>
    latestVersionUnder(subject, type, assignedVersions(state, subject)),
  evolve: evolveRun,
  needs: ({ type }) => NEEDS[type] ?? 'fact_before',
};

/**
 * An attempt as its assignment names it. Only what its executor stored between two messages of services can be a fact of it: the
 * assignment, and the first one that says that the attempt is over. Both sequences are exclusive; `before` is Infinity while it goes on.
 */
export interface AssignedAttempt {
  readonly attempt: number;
  readonly executor_id: ExecutorId;
  readonly after: number;
  readonly before: number;
}

/** A service stores these only where they follow, so nothing that the executor stores after one is a fact of its attempt. */
const OVER: ReadonlySet<string> = new Set(['assigned', 'requeued', 'ended']);

/**
 * The attempts of a run, by what services stored in its lifecycle; other messages do not matter. Each executor may store messages under
 * any run, as many as it likes, but none may assign: so whoever reads a run behind them reads what services stored first, and of executors
 * only what is about these attempts.
 */
export const assignedAttempts = (key: RunKey, messages: readonly StoredMessage[]): AssignedAttempt[] => {
  const fence = lifecycleFilter(key);
  const attempts: AssignedAttempt[] = [];
  for (const message of messages.toSorted((a, b) => a.sequence - b.sequence)) {
    const about = parseLifecycleSubject(message.subject);
    // Without the fence it is no fact.
    if (!about || about.writer === 'executor' || message.fence !== fence) continue;
    const { fact, attempt, executor_id } = about;
    const last = attempts.at(-1);
    if (last?.before === Infinity && OVER.has(fact))
      attempts[attempts.length - 1] = { ...last, before: message.sequence };
    if (fact === 'assigned' && executor_id !== null)
      attempts.push({ attempt, executor_id, after: message.sequence, before: Infinity });
  }
  return attempts;
};

/**
 * Whether nobody may have written this message of the run's lifecycle as a fact: no service, and no executor about an attempt that was
 * assigned to it then.
 */
export const isStray = (
  attempts: readonly AssignedAttempt[],
  { subject, sequence }: Pick<StoredMessage, 'subject' | 'sequence'>,
): boolean => {
  const about = parseLifecycleSubject(subject);
  if (!about) return true;
  if (about.writer !== 'executor') return false;
  return !attempts.some(
    ({ attempt, executor_id, after, before }) =>
      about.attempt === attempt && about.executor_id === executor_id && after < sequence && sequence < before,
  );
};
