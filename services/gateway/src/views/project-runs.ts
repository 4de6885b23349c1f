import { accept, EMPTY_HISTORY, type History, type StoredMessage } from '@runledger/contracts/history';
import { parseLifecycleSubject, type RunKey } from '@runledger/contracts/subjects';
import type { RunView } from './run-views.ts';

/** Stored by the broker, but no part of any run. */
export interface RefusedFact {
  readonly message: StoredMessage;
  readonly why: string;
}

/** A fact that rests on one that was not seen: the run is read whole. */
export interface Gap {
  readonly key: RunKey;
  readonly message: StoredMessage;
}

export type Projected =
  | {
      readonly kind: 'projected';
      /** Those that changed. */
      readonly views: readonly RunView[];
      readonly refused: readonly RefusedFact[];
      readonly gaps: readonly Gap[];
    }
  | {
      readonly kind: 'newer_version';
      readonly type: string;
      readonly version: number;
      readonly sequence: number;
    };

/** The runs that the messages are about, each once. */
export const runsIn = (messages: readonly StoredMessage[]): RunKey[] => {
  const keys = new Map<string, RunKey>();
  for (const { subject } of messages) {
    const key = parseLifecycleSubject(subject);
    if (key) keys.set(nameOf(key), { org_id: key.org_id, run_id: key.run_id });
  }
  return [...keys.values()];
};

/** A batch of the log, folded into the views that are there. A run with a gap is left as it was. */
export const projectRuns = (present: readonly RunView[], messages: readonly StoredMessage[]): Projected => {
  const histories = new Map<string, History>(present.map((view) => [nameOf(view.run), historyOf(view)]));
  const changed = new Set<string>();
  const gaps = new Map<string, Gap>();
  const refused: RefusedFact[] = [];
  for (const message of messages) {
    const key = parseLifecycleSubject(message.subject);
    if (!key) {
      refused.push({ message, why: `${message.subject} is not the subject of a lifecycle fact` });
      continue;
    }
    const name = nameOf(key);
    const next = accept(histories.get(name) ?? EMPTY_HISTORY, message);
    switch (next.kind) {
      case 'accepted':
        changed.add(name);
        histories.set(name, next.history);
        break;
      case 'refused':
        refused.push({ message, why: next.why });
        changed.add(name);
        histories.set(name, next.history);
        break;
      case 'unknown_type':
        changed.add(name);
        histories.set(name, next.history);
        break;
      case 'known':
        break;
      case 'gap':
        gaps.set(name, { key: { org_id: key.org_id, run_id: key.run_id }, message });
        break;
      case 'newer_version':
        return next;
    }
  }
  const views = [...changed].flatMap((name) => {
    const history = histories.get(name);
    return history?.run && !gaps.has(name) ? [{ head: history.head, run: history.run }] : [];
  });
  return { kind: 'projected', views, refused, gaps: [...gaps.values()] };
};

/** A view whose head went back to 0 is derived anew, from nothing. */
const historyOf = ({ head, run }: RunView): History => (head === 0 ? EMPTY_HISTORY : { head, run });

const nameOf = ({ org_id, run_id }: RunKey): string => `${org_id}.${run_id}`;
