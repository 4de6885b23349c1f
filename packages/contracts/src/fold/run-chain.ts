import {
  newerRunEvent,
  parseRunEvent,
  RUN_EVENTS,
  type RunEvent,
  type RunEventType,
} from '../events/run-event.ts';
import type { FactVersions } from '../events/run-event-data.ts';
import { lifecycleFilter, parseLifecycleSubject, runEventSubject } from '../subjects/run-subjects.ts';
import type { Chain, FactNeeds, History } from './chain.ts';
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
 * The latest version in which the writer of this subject may write an event of this type. An executor may use those of its
 * assignment; services may use any, and theirs stop a reader that does not know them.
 */
export const latestVersionUnder = (
  subject: string,
  type: RunEventType,
  assigned: FactVersions | undefined,
): number => (parseLifecycleSubject(subject)?.writer === 'executor' ? (assigned?.[type] ?? 1) : Infinity);

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
    const { fact, writer } = parseLifecycleSubject(subject) ?? {};
    return RUN_EVENTS[type].fact === fact && RUN_EVENTS[type].writer === writer;
  },
  latestVersion: (state, subject, type) =>
    latestVersionUnder(subject, type, assignedVersions(state, subject)),
  evolve: evolveRun,
  needs: ({ type }) => NEEDS[type] ?? 'fact_before',
};
