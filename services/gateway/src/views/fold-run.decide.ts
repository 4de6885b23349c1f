import {
  acceptMessage,
  EMPTY_HISTORY,
  type Accepted,
  type Chain,
  type History,
  type NewerEvent,
  type StoredMessage,
} from '@runledger/contracts/fold/chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import { isDeleted, isEnded, type RunState } from '@runledger/contracts/fold/run';
import {
  endsWithoutLog,
  isSettled,
  WEBHOOK_CHAIN,
  type Webhook,
  type WebhookHistory,
} from '@runledger/contracts/fold/webhook';
import {
  parseLifecycleSubject,
  parseWebhookSubject,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import type { StoredView } from './run-view.ts';
import { runName } from './stored-run.decide.ts';

/** A run while its facts are folded: two chains, each with its own head. */
export interface Folded {
  readonly history: RunHistory;
  readonly webhook: WebhookHistory;
}

type FoldedMessage =
  | { readonly kind: 'changed'; readonly folded: Folded }
  | { readonly kind: 'refused'; readonly folded: Folded; readonly why: string }
  | { readonly kind: 'known' }
  /** It follows a message that was not seen. */
  | { readonly kind: 'gap' }
  | NewerEvent;

type FactSubject = RunKey & { readonly chain: 'lifecycle' | 'webhook' };

/** The run and the chain of a message; undefined when its subject is not that of a fact. */
export const factSubject = (subject: string): FactSubject | undefined => {
  const life = parseLifecycleSubject(subject);
  if (life) return { chain: 'lifecycle', org_id: life.org_id, run_id: life.run_id };
  const webhook = parseWebhookSubject(subject);
  return webhook && { chain: 'webhook', org_id: webhook.org_id, run_id: webhook.run_id };
};

/** A view whose head is 0 has nothing of the present log yet: see `accept`. */
export const foldedOf = (view: StoredView | undefined): Folded =>
  view === undefined
    ? { history: EMPTY_HISTORY, webhook: EMPTY_HISTORY }
    : { history: { head: view.head, state: view.run }, webhook: view.webhook };

/** Folds the next message of a run. */
export const foldMessage = (
  folded: Folded,
  chain: FactSubject['chain'],
  message: StoredMessage,
): FoldedMessage => {
  switch (chain) {
    case 'lifecycle': {
      const { next, isAnew } = accept(RUN_CHAIN, folded.history, message);
      if (deletesUnknown(folded.history, next, message) || followsLost(folded.history, next, message))
        return { kind: 'gap' };
      // Then the notifications follow too, unless they were before it.
      const webhook = isAnew && folded.webhook.head === 0 ? EMPTY_HISTORY : folded.webhook;
      return folding(next, (history) => ({ history, webhook }));
    }
    case 'webhook': {
      const { next } = accept(WEBHOOK_CHAIN, folded.webhook, message);
      if (comesBeforeRun(folded.history, next) || comesBeforeEnd(folded.history, next))
        return { kind: 'gap' };
      return folding(next, (webhook) => ({ ...folded, webhook }));
    }
  }
};

/** What it erases is in the facts before it, which the log may still have. A database that was killed may have lost the view. */
const deletesUnknown = (
  { state }: RunHistory,
  next: Accepted<RunEvent, RunState>,
  { expectedSequence }: StoredMessage,
): boolean =>
  state === undefined &&
  expectedSequence !== 0 &&
  next.kind === 'accepted' &&
  next.fact.event.type === 'RunDeleted';

/** It was stored when the log held nothing of the run any more, behind facts that this view never had: what it says needs an end. */
const followsLost = (
  { head, state }: RunHistory,
  next: Accepted<RunEvent, RunState>,
  { expectedSequence }: StoredMessage,
): boolean =>
  state !== undefined &&
  head > 0 &&
  isOpen(state) &&
  expectedSequence === 0 &&
  next.kind === 'refused' &&
  next.refusal === 'impossible';

/** The final notification settles behind the end of a run: of one that has not ended, the end was missed. */
const comesBeforeEnd = ({ state }: RunHistory, next: Accepted<WebhookEvent, Webhook>): boolean =>
  state !== undefined && isOpen(state) && next.kind === 'accepted' && isSettled(next.state);

const isOpen = (state: RunState): boolean => !isEnded(state) && !isDeleted(state);

/**
 * A run comes before its webhook facts: one that is unknown was missed, and one whose head is 0 is being derived again, unless the log
 * has lost it.
 */
const comesBeforeRun = ({ head, state }: RunHistory, next: Accepted<WebhookEvent, Webhook>): boolean =>
  next.kind === 'accepted' && (state === undefined || (head === 0 && !endsWithoutLog(next.fact.event)));

/**
 * A history whose head is 0 was made from another log, or is derived again from this one. When the log has lost what it was made
 * from, it goes on with what follows, such as a deletion. When the log has all of it, it begins anew.
 */
const accept = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  history: History<State>,
  message: StoredMessage,
): { readonly next: Accepted<Event, State>; readonly isAnew: boolean } => {
  const next = acceptMessage(chain, history, message);
  const isAnew = history.head === 0 && (next.kind === 'refused' || next.kind === 'gap');
  return { next: isAnew ? acceptMessage(chain, EMPTY_HISTORY, message) : next, isAnew };
};

const folding = <Event, State>(
  next: Accepted<Event, State>,
  withHistory: (history: History<State>) => Folded,
): FoldedMessage => {
  switch (next.kind) {
    case 'accepted':
      return { kind: 'changed', folded: withHistory(next.history) };
    case 'refused':
      return { kind: 'refused', folded: withHistory(next.history), why: next.why };
    case 'gap':
      return { kind: 'gap' };
    case 'known':
    case 'newer_version':
      return next;
  }
};

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

type Projected =
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

/** The view of one run after these messages of it; undefined when something before them is missing. */
export const viewAfter = (
  present: StoredView | undefined,
  messages: readonly StoredMessage[],
): StoredView | undefined => {
  const projected = projectRuns(present ? [present] : [], messages);
  return projected.kind === 'projected' && projected.gaps.length === 0 ? projected.views[0] : undefined;
};

/** In the order of the log. */
export const inOrder = (messages: readonly StoredMessage[]): readonly StoredMessage[] =>
  messages.toSorted((a, b) => a.sequence - b.sequence);

const gapAt = ({ org_id, run_id }: RunKey, message: StoredMessage): Gap => ({
  key: { org_id, run_id },
  message,
});
