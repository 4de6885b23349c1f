import { parseRunEvent, RUN_EVENTS, type RunEvent, type RunEventType } from '../events/run-event.ts';
import { lifecycleFilter, parseLifecycleSubject, runEventSubject } from '../subjects/run-subjects.ts';
import type { Chain, History } from './chain.ts';
import { evolveRun } from './evolve-run.ts';
import type { Run } from './run.ts';

/** A reader's state of a run's lifecycle. */
export type RunHistory = History<Run>;

/** The lifecycle of a run. */
export const RUN_CHAIN: Chain<RunEventType, RunEvent, Run> = {
  filterOf: lifecycleFilter,
  keyOf: parseLifecycleSubject,
  parse: parseRunEvent,
  subjectOf: runEventSubject,
  belongsUnder: (type, subject) => {
    const { fact, writer } = parseLifecycleSubject(subject) ?? {};
    return RUN_EVENTS[type].fact === fact && RUN_EVENTS[type].writer === writer;
  },
  evolve: evolveRun,
  isSelfContained: ({ type }) => type === 'RunExpired',
};
