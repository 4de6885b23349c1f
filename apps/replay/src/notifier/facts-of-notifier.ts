import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import { WEBHOOK_EVENTS, type WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook';
import type { RunId } from '@runledger/contracts/ids';
import { messageOf, type SliceFact } from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject, parseWebhookSubject } from '@runledger/contracts/events/subjects';
import { settles } from '@runledger/event-log/read/read-run';
import type { FinalDelivery } from '@runledger/notifier/core/delivery';
import { runNotice } from '@runledger/notifier/webhook-targets';
import type { Decided, RecordedDecision } from '../decisions/verdict.ts';
import { eventIn } from '../slice.ts';
import { decidedAttempt, decidedByEvent, decidedStart, decidedState } from './decided.ts';
import type { WhatIsKnown } from './known-to-notifier.ts';
import type { NotifiedRun, NotifiedRuns } from './notified-runs.ts';
import { keyOf, type DecisionKind, type NotifierDecisions } from './notifier-decisions.ts';
import type { PlayedNotifier } from './played-notifier.ts';
import { recordedDelivery, type ForeseenAttempts, type RecordedAttempt } from './recorded-attempts.ts';

export interface FactsOfNotifierOptions {
  readonly played: PlayedNotifier;
  readonly runs: NotifiedRuns;
  readonly foreseen: ForeseenAttempts;
  readonly decisions: NotifierDecisions;
  readonly known: WhatIsKnown;
}

/** Takes facts as services/notifier/src/subscription.ts does; what the notifier wrote is compared first. */
export class FactsOfNotifier {
  readonly #played: PlayedNotifier;
  readonly #runs: NotifiedRuns;
  readonly #foreseen: ForeseenAttempts;
  readonly #decisions: NotifierDecisions;
  readonly #known: WhatIsKnown;

  constructor({ played, runs, foreseen, decisions, known }: FactsOfNotifierOptions) {
    this.#played = played;
    this.#runs = runs;
    this.#foreseen = foreseen;
    this.#decisions = decisions;
    this.#known = known;
  }

  /** @throws {NewerFact} */
  take(fact: SliceFact): void {
    const life = parseLifecycleSubject(fact.subject);
    if (fact.stream === 'RUNS' && life) {
      this.#runs.takeLife(life, messageOf(fact));
      this.#notice(fact);
    } else if (fact.stream === 'RUNS') this.#takeWebhookFact(fact);
    const recorded = recordedDelivery(fact);
    if (!recorded) return;
    if ('state' in recorded) this.#takeState(fact, recorded.key.run_id, recorded.state);
    else if (this.#foreseen.take(recorded)) this.#takeAttempt(recorded);
  }

  /** What the fact means for notifications. */
  #notice(fact: SliceFact): void {
    const notice = runNotice(messageOf(fact));
    const known = notice && this.#runs.get(notice.key.run_id);
    if (!notice || !known) return;
    const { key, target } = known;
    const { origin, intermediate, oldestFactAt } = target;
    if (intermediate) this.#known.noteIntermediates({ org_id: key.org_id, origin });
    const { sequence } = fact;
    const message = { key, origin, partition: partitionOf(origin), sequence, oldestFactAt };
    const end = { ...message, time: Date.parse(fact.time) };
    const { core } = this.#played.deliveries;
    if (notice.type === 'run_ended') core.take({ type: 'run_ended', ...end });
    else if (notice.type === 'redelivery_requested')
      core.take({ type: 'redelivery_requested', round: notice.round, ...end });
  }

  #takeWebhookFact(fact: SliceFact): void {
    const about = parseWebhookSubject(fact.subject);
    const event = eventIn(WEBHOOK_CHAIN, fact);
    if (!about || !event) return;
    const { run_id: run, round } = about;
    const { end } = this.#runs.get(run) ?? {};
    // The first of two facts that settle a round counts.
    if (end?.status === 'settled' && event.round <= end.round) return;
    if (WEBHOOK_EVENTS[event.type].writer === 'notifier') this.#judgeFact(fact, run, event);
    else if (settles(about.fact)) this.#decisions.overtake(this.#played.nowMs, run, event.type);
    const status = settles(about.fact) ? 'settled' : 'running';
    const { sequence, time } = fact;
    const request = event.type === 'WebhookRedeliveryRequested' ? { event, sequence, time } : undefined;
    this.#runs.takeWebhookFact(run, { head: sequence, round, status }, request);
    if (status === 'settled') this.#played.settled(run);
    this.#notice(fact);
  }

  #judgeFact(fact: SliceFact, run: RunId, event: WebhookEvent): void {
    if (event.type === 'WebhookStarted') return this.#judgeStart(fact, run, event);
    const ahead = this.#foreseen.next(run);
    // Outcomes are stored beside facts, and may come a moment later.
    if (!this.#decisions.isOpen('conclusion', run) && ahead?.made.round === event.round) {
      this.#foreseen.take(ahead);
      this.#takeAttempt(ahead);
    }
    if (event.type === 'WebhookGivenUp' && event.data.reason === 'expired') this.#played.expire(run);
    this.#judge('conclusion', fact, run, decidedByEvent(event), this.#known.whyNotConcluded(run, event));
  }

  /** It is stored when an attempt takes long, or when it failed. Of one that takes long it is compared that there is an attempt. */
  #judgeStart(fact: SliceFact, run: RunId, event: WebhookEvent): void {
    const { inFlight, timers } = this.#played.deliveries;
    const round = inFlight.get(run)?.plan.round ?? timers.get(run)?.delivery.round;
    if (!this.#decisions.isOpen('start', run) && round !== undefined)
      this.#decisions.add('start', run, decidedStart(round), this.#played.nowMs);
    this.#judge('start', fact, run, decidedByEvent(event), this.#known.whyNotStarted(run, event));
  }

  #takeAttempt(recorded: RecordedAttempt): void {
    const { key, made } = recorded;
    const { run_id: run } = key;
    const known = this.#runs.get(run);
    const isDue = this.#known.isDue(recorded);
    const isBegun = this.#played.begin(recorded);
    if (isBegun && !this.#decisions.isOpen('attempt', run)) this.#openAttempt(run);
    this.#decisions.overtake(this.#played.nowMs, run, 'DeliveryAttempt');
    const why = isBegun ? undefined : this.#known.whyNotAttempted(recorded);
    this.#judge('attempt', recorded.fact, run, decidedAttempt(made, isDue), why);
    if (known) this.#played.finish(recorded, deliveryOf(known, recorded));
  }

  /** It was reported before that the slice does not hold it in time. */
  #openAttempt(run: RunId): void {
    const begun = this.#played.deliveries.inFlight.get(run);
    if (!begun) return;
    const { round, attempts } = begun.plan;
    this.#decisions.add(
      'attempt',
      run,
      decidedAttempt({ round, try: attempts + 1 }, true),
      this.#played.nowMs,
    );
  }

  #takeState(fact: SliceFact, run: RunId, state: DeliveryState): void {
    const { nowMs } = this.#played;
    if (state.state === 'deferred') this.#played.deferIfBlocked(run);
    else this.#decisions.overtake(nowMs, run, 'DeliveryState');
    const now = this.#known.stateOf(run, state);
    if (now) this.#decisions.add('state', run, now, nowMs);
    const isDue = state.state === 'deferred' || this.#known.isAllowed(run, state);
    this.#judge('state', fact, run, decidedState(state, isDue), this.#known.whyNoState(run));
    this.#decisions.close('state', run);
    this.#played.follow(run, state);
  }

  #judge(
    kind: DecisionKind,
    { stream, sequence, time }: SliceFact,
    run: RunId,
    decided: Decided,
    why: string | undefined,
  ): void {
    const recorded: RecordedDecision = { ...decided, stream, position: sequence, time };
    const circumstances = {
      whyNotCompared: () => why,
      whyNotDecided: () => this.#known.situationOf(run),
    };
    const about = { run_id: run };
    const { nowMs } = this.#played;
    this.#decisions.comparisonOf(kind).judge(nowMs, keyOf(kind, run), { about, recorded }, circumstances);
    this.#decisions.close(kind, run);
  }
}

/** As the record has it, for a core that does not. */
const deliveryOf = ({ key, target, history }: NotifiedRun, { made }: RecordedAttempt): FinalDelivery => ({
  key,
  origin: target.origin,
  partition: partitionOf(target.origin),
  round: made.round,
  attempts: made.try - 1,
  expiresAt: Infinity,
  fact: history.head,
  source: { kind: 'log', sequence: history.head },
  mayBeSuperseded: false,
});
