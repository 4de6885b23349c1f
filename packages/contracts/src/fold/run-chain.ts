import {
  link,
  readChain,
  type Chain,
  type Refusal,
  type RefusedMessage,
  type StoredMessage,
} from './chain.ts';
import { evolveRun } from './evolve-run.ts';
import type { RunFact, Run } from './run.ts';
import { parseRunEvent, RUN_EVENTS, type RunEvent, type RunEventType } from '../events/run-event.ts';
import {
  lifecycleFilter,
  parseLifecycleSubject,
  runEventSubject,
  type RunKey,
} from '../subjects/run-subjects.ts';

export type { RefusedMessage, StoredMessage } from './chain.ts';

/** What a reader knows of a run: the fold of its lifecycle, and the sequence of the last message stored under it. */
export interface History {
  readonly head: number;
  readonly run: Run | undefined;
}

export const EMPTY_HISTORY: History = { head: 0, run: undefined };

/** The lifecycle of a run: the chain that every service decides on. */
export const RUN_CHAIN: Chain<RunEventType, RunEvent, Run> = {
  fenceOf: (subject) => {
    const run = parseLifecycleSubject(subject);
    return run && lifecycleFilter(run);
  },
  parse: parseRunEvent,
  subjectOf: runEventSubject,
  mayBe: (type, subject) => {
    const { fact, writer } = parseLifecycleSubject(subject) ?? {};
    return RUN_EVENTS[type].fact === fact && RUN_EVENTS[type].writer === writer;
  },
  evolve: evolveRun,
};

export type Accepted =
  | { readonly kind: 'accepted'; readonly history: History; readonly fact: RunFact; readonly run: Run }
  | { readonly kind: 'refused'; readonly history: History; readonly refusal: Refusal; readonly why: string }
  | { readonly kind: 'unknown_type'; readonly history: History; readonly type: string }
  | { readonly kind: 'known' }
  | { readonly kind: 'gap'; readonly after: number; readonly expected: number; readonly sequence: number }
  | {
      readonly kind: 'newer_version';
      readonly type: RunEventType;
      readonly version: number;
      readonly sequence: number;
    };

/** Takes the next stored message into a run's history: `link` in the words of a run. */
export const accept = (history: History, message: StoredMessage): Accepted => {
  const { head, run } = history;
  const linked = link(RUN_CHAIN, { head, state: run }, message);
  switch (linked.kind) {
    case 'accepted':
      return {
        kind: 'accepted',
        history: { head: linked.head, run: linked.state },
        fact: linked.fact,
        run: linked.state,
      };
    case 'refused':
      return { ...linked, history: { head: linked.head, run } };
    case 'unknown_type':
      return { ...linked, history: { head: linked.head, run } };
    case 'known':
    case 'gap':
    case 'newer_version':
      return linked;
  }
};

export type ReadHistory =
  | {
      readonly kind: 'whole';
      readonly history: History;
      readonly facts: readonly RunFact[];
      readonly refused: readonly RefusedMessage[];
    }
  | {
      readonly kind: 'damaged';
      readonly why: string;
      readonly after: number;
      readonly expected: number;
      readonly sequence: number;
    }
  | {
      readonly kind: 'newer_version';
      readonly type: RunEventType;
      readonly version: number;
      readonly sequence: number;
    };

/** Folds the stored messages of one run, in the order of their sequences. */
export const readHistory = (run: RunKey, messages: readonly StoredMessage[]): ReadHistory => {
  const read = readChain(RUN_CHAIN, messages);
  switch (read.kind) {
    case 'whole': {
      const { head, state, facts, refused } = read;
      return { kind: 'whole', history: { head, run: state }, facts, refused };
    }
    case 'gap':
      return { ...read, kind: 'damaged', why: damage(run, read) };
    case 'newer_version':
      return read;
  }
};

const damage = (run: RunKey, gap: { after: number; expected: number; sequence: number }): string =>
  `the history of run ${run.run_id} is damaged: the event at sequence ${gap.sequence} rests on ${gap.expected}, ` +
  (gap.after === 0 ? 'and nothing before it is left in the log' : `but the event before it is ${gap.after}`);
