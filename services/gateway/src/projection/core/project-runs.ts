import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { runName } from './run-name.ts';
import { factSubject, foldedOf, foldMessage, type Folded } from './fold-run.ts';
import type { RunView } from './run-view.ts';

/** Stored by the broker, but no part of any run. */
export interface RefusedFact {
  readonly message: StoredMessage;
  readonly why: string;
}

/** A fact rests on one that was not seen: the run is read whole, up to this last message of it at least. */
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
    const about = factSubject(subject);
    if (about) keys.set(runName(about), { org_id: about.org_id, run_id: about.run_id });
  }
  return [...keys.values()];
};

/**
 * A batch of the log, folded into the views that are there. A view is everything that the log says of a run up to the
 * later of its two heads, and stays that: a run with a gap is left as it was.
 */
export const projectRuns = (present: readonly RunView[], messages: readonly StoredMessage[]): Projected => {
  const known = new Map<string, Folded>(present.map((view) => [runName(view.run), foldedOf(view)]));
  const changed = new Set<string>();
  const gaps = new Map<string, Gap>();
  const refused: RefusedFact[] = [];
  for (const message of messages) {
    const about = factSubject(message.subject);
    if (!about) {
      refused.push({ message, why: `${message.subject} is not the subject of a fact of a run` });
      continue;
    }
    const name = runName(about);
    const next = foldMessage(known.get(name) ?? foldedOf(undefined), about.chain, message);
    switch (next.kind) {
      case 'refused':
        refused.push({ message, why: next.why });
        changed.add(name);
        known.set(name, next.folded);
        break;
      case 'changed':
        changed.add(name);
        known.set(name, next.folded);
        break;
      case 'known':
        break;
      case 'gap':
        break;
      case 'newer_version':
        return next;
    }
    // What is read instead has to have what comes behind the gap, too.
    if (next.kind === 'gap' || gaps.has(name)) gaps.set(name, gapAt(about, message));
  }
  const views = [...changed].flatMap((name) => {
    const folded = known.get(name);
    return folded?.history.state && !gaps.has(name)
      ? [{ head: folded.history.head, run: folded.history.state, webhook: folded.webhook }]
      : [];
  });
  return { kind: 'projected', views, refused, gaps: [...gaps.values()] };
};

const gapAt = ({ org_id, run_id }: RunKey, message: StoredMessage): Gap => ({
  key: { org_id, run_id },
  message,
});
