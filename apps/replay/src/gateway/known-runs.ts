import { acceptMessage, EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN, type WebhookHistory } from '@runledger/contracts/fold/webhook';
import { messageOf, type SliceFact } from '@runledger/contracts/slices/slice';
import { runOfSubject } from '@runledger/contracts/events/subjects';
import { NewerFact, oldestBeyond } from '../slice.ts';

/** A run as gateways know it from the log. */
export interface KnownRun {
  readonly life: RunHistory;
  readonly webhook: WebhookHistory;
}

/** Clients may delete a run long after its end, queue it again, or have it notified again: so many ended ones are remembered. */
const MAX_ENDED = 10_000;

/** The runs of a slice that have not ended, and the last ones that have. */
export class KnownRuns {
  readonly #open = new Map<string, KnownRun>();
  /** The first one ended first. */
  readonly #ended = new Map<string, KnownRun>();
  readonly #mostEnded: number;

  constructor(mostEnded = MAX_ENDED) {
    this.#mostEnded = mostEnded;
  }

  get(run_id: string): KnownRun | undefined {
    return this.#open.get(run_id) ?? this.#ended.get(run_id);
  }

  /** @throws {NewerFact} */
  take(fact: SliceFact): void {
    const run_id = fact.stream === 'RUNS' ? runOfSubject(fact.subject)?.run_id : undefined;
    if (run_id === undefined) return;
    const before = this.get(run_id);
    const after = RUN_CHAIN.keyOf(fact.subject)
      ? withLife(before, fact)
      : before && withWebhook(before, fact);
    if (after && after !== before) this.#keep(run_id, after);
  }

  #keep(run_id: string, known: KnownRun): void {
    const { state } = known.life;
    if (!state || !(isEnded(state) || isDeleted(state))) return void this.#open.set(run_id, known);
    this.#open.delete(run_id);
    this.#ended.set(run_id, known);
    const oldest = oldestBeyond(this.#ended, this.#mostEnded);
    if (oldest !== undefined) this.#ended.delete(oldest);
  }
}

/** Undefined for a run whose first facts are not in the slice. */
const withLife = (before: KnownRun | undefined, fact: SliceFact): KnownRun | undefined => {
  const accepted = acceptMessage(RUN_CHAIN, before?.life ?? EMPTY_HISTORY, messageOf(fact));
  if (accepted.kind === 'newer_version') throw new NewerFact(accepted);
  if (!('history' in accepted) || !accepted.history.state) return before;
  return { webhook: EMPTY_HISTORY, ...before, life: accepted.history };
};

const withWebhook = (before: KnownRun, fact: SliceFact): KnownRun => {
  const accepted = acceptMessage(WEBHOOK_CHAIN, before.webhook, messageOf(fact));
  return 'history' in accepted ? { ...before, webhook: accepted.history } : before;
};
