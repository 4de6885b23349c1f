import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { link } from '@runledger/contracts/fold/chain';
import { accept, EMPTY_HISTORY, type History } from '@runledger/contracts/fold/run-chain';
import {
  parseLifecycleSubject,
  parseWebhookSubject,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import {
  EMPTY_WEBHOOK_HISTORY,
  WEBHOOK_CHAIN,
  type WebhookHistory,
} from '@runledger/contracts/fold/webhook-chain';
import type { RunView } from './run-view.ts';

/** What is known of one run while its facts are folded: two chains, each with a head of its own. */
export interface Folded {
  readonly history: History;
  readonly webhook: WebhookHistory;
}

export type FoldedMessage =
  | { readonly kind: 'changed'; readonly folded: Folded }
  | { readonly kind: 'refused'; readonly folded: Folded; readonly why: string }
  | { readonly kind: 'known' }
  /** It rests on what was not seen. */
  | { readonly kind: 'gap' }
  | {
      readonly kind: 'newer_version';
      readonly type: string;
      readonly version: number;
      readonly sequence: number;
    };

export type FactSubject = RunKey & { readonly chain: 'lifecycle' | 'webhook' };

/** The run and the chain that a message belongs to; undefined when its subject is none of a fact. */
export const factSubject = (subject: string): FactSubject | undefined => {
  const life = parseLifecycleSubject(subject);
  if (life) return { chain: 'lifecycle', org_id: life.org_id, run_id: life.run_id };
  const webhook = parseWebhookSubject(subject);
  return webhook && { chain: 'webhook', org_id: webhook.org_id, run_id: webhook.run_id };
};

/** A view whose head went back to 0 is derived anew, from nothing. */
export const foldedOf = (view: RunView | undefined): Folded =>
  view === undefined || view.head === 0
    ? { history: EMPTY_HISTORY, webhook: EMPTY_WEBHOOK_HISTORY }
    : { history: { head: view.head, run: view.run }, webhook: view.webhook };

/** Takes the next message of a run. */
export const foldMessage = (
  folded: Folded,
  chain: FactSubject['chain'],
  message: StoredMessage,
): FoldedMessage => {
  switch (chain) {
    case 'lifecycle':
      return foldLifecycle(folded, message);
    case 'webhook':
      return foldWebhook(folded, message);
  }
};

const foldLifecycle = (folded: Folded, message: StoredMessage): FoldedMessage => {
  const next = accept(folded.history, message);
  switch (next.kind) {
    case 'accepted':
    case 'unknown_type':
      return { kind: 'changed', folded: { ...folded, history: next.history } };
    case 'refused':
      return { kind: 'refused', folded: { ...folded, history: next.history }, why: next.why };
    case 'known':
    case 'newer_version':
      return next;
    case 'gap':
      return { kind: 'gap' };
  }
};

const foldWebhook = (folded: Folded, message: StoredMessage): FoldedMessage => {
  const { head, webhook } = folded.webhook;
  const next = link(WEBHOOK_CHAIN, { head, state: webhook }, message);
  switch (next.kind) {
    case 'accepted':
      // A run stands in front of its webhook facts, so one that is not known was missed.
      if (folded.history.run === undefined) return { kind: 'gap' };
      return { kind: 'changed', folded: { ...folded, webhook: { head: next.head, webhook: next.state } } };
    case 'unknown_type':
      return { kind: 'changed', folded: { ...folded, webhook: { head: next.head, webhook } } };
    case 'refused':
      return {
        kind: 'refused',
        folded: { ...folded, webhook: { head: next.head, webhook } },
        why: next.why,
      };
    case 'known':
    case 'newer_version':
      return next;
    case 'gap':
      return { kind: 'gap' };
  }
};
