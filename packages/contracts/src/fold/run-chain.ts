import {
  newerRunEvent,
  parseRunEvent,
  RUN_EVENTS,
  type RunEvent,
  type RunEventType,
} from '../events/run-event.ts';
import { lifecycleFilter, parseLifecycleSubject, runEventSubject } from '../subjects/run-subjects.ts';
import type { Chain, FactNeeds, History } from './chain.ts';
import { evolveRun } from './evolve-run.ts';
import type { RunState } from './run.ts';

/** A reader's state of a run's lifecycle. */
export type RunHistory = History<RunState>;

const NEEDS: Readonly<Partial<Record<RunEventType, FactNeeds>>> = {
  RunExpired: 'nothing',
  RunOutputsDeleted: 'state',
  RunDeleted: 'nothing',
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
  evolve: evolveRun,
  needs: ({ type }) => NEEDS[type] ?? 'fact_before',
};
