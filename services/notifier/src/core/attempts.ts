import type { AttemptReport, FinalDelivery } from './delivery.ts';
import { conclusionOf, type Conclusion, outcomesOf, verdictOf } from './conclusion.ts';
import type { Permit } from './turns.ts';
import { afterResult, type Sent } from './receiver.ts';
import { recordResult } from './receiver-queues.ts';
import {
  type Attempt,
  IDLE,
  takeDelivery,
  takeUpToRound,
  type IntermediateNotification,
  type Outbox,
  type NotifierState,
} from './state.ts';
import type { Outcome } from './inputs-and-effects.ts';
import {
  AGAIN_MS,
  retryIntermediate,
  advance,
  beginWork,
  endWork,
  leaveInLog,
  settle,
  settleIntermediate,
} from './outboxes.ts';
import { schedule } from './queueing.ts';

/** From the end of one to the next, so that receivers get no two within it, however long one was under way. */
const ONE_INTERMEDIATE_MS = 1_000;

/** An attempt to send what is next in the outbox. Without a permit a delivery is only given up. */
export const beginAttempt = (state: NotifierState, outbox: Outbox, permit: Permit | undefined): void => {
  const { key, partition, finals, intermediate } = outbox;
  const [delivery] = finals;
  const id = (state.lastAttempt += 1);
  outbox.stage = { kind: 'in_flight', attempt: id };
  beginWork(state, partition);
  const common = { id, run: key.run_id, partition, permit, ticket: state.breakers.ticket };
  const open = { ...common, sent: 'nothing', postponed: false } as const;
  if (delivery) {
    state.attempts.set(id, { ...open, content: { kind: 'final', delivery } });
    state.effects.push({ type: 'attempt_final', attempt: id, delivery, isOver: permit === undefined });
  } else if (intermediate) {
    state.attempts.set(id, { ...open, content: { kind: 'intermediate', notification: intermediate } });
    outbox.intermediate = undefined;
    const { atLeast } = intermediate;
    state.effects.push({ type: 'attempt_intermediate', attempt: id, partition, key, atLeast });
  }
};

export const attemptFinished = (state: NotifierState, id: number, report: AttemptReport): void => {
  const attempt = state.attempts.get(id);
  const queue = attempt?.permit?.queue;
  if (queue && report.kind === 'sent')
    queue.record = afterResult(queue.record, report.result, state.moment.now);
  if (attempt?.content.kind === 'intermediate')
    intermediateFinished(state, attempt, attempt.content.notification, report);
  else if (attempt?.content.kind === 'final') finalFinished(state, attempt, attempt.content.delivery, report);
};

/** One that was refused is not sent again: the next contains more. */
const intermediateFinished = (
  state: NotifierState,
  attempt: Attempt,
  notification: IntermediateNotification,
  report: AttemptReport,
): void => {
  const outbox = state.outboxes.get(attempt.run);
  if (outbox) outbox.notBefore.intermediate = state.moment.at + ONE_INTERMEDIATE_MS;
  const sent = sentOf(report);
  const verdict = sent === 'nothing' ? undefined : verdictOf(sent);
  if (verdict !== 'own' && verdict !== 'interrupted')
    settleIntermediate(state, attempt.partition, notification);
  else if (outbox) retryIntermediate(state, outbox, notification);
  endAttempt(state, attempt, sent);
};

const finalFinished = (
  state: NotifierState,
  attempt: Attempt,
  delivery: FinalDelivery,
  report: AttemptReport,
): void => {
  switch (report.kind) {
    case 'interrupted':
      return retryFinal(state, attempt, delivery);
    case 'superseded':
      complete(state, attempt, delivery, 'alone');
      return endAttempt(state, attempt, 'nothing');
    case 'nothing':
      complete(state, attempt, delivery, 'round');
      return endAttempt(state, attempt, 'nothing');
    case 'unreadable':
    case 'failed':
    case 'time_over':
    case 'log_expired':
    case 'sent': {
      const conclusion = conclusionOf(report, state.moment, state.settings);
      if (!conclusion) return retryFinal(state, attempt, delivery);
      return conclude(state, attempt, delivery, conclusion, sentOf(report));
    }
  }
};

const conclude = (
  state: NotifierState,
  attempt: Attempt,
  delivery: FinalDelivery,
  conclusion: Conclusion,
  sent: Sent,
): void => {
  attempt.sent = sent;
  state.effects.push({ type: 'conclude_attempt', attempt: attempt.id, delivery, conclusion });
};

/** What follows from the attempt is stored, or could not be stored. */
export const attemptConcluded = (state: NotifierState, id: number, outcome: Outcome): void => {
  const attempt = state.attempts.get(id);
  if (attempt?.content.kind !== 'final') return;
  const { delivery } = attempt.content;
  if (outcome.kind === 'stored') {
    complete(state, attempt, delivery, 'round');
    return endAttempt(state, attempt, attempt.sent);
  }
  if (outcome.kind === 'no_room') {
    const outbox = state.outboxes.get(attempt.run);
    leaveInLog(state, delivery);
    if (outcome.retry) state.leftRetries.note(attempt.run, outcome.retry);
    if (outbox) takeDelivery(outbox, delivery);
    return endAttempt(state, attempt, attempt.sent);
  }
  if (outcome.kind === 'interrupted' || attempt.postponed) return retryFinal(state, attempt, delivery);
  attempt.postponed = true;
  const report = { kind: 'failed', why: outcome.why } as const;
  const conclusion = conclusionOf(report, state.moment, state.settings);
  if (conclusion) conclude(state, attempt, delivery, conclusion, sentOf(report));
};

/** The delivery stays in memory, unless it was only to be given up. */
const retryFinal = (state: NotifierState, attempt: Attempt, delivery: FinalDelivery): void => {
  const outbox = state.outboxes.get(attempt.run);
  if (outbox) outbox.notBefore.final = state.moment.at + AGAIN_MS;
  // The next search for expired deliveries finds it again.
  if (outbox && !attempt.permit) takeDelivery(outbox, delivery);
  endAttempt(state, attempt, 'interrupted');
};

/** `round`: the other deliveries of the same round are settled with it. */
const complete = (
  state: NotifierState,
  attempt: Attempt,
  delivery: FinalDelivery,
  which: 'alone' | 'round',
): void => {
  const outbox = state.outboxes.get(attempt.run);
  settle(state, delivery);
  state.leftRetries.forget(attempt.run);
  if (!outbox) return;
  takeDelivery(outbox, delivery);
  if (which === 'round') for (const equal of takeUpToRound(outbox, delivery.round)) settle(state, equal);
};

const endAttempt = (state: NotifierState, attempt: Attempt, sent: Sent): void => {
  state.attempts.delete(attempt.id);
  const outbox = state.outboxes.get(attempt.run);
  if (outbox?.stage.kind === 'in_flight' && outbox.stage.attempt === attempt.id) {
    outbox.stage = IDLE;
    advance(state, outbox);
  }
  if (attempt.permit) releasePermit(state, attempt.permit, attempt.ticket, sent);
  endWork(state, attempt.partition);
};

const releasePermit = (state: NotifierState, permit: Permit, ticket: number, sent: Sent): void => {
  const { breakers, limits, queues, moment } = state;
  const { queue } = permit;
  const { origin } = queue.receiver;
  const outcomes = sent === 'nothing' ? undefined : outcomesOf(sent);
  limits.release(permit);
  breakers.report(origin, ticket, outcomes?.origin ?? 'neutral', moment.at);
  breakers.report(queue.key, ticket, outcomes?.receiver ?? 'neutral', moment.at);
  recordResult(queue, sent, moment.at - permit.since);
  schedule(state, queue);
  if (breakers.state(origin).kind === 'probing')
    for (const other of queues.at(origin)) schedule(state, other);
};

const sentOf = (report: AttemptReport): Sent => {
  switch (report.kind) {
    case 'sent':
      return report.result.reason;
    case 'interrupted':
      return 'interrupted';
    case 'unreadable':
    case 'failed':
      return 'internal_error';
    case 'superseded':
    case 'nothing':
    case 'time_over':
    case 'log_expired':
      return 'nothing';
  }
};
