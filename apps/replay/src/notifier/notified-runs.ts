import { acceptMessage, EMPTY_HISTORY, type StoredMessage } from '@runledger/contracts/fold/chain';
import { isDeleted, type RunFact } from '@runledger/contracts/fold/run';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import type { WebhookFact } from '@runledger/contracts/fold/webhook';
import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { ReadRun, WebhookEnd } from '@runledger/event-log/read/read-run';
import { webhookTargetOf, type WebhookTarget } from '@runledger/notifier/webhook-targets';
import { NewerFact, oldestBeyond } from '../slice.ts';

/** A run with a webhook, of which the slice has the first fact. */
export interface NotifiedRun {
  readonly key: RunKey;
  readonly target: WebhookTarget;
  readonly history: RunHistory;
  readonly first: RunFact;
  /** Of its webhook facts, as recorded. */
  readonly end: WebhookEnd;
  /** The last request to send its notification again. */
  readonly request: WebhookFact | undefined;
}

/** Runs whose notification is settled are kept for a redelivery, up to this many. */
const MAX_SETTLED = 50_000;

const NO_WEBHOOK_FACTS: WebhookEnd = { head: 0, round: 1, status: 'none' };

/** The runs of a slice that have a webhook. */
export class NotifiedRuns {
  readonly #runs = new Map<RunId, NotifiedRun>();
  readonly #settled = new Set<RunId>();

  get(run: RunId): NotifiedRun | undefined {
    return this.#runs.get(run);
  }

  /** A fact of the life of a run. @throws {NewerFact} */
  takeLife(key: RunKey, message: StoredMessage): void {
    const known = this.#runs.get(key.run_id);
    const accepted = acceptMessage(RUN_CHAIN, known?.history ?? EMPTY_HISTORY, message);
    if (accepted.kind === 'newer_version') throw new NewerFact(accepted);
    if (accepted.kind === 'known' || accepted.kind === 'gap') return;
    const { history } = accepted;
    if (known) this.#runs.set(key.run_id, { ...known, history });
    if (accepted.kind !== 'accepted') return;
    const { state, fact } = accepted;
    if (isDeleted(state)) return this.#forget(key.run_id);
    if (known) return;
    const target = webhookTargetOf(state.request, Date.parse(message.time));
    const run = { key, target, history, first: fact, end: NO_WEBHOOK_FACTS, request: undefined };
    if (target) this.#runs.set(key.run_id, { ...run, target });
  }

  /** The chain of its webhook facts goes on. */
  takeWebhookFact(run: RunId, end: WebhookEnd, request?: WebhookFact): void {
    const known = this.#runs.get(run);
    if (!known) return;
    this.#runs.set(run, { ...known, end, request: request ?? known.request });
    this.#settled.delete(run);
    if (end.status === 'settled') this.#settled.add(run);
    const oldest = oldestBeyond(this.#settled, MAX_SETTLED);
    if (oldest !== undefined) this.#forget(oldest);
  }

  /** As the notifier reads it. */
  read(run: RunId): ReadRun {
    const known = this.#runs.get(run);
    const { state } = known?.history ?? EMPTY_HISTORY;
    if (!known || !state || isDeleted(state)) return { kind: 'none', head: 0 };
    const { history, first, request } = known;
    const webhookFacts = request ? [request] : [];
    const unknown = { webhook: undefined, webhookExpired: false, refused: [] };
    return { kind: 'found', run: state, history, facts: [first], webhookFacts, ...unknown };
  }

  #forget(run: RunId): void {
    this.#runs.delete(run);
    this.#settled.delete(run);
  }
}
