import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { runName } from './run-name.ts';
import { factSubject, foldedOf, foldMessage, type Folded } from './fold-run.ts';
import type { StoredView } from './run-view.ts';

/** A stored message that is part of no run. */
export interface RefusedFact {
  readonly message: StoredMessage;
  readonly why: string;
}

/** A fact follows one that was not seen. The whole run is read instead, at least up to this message. */
export interface Gap {
  readonly key: RunKey;
  readonly message: StoredMessage;
}

export type Projected =
  | {
      readonly kind: 'projected';
      /** Of every run that the messages are about, also when it had them already. */
      readonly views: readonly StoredView[];
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
 * Folds a batch of the log into the present views. A view is always everything that the log says of a run up to the later
 * of its two heads, so a run with a gap stays as it was.
 */
export const projectRuns = (
  present: readonly StoredView[],
  messages: readonly StoredMessage[],
): Projected => {
  const known = new Map<string, Folded>(present.map((view) => [runName(view.run), foldedOf(view)]));
  const folded = new Set<string>();
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
        known.set(name, next.folded);
        break;
      case 'changed':
        known.set(name, next.folded);
        break;
      case 'known':
      case 'gap':
        break;
      case 'newer_version':
        return next;
    }
    // The whole run is read up to the last message behind the gap.
    if (next.kind === 'gap' || gaps.has(name)) gaps.set(name, gapAt(about, message));
    else folded.add(name);
  }
  const views = [...folded].flatMap((name) => {
    const { history, webhook } = known.get(name) ?? foldedOf(undefined);
    return history.state && !gaps.has(name) ? [{ head: history.head, run: history.state, webhook }] : [];
  });
  return { kind: 'projected', views, refused, gaps: [...gaps.values()] };
};

const gapAt = ({ org_id, run_id }: RunKey, message: StoredMessage): Gap => ({
  key: { org_id, run_id },
  message,
});
